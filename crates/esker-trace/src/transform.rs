//! Filters and changes traces: `esker trace filter`.

#[cfg(test)]
mod tests;

use esker_core::{Bytes, Hint, Nanos, did_you_mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Operation, Record};

/// Which requests of a trace to keep, and how to change them. First records are selected by their original values
/// (`volumes`, `operations`, `from`/`until`, `address_from`/`address_to`), then changed (`shift_bytes`, `speed`), then
/// counted (`head`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilterSettings {
    /// Keep only these volumes, by name. Empty: all.
    pub volumes: Vec<String>,
    /// Keep only these kinds of requests. Empty: all.
    pub operations: Vec<OperationName>,
    /// Keep only requests that arrive at least this long after the first request of the trace.
    pub from: Option<Nanos>,
    /// Keep only requests that arrive less than this long after the first request of the trace.
    pub until: Option<Nanos>,
    /// Keep only requests that begin at or after this byte of their volume. Flushes, which have no address, are kept.
    pub address_from: Option<Bytes>,
    /// Keep only requests that end at or before this byte of their volume. Flushes are kept.
    pub address_to: Option<Bytes>,
    /// Move every address by this many bytes. Requests that would begin below zero, or end beyond 2^64, are dropped.
    pub shift_bytes: i64,
    /// Make requests arrive this many times as fast: 2 halves the times between them. Response times do not change.
    pub speed: Option<f64>,
    /// Keep only the first of the remaining requests, this many.
    pub head: Option<u64>,
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperationName {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Flushes.
    Flush,
}

impl From<Operation> for OperationName {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => Self::Read,
            Operation::Write => Self::Write,
            Operation::Trim => Self::Trim,
            Operation::Flush => Self::Flush,
        }
    }
}

/// Errors in the settings of a filter.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FilterError {
    /// The speed is zero, negative, or too extreme to scale integer times by.
    #[error("the speed has to be between 0.000001 and 1000000, not {0}")]
    Speed(f64),
    /// The time window is empty.
    #[error("the time window from {from} to {until} is empty")]
    Window {
        /// The start.
        from: Nanos,
        /// The end.
        until: Nanos,
    },
    /// The address range is empty.
    #[error("the address range from byte {from} to byte {to} is empty")]
    Range {
        /// The start.
        from: Bytes,
        /// The end.
        to: Bytes,
    },
    /// The trace has no such volume.
    #[error("the trace has no volume `{name}`; its volumes are: {known}")]
    UnknownVolume {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: String,
        /// The nearest of these names.
        nearest: Option<String>,
    },
    /// Nothing was kept before the end of what was asked for, and this volume had not appeared by then.
    #[error("no volume `{0}` before the end of what was asked for")]
    NoVolumeSoFar(String),
}

impl Hint for FilterError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownVolume { nearest, .. } => nearest.as_ref().map(|name| format!("did you mean `{name}`?")),
            Self::Window { .. } => Some("both times count from the trace's first request".to_string()),
            Self::NoVolumeSoFar(_) => Some("what comes later was not read: ask for a later end".to_string()),
            Self::Speed(_) | Self::Range { .. } => None,
        }
    }
}

/// The result of filtering a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filtered {
    /// Keep this record.
    Keep(Record),
    /// Drop the record.
    Drop,
    /// Drop the record and all that follow.
    End,
}

/// A filter in use.
///
/// ```
/// use esker_trace::{Filter, FilterSettings, Filtered, Operation, Record, VolumeIndex};
/// # use esker_core::Nanos;
/// let record = Record { at: Nanos(7), offset: 63 * 512, length: 4096, volume: VolumeIndex(0),
///     operation: Operation::Read, response: None };
/// let mut filter = Filter::new(FilterSettings { shift_bytes: 512, ..FilterSettings::default() }).unwrap();
/// let shifted = Record { offset: 64 * 512, ..record };
/// assert_eq!(filter.apply(&record, &[]), Filtered::Keep(shifted));
/// ```
#[derive(Clone, Debug)]
pub struct Filter {
    settings: FilterSettings,
    /// `speed` in parts per million.
    speed: u64,
    first: Option<Nanos>,
    /// Whether each volume is wanted, by index; decided when it first appears.
    wanted: Vec<Option<bool>>,
    kept: u64,
    below_zero: u64,
    beyond_end: u64,
    /// Whether it has dropped all that follow.
    ended: bool,
}

const SPEED_ONE: u64 = 1_000_000;

