//! What the tests of all items share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_sim::CacheReply;

use super::caches::{Arrivals, Cache, LAYOUTS, Load, OpenBlocks, Runs, SHARES, SIZES};
use super::volumes::VolumeScale;
use super::workloads::{Scale, WEB_SEARCH_2};
use crate::{ClaimVerdict, Context, Item, ItemOutcome, ReproduceError};

type Measure = fn(&Item, &Context<'_>, Scale) -> Result<ItemOutcome, ReproduceError>;

/// The outcome of `run` with seed 1.
pub(super) fn outcome(run: impl Fn(&Context<'_>) -> Result<ItemOutcome, ReproduceError>) -> ItemOutcome {
    let cancel = AtomicBool::new(false);
    let progress = |share: f64| assert!((0.0..=1.0).contains(&share));
    run(&Context { seed: 1, traces: None, progress: &progress, cancel: &cancel, drives: Arc::default() }).unwrap()
}

/// The outcome of `measure` on caches of a 64th and few requests. Asserts that every claim belongs to the item and is
/// one on stand-ins, that every figure has points, and that the run can be stopped.
pub(super) fn short(item: &Item, measure: Measure) -> ItemOutcome {
    let scale = Scale { part: 64, fewer: 8 };
    let outcome = outcome(|context| measure(item, context, scale));
    for claim in &outcome.claims {
        let allowed = [ClaimVerdict::StandIn, ClaimVerdict::Unreachable, ClaimVerdict::Derived];
        assert!(claim.item == item.name && (allowed.contains(&claim.verdict) || claim.fitted), "{claim:?}");
        crate::items::check_claim(claim);
    }
    for figure in &outcome.figures {
        let finite = |curve: &crate::Curve| curve.points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
        assert!(figure.curves.iter().all(|curve| !curve.points.is_empty() && finite(curve)), "{}", figure.title);
    }
    let cancel = AtomicBool::new(false);
    let context = Context { seed: 2, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
    cancel.store(true, Ordering::Relaxed);
    assert!(matches!(measure(item, &context, scale), Err(ReproduceError::Cancelled)), "it can be stopped");
    outcome
}

/// The outcome of `measure` on drives of a 128th and few requests, of items on write modes. Asserts that every claim is
/// one on stand-ins, that figures have finite points, and that the run can be stopped.
pub(super) fn few(
    item: &Item,
    measure: fn(&Item, &Context<'_>, VolumeScale) -> Result<ItemOutcome, ReproduceError>,
) -> ItemOutcome {
    checked(item, |context| measure(item, context, VolumeScale { part: 128, fewer: 16 }))
}

fn checked(item: &Item, run: impl Fn(&Context<'_>) -> Result<ItemOutcome, ReproduceError>) -> ItemOutcome {
    let outcome = outcome(&run);
    for claim in &outcome.claims {
        let allowed = [ClaimVerdict::StandIn, ClaimVerdict::Unreachable, ClaimVerdict::Derived, ClaimVerdict::Beside];
        assert!(claim.item == item.name && (allowed.contains(&claim.verdict) || claim.fitted), "{claim:?}");
        crate::items::check_claim(claim);
    }
    for figure in &outcome.figures {
        let finite = |curve: &crate::Curve| curve.points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
        assert!(figure.curves.iter().all(|curve| !curve.points.is_empty() && finite(curve)), "{}", figure.title);
    }
    let cancel = AtomicBool::new(true);
    let context = Context { seed: 2, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
    assert!(matches!(run(&context), Err(ReproduceError::Cancelled)), "it can be stopped");
    outcome
}

/// The outcome of `measure` on write caches of an eighth. Asserts what [`few`] does.
pub(super) fn small(
    item: &Item,
    measure: fn(&Item, &Context<'_>, u32) -> Result<ItemOutcome, ReproduceError>,
) -> ItemOutcome {
    checked(item, |context| measure(item, context, 8))
}

/// Prints the claims of the items whose names contain `ESKER_ITEM`, for docs/reproduction.md.
#[test]
#[ignore = "for the documentation: minutes"]
#[expect(clippy::print_stdout, reason = "it prints a table")]
fn the_tables_of_the_documentation() {
    let wanted = std::env::var("ESKER_ITEM").unwrap_or_default();
    let items = crate::ITEMS.iter().filter(|item| item.name.starts_with("xia/") && item.name.contains(&wanted));
    for item in items {
        for claim in outcome(|context| (item.run)(item, context)).claims {
            let number = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.3}"));
            let (published, measured) = (number(claim.published), number(claim.measured));
            println!("{} | {} | {published} | {measured} | {:?}", item.name, claim.claim, claim.stand_in_holds);
            println!("    {}", claim.reason);
        }
    }
}

/// Prints response times on WebSearch2 for docs/host-managed-cache.md.
#[test]
#[ignore = "for the documentation: minutes"]
#[expect(clippy::print_stdout, reason = "it prints a table")]
fn the_response_times_of_the_documentation() {
    let replies = [("after-fill", CacheReply::AfterFill), ("after-fetch", CacheReply::AfterFetch)];
    outcome(|context| {
        let mut runs = Runs::new(&super::figure_9::ITEM, context, Scale::TIMED, usize::MAX);
        for (layout, open) in LAYOUTS {
            for (name, reply) in replies {
                let load = Load { reply, arrivals: Arrivals::PerSecond(335) };
                for (size, share) in SIZES.into_iter().flat_map(|size| SHARES.map(|share| (size, share))) {
                    print!("| {layout} | {name} | {size} GB | {share} % |");
                    for policy in ["lru", "flru"] {
                        let cache = Cache::new(size, share, policy).open(open);
                        for cache in [cache, cache.zero_migration()] {
                            print!(" {:.3} |", runs.timed_under(WEB_SEARCH_2, cache, load)?.mean_ms);
                        }
                    }
                    println!();
                }
            }
        }
        Ok(ItemOutcome::default())
    });
}

#[test]
fn a_run_in_time_is_the_same_on_two_threads_at_once() {
    let run = || {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        let mut runs = Runs::new(&super::figure_9::ITEM, &context, Scale { part: 64, fewer: 8 }, 1);
        let load = Load { reply: CacheReply::AfterFill, arrivals: Arrivals::PerSecond(335) };
        runs.timed_under(WEB_SEARCH_2, Cache::new(3, 25, "farc").zero_migration(), load).unwrap()
    };
    let (one, other) = std::thread::scope(|scope| {
        let (one, other) = (scope.spawn(run), scope.spawn(run));
        (one.join().unwrap(), other.join().unwrap())
    });
    assert_eq!(one, other);
    assert!(one.mean_ms > 0.5 && one.mean_ms < 20.0, "{one:?}");
}

/// What held when the items were written, on WebSearch2 at a 32nd.
#[test]
fn what_holds_on_web_search_2_stays_held() {
    let cancel = AtomicBool::new(false);
    let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
    let mut runs = Runs::new(&super::figure_6::ITEM, &context, Scale::TIMED, usize::MAX);
    let mut of = |cache: Cache| runs.counted(WEB_SEARCH_2, cache.open(OpenBlocks::One)).unwrap();
    let thousands = |erases: u64| erases as f64 * f64::from(Scale::TIMED.part) / 1e3;
    let [lru, flru, arc] = ["lru", "flru", "arc"].map(|policy| of(Cache::new(3, 15, policy)));
    assert!((lru.hit_ratio - 0.4187).abs() < 0.015 && (arc.hit_ratio - 0.504).abs() < 0.015, "{lru:?} {arc:?}");
    assert!(flru.hit_ratio - lru.hit_ratio > 0.05, "{flru:?}");
    assert!(flru.erases as f64 <= 0.9 * lru.erases as f64, "{flru:?}");
    assert!(thousands(arc.erases) > 400.0, "{arc:?}");
    let [lru, flru] = ["lru", "flru"].map(|policy| of(Cache::new(5, 35, policy)));
    assert!(flru.hit_ratio - lru.hit_ratio > 0.15, "{flru:?}");
    assert!(flru.erases as f64 <= 0.45 * lru.erases as f64, "{flru:?}");
    let zero_migration = of(Cache::new(5, 35, "flru").zero_migration());
    assert!(zero_migration.erases <= flru.erases, "{zero_migration:?}");
}
