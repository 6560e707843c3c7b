//! Cloud volumes whose limits a short trace does not show: credits that run dry later, and limits that volumes share.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_catalogue::Market;
use esker_core::Ratio;
use esker_results::study::{Budgets, StudyReport, WorkloadStudy};
use esker_study::{DataSettings, Hooks, StudySettings, builtin_catalogue, study};
use esker_trace::ReadOptions;

/// Studies `seconds` of `per_s` reads of 8 KiB a second, evenly in time and at random addresses of `gigabytes`.
fn studied(
    (market, product): (Market, &str),
    (per_s, seconds, gigabytes): (u64, u64, u64),
    budgets: Budgets,
) -> WorkloadStudy {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("made-up.spc");
    let mut text = String::new();
    let pages = gigabytes * 1_000_000_000 / 4_096;
    for n in 0..per_s * seconds {
        let us = n * 1_000_000 / per_s;
        let sector = n.wrapping_mul(2_654_435_761) % pages * 8;
        writeln!(text, "0,{sector},8192,R,{}.{:06}", us / 1_000_000, us % 1_000_000).unwrap();
    }
    std::fs::write(&trace, text).unwrap();
    run(&trace, market, product, budgets)
}

fn run(trace: &Path, market: Market, product: &str, budgets: Budgets) -> WorkloadStudy {
    let catalogue = builtin_catalogue("current").unwrap().only(&[product]).unwrap();
    let settings = StudySettings {
        traces: vec![trace.to_path_buf()],
        read: ReadOptions::default(),
        together: false,
        running: catalogue.running.clone(),
        catalogue,
        in_use: Vec::new(),
        market,
        consumer: false,
        kinds: Vec::new(),
        plan: false,
        data: DataSettings {
            capacity: None,
            growth_per_year: budgets.growth_per_year,
            copies: 1,
            fill_limit: Ratio::percent(85),
        },
        budgets,
        utilisation: Ratio::percent(85),
        thorough: false,
        seed: 1,
        threads: 2,
        command: String::new(),
    };
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &AtomicBool::new(false), simulated: &AtomicU64::new(0) };
    let StudyReport { mut workloads, .. } = study(&settings, &hooks).unwrap();
    workloads.remove(0)
}

fn budgets(growth_per_year: f64, headroom: Option<f64>) -> Budgets {
    Budgets { years: 5.0, growth_per_year, headroom, ..Budgets::default() }
}

const GP2: (Market, &str) = (Market::Aws, "aws-ebs-gp2");

/// Of gp2, 304 GiB have 912 operations a second for good, and 3,000 for more than an hour: a trace of seconds does not
/// see the end of that.
#[test]
fn a_volume_whose_credits_run_dry_after_the_trace_keeps_no_budget() {
    let found = studied(GP2, (1_200, 10, 15), budgets(0.0, None));
    assert_eq!(found.verdict.recommended, None, "{}", found.verdict.headline);
    assert!(!found.candidates.is_empty(), "the nearest is simulated");
    for one in &found.candidates {
        let dry = one.runs_dry.as_ref().unwrap_or_else(|| panic!("{} carries it for good", one.name));
        assert!(dry.reason.contains("its credits would run dry"), "{}", dry.reason);
        assert!(!one.judgement.keeps_budgets && one.judgement.reasons.contains(&dry.reason), "{:?}", one.judgement);
    }
    assert!(found.verdict.headline.contains("credits would run dry"), "{}", found.verdict.headline);
}

/// 400 operations a second of one volume are those of 134 GiB today, of 174 with a margin of 1.3, and of 332 once the
/// load has grown by a fifth in each of five years.
#[test]
fn what_credits_leave_for_good_carries_the_load_that_was_asked_for() {
    let size = |budgets: Budgets| {
        let found = studied(GP2, (400, 10, 34), Budgets { devices: Some(1), ..budgets });
        let name = found.verdict.recommended.unwrap_or_else(|| panic!("{}", found.verdict.headline));
        let best = found.candidates.iter().find(|one| one.name == name).unwrap();
        best.capacity_bytes >> 30
    };
    let today = size(budgets(0.0, Some(1.0)));
    assert!((134..174).contains(&today), "{today} GiB");
    let with_margin = size(budgets(0.0, Some(1.3)));
    assert!((174..332).contains(&with_margin), "{with_margin} GiB");
    for headroom in [None, Some(1.0)] {
        let grown = size(budgets(0.2, headroom));
        assert!(grown >= 332, "{grown} GiB");
    }
}

/// Of 22 GiB, a balanced disk has 3,132 operations a second, and of 929 GiB those that this asks for. Four disks of the
/// type at an instance share what one of their total size has.
#[test]
fn volumes_that_share_their_limits_are_not_split() {
    let found = studied((Market::Google, "gcp-pd-balanced"), (6_000, 5, 20), budgets(0.0, Some(1.0)));
    let name = found.verdict.recommended.unwrap_or_else(|| panic!("{}", found.verdict.headline));
    let best = found.candidates.iter().find(|one| one.name == name).unwrap();
    let limit = 3_000 + 6 * (best.capacity_bytes >> 30);
    assert!(best.device_count == 1 && 6_000.0 <= 0.7 * limit as f64, "{name}: {limit} operations/s");
    assert!(found.candidates.iter().all(|one| one.device_count == 1));
}
