//! Studies of hybrids on synthetic workloads: where a hybrid is the cheapest answer, where it is not, and what it
//! costs.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_catalogue::{Catalogue, Market, Rating};
use esker_core::{Bytes, Ratio, Rng, words};
use esker_results::study::{
    Budgets, Candidate, Composition, DesignPart, JudgedState, PolicyReplay, SettledState, WorkloadStudy,
};

use crate::brute_force_tests::{nothing_cheaper_keeps_the_budgets, settings, traces};
use crate::measure::{Load, measured_run};
use crate::offers::Offer;
use crate::prepare::PreparedWorkload;
use crate::{Hooks, StudySettings, load, study};

/// Random requests of 4 KiB to terabytes of data, nearly all of them to a few MiB.
#[derive(Clone, Copy)]
pub(crate) struct SyntheticWorkload {
    /// Size of the data.
    pub(crate) terabytes: u64,
    /// Size of the hot region. With `moves_after_s`, it moves to other addresses at intervals of that many seconds.
    pub(crate) hot: Bytes,
    pub(crate) moves_after_s: Option<u64>,
    /// Requests per second after the first minute, which has few.
    pub(crate) per_s: u64,
    pub(crate) seconds: u64,
    /// One in this many requests goes to a random address.
    pub(crate) cold_one_of: u64,
    /// One in this many requests is a write.
    pub(crate) write_one_of: u64,
    /// Whether requests go to consecutive blocks instead.
    pub(crate) sequential: bool,
}

pub(crate) const HOT: SyntheticWorkload = SyntheticWorkload {
    terabytes: 15,
    hot: Bytes::mib(64),
    moves_after_s: None,
    per_s: 300,
    seconds: 180,
    cold_one_of: 400,
    write_one_of: 2,
    sequential: false,
};

