//! Studies of caches on synthetic workloads: where a cache is the cheapest answer, where it is not, and where no cache
//! can be judged.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_catalogue::Rating;
use esker_core::{Bytes, Ratio};
use esker_results::study::{CachedVolume, Candidate, Composition, JudgedState, WorkloadStudy};
use esker_sim::{CacheSettings, DeviceDescription, System};

use crate::brute_force_tests::nothing_cheaper_keeps_the_budgets;
use crate::hybrid_tests::{FLASH, HOT, SyntheticWorkload, asked, candidate, offered, small, studied};
use crate::judging::{WarmResults, warm};
use crate::offers::Offer;
use crate::prepare::PreparedWorkload;
use crate::{DataSettings, Hooks, StudySettings, load};

const THROUGH: &str = "micron-5400-pro-960GB+toshiba-mg10-20TB-write-through-cache";
const BACK: &str = "2x-micron-5400-pro-960GB+toshiba-mg10-20TB-write-back-cache";
/// One request in a thousand is a write, so that a budget for the 99th percentile ignores writes.
const READS: SyntheticWorkload = SyntheticWorkload { write_one_of: 1_000, ..HOT };
/// More writes than a disk can take and stay idle enough: 210 a second.
const WRITES: SyntheticWorkload = SyntheticWorkload { per_s: 420, ..HOT };

fn with_caches(made: &SyntheticWorkload, folder: &Path) -> StudySettings {
    StudySettings { kinds: vec!["caches".into()], ..asked(&made.write(folder), small()) }
}

fn caches(study: &WorkloadStudy) -> Vec<&Candidate> {
    study.candidates.iter().filter(|one| matches!(one.composition, Composition::Cache(_))).collect()
}

fn cache(candidate: &Candidate) -> &CachedVolume {
    let Composition::Cache(cache) = &candidate.composition else { panic!("{:?}", candidate.composition) };
    cache
}

/// Asserts that no cache is recommended. Returns the caches that were simulated.
fn without_a_cache(study: &WorkloadStudy) -> Vec<&Candidate> {
    let caches = caches(study);
    for candidate in &caches {
        assert!(!candidate.judgement.keeps_budgets, "{}: {:?}", candidate.name, candidate.judgement);
        assert_ne!(study.verdict.recommended.as_deref(), Some(candidate.name.as_str()));
    }
    caches
}

/// 15 TB of data ask for a disk, and 300 reads a second for flash. One drive is enough, because the disk holds all
/// data.
#[test]
fn where_reads_are_hot_a_cache_is_cheapest() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with_caches(&READS, folder.path());
    let study = studied(&settings);
    assert_eq!(study.verdict.recommended.as_deref(), Some(THROUGH), "{}", study.verdict.headline);
    let best = candidate(&study, THROUGH);
    assert_eq!(best.title, "1 x Micron 5400 PRO, 960 GB + 1 x Toshiba MG10, 20 TB, cache (lru, write-through)");
    let cache = cache(best);
    let JudgedState::Warm(state) = best.judged else { panic!("{:?}", best.judged) };
    assert!(state.warmed.unwrap().warm && !cache.mirrored, "{state:?}, {cache:?}");
    // All misses are first uses, about one in 400 requests; they are neither lost nor counted twice.
    let misses = 1.0 - state.hit_ratio.unwrap();
    assert!((0.001..0.01).contains(&misses), "{misses}");
    // The volume is that of the disk, and the price that of both.
    assert_eq!((best.volume_on_sale_bytes, cache.line_bytes), (Some(20_000_000_000_000), 64 << 10));
    assert_eq!((cache.cache_bytes, best.device_count), (960_000_000_000 * 85 / 100 / 65_536 * 65_536, 2));
    let (cost, parts) = (&best.cost, &best.parts);
    let total: f64 = parts.iter().map(|part| part.purchase + part.power).sum();
    assert!((total - cost.total).abs() < 1e-6 && parts.iter().all(|part| part.power > 0.0), "{cost:?}");
    assert!(study.verdict.findings.iter().any(|finding| finding.text.contains("Its policy is lru")));
    let without = studied(&StudySettings { kinds: Vec::new(), ..settings });
    assert_eq!(without.verdict.recommended.as_deref(), Some(FLASH), "{}", without.verdict.headline);
}

