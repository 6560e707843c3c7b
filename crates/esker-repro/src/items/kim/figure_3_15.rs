//! Kim 2009, figure 3.15: a hundred requests one by one, on FAST and on DFTL, while the load rises.
//!
//! The paper shows requests 4,920 to 5,020 of Financial, where its arrivals become intense. For this, the stand-in's
//! arrivals come in bursts. The hundred requests are those around the steepest rise of the load, for both layers the
//! same.

use super::drive::{Served, Setup, StandInRun, simulate};
use super::workload::{FINANCIAL, StandIn, bursty};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.15",
    title: "A hundred requests on FAST and DFTL where load rises",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.4, figure 3.15",
    sections: &["3.5.4"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const WINDOW: usize = 100;
const STAND_IN: &str = "a synthetic workload by table 3.3 for the Financial trace, its arrivals in bursts";

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let workload = StandIn { requests: 20_000, arrivals: bursty(74_906, 500, 10_000), ..FINANCIAL.clone() };
    let workload = workload.shortened(part);
    let fast = simulate(item, context, &Setup::new(&workload, "FAST", (0, 2)))?;
    let dftl = simulate(item, context, &Setup::new(&workload, "DFTL", (1, 2)))?;
    let from = steepest(&fast.served);
    let windows = [("FAST", window(&fast, from)), ("DFTL", window(&dftl, from))];
    let most = |window: &[Served], of: fn(&Served) -> u64| window.iter().map(of).max().unwrap_or(0) as f64 / 1e6;
    let order = |of: fn(&Served) -> u64| windows.map(|(layer, window)| (layer, most(window, of)));
    let mean = |window: &[Served]| {
        window.iter().map(|served| (served.queued + served.device) as f64).sum::<f64>()
            / window.len().max(1) as f64
            / 1e6
    };
    let (text, long) = ("section 3.5.4", 10e6);
    // Requests that are served quickly but late, because of the requests before them.
    let held_up =
        windows[0].1.iter().filter(|served| served.queued as f64 > long && (served.device as f64) < long / 4.0).count();
    let claims = vec![
        Claim::descending(item.name, "longest device time, ms: FAST > DFTL", &order(|served| served.device), text),
        Claim::descending(
            item.name,
            "longest wait in the driver, ms: FAST > DFTL",
            &order(|served| served.queued),
            text,
        ),
        Claim::beside(
            item.name,
            "FAST: requests in the window that waited over 10 ms and took less than 2.5 ms themselves",
            held_up as f64,
            "section 3.5.4 shows B and D, held up by the full merges of A and C",
        ),
        Claim::beside(item.name, "FAST: mean response in the window, ms", mean(windows[0].1), "not in the text"),
        Claim::beside(item.name, "DFTL: mean response in the window, ms", mean(windows[1].1), "not in the text"),
        Claim::none(item.name, "DFTL: full merges", dftl.flash.merges.full as f64, text),
    ];
    let figures = windows.map(|(layer, window)| Figure {
        title: format!("Figure 3.15: {layer}"),
        note: "Each request's time in the drive, and before it in the driver's queue. The workload is a stand-in."
            .into(),
        x: Axis::linear("request"),
        y: Axis::linear("ms"),
        curves: vec![
            drawn("device", window, from, |served| served.device),
            drawn("queue", window, from, |served| served.queued),
        ],
    });
    Ok(ItemOutcome {
        claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(),
        figures: figures.into(),
    })
}

fn drawn(name: &str, window: &[Served], from: usize, of: fn(&Served) -> u64) -> Curve {
    Curve::measured(name, window.iter().enumerate().map(|(at, served)| ((from + at) as f64, of(served) as f64 / 1e6)))
}

fn window(run: &StandInRun, from: usize) -> &[Served] {
    &run.served[from.min(run.served.len())..(from + WINDOW).min(run.served.len())]
}

/// Index of the first of the hundred requests whose second half arrives fastest compared to the first half.
fn steepest(served: &[Served]) -> usize {
    let half = WINDOW / 2;
    let steepness = |from: usize| {
        let at = |index: usize| served[from + index].arrival as f64;
        (at(half) - at(0)) / (at(WINDOW - 1) - at(half)).max(1.0)
    };
    let starts = 0..served.len().saturating_sub(WINDOW);
    starts.max_by(|&left, &right| steepness(left).total_cmp(&steepness(right))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use esker_core::{Bytes, Lba, Request};

    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.02);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (6, 4));
    }

    #[test]
    fn the_window_has_the_change_in_its_middle() {
        let mut at = 0;
        let served: Vec<Served> = (0..400)
            .map(|index| {
                at += if (200..260).contains(&index) { 10 } else { 1_000 };
                Served { request: Request::read(Lba(0), Bytes(512)), arrival: at, queued: 0, device: 1 }
            })
            .collect();
        assert!((148..=151).contains(&steepest(&served)), "{}", steepest(&served));
        assert_eq!(steepest(&served[..50]), 0);
    }
}
