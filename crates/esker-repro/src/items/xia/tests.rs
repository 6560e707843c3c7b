//! What the tests of all items share.

use std::sync::atomic::{AtomicBool, Ordering};

use super::workloads::Scale;
use crate::{ClaimVerdict, Context, Item, ItemOutcome, ReproduceError};

type Measure = fn(&Item, &Context<'_>, Scale) -> Result<ItemOutcome, ReproduceError>;

/// The outcome of `run` with seed 1.
pub(super) fn outcome(run: impl Fn(&Context<'_>) -> Result<ItemOutcome, ReproduceError>) -> ItemOutcome {
    let cancel = AtomicBool::new(false);
    let progress = |share: f64| assert!((0.0..=1.0).contains(&share));
    run(&Context { seed: 1, traces: None, progress: &progress, cancel: &cancel }).unwrap()
}

/// The outcome of `measure` on caches of a 64th and few requests. Asserts that every claim belongs to the item and is
/// one on stand-ins, that every figure has points, and that the run can be stopped.
pub(super) fn short(item: &Item, measure: Measure) -> ItemOutcome {
    let scale = Scale { part: 64, fewer: 8 };
    let outcome = outcome(|context| measure(item, context, scale));
    for claim in &outcome.claims {
        let allowed = [ClaimVerdict::StandIn, ClaimVerdict::Unreachable, ClaimVerdict::Derived];
        assert!(claim.item == item.name && allowed.contains(&claim.verdict), "{claim:?}");
        assert!(!claim.reason.is_empty(), "{}", claim.claim);
    }
    for figure in &outcome.figures {
        let finite = |curve: &crate::Curve| curve.points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
        assert!(figure.curves.iter().all(|curve| !curve.points.is_empty() && finite(curve)), "{}", figure.title);
    }
    let cancel = AtomicBool::new(false);
    let context = Context { seed: 2, traces: None, progress: &|_| {}, cancel: &cancel };
    cancel.store(true, Ordering::Relaxed);
    assert!(matches!(measure(item, &context, scale), Err(ReproduceError::Cancelled)), "it can be stopped");
    outcome
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
