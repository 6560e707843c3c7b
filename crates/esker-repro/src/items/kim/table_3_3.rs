//! Kim 2009, table 3.3: the workloads of chapter 3, and the stand-ins for them.

use esker_core::{Arrival, Bytes, Request, RequestKind};

use super::workload::{CELLO, FINANCIAL, StandIn, TPC_H, WEB_SEARCH};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-3.3",
    title: "Workloads of chapter 3 and what the stand-ins for them are like",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5, table 3.3",
    sections: &["3.5"],
    run,
};

/// A row of the table.
struct Row {
    stand_in: &'static StandIn,
    size_kb: f64,
    reads_percent: f64,
    sequential_percent: f64,
    gap_ms: f64,
}

static ROWS: [Row; 4] = [
    row(&FINANCIAL, [4.38, 9.0, 2.0, 133.50]),
    row(&CELLO, [5.03, 35.0, 1.0, 41.01]),
    row(&TPC_H, [12.82, 95.0, 18.0, 155.56]),
    row(&WEB_SEARCH, [14.86, 99.0, 14.0, 9.97]),
];

const fn row(stand_in: &'static StandIn, values: [f64; 4]) -> Row {
    let [size_kb, reads_percent, sequential_percent, gap_ms] = values;
    Row { stand_in, size_kb, reads_percent, sequential_percent, gap_ms }
}

const GIVEN: &str = "the generator is given it";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for row in &ROWS {
        let found = Measured::of(row.stand_in, context.seed);
        let name = |what: &str| format!("{}: {what}", row.stand_in.name);
        let relative = |what: &str, published: f64, measured: f64, tolerance: f64, reason: &str| {
            Claim::within(item.name, &name(what), published, measured, tolerance, reason)
        };
        let points = |what: &str, published: f64, measured: f64| {
            Claim::within_absolute(item.name, &name(what), published, measured, 0.5, "table 3.3; its last digit")
        };
        let whole_pages = "table 3.3; 1 %: sizes are whole pages";
        let bursts = "table 3.3; 6 %: arrivals come in bursts, of which a run has so many";
        claims.extend(
            [
                relative("mean request, KB", row.size_kb, found.size_kb, 0.01, whole_pages),
                points("reads, percent", row.reads_percent, found.reads_percent),
                points("sequential, percent", row.sequential_percent, found.sequential_percent),
                relative("mean gap, ms", row.gap_ms, found.gap_ms, 0.06, bursts),
            ]
            .map(|claim| claim.by_construction(GIVEN)),
        );
    }
    Ok(claims.into())
}

/// What the requests of a stand-in are like.
struct Measured {
    size_kb: f64,
    reads_percent: f64,
    sequential_percent: f64,
    gap_ms: f64,
}

impl Measured {
    fn of(stand_in: &StandIn, seed: u64) -> Self {
        let all: Vec<Arrival> = StandIn { warm_up: 0, ..stand_in.clone() }.arrivals(seed).collect();
        let requests = all.len() as f64;
        let bytes: u64 = all.iter().map(|arrival| arrival.request.length.0).sum();
        let reads = all.iter().filter(|arrival| arrival.request.kind == RequestKind::Read).count();
        let follows = all.windows(2).filter(|pair| end(&pair[0].request) == pair[1].request.start.0).count();
        Self {
            size_kb: bytes as f64 / requests / 1024.0,
            reads_percent: 100.0 * reads as f64 / requests,
            sequential_percent: 100.0 * follows as f64 / requests,
            gap_ms: all.last().map_or(0.0, |last| last.at.0 as f64) / 1e6 / requests,
        }
    }
}

fn end(request: &Request) -> u64 {
    request.start.0 + request.length.0 / Bytes::SECTOR.0
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn every_stand_in_follows_its_row() {
        let outcome = outcome(&ITEM, run);
        let derived = outcome.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Derived).count();
        assert_eq!((outcome.claims.len(), derived), (16, 16), "{:#?}", outcome.claims);
    }
}