impl SyntheticWorkload {
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        const BLOCK: u64 = 4096;
        let (mut text, mut rng) = (String::new(), Rng::new(7));
        let blocks = self.terabytes * 1_000_000_000_000 / BLOCK;
        let mut write = |block: u64, kind: char, at: f64| {
            writeln!(text, "0,{},{BLOCK},{kind},{at:.6}", block * 8).unwrap();
        };
        // The highest address says how much data there is.
        write(0, 'R', 0.0);
        write(blocks - 1, 'R', 0.0);
        let (mut at, mut next) = (0.0, 0);
        while at < self.seconds as f64 {
            at += 1.0 / if at < 60.0 { 20.0 } else { self.per_s as f64 };
            let moved = self.moves_after_s.map_or(0, |after| at as u64 / after);
            let hot = (1 << 20) * (1 + moved) + rng.below(self.hot.0 / BLOCK);
            let block = if rng.below(self.cold_one_of) == 0 { rng.below(blocks) } else { hot };
            next += 1;
            let block = if self.sequential { next } else { block };
            write(block, if rng.below(self.write_one_of) == 0 { 'W' } else { 'R' }, at);
        }
        let path = folder.join("made.spc");
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// A SATA drive of two capacities, and a disk of 20 TB.
pub(crate) fn small() -> Catalogue {
    let mut catalogue =
        crate::builtin_catalogue("current").unwrap().only(&["micron-5400-pro", "toshiba-mg10"]).unwrap();
    let sizes = [Bytes(960_000_000_000), Bytes(7_680_000_000_000), Bytes(20_000_000_000_000)];
    catalogue.products.iter_mut().for_each(|product| product.capacities.retain(|one| sizes.contains(&one.bytes)));
    catalogue
}

pub(crate) fn asked(trace: &Path, catalogue: Catalogue) -> StudySettings {
    let budgets = Budgets { years: 5.0, p99_us: Some(5_000.0), devices: Some(8), ..Budgets::default() };
    StudySettings { kinds: vec!["hybrids".into()], ..settings(trace, catalogue, Market::OnPremises, budgets) }
}

pub(crate) fn studied(settings: &StudySettings) -> WorkloadStudy {
    let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
    study(settings, &hooks).unwrap().workloads.remove(0)
}

pub(crate) fn candidate<'a>(study: &'a WorkloadStudy, name: &str) -> &'a Candidate {
    study.candidates.iter().find(|candidate| candidate.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn is_hybrid(candidate: &Candidate) -> bool {
    matches!(candidate.composition, Composition::Hybrid(_))
}

fn settled(candidate: &Candidate) -> SettledState {
    let JudgedState::Settled(state) = candidate.judged else { panic!("{:?}", candidate.judged) };
    state
}

pub(crate) const HYBRID: &str = "micron-5400-pro-960GB+toshiba-mg10-20TB";
pub(crate) const FLASH: &str = "3x-micron-5400-pro-7.68TB";

/// 15 TB of data ask for a disk, and 300 requests a second for flash. One disk cannot keep up, eight miss 5 ms because
/// of their rotation, and flash for all data is ten times as expensive.
#[test]
fn where_capacity_asks_for_disks_and_load_for_flash_a_hybrid_is_cheapest() {
    let folder = tempfile::tempdir().unwrap();
    let settings = asked(&HOT.write(folder.path()), small());
    let study = studied(&settings);
    assert_eq!(study.verdict.recommended.as_deref(), Some(HYBRID), "{}", study.verdict.headline);
    let best = candidate(&study, HYBRID);
    assert_eq!(best.title, "1 x Micron 5400 PRO, 960 GB + 1 x Toshiba MG10, 20 TB, hybrid (migration)");
    let state = settled(best);
    assert!(state.moved_extents >= 100 && state.settled.unwrap().settled, "{state:?}");
    let Composition::Hybrid(hybrid) = &best.composition else { panic!("{:?}", best.composition) };
    assert_eq!((best.volume_on_sale_bytes, hybrid.reserve_bytes), (Some(20_000_000_000_000), 960_000_000_000));
    // The price is the sum of the parts' prices in the catalogue.
    let product = |name: &str| settings.catalogue.product(name).unwrap();
    let purchase = |part: &DesignPart| {
        product(&part.product.name).purchase(Bytes(part.capacity_on_sale_bytes)).as_f64() * f64::from(part.count)
    };
    let (cost, parts) = (&best.cost, &best.parts);
    let sum = |of: fn(&DesignPart) -> f64| parts.iter().map(of).sum::<f64>();
    assert_eq!(parts.len(), 2);
    assert!(parts.iter().all(|part| (part.purchase - purchase(part)).abs() < 1e-6 && part.power > 0.0), "{parts:?}");
    assert!((sum(|part| part.purchase) - cost.purchase).abs() < 1e-6, "{cost:?}");
    assert!((sum(|part| part.purchase + part.power) - cost.total).abs() < 1e-6, "{cost:?}");
    // Without the option the answer is flash for everything, and no hybrid is simulated.
    let without = studied(&StudySettings { kinds: Vec::new(), ..settings });
    assert_eq!(without.verdict.recommended.as_deref(), Some(FLASH), "{}", without.verdict.headline);
    assert!(without.candidates.iter().all(|candidate| !is_hybrid(candidate)));
}

/// The hot region moves every twenty seconds. Extents that moved to flash are of no use, and in time the flash is full
/// of them.
#[test]
fn where_what_is_hot_changes_a_hybrid_is_not_judged_and_not_advised() {
    let folder = tempfile::tempdir().unwrap();
    let made = SyntheticWorkload { moves_after_s: Some(20), ..HOT };
    let study = studied(&asked(&made.write(folder.path()), small()));
    assert_eq!(study.verdict.recommended.as_deref(), Some(FLASH), "{}", study.verdict.headline);
    let hybrids: Vec<&Candidate> = study.candidates.iter().filter(|one| is_hybrid(one)).collect();
    assert!(!hybrids.is_empty());
    for candidate in hybrids {
        assert!(!candidate.judgement.keeps_budgets, "{}", candidate.name);
        let settled = settled(candidate).settled;
        assert!(settled.is_none_or(|settled| !settled.settled), "{}: {settled:?}", candidate.name);
    }
}

/// The hot region moves every minute for ten minutes, so that one request in ten goes to extents that are not on flash
/// yet. One disk cannot serve all requests, but it can serve these.
const SHIFTING: SyntheticWorkload = SyntheticWorkload { moves_after_s: Some(60), seconds: 600, ..HOT };

fn asked_in_50_ms(trace: &Path) -> StudySettings {
    let settings = asked(trace, small());
    StudySettings { budgets: Budgets { p99_us: Some(50_000.0), ..settings.budgets }, ..settings }
}

/// Cold extents leave the flash as fast as hot ones come, so that this can go on for good. More move than the results
/// of a settled policy allow, and what they cost is part of the results.
#[test]
fn where_cold_data_go_back_as_fast_as_hot_data_come_a_hybrid_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let study = studied(&asked_in_50_ms(&SHIFTING.write(folder.path())));
    assert_eq!(study.verdict.recommended.as_deref(), Some(HYBRID), "{}", study.verdict.headline);
    let best = candidate(&study, HYBRID);
    assert!(best.title.ends_with("hybrid (migration-with-room)"), "{}", best.title);
    let state = settled(best).settled.unwrap();
    assert!(!state.settled && state.steady && state.late_moves > 4 * state.late_moves_max, "{state:?}");
    let Composition::Hybrid(hybrid) = &best.composition else { panic!("{:?}", best.composition) };
    let compared = hybrid.compared.as_ref().unwrap();
    let migration = compared.policies.iter().find(|one| one.policy == "migration").unwrap();
    assert!(!migration.may_be_judged, "{compared:?}");
    // In the busiest minute extents move to flash, too, so that more than one request in a hundred waits for the disk.
    // Flash alone answers within 100 us.
    let [busy, late] = [best.busy.as_ref().unwrap().response_time, best.last_quarter.unwrap()].map(|one| one.p99_us);
    assert!(busy > 1_000.0 && late > 1_000.0, "{busy} {late}");
    // The flash takes what the host writes to it, and the half of the moves that lead to it.
    let day = |bytes: f64| bytes / study.profile.duration_s.unwrap() * 86_400.0;
    let moved = day((state.late_moves * hybrid.extent_bytes) as f64 * 4.0 / 2.0);
    let written = day(study.profile.write_bytes as f64) + moved;
    let on_flash = best.endurance.as_ref().unwrap().host_bytes_per_day.unwrap();
    assert!((0.85..1.15).contains(&(on_flash / written)), "{on_flash} of {written}, {moved} moved");
    // What the moves cost in life is told apart.
    let promotions = best.endurance.as_ref().unwrap().promotions.unwrap();
    assert!((0.8..1.25).contains(&(promotions.bytes_per_day / moved)), "{promotions:?}, {moved} moved");
    assert!((promotions.share_of_writes - promotions.bytes_per_day / on_flash).abs() < 1e-9, "{promotions:?}");
    if esker_testkit::soak() == 1 {
        return;
    }
    // In twice the time it is as fast, within 15 %. This takes twice as long as all of the above.
    let longer = SyntheticWorkload { seconds: 1_200, ..SHIFTING };
    let p99_us = late_p99_us(&asked_in_50_ms(&longer.write(folder.path())));
    assert!((p99_us / late - 1.0).abs() < 0.15, "{p99_us} {late}");
}