/// A disk that takes all these writes is too busy, so that write-through is no answer. Lines that only the flash holds
/// are on two drives.
#[test]
fn where_more_is_written_than_disks_take_it_takes_write_back() {
    let folder = tempfile::tempdir().unwrap();
    let study = studied(&with_caches(&WRITES, folder.path()));
    assert_eq!(study.verdict.recommended.as_deref(), Some(BACK), "{}", study.verdict.headline);
    let best = candidate(&study, BACK);
    let cache = cache(best);
    assert!(cache.mirrored && best.parts[0].count == 2 && best.device_count == 3, "{cache:?}, {:?}", best.parts);
    let through = candidate(&study, THROUGH);
    assert!(!through.judgement.keeps_budgets, "{:?}", through.judgement);
    assert!(through.cost.total < best.cost.total);
}

/// Every line is used once, so that nothing in a cache is used again.
#[test]
fn where_reads_go_anywhere_a_cache_is_of_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let made = SyntheticWorkload { cold_one_of: 1, per_s: 100, seconds: 120, ..READS };
    let study = studied(&with_caches(&made, folder.path()));
    assert_eq!(study.verdict.recommended.as_deref(), Some(FLASH), "{}", study.verdict.headline);
    let caches = without_a_cache(&study);
    assert!(!caches.is_empty());
    assert!(caches.iter().all(|one| one.judgement.p99 != Some(true)), "{:?}", caches[0].judgement);
}

/// Disks read consecutive blocks as fast as the workload asks for them.
#[test]
fn where_reads_are_sequential_a_disk_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let made = SyntheticWorkload { sequential: true, seconds: 120, ..READS };
    let study = studied(&with_caches(&made, folder.path()));
    without_a_cache(&study);
    assert_eq!(study.verdict.recommended.as_deref(), Some("toshiba-mg10-20TB"), "{}", study.verdict.headline);
}

#[test]
fn where_the_trace_is_too_short_to_warm_a_cache_none_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let study = studied(&with_caches(&SyntheticWorkload { seconds: 63, ..READS }, folder.path()));
    let caches = without_a_cache(&study);
    assert!(!caches.is_empty());
    for candidate in caches {
        let reasons = &candidate.judgement.reasons;
        assert!(reasons.iter().any(|one| one.contains("before the busiest stretch")), "{reasons:?}");
    }
}

/// The flash takes all writes of the host and all line fills: no less, and hardly more if few lines are filled.
#[test]
fn a_cache_whose_flash_wears_out_too_early_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = with_caches(&HOT, folder.path());
    let flash = settings.catalogue.products.iter_mut().find(|product| product.kind == "ssd").unwrap();
    for (_, rating) in &mut flash.endurance.as_mut().unwrap().value.ratings {
        *rating = Rating::DriveWritesPerDay(Ratio::from_f64(0.01));
    }
    let study = studied(&settings);
    let worn = candidate(&study, THROUGH);
    assert_eq!((worn.judgement.p99, worn.judgement.years), (Some(true), Some(false)), "{:?}", worn.judgement);
    let written = study.profile.write_bytes as f64 / study.profile.duration_s.unwrap() * 86_400.0;
    let on_flash = worn.endurance.as_ref().unwrap().host_bytes_per_day.unwrap();
    assert!((0.99..1.3).contains(&(on_flash / written)), "{on_flash} of {written}");
    assert_ne!(study.verdict.recommended.as_deref(), Some(THROUGH));
}

