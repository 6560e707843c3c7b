//! Agrawal 2008, table 3: microbenchmarks of 4 KiB requests on the baseline drive.
//!
//! The latency is that of one request at a time. The rate is that of eight packages, each kept busy with one request,
//! which matches the published pairs (8 / 130.6 us = 61,255 per second).
//!
//! The text does not give the range and the length of the rows with cleaning. The protocol here is derived, not fitted:
//! the drive is filled in address order, then 5,000,000 pages are written, one at a time, over the first eighth of the
//! host's space. Other protocols are shown for comparison, to see how much the random row depends on either number.

use esker_core::{Precondition, Ratio, Rng};

use super::drives;
use super::micro::{AccessKind, MicroBenchmark, MicroResult, Order, PAGE, request};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/table-3",
    title: "Latency and rate of 4 KiB reads and writes, with and without cleaning",
    source: "Agrawal et al., USENIX ATC 2008, section 4.2, table 3",
    sections: &["4.2"],
    run,
};

/// Requests of the rows without cleaning.
const PLAIN_REQUESTS: u64 = 200_000;
/// Requests of the rows with cleaning.
const CLEANING_REQUESTS: u64 = 5_000_000;
/// The rows with cleaning write one part in this many of the host's space.
const RANGE_DIVISOR: u64 = 8;
/// Other ranges and lengths, to show the influence of the derived ones.
const OTHER_PROTOCOLS: [(u64, u64); 4] = [(4, 5_000_000), (16, 5_000_000), (8, 2_000_000), (8, 10_000_000)];
/// Parts of the whole work, weighted by their duration.
const STEPS: f64 = 7.0 + OTHER_PROTOCOLS.len() as f64;
const PACKAGES: u64 = 8;

const EXACT: &str = "sums of the times in table 1; the paper's figures are rounded";
const INFERRED: &str = "range and length are not in the text: filled in address order, then 5,000,000 writes over the \
    first eighth, one at a time";

const SAME: &str = "section 4.2: in a fully connected drive sequential and random requests have equivalent latencies";
const FROM_LATENCY: &str = "eight over the latency above, as the published pairs are related";
const UNEVEN: &str = "eight requests at random addresses, of which some meet on a package while others idle; the table \
                      does not say in which order its requests go";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let drive = drives::common().changed(|ssd| ssd.queue_depth = 64);
    let work = &MicroBenchmark { item, context, drive: &drive };
    let step = |done: f64| (context.progress)(done / STEPS);
    step(0.0);
    let mut claims = without_cleaning(work)?;
    step(2.0);
    let sequential = cleaning(work, Order::Sequential, RANGE_DIVISOR, CLEANING_REQUESTS)?;
    step(3.0);
    let random = cleaning(work, Order::Random, RANGE_DIVISOR, CLEANING_REQUESTS)?;
    step(4.0);
    for (name, published, measured) in
        [("sequential", (327.0, 24_457.0), &sequential), ("random", (433.0, 18_480.0), &random)]
    {
        let claim = format!("{name} writes with cleaning: latency, us");
        claims.push(Claim::within(item.name, &claim, published.0, measured.mean_us, 0.05, INFERRED));
        let rate = PACKAGES as f64 / measured.mean_us * 1e6;
        let claim = format!("{name} writes with cleaning: rate, per second");
        claims.push(Claim::within(item.name, &claim, published.1, rate, 0.05, INFERRED).by_construction(FROM_LATENCY));
    }
    claims.push(Claim::beside(
        item.name,
        "pages moved per victim, random writes over an eighth",
        random.flash.programs.cleaning as f64 / random.flash.erases.max(1) as f64,
        "13.6 by the derivation of the protocol",
    ));
    for (index, (divisor, requests)) in OTHER_PROTOCOLS.into_iter().enumerate() {
        let other = cleaning(work, Order::Random, divisor, requests)?;
        step(5.0 + index as f64);
        let claim =
            format!("random writes with cleaning, {} million over 1/{divisor}: latency, us", requests / 1_000_000);
        claims.push(Claim::compared(
            item.name,
            &claim,
            433.0,
            other.mean_us,
            "how the row moves with the inferred numbers",
        ));
    }
    let whole = steady(work)?;
    step(STEPS);
    claims.push(Claim::beside(
        item.name,
        "random writes over the whole space in the steady state: latency, us",
        whole.mean_us,
        "shown beside: what a drive that is full and has been written at random for long does",
    ));
    Ok(claims.into())
}