/// Returns the 99th percentile of [`HYBRID`] in the last quarter of the trace.
fn late_p99_us(settings: &StudySettings) -> f64 {
    let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
    let workload = load::single(&settings.traces, &settings.read, &hooks).unwrap();
    let prepared = PreparedWorkload::of(&workload, settings).unwrap();
    let offers = prepared.offers(&workload, settings, &hooks).unwrap();
    let offer = offers.iter().find(|offer| offer.name() == HYBRID).unwrap();
    let design = offer.design(Bytes(workload.map().footprint()), settings.utilisation).unwrap();
    let task = prepared.task(&workload, settings, &hooks);
    let run = measured_run(&task, &design, &Load::as_traced(&workload), None).unwrap();
    run.last_quarter.unwrap().response().quantile(0.99).as_micros_f64()
}

/// Policies are replayed on several threads, and on a part of a long trace.
#[test]
fn the_policy_of_hybrids_depends_on_the_trace_and_not_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let compositions = |settings: &StudySettings| {
        let found = std::cell::RefCell::new(Vec::new());
        offered(settings, |offers| {
            let on_request = offers.iter().filter(|offer| offer.is_on_request());
            found.borrow_mut().extend(on_request.map(|offer| offer.arrangement.composition(offer)));
        });
        found.into_inner()
    };
    let long = SyntheticWorkload { per_s: 900, seconds: 300, ..HOT };
    let settings = asked(&long.write(folder.path()), small());
    for composition in compositions(&settings) {
        let Composition::Hybrid(hybrid) = composition else { panic!("{composition:?}") };
        let compared = hybrid.compared.unwrap();
        assert_eq!(hybrid.policy, "migration", "{}", hybrid.because);
        assert!(compared.policies.len() >= 4);
        // A request of 4 KiB counts as one and a quarter, and 200,000 are replayed.
        assert_eq!(compared.requests, 160_000);
    }
    let brief = asked(&SyntheticWorkload { seconds: 62, ..HOT }.write(folder.path()), small());
    let found = compositions(&brief);
    assert!(!found.is_empty());
    assert_eq!(found, compositions(&StudySettings { threads: 1, ..brief }));
}

