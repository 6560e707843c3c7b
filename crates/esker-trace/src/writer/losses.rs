//! Counts what a written trace does not keep.

use esker_core::Nanos;

use super::remainder;
use crate::format::{FormatEntry, Responses};

/// A way in which records read back differ from those written. A record counts once for its time and once for its
/// response time; only [`LossKind::ResponsesMistaken`] may come in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// The format has no times.
    TimesDropped,
    /// Times were finer than the unit of the format, and were rounded down.
    TimesRounded,
    /// The trace has no times, but the format does: all times are zero, and requests seem to arrive at once.
    TimesMadeUp,
    /// The format has no response times.
    ResponsesDropped,
    /// Response times were finer than the unit of the format, and were rounded down.
    ResponsesRounded,
    /// Response times were longer than the format can hold, and were cut.
    ResponsesClipped,
    /// Response times were zero or rounded to zero, which means "not known" in this format.
    ResponsesUnknown,
    /// Response times were not known and were written as zero, which is an ordinary value in this format.
    ResponsesMadeUp,
    /// Response times are read back as another request's or not at all: completions do not name their request.
    ResponsesMistaken,
}

impl LossKind {
    /// Every kind, in order.
    const ALL: [Self; Self::ResponsesMistaken as usize + 1] = [
        Self::TimesDropped,
        Self::TimesRounded,
        Self::TimesMadeUp,
        Self::ResponsesDropped,
        Self::ResponsesRounded,
        Self::ResponsesClipped,
        Self::ResponsesUnknown,
        Self::ResponsesMadeUp,
        Self::ResponsesMistaken,
    ];
}

/// How often something was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The kind of loss.
    pub kind: LossKind,
    /// Number of records.
    pub count: u64,
    /// The first of these records: its number among those written, from 1.
    pub first: u64,
}

/// What was written, and what was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteNotes {
    /// The format.
    pub format: &'static str,
    /// Records written.
    pub records: u64,
    /// What was not kept, one entry for each kind, in the order of [`LossKind`].
    pub losses: Vec<Loss>,
    /// The time subtracted from all times, if the format counts from the start of the trace.
    pub time_origin: Nanos,
    /// Volumes with other names in the output: the old name, and the new one.
    pub volumes_renamed: Vec<(String, String)>,
}

impl WriteNotes {
    pub(crate) fn new(format: &'static str) -> Self {
        Self { format, records: 0, losses: Vec::new(), time_origin: Nanos::ZERO, volumes_renamed: Vec::new() }
    }

    /// Number of records with a loss of `kind`.
    pub fn lost(&self, kind: LossKind) -> u64 {
        self.losses.iter().find(|loss| loss.kind == kind).map_or(0, |loss| loss.count)
    }

    /// A line of text for each kind of loss.
    pub fn lines(&self) -> Vec<String> {
        let format = crate::format::entry(self.format).expect("it was written in it");
        let mut lines: Vec<String> = self.losses.iter().map(|loss| text(loss, format)).collect();
        if self.time_origin > Nanos::ZERO {
            let origin = self.time_origin.0;
            lines.push(format!(
                "times count from the first request in `{}`; it came {}.{:09} s after 1970-01-01, which is not kept",
                self.format,
                origin / 1_000_000_000,
                origin % 1_000_000_000
            ));
        }
        if let renamed @ [_, ..] = &self.volumes_renamed[..] {
            const SHOWN: usize = 5;
            let pairs: Vec<String> =
                renamed.iter().take(SHOWN).map(|(name, becomes)| format!("{name} is {becomes}")).collect();
            let rest = match renamed.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let (count, pairs) = (renamed.len(), pairs.join(", "));
            lines.push(format!("{count} volumes are called otherwise in `{}`: {pairs}{rest}", self.format));
        }
        lines
    }
}

