//! Drives of which all is known that an advice needs, and what is said of the others.

use esker_catalogue::Catalogue;
use esker_results::advice::{DriveAdvice, FigureRange};

use super::AdviceSettings;
use super::drive::DriveHistory;
use super::endurance;
use super::figures::{days_left, moments};

/// A drive that can be judged.
#[derive(Clone, Debug)]
pub(super) struct JudgedDrive {
    pub(super) name: String,
    pub(super) capacity: Option<u64>,
    /// Bytes that the host has written.
    pub(super) written: f64,
    /// Bytes that the host may write in all.
    pub(super) endurance: FigureRange,
    /// Bytes that the host writes in a day.
    pub(super) per_day: FigureRange,
    pub(super) price: Option<f64>,
    pub(super) last_unix_s: i64,
}

impl JudgedDrive {
    /// The life that is left of an endurance, in bytes.
    pub(super) fn left(&self, endurance: f64) -> f64 {
        (endurance - self.written).max(0.0)
    }
}

/// Judges a drive as far as its samples allow. `name` is what it is called.
pub(super) fn judge(
    history: &DriveHistory,
    name: String,
    settings: &AdviceSettings,
    catalogue: &Catalogue,
) -> (DriveAdvice, Option<JudgedDrive>) {
    let (first, last) = (history.first(), history.last());
    let rating = endurance::rate(last, settings, catalogue);
    let mut advice = DriveAdvice {
        name,
        model: last.model.clone(),
        serial: last.serial.clone(),
        capacity_bytes: last.capacity_bytes,
        samples: history.samples.len() as u64,
        first_sample_unix_s: first.unix_s,
        last_sample_unix_s: last.unix_s,
        written_bytes: last.written_bytes,
        own_wear_percent: last.used_percent,
        written_bytes_per_day: None,
        endurance_bytes: rating.endurance,
        endurance_source: rating.sources,
        worn_out: None,
        price: rating.price,
        price_source: rating.price_source,
        not_judged: None,
        warnings: last.warnings.clone(),
    };
    let per_day = match history.bytes_per_day() {
        Ok(per_day) => per_day,
        Err(reason) => {
            advice.not_judged = Some(reason);
            return (advice, None);
        }
    };
    advice.written_bytes_per_day = Some(per_day);
    let (Some(endurance), Some(written)) = (rating.endurance, last.written_bytes) else {
        let reason = "nothing says how much it may be written: give --rated MODEL=BYTES of its data sheet";
        advice.not_judged = Some(reason.into());
        return (advice, None);
    };
    let judged = JudgedDrive {
        name: advice.name.clone(),
        capacity: last.capacity_bytes,
        written: written as f64,
        endurance,
        per_day,
        price: advice.price,
        last_unix_s: last.unix_s,
    };
    advice.worn_out = Some(moments(last.unix_s, days_left(judged.written, endurance, per_day)));
    (advice, Some(judged))
}
