//! Plans of synthetic workloads with two products.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_core::{Bytes, Power};
use esker_plan::{ClassSettings, Sharing};
use esker_results::study::Budgets;
use esker_results::study::plan::{Changed, MixPlan, PlacedClass, WorkloadPlan};

use super::{PlanSettings, plan};
use crate::hybrid_tests::{HOT, asked, small, studied};
use crate::{DataSettings, Hooks, InUse, StudyError, StudySettings};

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
    for (one, simulated) in mix.devices.iter().filter_map(|one| Some((one, one.simulated_utilisation?))) {
        let ratio = one.predicted_utilisation / simulated;
        let expected = if one.kind == "ssd" { 0.8..1.25 } else { 0.8..3.0 };
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
    // All data lie on the disk; what is planned for flash goes there, and nothing else moves.
    let way = found.way.as_ref().unwrap();
    let on_flash = |class: &PlacedClass| {
        class
            .placed
            .iter()
            .filter(|placed| found.devices[placed.device].kind == "ssd")
            .map(|one| one.share)
            .sum::<f64>()
    };
    let planned: f64 = found.classes.iter().map(|class| on_flash(class) * class.bytes).sum();
    assert!(way.stuck_bytes.is_none() && (way.bytes - planned).abs() < 1e6, "{way:?} {planned}");
    // The disk alone is busier than it may be: moves get a hundredth of its time, of some 270 MB/s.
    let rate = way.bytes / way.hours / 3_600.0;
    assert!((2e6..3e6).contains(&rate), "{rate}");
    assert_eq!(bought.way, None);
}

/// 50 writes of 128 KiB a second to half a gigabyte, on drives of one product.
fn written(folder: &Path, terabytes: f64, have: &[(f64, u32)]) -> StudySettings {
    let path = folder.join("written.spc");
    let line = |number: u64| format!("0,{},131072,W,{:.6}\n", number * 7_919 % 4_096 * 256, number as f64 / 50.0);
    std::fs::write(&path, (0..62 * 50).map(line).collect::<String>()).unwrap();
    let mut settings = asked(&path, small().only(&["micron-5400-pro"]).unwrap());
    settings.data.capacity = Some(Bytes((terabytes * 1e12) as u64));
    StudySettings { in_use: in_use("micron-5400-pro", have), ..settings }
}

/// Devices of a product that are there: the terabytes of each, and how many.
fn in_use(product: &str, have: &[(f64, u32)]) -> Vec<InUse> {
    let one = |&(terabytes, count): &(f64, u32)| InUse {
        product: product.into(),
        capacity: Bytes((terabytes * 1e12) as u64),
        count,
    };
    have.iter().map(one).collect()
}

/// Of a type that is in use and is bought, too, all devices are simulated, and none of another type.
#[test]
fn what_is_simulated_of_a_type_is_of_all_its_devices() {
    let folder = tempfile::tempdir().unwrap();
    for have in [&[(0.96, 1)][..], &[(0.96, 1), (7.68, 1)]] {
        let terabytes = if have.len() == 1 { 1.4 } else { 7.8 };
        let mix = planned(written(folder.path(), terabytes, have)).unwrap().plan.unwrap();
        assert!(mix.devices.iter().any(|one| (one.count, one.in_use) == (2, 1)), "{}", mix.title);
        let simulated: Vec<_> = mix.devices.iter().filter(|one| one.simulated_utilisation.is_some()).collect();
        assert!(!simulated.is_empty(), "{}", mix.title);
        for one in simulated {
            let life = one.simulated_life_years.unwrap() / one.predicted_life_years.unwrap();
            assert!((0.7..1.5).contains(&life), "{one:?}");
            let busy = one.simulated_utilisation.unwrap() / one.predicted_utilisation;
            assert!((0.7..1.5).contains(&busy), "{one:?}");
        }
    }
}

/// A drive that is there and one that is bought are as good as two that are bought, and a drive cheaper.
#[test]
fn a_drive_in_use_and_a_bought_one_are_striped_as_two_bought_ones_are() {
    let folder = tempfile::tempdir().unwrap();
    let drives = half_in_use(|have| written(folder.path(), 1.4, have), 0.96);
    let [bought, half] = drives.map(|mix| mix.devices[0].simulated_life_years.unwrap());
    assert!((half / bought - 1.0).abs() < 0.01, "{half} {bought}");
}

/// Disks, too: their arms go as far over the data whoever paid for them.
#[test]
fn a_disk_in_use_and_a_bought_one_are_striped_as_two_bought_ones_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("read.spc");
    let line = |number: u64| format!("0,{},4096,R,{:.6}\n", number * 7_919 % 4_096 * 2_048, number as f64 / 20.0);
    std::fs::write(&path, (0..62 * 20).map(line).collect::<String>()).unwrap();
    let of = |have: &[(f64, u32)]| {
        let mut settings = asked(&path, small().only(&["toshiba-mg10"]).unwrap());
        settings.data.capacity = Some(Bytes(30_000_000_000_000));
        settings.budgets.p99_us = Some(100_000.0);
        StudySettings { in_use: in_use("toshiba-mg10", have), ..settings }
    };
    half_in_use(of, 20.0);
}

