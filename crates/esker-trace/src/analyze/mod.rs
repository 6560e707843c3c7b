//! Characterises a trace in one pass. Each file answers one question.
//!
//! Memory grows with the footprint, never with the number of requests: about 0.1 % of the touched space if touched
//! pages lie close together, some 300 bytes per page if each lies alone.

mod alignment;
mod area_set;
mod arrivals;
mod peaks;
mod profile;
mod responses;
mod series;
mod sizes;
mod skew;
mod touched;
mod volumes;
mod working_set;

use esker_core::Nanos;
use esker_results::profile::Profile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use area_set::{AREA_BYTES, AreaSet};
pub use touched::TouchedAreas;

use crate::{Operation, Record};

/// Options of a characterisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CharacteriserSettings {
    /// Gaps between arrivals of at least this length count as idle. [`Profile::idle`] has one entry for each threshold.
    pub idle_thresholds: Vec<Nanos>,
    /// Number of the most common request sizes to list.
    pub common_sizes: usize,
    /// The largest number of points of a Lorenz curve.
    pub lorenz_points: usize,
}

impl Default for CharacteriserSettings {
    fn default() -> Self {
        Self {
            idle_thresholds: vec![Nanos::from_millis(100), Nanos::from_secs(1)],
            common_sizes: 16,
            lorenz_points: 200,
        }
    }
}

/// Takes records one by one, in order of arrival, and computes their profile.
///
/// ```
/// use esker_trace::{Characteriser, CharacteriserSettings, Operation, Record, VolumeIndex};
/// # use esker_core::Nanos;
/// let mut characteriser = Characteriser::new(CharacteriserSettings::default());
/// for second in 0..10 {
///     characteriser.push(&Record {
///         at: Nanos::from_secs(second),
///         offset: second * 4096,
///         length: 4096,
///         volume: VolumeIndex(0),
///         operation: Operation::Write,
///         response: None,
///     });
/// }
/// let profile = characteriser.finish(&["disk0".to_string()]);
/// assert_eq!((profile.requests, profile.footprint_bytes), (10, 40_960));
/// assert_eq!(profile.sequential_fraction, 0.9);
/// ```
#[derive(Debug)]
pub struct Characteriser {
    settings: CharacteriserSettings,
    volumes: volumes::Volumes,
    sizes: sizes::Sizes,
    arrivals: arrivals::Arrivals,
    peaks: peaks::PeakTracker,
    series: series::Series,
    touched: TouchedAreas,
    responses: responses::Responses,
    first: Nanos,
    last: Nanos,
    started: bool,
}

impl Characteriser {
    /// A characteriser without records.
    pub fn new(settings: CharacteriserSettings) -> Self {
        Self {
            arrivals: arrivals::Arrivals::new(&settings.idle_thresholds),
            settings,
            volumes: volumes::Volumes::default(),
            sizes: sizes::Sizes::default(),
            peaks: peaks::PeakTracker::default(),
            series: series::Series::default(),
            touched: TouchedAreas::default(),
            responses: responses::Responses::default(),
            first: Nanos::ZERO,
            last: Nanos::ZERO,
            started: false,
        }
    }

    /// Adds one record. Records come in order of arrival. A record that is earlier than the one before it counts as
    /// arriving at the same time.
    pub fn push(&mut self, record: &Record) {
        if !self.started {
            (self.first, self.last, self.started) = (record.at, record.at, true);
        }
        let gap = record.at.saturating_sub(self.last);
        self.last = self.last.max(record.at);
        let since_start = self.last - self.first;
        self.arrivals.push(gap);
        self.peaks.push(since_start, record);
        if let Some(response) = record.response {
            self.responses.push(record.operation, response);
        }
        let doubled = self.series.push(since_start, record);
        if doubled > 0 {
            self.touched.merge_intervals(doubled);
        }
        self.volumes.push(record);
        match record.operation {
            Operation::Read | Operation::Write => {
                self.sizes.push(record);
                let new_pages = self.touched.push(record, self.series.working_set_interval());
                self.series.add_new_pages(new_pages);
            }
            Operation::Trim | Operation::Flush => {}
        }
    }

    /// Adds records in their order. Faster than one by one if the footprint is large.
    pub fn push_all(&mut self, records: &[Record]) {
        for batch in records.chunks(touched::WARM_BATCH) {
            self.touched.warm(batch);
            for record in batch {
                self.push(record);
            }
        }
    }

    /// The 1 MiB areas touched so far. A [`crate::DenseMap`] is built from them.
    pub fn touched(&self) -> &TouchedAreas {
        &self.touched
    }

    /// Returns the profile. `volumes` are the names by [`crate::VolumeIndex`]; a volume without a name is called by its
    /// number.
    pub fn finish(self, volumes: &[String]) -> Profile {
        self.finish_with_areas(volumes).0
    }

    /// Returns the profile, and the areas for a [`crate::DenseMap`].
    pub fn finish_with_areas(mut self, volumes: &[String]) -> (Profile, TouchedAreas) {
        let profile = profile::assemble(&mut self, volumes);
        (profile, self.touched)
    }
}

#[cfg(test)]
mod tests;