/// What placement policies do on reference traces and on the made-up one, for docs/studies.md: for `ESKER_SOAK=2`.
#[test]
#[expect(clippy::print_stdout, reason = "the rows are for the documentation")]
fn what_policies_do_on_traces() {
    if esker_testkit::soak() == 1 {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let names = ["cloudphysics-2h.vscsi.zst", "diskmon-mayun2.diskmon.zst", "hplajw-1week.srt.zst"];
    let recorded = traces(&[&names[..], &["msps-dtrs-8h.ssdsim.zst"]].concat());
    for trace in [SHIFTING.write(folder.path())].into_iter().chain(recorded) {
        let mut settings = StudySettings { budgets: Budgets::default(), ..asked(&trace, small()) };
        settings.budgets.years = 5.0;
        settings.data.capacity = Some(Bytes(15_000_000_000_000));
        offered(&settings, |offers| {
            let pair = offers.iter().find(|offer| offer.name() == HYBRID).unwrap();
            let Composition::Hybrid(hybrid) = pair.arrangement.composition(pair) else { panic!("it is a hybrid") };
            let cell = |one: &PolicyReplay| {
                let judged = if one.may_be_judged { "" } else { ", moving" };
                let p99 = one.p99_us.map_or("-".into(), words::time);
                format!("{p99}, {}{judged}", words::bytes(one.flash_bytes as f64))
            };
            let cells: Vec<String> = hybrid.compared.unwrap().policies.iter().map(cell).collect();
            println!("| {} | {} | `{}` |", trace.display(), cells.join(" | "), hybrid.policy);
        });
    }
}

/// The warranty of one flash drive covers less than is written to the hot region in eight hours.
#[test]
fn a_hybrid_whose_flash_wears_out_too_early_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut catalogue = small();
    let flash = catalogue.products.iter_mut().find(|product| product.kind == "ssd").unwrap();
    for (_, rating) in &mut flash.endurance.as_mut().unwrap().value.ratings {
        *rating = Rating::DriveWritesPerDay(Ratio::from_f64(0.0075));
    }
    let study = studied(&asked(&HOT.write(folder.path()), catalogue));
    let worn = candidate(&study, HYBRID);
    assert_eq!((worn.judgement.p99, worn.judgement.years), (Some(true), Some(false)), "{:?}", worn.judgement);
    let endurance = worn.endurance.as_ref().unwrap();
    // Nearly all writes are hot, and extents that moved to flash once do not count as if they moved all the time.
    let written = study.profile.write_bytes as f64 / study.profile.duration_s.unwrap() * 86_400.0;
    let on_flash = endurance.host_bytes_per_day.unwrap();
    assert!((0.5..1.05).contains(&(on_flash / written)), "{on_flash} of {written}");
    assert_ne!(study.verdict.recommended.as_deref(), Some(HYBRID));
}