/// The plans of `asked` for two devices, both bought, and with one of `terabytes` there already. They differ in a
/// device's price alone.
fn half_in_use(asked: impl Fn(&[(f64, u32)]) -> StudySettings, terabytes: f64) -> [MixPlan; 2] {
    let of = |have: &[(f64, u32)]| {
        let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
        let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
        let mut planned = plan(&settings(asked(have)), &hooks).unwrap();
        let placed = planned.placed.remove(0).unwrap();
        assert_eq!((placed.parts.len(), placed.parts[0].count), (1, 2), "{:?}", placed.parts);
        planned.report.plans.remove(0)
    };
    let (bought, half) = (of(&[]), of(&[(terabytes, 1)]));
    assert_eq!((bought.rounds.len(), half.rounds.len()), (1, 1), "{:?}", half.rounds);
    let (bought, half) = (bought.plan.unwrap(), half.plan.unwrap());
    let price = small().product(&half.devices[0].product).unwrap().purchase(Bytes((terabytes * 1e12) as u64)).as_f64();
    assert!((bought.cost - half.cost - price).abs() < 0.01, "{} {} {price}", bought.cost, half.cost);
    let of = |mix: &MixPlan| (mix.verified.design.judgement.worst_p99, mix.devices[0].simulated_utilisation.unwrap());
    let ((p99, busy), (half_p99, half_busy)) = (of(&bought), of(&half));
    assert!(p99 == half_p99 && (half_busy / busy - 1.0).abs() < 0.01, "{half_busy} {busy} {half:?}");
    assert!(half.title.starts_with("2 x ") && half.devices[0].in_use == 1, "{}", half.title);
    [bought, half]
}

/// Everything stays on the one drive that is there: 0 bytes move, and not -0.
#[test]
fn where_nothing_moves_the_way_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let way = planned(written(folder.path(), 0.5, &[(0.96, 1)])).unwrap().plan.unwrap().way.unwrap();
    assert!(way.moves.is_empty() && way.stuck_bytes.is_none(), "{way:?}");
    assert_eq!(format!("{} {}", way.bytes, way.hours), "0 0");
}

/// Two entries of one drive each are two drives, whoever writes them how.
#[test]
fn drives_may_be_named_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let of = |have: &[(f64, u32)], copies: u32| {
        let study = written(folder.path(), 0.6, have);
        let data = DataSettings { copies, ..study.data };
        let found = planned_with(PlanSettings { rounds: 1, ..settings(StudySettings { data, ..study }) });
        let plan = found.plan.unwrap();
        (plan.title.clone(), plan.cost, plan.verified.design.cost.total, found.left_out)
    };
    assert_eq!(of(&[(0.96, 1), (0.96, 1)], 1), of(&[(0.96, 2)], 1));
    assert_eq!(of(&[(0.96, 1), (0.96, 1)], 2), of(&[(0.96, 2)], 2));
    assert_eq!(of(&[(0.96, 3), (7.68, 2), (0.96, 2)], 2), of(&[(0.96, 5), (7.68, 2)], 2));
}

/// 700 GB lie on the drive that is in use. The bought one beside it, striped with it, gets half of them.
#[test]
fn bought_devices_get_their_part_of_what_lies_on_those_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = written(folder.path(), 0.7, &[(0.96, 1)]);
    asked.data.growth_per_year = 0.15;
    let mix = planned(asked).unwrap().plan.unwrap();
    let drive = &mix.devices[0];
    assert_eq!((mix.devices.len(), drive.count, drive.in_use), (1, 2, 1), "{}", mix.title);
    let way = mix.way.unwrap();
    assert!((way.bytes - 350e9).abs() < 1e6 && way.stuck_bytes.is_none(), "{way:?}");
    assert!(way.moves.iter().all(|one| (one.from, one.to) == (0, 0)), "{way:?}");
}

/// Two copies have a disk each: the third one is left out, and the plan says so with what it draws.
#[test]
fn devices_that_copies_cannot_share_evenly_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let with = |count: u32| {
        let disks = InUse { product: "toshiba-mg10".into(), capacity: Bytes(20_000_000_000_000), count };
        let data = DataSettings { copies: 2, ..hot(folder.path()).data };
        let study = StudySettings { in_use: vec![disks], data, ..hot(folder.path()) };
        planned_with(PlanSettings { rounds: 1, power: Some("200W".parse().unwrap()), ..settings(study) })
    };
    let (even, odd) = (with(2), with(3));
    assert!(even.left_out.is_empty(), "{:?}", even.left_out);
    let [said] = &odd.left_out[..] else { panic!("{:?}", odd.left_out) };
    assert!(said.starts_with("3 x Toshiba MG10, 20 TB are there: 2 copies of the data use 2. "), "{said}");
    assert!(said.contains("taken out: it is in no limit"), "{said}");
    let (odd, even) = (odd.plan.unwrap(), even.plan.unwrap());
    let draws = |mix: &MixPlan| mix.constraints.iter().find(|one| one.name == "power").unwrap().used;
    assert_eq!((odd.cost, draws(&odd)), (even.cost, draws(&even)));
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