#[test]
fn write_back_is_mirrored_unless_each_copy_has_a_cache() {
    let folder = tempfile::tempdir().unwrap();
    let brief = with_caches(&SyntheticWorkload { seconds: 62, ..READS }, folder.path());
    let names = |settings: &StudySettings| {
        let mut names = Vec::new();
        let of = |offers: &[Offer<'_>]| -> Vec<String> {
            offers.iter().filter(|offer| offer.is_on_request()).map(Offer::name).collect()
        };
        let found = std::cell::RefCell::new(&mut names);
        offered(settings, |offers| found.borrow_mut().extend(of(offers)));
        names.retain(|name| name.contains("960GB"));
        names
    };
    let write = |count: u32, how: &str| match count {
        1 => format!("micron-5400-pro-960GB+toshiba-mg10-20TB-write-{how}-cache"),
        n => format!("{n}x-micron-5400-pro-960GB+toshiba-mg10-20TB-write-{how}-cache"),
    };
    let through = |count: u32| write(count, "through");
    // One drive on each side, then two.
    let once = [through(1), write(2, "back"), through(2), write(4, "back"), through(3), through(4)];
    assert_eq!(names(&brief), once);
    let twice = StudySettings { data: DataSettings { copies: 2, ..brief.data }, ..brief };
    let found = names(&twice);
    assert!(found.contains(&write(2, "back").replace("+toshiba", "+2x-toshiba")), "{found:?}");
    assert_eq!(found.len(), 8);
}

/// A cache with half the room that the hot lines need is full before its busy stretch. It is judged, and misses half of
/// the requests; lines go on being filled for good.
#[test]
fn a_full_cache_is_warm() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with_caches(&READS, folder.path());
    let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
    let workload = load::single(&settings.traces, &settings.read, &hooks).unwrap();
    let prepared = PreparedWorkload::of(&workload, &settings).unwrap();
    let offers = prepared.offers(&workload, &settings, &hooks).unwrap();
    let offer = offers.iter().find(|offer| offer.name() == THROUGH).unwrap();
    let mut design = offer.design(Bytes(workload.map().footprint()), settings.utilisation).unwrap();
    let small = CacheSettings {
        flash_capacity: Some(Bytes::mib(32)),
        line: Bytes::kib(64),
        ..CacheSettings::new("ssd", "disk")
    };
    let mut devices = design.system.devices().clone();
    let volume = design.system.target().to_string();
    devices.insert(volume.clone(), DeviceDescription::new(small));
    let task = prepared.task(&workload, &settings, &hooks);
    let busy = prepared.busy.as_ref().unwrap();
    let large = warm(&task, busy, &design, 1.0).unwrap().unwrap();
    design.system = System::of(devices, &volume).unwrap();
    let full = warm(&task, busy, &design, 1.0).unwrap().unwrap();
    assert!(full.warmed.full && full.warmed.warm && !large.warmed.full, "{:?}, {:?}", full.warmed, large.warmed);
    assert!((0.42..0.52).contains(&full.hit_ratio) && large.hit_ratio > 0.99, "{}", full.hit_ratio);
    assert!(full.played.late.once_bytes == 0 && large.played.late.once_bytes > 0);
    let pages = |one: &WarmResults| one.played.late.pages;
    assert!(pages(&full) > 20.0 * pages(&large), "{} and {}", pages(&full), pages(&large));
}

/// Simulating every cheaper cache finds none that keeps the budgets: for `make soak`.
#[test]
fn of_caches_too_nothing_cheaper_keeps_the_budgets() {
    if esker_testkit::soak() == 1 {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut catalogue = small();
    catalogue.products.extend(crate::builtin_catalogue("current").unwrap().only(&["samsung-pm893"]).unwrap().products);
    let sizes = [240_000_000_000, 960_000_000_000, 7_680_000_000_000, 20_000_000_000_000];
    catalogue.products.iter_mut().for_each(|product| product.capacities.retain(|one| sizes.contains(&one.bytes.0)));
    let settings =
        StudySettings { catalogue, ..with_caches(&SyntheticWorkload { seconds: 120, ..WRITES }, folder.path()) };
    let tried = nothing_cheaper_keeps_the_budgets(&settings, 4);
    assert!(tried > 0, "the cheapest of all was chosen");
}
