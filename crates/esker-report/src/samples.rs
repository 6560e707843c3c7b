//! Sample studies for tests, from `tests/fixtures`.

use esker_results::study::{Endurance, StudyReport, WorkloadStudy};

#[path = "../tests/support/caches.rs"]
mod caches;
#[path = "../tests/support/run.rs"]
mod run;

pub(crate) use caches::{caches, caches_by_volume, caches_with_admission};
pub(crate) use run::run;

/// A recorded study of one workload.
pub(crate) fn study() -> StudyReport {
    serde_json::from_str(include_str!("../tests/fixtures/office.json")).expect("the recorded study is one")
}

/// The workload of the recorded study.
pub(crate) fn workload() -> WorkloadStudy {
    study().workloads.remove(0)
}

/// Wear of a drive to which nothing was written.
pub(crate) fn endurance() -> Endurance {
    Endurance {
        write_amplification: None,
        judged: true,
        basis: String::new(),
        passes: 1,
        host_bytes_per_day: None,
        drive_writes_per_day: None,
        lifetime_capacity_bytes: 0,
        lifetime_years: None,
        lifetime_is_lower_bound: false,
        rated_cycles: 0,
        cycles_of_warranty: false,
        raw_bytes: 0,
        page_bytes_per_byte: 1.0,
        lifetime_amplification: 1.0,
        below_warranty: None,
        cleaning_share: 0.0,
        lifetime_range_years: None,
        drive_writes_per_day_asked: None,
        drive_writes_per_day_sold: None,
        kept: None,
    }
}
