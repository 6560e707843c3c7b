//! Plans of synthetic workloads with two products.

mod in_use;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_core::{Bytes, Power};
use esker_plan::{ClassSettings, Sharing};
use esker_results::study::Budgets;
use esker_results::study::plan::{Changed, MixPlan, PlacedClass, WorkloadPlan};

use super::{PlanSettings, plan};
use crate::hybrid_tests::{HOT, asked, small, studied};
use crate::{DataSettings, Hooks, InUse, StudyError, StudySettings};
use in_use::written;

fn settings(study: StudySettings) -> PlanSettings {
    PlanSettings::of_study(StudySettings { kinds: Vec::new(), ..study })
}

fn planned(study: StudySettings) -> Result<WorkloadPlan, StudyError> {
    tried(&settings(study))
}

fn planned_with(settings: PlanSettings) -> WorkloadPlan {
    tried(&settings).unwrap()
}

fn tried(settings: &PlanSettings) -> Result<WorkloadPlan, StudyError> {
    let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
    plan(settings, &hooks).map(|mut planned| planned.report.plans.remove(0))
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
        let on = |kind: &str| class.placed.iter().any(|placed| mix.devices[placed.device].kind == kind);
        assert!(!class.name.starts_with("hot") || (on("ssd") && !on("hdd")), "{class:?}");
    }
    assert!(mix.bound <= mix.cost && mix.gap < 0.05, "{} {}", mix.bound, mix.cost);
    // Measured times of single requests say how busy the devices are: a disk whose touched data lie side by side is
    // less busy than one whose data lie everywhere.
    assert!(mix.devices.iter().all(|one| one.kind != "ssd" || one.simulated_utilisation.is_some()));
    // A plan does not count on the write buffer, where pages that are hot are overwritten before they are programmed.
    let flash = mix.verified.design.devices.values().find_map(|device| device.flash.as_ref()).unwrap();
    let to_flash = flash.programs.host as f64 / flash.host_page_writes as f64;
    assert!((0.5..0.7).contains(&to_flash), "{to_flash}");
    for (one, simulated) in mix.devices.iter().filter_map(|one| Some((one, one.simulated_utilisation?))) {
        let ratio = one.predicted_utilisation / simulated;
        let expected = if one.kind == "ssd" { 0.8..1.25 / to_flash } else { 0.8..3.0 };
        assert!(expected.contains(&ratio), "{}: {} {simulated}", one.title, one.predicted_utilisation);
    }
    // The model keeps the budget, too; a read of flash takes tens of microseconds.
    let predicted = mix.verified.predicted_p99_us;
    assert!((30.0..=found.budgets.p99_us.unwrap()).contains(&predicted), "{predicted}");
    // Flash that is written as planned wears as planned: at most as fast as with random overwriting.
    for one in &mix.devices {
        let years = one.predicted_life_years.zip(one.simulated_life_years);
        assert_eq!(years.is_some(), one.kind == "ssd", "{one:?}");
        assert!(years.is_none_or(|(predicted, simulated)| predicted <= simulated * 1.25), "{one:?}");
    }
    let of_sort = |sort: &str| mix.others.iter().find(|one| one.sort == sort).unwrap();
    assert!(of_sort("only flash").cost.unwrap() > 2.0 * mix.cost, "{:?}", mix.others);
    assert_eq!(of_sort("only disks").cost, None);
    assert!(found.peaks.together_requests_per_s <= found.peaks.added_requests_per_s);
}

/// 300 reads of 128 KiB a second are 39 MB/s of the 540 MB/s that a SATA link carries to the host. That it could carry
/// as much to the drive at the same time is of no use to them.
#[test]
fn reads_have_one_direction_of_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.spc");
    let line = |number: u64| format!("0,{},131072,R,{:.6}\n", number % 4_096 * 256, number as f64 / 300.0);
    std::fs::write(&path, (0..62 * 300).map(line).collect::<String>()).unwrap();
    let mut settings = asked(&path, small().only(&["micron-5400-pro"]).unwrap());
    settings.data.capacity = Some(Bytes(700_000_000_000));
    let mix = planned(settings).unwrap().plan.unwrap();
    let of_link = 300.0 * 131_072.0 / 540e6;
    let [drive] = &mix.devices[..] else { panic!("{}", mix.title) };
    for busy in [drive.predicted_utilisation, drive.simulated_utilisation.unwrap()] {
        assert!((0.95..1.1).contains(&(busy / of_link)), "{busy} of {of_link}");
    }
    let time = mix.constraints.iter().find(|one| one.name.ends_with("time in the busiest time")).unwrap();
    assert!((0.95..1.1).contains(&(time.used / 1.3 / of_link)), "{time:?}");
}

/// More to do, more data and higher prices never cost less; the price of what is not bought changes nothing.
#[test]
fn other_loads_and_prices_have_other_plans() {
    let folder = tempfile::tempdir().unwrap();
    let found = planned(hot(folder.path())).unwrap().plan.unwrap();
    let costs = |changed: Changed| {
        let of = found.what_if.iter().filter(|one| one.changed == changed);
        of.map(|one| (one.factor, one.cost.unwrap())).collect::<Vec<_>>()
    };
    for changed in [Changed::Load, Changed::Data, Changed::PriceOfFlash, Changed::PriceOfDisks] {
        let costs = costs(changed);
        assert!(costs.is_sorted_by(|one, other| one.0 < other.0 && one.1 <= other.1 * 1.001), "{costs:?}");
        let fits = |&(factor, cost): &(f64, f64)| match factor < 1.0 {
            true => cost <= found.cost * 1.001,
            false => cost >= found.cost * 0.999,
        };
        assert!(costs.iter().all(fits), "{costs:?} {}", found.cost);
    }
    // 15 TB on a disk of 20 TB: four times as much asks for four of them.
    assert!(costs(Changed::Data)[2].1 > 2.5 * found.cost, "{:?}", costs(Changed::Data));
}

