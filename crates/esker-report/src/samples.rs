//! Sample studies for tests, from `tests/fixtures`.

use esker_results::fleet::{FLEET_SCHEMA, FleetResults, FleetRun, FleetServer, FleetSnapshot, FleetSpread};
use esker_results::study::plan::{MixPlan, PlacedClass, PlannedDevices, Verified};
use esker_results::study::{Candidate, Endurance, StudyReport, WorkloadStudy};

#[path = "../tests/support/caches.rs"]
mod caches;
#[path = "../tests/support/run.rs"]
mod run;

pub(crate) use caches::{caches, caches_by_volume, caches_with_admission};
pub(crate) use run::run;

/// A fleet of this number of servers under `life`, after 0, 10 and 20 days.
pub(crate) fn fleet(servers: usize) -> FleetResults {
    let day = 86_400_000_000_000u64;
    let snapshot = |at: u64| {
        let used: Vec<f64> = (0..servers).map(|server| (server as u64 + at) as f64 / 1e4).collect();
        FleetSnapshot { at_ns: at * day, life_used: FleetSpread::of(used.clone()), life_used_by_server: used }
    };
    let server = || FleetServer {
        group: "old".into(),
        joined_ns: 0,
        left_ns: None,
        failed: false,
        rated_bytes: 1 << 40,
        life_used_before: 0.0,
        replicas: 7,
    };
    let run = FleetRun {
        balancer: "life".into(),
        epochs: 20,
        first_worn_out_ns: None,
        bound_ns: None,
        share_of_bound: None,
        life_used: snapshot(20).life_used,
        erases: FleetSpread::default(),
        written: Default::default(),
        counts: Default::default(),
        snapshots: [0, 10, 20].map(snapshot).to_vec(),
        servers: (0..servers).map(|_| server()).collect(),
    };
    FleetResults {
        schema: FLEET_SCHEMA,
        version: "0.1.0".into(),
        command: "esker cluster sim fleet.toml --seed 1".into(),
        seed: 1,
        servers: servers as u64,
        slices: 100,
        replicas: 2,
        slice_bytes: 1 << 30,
        epoch_ns: day,
        runs: vec![run],
    }
}

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
        promotions: None,
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
