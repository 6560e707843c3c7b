//! Sample studies for tests, from `tests/fixtures`.

use esker_results::study::plan::{MixPlan, PlacedClass, PlannedDevices, Verified};
use esker_results::study::{Candidate, Endurance, StudyReport, WorkloadStudy};

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

/// A plan with these devices and classes, of which nothing else is known.
pub(crate) fn plan(devices: Vec<PlannedDevices>, classes: Vec<PlacedClass>) -> MixPlan {
    MixPlan {
        title: "1 x flash + 1 x disk".into(),
        devices,
        classes,
        cost: 100.0,
        bound: 99.0,
        gap: 0.01,
        constraints: Vec::new(),
        runners_up: Vec::new(),
        others: Vec::new(),
        beside: Vec::new(),
        break_even: Vec::new(),
        what_if: Vec::new(),
        way: None,
        verified: Verified {
            keeps_budgets: true,
            reasons: Vec::new(),
            predicted_p99_us: 100.0,
            design: Box::new(Candidate::new("mix", "mix", "mix", 2)),
        },
    }
}
