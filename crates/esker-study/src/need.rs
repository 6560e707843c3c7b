//! Works out how much data has to be stored, and how much capacity on sale that needs.

use esker_core::{Bytes, Ratio, words};
use esker_results::study::Need;

use crate::load::StudyWorkload;

/// Address spans above this are not those of real volumes: the addresses are made up.
pub const SPAN_MAX: Bytes = Bytes(64 << 40);

/// What the user says about the data to store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSettings {
    /// Bytes of data today; if not given, the trace tells.
    pub capacity: Option<Bytes>,
    /// Growth of the data per year, as a fraction.
    pub growth_per_year: f64,
    /// Number of copies of the data: two with mirrors.
    pub copies: u32,
    /// Share of a device that data may fill.
    pub fill_limit: Ratio,
}

/// Bytes of one copy of the data at the end of the budgeted years. On disks, volumes are spread over that many bytes.
pub(crate) fn used(workload: &StudyWorkload, settings: &DataSettings, years: f64) -> Bytes {
    let Need { data_bytes, growth_factor, .. } = need(workload, settings, years);
    Bytes((data_bytes as f64 * growth_factor).min(u64::MAX as f64) as u64)
}

/// Returns the capacity that `workload` needs at the end of `years` years.
pub(crate) fn need(workload: &StudyWorkload, settings: &DataSettings, years: f64) -> Need {
    let (active, span) = (workload.map().footprint(), workload.profile.address_span_bytes);
    let in_words = |bytes: u64| words::bytes(bytes as f64);
    let (data, basis) = match settings.capacity {
        Some(given) if given.0 >= active => (given.0, format!("{} of data, as given.", in_words(given.0))),
        Some(given) => (
            active,
            format!("{} were given, but the trace touches {}: that counts.", in_words(given.0), in_words(active)),
        ),
        None if span <= SPAN_MAX.0 && span >= active => (
            span,
            format!(
                "{}: the volumes' addresses in the trace, from the lowest to the highest. The volumes may be larger: \
                 give --capacity.",
                in_words(span)
            ),
        ),
        None => (active, format!("{}: what the trace touches. Give --capacity.", in_words(active))),
    };
    let growth_factor = (1.0 + settings.growth_per_year).powf(years).max(1.0);
    let fill_limit = settings.fill_limit.as_f64();
    let capacity = data as f64 * growth_factor * f64::from(settings.copies) / fill_limit;
    Need {
        data_bytes: data,
        basis,
        growth_factor,
        copies: settings.copies,
        fill_limit,
        capacity_bytes: capacity.min(u64::MAX as f64).ceil() as u64,
    }
}