pub(crate) fn offered(settings: &StudySettings, check: impl Fn(&[Offer<'_>])) {
    let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
    let workload = load::single(&settings.traces, &settings.read, &hooks).unwrap();
    let prepared = PreparedWorkload::of(&workload, settings).unwrap();
    check(&prepared.offers(&workload, settings, &hooks).unwrap());
}

#[test]
fn hybrids_are_offered_only_where_they_are_cheaper_than_their_flash_alone() {
    let folder = tempfile::tempdir().unwrap();
    let brief = SyntheticWorkload { seconds: 62, ..HOT };
    let of = |terabytes: u64| asked(&SyntheticWorkload { terabytes, ..brief }.write(folder.path()), small());
    // Two drives of 960 GB hold 1 TB and cost less than one drive and a disk.
    offered(&of(1), |offers| assert!(!offers.iter().any(Offer::is_on_request)));
    offered(&of(15), |offers| {
        let names: Vec<String> = offers.iter().filter(|offer| offer.is_on_request()).map(Offer::name).collect();
        let several = |count: u32| format!("{count}x-{HYBRID}");
        let larger = [1, 2].map(|count| match count {
            1 => "micron-5400-pro-7.68TB+toshiba-mg10-20TB".to_string(),
            n => format!("{n}x-micron-5400-pro-7.68TB+toshiba-mg10-20TB"),
        });
        assert_eq!(names, [&[HYBRID.to_string(), several(2), several(3), several(4)], &larger[..]].concat());
    });
    // The whole catalogue makes few enough hybrids to search.
    let all = StudySettings { catalogue: crate::builtin_catalogue("current").unwrap(), ..of(15) };
    offered(&all, |offers| {
        let hybrids = offers.iter().filter(|offer| offer.is_on_request()).count();
        assert!((100..2_000).contains(&hybrids), "{hybrids}");
    });
    // Above 64 TiB an extent would be larger than the areas by which the trace is known.
    let large = StudySettings { data: crate::DataSettings { capacity: Some(Bytes(64 << 40)), ..all.data }, ..all };
    offered(&large, |offers| assert!(!offers.iter().any(Offer::is_on_request)));
}

/// Simulating every cheaper hybrid finds none that keeps the budgets.
#[test]
fn of_hybrids_too_nothing_cheaper_keeps_the_budgets() {
    let folder = tempfile::tempdir().unwrap();
    let mut catalogue = small();
    catalogue.products.extend(crate::builtin_catalogue("current").unwrap().only(&["samsung-pm893"]).unwrap().products);
    let sizes = [240_000_000_000, 960_000_000_000, 7_680_000_000_000, 20_000_000_000_000];
    catalogue.products.iter_mut().for_each(|product| product.capacities.retain(|one| sizes.contains(&one.bytes.0)));
    let tried = nothing_cheaper_keeps_the_budgets(&asked(&HOT.write(folder.path()), catalogue), 4);
    assert!(tried > 0, "the cheapest of all was chosen");
}
