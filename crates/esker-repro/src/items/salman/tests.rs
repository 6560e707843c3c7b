//! What the tests of all items share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cluster::Scale;
use crate::{ClaimVerdict, Context, Item, ItemOutcome, ReproduceError};

type Measure = fn(&Item, &Context<'_>, Scale) -> Result<ItemOutcome, ReproduceError>;

/// Few requests.
const FEW: Scale = Scale { fewer: 40, seed: 1 };

/// The outcome of `measure` on few requests.
pub(super) fn outcome(item: &Item, measure: Measure) -> ItemOutcome {
    let cancel = AtomicBool::new(false);
    let progress = |share: f64| assert!((0.0..=1.0).contains(&share));
    measure(item, &Context { seed: 1, traces: None, progress: &progress, cancel: &cancel, drives: Arc::default() }, FEW)
        .unwrap()
}

/// Runs an item in short. Asserts that its claims are its own and on stand-ins, and that every figure has points.
pub(super) fn short(item: &Item, measure: Measure) -> ItemOutcome {
    let outcome = outcome(item, measure);
    for claim in &outcome.claims {
        let allowed = [ClaimVerdict::StandIn, ClaimVerdict::Unreachable, ClaimVerdict::Derived, ClaimVerdict::Beside];
        assert!(claim.item == item.name && (allowed.contains(&claim.verdict) || claim.fitted), "{claim:?}");
        crate::items::check_claim(claim);
    }
    for figure in &outcome.figures {
        let finite = |curve: &crate::Curve| curve.points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
        assert!(figure.curves.iter().all(|curve| !curve.points.is_empty() && finite(curve)), "{}", figure.title);
    }
    outcome
}

#[test]
fn a_run_can_be_stopped() {
    let cancel = AtomicBool::new(false);
    cancel.store(true, Ordering::Relaxed);
    let context = Context { seed: 2, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
    // A scale and a seed of its own, so that no other test has left its results.
    let stopped = (super::figure_2_4::ITEM.run)(&super::figure_2_4::ITEM, &context);
    assert!(matches!(stopped, Err(ReproduceError::Cancelled)));
}

/// Prints the claims of the items whose names contain `ESKER_ITEM`, with their reasons.
#[test]
#[ignore = "for the documentation: minutes"]
#[expect(clippy::print_stdout, reason = "it prints a table")]
fn the_tables_of_the_documentation() {
    let wanted = std::env::var("ESKER_ITEM").unwrap_or_default();
    let cancel = AtomicBool::new(false);
    let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
    let items = crate::ITEMS.iter().filter(|item| item.name.starts_with("salman/") && item.name.contains(&wanted));
    for item in items {
        for claim in (item.run)(item, &context).unwrap().claims {
            let number = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.3}"));
            let (published, measured) = (number(claim.published), number(claim.measured));
            println!("{} | {} | {published} | {measured} | {}", item.name, claim.claim, claim.verdict_in_words());
            println!("    {}", claim.reason);
        }
    }
}