impl Filter {
    /// A filter at the start of a trace.
    ///
    /// # Errors
    /// If the settings contradict each other.
    pub fn new(settings: FilterSettings) -> Result<Self, FilterError> {
        let speed = settings.speed.unwrap_or(1.0);
        if !(1e-6..=1e6).contains(&speed) {
            return Err(FilterError::Speed(speed));
        }
        if let (Some(from), Some(until)) = (settings.from, settings.until)
            && from >= until
        {
            return Err(FilterError::Window { from, until });
        }
        if let (Some(from), Some(to)) = (settings.address_from, settings.address_to)
            && from >= to
        {
            return Err(FilterError::Range { from, to });
        }
        let speed = (speed * SPEED_ONE as f64).round() as u64;
        Ok(Self {
            settings,
            speed,
            first: None,
            wanted: Vec::new(),
            kept: 0,
            below_zero: 0,
            beyond_end: 0,
            ended: false,
        })
    }

    /// Filters the next record. `volumes` are the names of the trace's volumes so far.
    pub fn apply(&mut self, record: &Record, volumes: &[String]) -> Filtered {
        let first = *self.first.get_or_insert(record.at);
        let since_start = record.at.saturating_sub(first);
        self.ended |= self.settings.head.is_some_and(|head| self.kept >= head)
            || self.settings.until.is_some_and(|until| since_start >= until);
        if self.ended {
            return Filtered::End;
        }
        if !self.selects(record, since_start, volumes) {
            return Filtered::Drop;
        }
        let mut record = *record;
        if record.operation != Operation::Flush {
            let offset = i128::from(record.offset) + i128::from(self.settings.shift_bytes);
            let (is_below_zero, end) = (offset < 0, offset + i128::from(record.length));
            self.below_zero += u64::from(is_below_zero);
            self.beyond_end += u64::from(end > i128::from(u64::MAX));
            match u64::try_from(offset) {
                Ok(offset) if end <= i128::from(u64::MAX) => record.offset = offset,
                _ => return Filtered::Drop,
            }
        }
        if self.speed != SPEED_ONE {
            let scaled = u128::from(since_start.0) * u128::from(SPEED_ONE) / u128::from(self.speed);
            let at = u128::from(first.0) + scaled;
            record.at = Nanos(u64::try_from(at).unwrap_or(u64::MAX));
        }
        self.kept += 1;
        Filtered::Keep(record)
    }

    fn selects(&mut self, record: &Record, since_start: Nanos, volumes: &[String]) -> bool {
        let settings = &self.settings;
        if settings.from.is_some_and(|from| since_start < from)
            || !settings.operations.is_empty() && !settings.operations.contains(&record.operation.into())
        {
            return false;
        }
        if record.operation != Operation::Flush
            && (settings.address_from.is_some_and(|from| record.offset < from.0)
                || settings.address_to.is_some_and(|to| record.offset.saturating_add(u64::from(record.length)) > to.0))
        {
            return false;
        }
        settings.volumes.is_empty() || self.wants_volume(record.volume.0 as usize, volumes)
    }

    fn wants_volume(&mut self, index: usize, volumes: &[String]) -> bool {
        if self.wanted.len() <= index {
            self.wanted.resize(index + 1, None);
        }
        let names = &self.settings.volumes;
        *self.wanted[index].get_or_insert_with(|| volumes.get(index).is_some_and(|name| names.contains(name)))
    }

    /// Records kept so far.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Records dropped because the shift would have moved them below address zero.
    pub fn below_zero(&self) -> u64 {
        self.below_zero
    }

    /// Records dropped because the shift would have moved them beyond the last address.
    pub fn beyond_end(&self) -> u64 {
        self.beyond_end
    }

    /// The volumes asked for that are not among `volumes`, where the filter has ended before the trace: they come later
    /// or never.
    pub fn volumes_not_seen<'a>(&'a self, volumes: &'a [String]) -> impl Iterator<Item = &'a str> {
        let asked = self.settings.volumes.iter().filter(|_| self.ended);
        asked.filter(|name| !volumes.contains(name)).map(String::as_str)
    }

    /// Checks after the last record that every volume asked for is among `volumes`. If the filter has ended before the
    /// trace, a volume may come later: then it is enough that something was kept.
    ///
    /// # Errors
    /// The first volume that is not.
    pub fn check_volumes(&self, volumes: &[String]) -> Result<(), FilterError> {
        match self.settings.volumes.iter().find(|name| !volumes.contains(name)) {
            None => Ok(()),
            Some(_) if self.ended && self.kept > 0 => Ok(()),
            Some(name) if self.ended => Err(FilterError::NoVolumeSoFar(name.clone())),
            Some(name) => Err(FilterError::UnknownVolume {
                name: name.clone(),
                known: volumes.join(", "),
                nearest: did_you_mean(name, volumes.iter().map(String::as_str)).map(str::to_string),
            }),
        }
    }
}
