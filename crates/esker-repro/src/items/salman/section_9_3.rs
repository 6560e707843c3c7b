//! Salman 2017, section 9.3: servers that fail at random.

use esker_core::Rng;

use super::cluster::{Case, EPOCHS, Found, Runs, SERVERS, Scale, deviation, mean};
use super::figure_2_3::{by_server, figure};
use super::loads::{STAND_IN, USR};
use super::schemes::SCHEMES;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/section-9.3",
    title: "Servers that fail at random: erases and response of writes",
    source: "Salman, thesis, 2017, section 9.3",
    sections: &["9.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

/// Servers that fail in a run.
const FAILURES: usize = 2;
/// Blocks of a package: drives twice as large, for two replicas.
const BLOCKS: u32 = 74;

/// Servers and epochs, drawn: one in each half of the run, each in the middle third of it.
fn failures(seed: u64) -> Vec<(u32, u64)> {
    let mut rng = Rng::derive(seed, "failures");
    let half = EPOCHS / FAILURES as u64;
    let first = rng.below(SERVERS.into()) as u32;
    let second = (first + 1 + rng.below(u64::from(SERVERS) - 1) as u32) % SERVERS;
    [first, second]
        .into_iter()
        .zip(0..)
        .map(|(server, at)| (server, at * half + half / 3 + rng.below(half / 3)))
        .collect()
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, 4);
    let (mut claims, mut curves) = (Vec::new(), Vec::new());
    for (name, balancer) in [SCHEMES[0], SCHEMES[2]] {
        let whole = Case { replicas: 2, blocks: BLOCKS, ..Case::of(USR, balancer, scale) };
        let failing = Case { failures: failures(scale.seed), ..whole.clone() };
        let (calm, found) = (runs.run(&whole)?, runs.run(&failing)?);
        let reason =
            "future work in the thesis, which has no values; two copies of each slice, two of fifty servers fail";
        let gone: Vec<usize> = failing.failures.iter().map(|(server, _)| *server as usize).collect();
        let left = |found: &Found| -> Vec<f64> {
            let all = found.erases.iter().enumerate();
            all.filter(|(server, _)| !gone.contains(server)).map(|(_, erases)| *erases).collect()
        };
        let (before, after) = (left(&calm), left(&found));
        let rebuilt = found.report.copies_lost as f64;
        let values = [
            ("sd of erases of the servers left, with failures over without", deviation(&after) / deviation(&before)),
            ("erases of the servers left, with failures over without", mean(&after) / mean(&before)),
            ("mean response of writes, with failures over without", found.write_response_ms / calm.write_response_ms),
            ("copies of slices that were lost", rebuilt),
        ];
        claims.extend(values.map(|(what, value)| Claim::beside(item.name, &format!("{name}: {what}"), value, reason)));
        // Moves that were begun, and lost copies, but are neither done nor refused.
        let report = &found.report;
        let open = (report.moves_begun + report.copies_lost).saturating_sub(report.moves_done);
        let claim = format!("{name}: moves and lost copies under way at the end");
        claims.push(Claim::beside(item.name, &claim, open as f64, reason));
        curves.extend([
            by_server(&format!("{name}, none fails"), &calm),
            by_server(&format!("{name}, two fail"), &found),
        ]);
    }
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure("Section 9.3: erases by server when two fail", curves)] })
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (10, 1));
    }
}
