//! Agrawal 2008, section 2.2: the throughput of one flash package, with and without interleaving.
//!
//! The section uses 100 us for the transfer of a page; with 25 ns a byte (table 1), 4,096 + 128 bytes take 105.6 us. So
//! its rates are up to 5.3 % above those of a package with the times of table 1, which is simulated here.

use esker_core::{Precondition, Ratio};
use esker_flash::{ArrayLevel, MultiPlane, SsdSettings, Stripe, WriteFrontiers};

use super::drives::PRESET;
use super::micro::{AccessKind, MicroBenchmark, request};
use crate::drive::Drive;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/package",
    title: "What one package delivers, with and without interleaving",
    source: "Agrawal et al., USENIX ATC 2008, section 2.2 (text)",
    sections: &["2.2"],
    run,
};

/// A package of two dies with four planes each, with an active block per plane.
fn package() -> Drive {
    Drive::preset(PRESET).changed(|ssd| {
        ssd.write_frontiers = WriteFrontiers::Plane;
        ssd.array.stripe = Stripe(vec![ArrayLevel::Plane, ArrayLevel::Die, ArrayLevel::Package, ArrayLevel::Channel]);
        ssd.geometry.channels = 1;
        ssd.geometry.packages_per_channel = 1;
        ssd.geometry.dies_per_package = 2;
        ssd.geometry.planes_per_die = 4;
        ssd.geometry.blocks_per_plane = 128;
    })
}

/// Makes the eight planes of a package do one thing at a time.
fn not_interleaved(ssd: &mut SsdSettings) {
    ssd.geometry.dies_per_package = 1;
    ssd.geometry.planes_per_die = 8;
}

fn in_pairs(ssd: &mut SsdSettings) {
    ssd.array.multi_plane = MultiPlane::Pairs;
}

fn as_it_is(_: &mut SsdSettings) {}

const REQUESTS: u64 = 20_000;

/// A rate of the section: the claim, pages per second, the requests, the settings, and how many requests are under way.
struct Rate {
    claim: &'static str,
    published: f64,
    kind: AccessKind,
    change: fn(&mut SsdSettings),
    depth: u64,
}

const RATES: [Rate; 4] = [
    Rate {
        claim: "reads without interleaving, pages per second",
        published: 8_000.0,
        kind: AccessKind::Read,
        change: not_interleaved,
        depth: 1,
    },
    Rate {
        claim: "reads that sense during other transfers, pages per second",
        published: 10_000.0,
        kind: AccessKind::Read,
        change: as_it_is,
        depth: 8,
    },
    Rate {
        claim: "writes without interleaving, pages per second",
        published: 3_330.0,
        kind: AccessKind::Write,
        change: not_interleaved,
        depth: 1,
    },
    Rate {
        claim: "writes with dies and pairs of planes interleaved, pages per second",
        published: 10_000.0,
        kind: AccessKind::Write,
        change: in_pairs,
        depth: 32,
    },
];

const ROUNDED: &str = "the section takes 100 us for a transfer of 105.6 us";
const DOUBLES: &str =
    "\"interleaving the serial transfer time and the program operation doubles the overall bandwidth\": two dies";
const COPIES: &str = "no command of a drive copies pages from package to package; cleaning copies within a pool, one \
                      victim after the other. By table 1 the transfers alone take 105.6 us a page";
const COPY_BACKS: &str =
    "no command of a drive asks for copy-backs alone; by table 1 two planes at once take (25 + 200) / 2 us a page";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    let mut alone = f64::NAN;
    for (index, rate) in RATES.iter().enumerate() {
        let found = measure(item, context, rate.kind, rate.change, rate.depth)?;
        claims.push(Claim::within(item.name, rate.claim, rate.published, found, 0.06, ROUNDED));
        if matches!(rate.kind, AccessKind::Write) && rate.depth == 1 {
            alone = found;
        }
        (context.progress)((index + 1) as f64 / (RATES.len() + 1) as f64);
    }
    let two_dies = measure(item, context, AccessKind::Write, as_it_is, 8)?;
    let claim = "writes with two dies interleaved over those without";
    claims.push(Claim::within(item.name, claim, 2.0, two_dies / alone, 0.06, DOUBLES));
    let claim = "page copies between two packages, fully interleaved, us a page";
    claims.push(Claim::unreachable(item.name, claim, Some(100.0), COPIES));
    let claim = "two copy-backs at once on different planes, us a page";
    claims.push(Claim::unreachable(item.name, claim, Some(100.0), COPY_BACKS));
    (context.progress)(1.0);
    Ok(claims.into())
}

/// Measures sequential requests, in pages per second.
fn measure(
    item: &Item,
    context: &Context<'_>,
    kind: AccessKind,
    change: fn(&mut SsdSettings),
    depth: u64,
) -> Result<f64, ReproduceError> {
    let work = MicroBenchmark { item, context, drive: &package().changed(change) };
    let condition = match kind {
        AccessKind::Read => Precondition::Filled { utilisation: Ratio::percent(80) },
        AccessKind::Write => Precondition::Empty,
    };
    let mut drive = work.drive(condition)?;
    Ok(work.measure(&mut *drive, (0..REQUESTS).map(|page| request(kind, page)), depth)?.rate)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::ClaimVerdict;

    /// The rates are sums of the times in table 1: 25 + 105.6 us, 105.6 us, 105.6 + 200 us.
    #[test]
    fn a_package_delivers_what_its_times_add_up_to() {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        let claims = run(&ITEM, &context).unwrap().claims;
        let rate = |index: usize| claims[index].measured.unwrap();
        for (index, us) in [(0, 130.6), (1, 105.6), (2, 305.6), (3, 105.6)] {
            assert!((rate(index) * us / 1e6 - 1.0).abs() < 0.01, "{}: {}", claims[index].claim, rate(index));
        }
        assert!((claims[4].measured.unwrap() - 2.0).abs() < 0.01);
        let missed = claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Missed).count();
        assert_eq!((claims.len(), missed), (7, 0));
    }
}
