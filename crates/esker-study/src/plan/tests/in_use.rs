//! Plans with devices that are there already.

use esker_core::words;

use super::*;

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
pub(super) fn written(folder: &Path, terabytes: f64, have: &[(f64, u32)]) -> StudySettings {
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
    let of = |have: &[(f64, u32)]| StudySettings { in_use: in_use("toshiba-mg10", have), ..read(folder.path()) };
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
    let with = |count: u32, power: &str| {
        let disks = InUse { product: "toshiba-mg10".into(), capacity: Bytes(20_000_000_000_000), count };
        let data = DataSettings { copies: 2, ..hot(folder.path()).data };
        let study = StudySettings { in_use: vec![disks], data, ..hot(folder.path()) };
        planned_with(PlanSettings { rounds: 1, power: Some(power.parse().unwrap()), ..settings(study) })
    };
    let (even, odd) = (with(2, "200W"), with(3, "200W"));
    assert!(even.left_out.is_empty(), "{:?}", even.left_out);
    let [said] = &odd.left_out[..] else { panic!("{:?}", odd.left_out) };
    assert!(said.starts_with("3 x Toshiba MG10, 20 TB are there: 2 copies of the data use 2. "), "{said}");
    assert!(said.contains("The plan does not count the rest: it may be removed."), "{said}");
    let (odd, even) = (odd.plan.unwrap(), even.plan.unwrap());
    assert!(odd.devices.iter().all(|one| one.product != "toshiba-mg10" || one.count == one.in_use), "{}", odd.title);
    let draws = |mix: &MixPlan| mix.constraints.iter().find(|one| one.name == "power").unwrap().used;
    assert_eq!((odd.cost, draws(&odd)), (even.cost, draws(&even)));
    let none = with(3, "1W");
    assert!(none.plan.is_none());
    assert_eq!(none.left_out, ["3 x Toshiba MG10, 20 TB are there: 2 copies of the data can use 2."]);
}

/// 20 reads of 4 KiB a second, for disks.
fn read(folder: &Path) -> StudySettings {
    let path = folder.join("read.spc");
    let line = |number: u64| format!("0,{},4096,R,{:.6}\n", number * 7_919 % 4_096 * 2_048, number as f64 / 20.0);
    std::fs::write(&path, (0..62 * 20).map(line).collect::<String>()).unwrap();
    let mut settings = asked(&path, small().only(&["toshiba-mg10"]).unwrap());
    settings.data.capacity = Some(Bytes(30_000_000_000_000));
    settings.budgets.p99_us = Some(100_000.0);
    settings
}

/// Two disks for each of two copies, of which three are there: the third is one of those that the plan has more.
#[test]
fn a_device_that_copies_cannot_share_evenly_is_one_of_those_that_are_bought() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = StudySettings { in_use: in_use("toshiba-mg10", &[(20.0, 3)]), ..read(folder.path()) };
    asked.data.copies = 2;
    let found = planned_with(PlanSettings { rounds: 1, ..settings(asked) });
    let mix = found.plan.unwrap_or_else(|| panic!("{:?}", found.no_plan));
    let disks = mix.devices.iter().find(|one| one.product == "toshiba-mg10").unwrap();
    assert_eq!((disks.in_use, disks.count), (2, 4), "{}", mix.title);
    let [said] = &found.left_out[..] else { panic!("{:?}", found.left_out) };
    assert!(said.contains("Of the 2 more that the plan has, 1 is there, too."), "{said}");
    let price = small().product("toshiba-mg10").unwrap().purchase(Bytes(20_000_000_000_000)).as_f64();
    assert!(said.contains(&format!("buy 1 of them, and it costs {} USD less", words::money(price))), "{said}");
    assert!(!said.contains("removed"), "{said}");
    // Prices are those of one device, as in the table.
    let bought = &mix.break_even[0];
    assert!((bought.cost - disks.cost_each).abs() < 1e-6, "{bought:?} {disks:?}");
}

/// A drive that was filled cleans in idle times. Beside one small write a second that is nearly all that it does, and
/// says nothing of the years.
#[test]
fn what_filling_left_to_clean_takes_nothing_of_the_life_of_flash() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = written(folder.path(), 0.5, &[]);
    let line = |number: u64| format!("0,{},4096,W,{number}.000000\n", number * 7_919 % 4_096 * 256);
    std::fs::write(&asked.traces[0], (0..62).map(line).collect::<String>()).unwrap();
    asked.data.capacity = Some(Bytes(500_000_000_000));
    let mix = planned(asked).unwrap().plan.unwrap();
    let drive = &mix.devices[0];
    assert!(drive.simulated_life_years.unwrap() > 0.9 * drive.predicted_life_years.unwrap(), "{drive:?}");
    let endurance = mix.verified.design.endurance.as_ref().unwrap();
    let why = mix.why_lives_are_of_random_writes().expect("amplification has not settled");
    assert!(!endurance.judged && why.contains(&endurance.basis), "{why}");
}
