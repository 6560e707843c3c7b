//! Plans of synthetic workloads with two products.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_core::Bytes;
use esker_plan::ClassSettings;
use esker_results::plan::{MixPlan, WorkloadPlan};

use super::{PlanSettings, plan};
use crate::hybrid_tests::{HOT, asked, small, studied};
use crate::{DataSettings, Hooks, InUse, StudyError, StudySettings};

fn settings(study: StudySettings) -> PlanSettings {
    let study = StudySettings { kinds: Vec::new(), ..study };
    PlanSettings { study, classes: ClassSettings::kim_33(), rounds: 5 }
}

fn planned(study: StudySettings) -> Result<WorkloadPlan, StudyError> {
    let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
    plan(&settings(study), &hooks).map(|mut report| report.plans.remove(0))
}

fn hot(folder: &Path) -> StudySettings {
    asked(&HOT.write(folder), small())
}

fn count(plan: &MixPlan, product: &str) -> u32 {
    plan.devices.iter().filter(|one| one.product == product).map(|one| one.count).sum()
}

/// 15 TB of data ask for a disk, and 300 requests a second for flash. The study finds the same devices as a hybrid.
#[test]
fn a_plan_keeps_its_budgets_and_is_no_dearer_than_the_best_of_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let found = planned(hot(folder.path())).unwrap();
    let mix = found.plan.as_ref().unwrap();
    assert!(mix.verified.keeps_budgets, "{:?}", found.rounds);
    assert_eq!((count(mix, "micron-5400-pro"), count(mix, "toshiba-mg10")), (1, 1), "{}", mix.title);
    let study = studied(&hot(folder.path()));
    let recommended = study.verdict.recommended.as_ref().unwrap();
    let best = study.candidates.iter().find(|one| one.name == *recommended).unwrap();
    assert!(mix.verified.design.cost.total <= best.cost.total * (1.0 + mix.gap), "{} {}", mix.title, best.title);
    // Every class is whole, and what is hot is on flash.
    for class in &mix.classes {
        let whole: f64 = class.placed.iter().map(|placed| placed.share).sum();
        assert!((whole - 1.0).abs() < 1e-6, "{class:?}");
        let on = |kind: &str| class.placed.iter().any(|placed| mix.devices[placed.devices].kind == kind);
        assert!(!class.name.starts_with("hot") || (on("ssd") && !on("hdd")), "{class:?}");
    }
    assert!(mix.bound <= mix.cost && mix.gap < 0.05, "{} {}", mix.bound, mix.cost);
    // Measured times of single requests say how busy the devices are: a disk whose touched data lie side by side is
    // less busy than one whose data lie everywhere.
    assert!(mix.devices.iter().all(|one| one.kind != "ssd" || one.simulated_utilisation.is_some()));
    for (one, simulated) in mix.devices.iter().filter_map(|one| Some((one, one.simulated_utilisation?))) {
        let ratio = one.predicted_utilisation / simulated;
        let expected = if one.kind == "ssd" { 0.8..1.25 } else { 0.8..3.0 };
        assert!(expected.contains(&ratio), "{}: {} {simulated}", one.title, one.predicted_utilisation);
    }
    let of_sort = |sort: &str| mix.others.iter().find(|one| one.sort == sort).unwrap();
    assert!(of_sort("only flash").cost.unwrap() > 2.0 * mix.cost, "{:?}", mix.others);
    assert_eq!(of_sort("only disks").cost, None);
    assert!(found.peaks.together_requests_per_s <= found.peaks.added_requests_per_s);
}

/// What is in use stays, and costs electricity only.
#[test]
fn devices_in_use_are_part_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let bought = planned(hot(folder.path())).unwrap().plan.unwrap();
    let disk = InUse { product: "toshiba-mg10".into(), capacity: Bytes(20_000_000_000_000), count: 1 };
    let settings = StudySettings { in_use: vec![disk], ..hot(folder.path()) };
    let price = settings.catalogue.product("toshiba-mg10").unwrap().purchase(Bytes(20_000_000_000_000)).as_f64();
    let found = planned(settings).unwrap().plan.unwrap();
    assert!(found.verified.keeps_budgets);
    let disks = found.devices.iter().find(|one| one.kind == "hdd").unwrap();
    assert_eq!((disks.count, disks.in_use), (1, 1));
    assert!((bought.cost - found.cost - price).abs() < 0.01, "{} {} {price}", bought.cost, found.cost);
}

/// One device cannot hold what two disks hold: the smallest change that helps is a second one.
#[test]
fn without_a_plan_there_is_what_clashes_and_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = hot(folder.path());
    settings.budgets.devices = Some(1);
    let found = planned(settings.clone()).unwrap();
    let why = found.no_plan.unwrap();
    assert!(found.plan.is_none() && why.clash.contains(&"number of devices".to_string()), "{why:?}");
    let remedy = why.remedies.iter().find(|remedy| remedy.text == "number of devices from 1 to 2").unwrap();
    settings.budgets.devices = Some(2);
    let now = planned(settings).unwrap().plan.unwrap();
    assert!((now.cost - remedy.cost).abs() <= 0.01 * now.cost, "{} {}", now.cost, remedy.cost);
}

#[test]
fn more_data_cost_no_less() {
    let folder = tempfile::tempdir().unwrap();
    let costs = [15, 30, 60].map(|terabytes| {
        let data = DataSettings { capacity: Some(Bytes(terabytes * 1_000_000_000_000)), ..hot(folder.path()).data };
        planned(StudySettings { data, ..hot(folder.path()) }).unwrap().plan.unwrap().cost
    });
    assert!(costs.is_sorted() && costs[2] > 1.5 * costs[0], "{costs:?}");
}

#[test]
fn a_trace_without_times_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("made.spc");
    std::fs::write(&trace, "0,0,4096,R,0.0\n0,8,4096,W,0.0\n").unwrap();
    let error = planned(asked(&trace, small())).unwrap_err().to_string();
    assert!(error.contains("same time") && error.contains("made.spc"), "{error}");
}