/// The losses while a trace is written: count and first record for each kind. Most records of a trace may have a loss,
/// so counting has to be very cheap.
#[derive(Debug, Default)]
pub(super) struct LossCounts([(u64, u64); LossKind::ALL.len()]);

impl LossCounts {
    /// Counts a loss in record number `record`, counted from 1.
    #[inline]
    pub(super) fn lose(&mut self, kind: LossKind, record: u64) {
        self.lose_many(Loss { kind, count: 1, first: record });
    }

    #[inline]
    pub(super) fn lose_many(&mut self, loss: Loss) {
        let (count, first) = &mut self.0[loss.kind as usize];
        if *count == 0 {
            *first = loss.first;
        }
        *count += loss.count;
    }

    /// Number of records with a loss of `kind`.
    pub(super) fn lost(&self, kind: LossKind) -> u64 {
        self.0[kind as usize].0
    }

    /// The losses that occurred, in the order of [`LossKind`].
    pub(super) fn list(&self) -> Vec<Loss> {
        let all = LossKind::ALL.iter().zip(self.0).map(|(&kind, (count, first))| Loss { kind, count, first });
        all.filter(|loss| loss.count > 0).collect()
    }
}

fn text(loss: &Loss, format: &FormatEntry) -> String {
    let Loss { kind, count, first } = *loss;
    let (name, holds) = (format.name, &format.build.holds);
    let what = match kind {
        LossKind::TimesDropped => format!("{count} times were dropped: `{name}` has none"),
        LossKind::TimesRounded => {
            format!("{count} times were rounded down to {}, the unit of `{name}`", holds.time_unit)
        }
        LossKind::TimesMadeUp => {
            return format!("the trace has no times; all are 0 in `{name}`, as if every request came at once");
        }
        LossKind::ResponsesDropped => format!("{count} response times were dropped: `{name}` has none"),
        LossKind::ResponsesRounded => {
            format!("{count} response times were rounded down to {}, the unit of `{name}`", holds.response_unit)
        }
        LossKind::ResponsesClipped => {
            format!("{count} response times were cut to {}, the longest that `{name}` holds", holds.response_max)
        }
        LossKind::ResponsesUnknown if holds.response_unit == Nanos(1) => {
            format!("{count} response times of 0 became unknown: that is what 0 means in `{name}`")
        }
        LossKind::ResponsesUnknown => format!(
            "{count} response times below {} became unknown: that is what 0 means in `{name}`",
            holds.response_unit
        ),
        LossKind::ResponsesMadeUp => format!(
            "{count} requests have no response time and got 0: `{name}` has to have one, and 0 reads as measured"
        ),
        LossKind::ResponsesMistaken => format!(
            "{count} response times read back as those of other requests or as unknown: in `{name}` a completion ends \
             the oldest request for its range, and is not waited for longer than {}",
            crate::pairing::PATIENCE
        ),
    };
    format!("{what} (the first is record {first})")
}

/// The response time as `format` can hold it, and the loss, if any.
#[inline]
pub(crate) fn response(format: &FormatEntry, response: Option<Nanos>) -> (Option<Nanos>, Option<LossKind>) {
    let (unit, max) = (format.build.holds.response_unit.0, format.build.holds.response_max.0);
    let Some(Nanos(exact)) = response else {
        return (None, (format.build.responses == Responses::Always).then_some(LossKind::ResponsesMadeUp));
    };
    if format.build.responses == Responses::Never {
        return (None, Some(LossKind::ResponsesDropped));
    }
    let clipped = exact.min(max);
    let rounded = clipped - remainder(clipped, unit);
    match format.build.responses {
        Responses::ZeroIfUnknown if rounded == 0 => (None, Some(LossKind::ResponsesUnknown)),
        _ if exact > max => (Some(Nanos(rounded)), Some(LossKind::ResponsesClipped)),
        _ if rounded != exact => (Some(Nanos(rounded)), Some(LossKind::ResponsesRounded)),
        _ => (response, None),
    }
}