/// Reads and writes with free space to spare, in both orders.
fn without_cleaning(work: &MicroBenchmark<'_>) -> Result<Vec<Claim>, ReproduceError> {
    let name = work.item.name;
    let mut claims = Vec::new();
    for (kind, what, latency_us, rate) in
        [(AccessKind::Read, "reads", 130.0, 61_255.0), (AccessKind::Write, "writes", 309.0, 25_898.0)]
    {
        let sequential = plain(work, kind, Order::Sequential, 1)?;
        let random = plain(work, kind, Order::Random, 1)?;
        let claim = |part: &str| format!("{what}: {part}");
        claims.extend([
            Claim::within(name, &claim("latency, us"), latency_us, sequential.mean_us, 0.01, EXACT),
            Claim::within(
                name,
                &claim("rate, per second"),
                rate,
                plain(work, kind, Order::Sequential, PACKAGES)?.rate,
                0.01,
                EXACT,
            ),
            Claim::within(name, &claim("latency at random addresses, us"), latency_us, random.mean_us, 0.01, EXACT),
            Claim::within(
                name,
                &claim("latency at random addresses over the sequential one"),
                1.0,
                random.mean_us / sequential.mean_us,
                0.01,
                SAME,
            ),
            Claim::compared(
                name,
                &claim("rate at random addresses, eight under way, per second"),
                rate,
                plain(work, kind, Order::Random, PACKAGES)?.rate,
                UNEVEN,
            ),
        ]);
    }
    Ok(claims)
}

/// Requests without cleaning. The pages that are read have data.
fn plain(work: &MicroBenchmark<'_>, kind: AccessKind, order: Order, depth: u64) -> Result<MicroResult, ReproduceError> {
    let condition = match kind {
        AccessKind::Read => Precondition::Filled { utilisation: Ratio::percent(10) },
        AccessKind::Write => Precondition::Empty,
    };
    let mut drive = work.drive(condition)?;
    let mut rng = Rng::derive(work.context.seed, "plain");
    let requests = (0..PLAIN_REQUESTS).map(move |index| match order {
        Order::Sequential => request(kind, index),
        Order::Random => request(kind, rng.below(PLAIN_REQUESTS)),
    });
    work.measure(&mut *drive, requests, depth)
}

/// Writes over a part of the space, one at a time, on a drive filled in address order.
fn cleaning(
    work: &MicroBenchmark<'_>,
    order: Order,
    divisor: u64,
    requests: u64,
) -> Result<MicroResult, ReproduceError> {
    let mut drive = work.drive(Precondition::Filled { utilisation: Ratio::ONE })?;
    let pages = drive.capacity().0 / PAGE.0 / divisor;
    let mut rng = Rng::derive(work.context.seed, work.item.name);
    let requests = (0..requests).map(move |index| match order {
        Order::Sequential => request(AccessKind::Write, index % pages),
        Order::Random => request(AccessKind::Write, rng.below(pages)),
    });
    work.measure(&mut *drive, requests, 1)
}

/// Random writes over the whole space, starting in the steady state.
fn steady(work: &MicroBenchmark<'_>) -> Result<MicroResult, ReproduceError> {
    let seed = work.context.seed;
    let mut drive = work.drive(Precondition::Steady { utilisation: Ratio::ONE, seed })?;
    let pages = drive.capacity().0 / PAGE.0;
    let mut rng = Rng::derive(seed, "steady");
    work.measure(&mut *drive, (0..1_000_000).map(move |_| request(AccessKind::Write, rng.below(pages))), 1)
}