/// What may be drawn is what the devices of the plan draw: a watt less, and there is another plan, or none.
#[test]
fn power_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let found = planned_with(PlanSettings { power: Some("12W".parse().unwrap()), ..settings(hot(folder.path())) });
    let power = found.plan.unwrap().constraints.into_iter().find(|one| one.name == "power").unwrap();
    assert!(power.used > 5.0 && power.used <= 12.0, "{power:?}");
    let less = Power((power.used * 1e6) as u64 - 1_000_000);
    let none = planned_with(PlanSettings { power: Some(less), ..settings(hot(folder.path())) }).no_plan.unwrap();
    assert!(none.clash.contains(&"power".to_string()), "{none:?}");
    // What is printed is enough, and the plan that it leads to costs what is printed beside it.
    let printed = |text: &str| text.strip_prefix("power from ")?.split_once(" to ").map(|(_, to)| to.to_string());
    let (power, cost) = none.remedies.iter().find_map(|one| Some((printed(&one.text)?, one.cost))).unwrap();
    let helped =
        planned_with(PlanSettings { power: Some(power.parse().unwrap()), rounds: 1, ..settings(hot(folder.path())) });
    assert!((helped.rounds[0].cost / cost - 1.0).abs() < 0.002, "{power}: {} {cost}", helped.rounds[0].cost);
}

/// Neighbours that are planned alike become one, and the plan stays as cheap.
#[test]
fn merged_classes_are_fewer_and_cost_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let with = |classes: ClassSettings, merge: bool| {
        planned_with(PlanSettings { classes, merge, ..settings(hot(folder.path())) }).plan.unwrap()
    };
    let (fine, merged) = (with(ClassSettings::fine(), false), with(ClassSettings::fine(), true));
    assert!(merged.classes.len() < fine.classes.len(), "{} {}", merged.classes.len(), fine.classes.len());
    assert!(merged.cost <= fine.cost * 1.001, "{} {}", merged.cost, fine.cost);
    let bytes = |plan: &MixPlan| plan.classes.iter().map(|class| class.bytes).sum::<f64>();
    assert!((bytes(&fine) - bytes(&merged)).abs() < 1.0);
}

/// With the paper's form each class may use all of the time, so that it never asks for more.
#[test]
fn classes_that_do_not_share_the_time_cost_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let busy = |sharing| {
        let mut settings = PlanSettings { sharing, rounds: 1, ..settings(hot(folder.path())) };
        settings.study.budgets.headroom = Some(40.0);
        planned_with(settings).plan.map(|plan| plan.cost)
    };
    let (paper, summed) = (busy(Sharing::PerClass), busy(Sharing::Summed));
    assert!(paper.unwrap() <= summed.unwrap_or(f64::INFINITY) * 1.001, "{paper:?} {summed:?}");
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

/// 20 TB do not fit on one drive: more drives help, or larger ones.
#[test]
fn what_helps_is_said_with_its_unit() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = written(folder.path(), 20.0, &[]);
    settings.budgets.devices = Some(1);
    let why = planned(settings).unwrap().no_plan.unwrap();
    let said: Vec<&str> = why.remedies.iter().map(|one| one.text.as_str()).collect();
    assert!(said.contains(&"Micron 5400 PRO, 7.68 TB: capacity from 6.528 TB to 21 TB"), "{said:?}");
}

/// No disk answers within a millisecond. The smallest budget that helps is what the disk needs, and with it there is a
/// plan.
#[test]
fn a_response_time_that_no_device_has_is_a_clash_with_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = hot(folder.path());
    settings.catalogue = settings.catalogue.only(&["toshiba-mg10"]).unwrap();
    settings.budgets = Budgets { p99_us: Some(1_250.0), headroom: Some(1.0), devices: None, ..settings.budgets };
    let found = planned(settings.clone()).unwrap();
    let why = found.no_plan.unwrap();
    assert!(why.reason.contains("is allowed on no type of device: response time forbids it"), "{}", why.reason);
    assert_eq!((found.plan.is_none(), &why.clash[..]), (true, &["response time".to_string()][..]));
    let [remedy] = &why.remedies[..] else { panic!("{why:?}") };
    let milliseconds = remedy.text.strip_prefix("response time from 1.25 ms to ").and_then(|to| to.strip_suffix(" ms"));
    settings.budgets.p99_us = milliseconds.map(|number| number.parse::<f64>().unwrap() * 1e3);
    let now = tried(&PlanSettings { rounds: 1, ..super::tests::settings(settings) }).unwrap();
    // What helps costs what the plan costs that is made with it, with all seconds that it has to keep.
    assert!((now.rounds[0].cost / remedy.cost - 1.0).abs() < 0.002, "{} {remedy:?}", now.rounds[0].cost);
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
