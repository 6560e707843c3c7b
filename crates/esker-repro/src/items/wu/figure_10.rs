//! Wu 2011, figure 10: fixed splits between flash and a disk, for 2, 6 and 10 processes of dbench.

use super::pair::{INTEL_FILLED, Measured, Pair, Placed, Runs, STAND_IN, by_littles_law};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-10",
    title: "Fixed splits between flash and a disk",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.B (3.2), figure 10",
    sections: &["3.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const PROCESSES: [u32; 3] = [2, 6, 10];
/// Shares on flash, percent.
const SHARES: [u32; 9] = [0, 20, 40, 50, 60, 70, 80, 90, 100];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, part, PROCESSES.len() * SHARES.len() + 1);
    let filled = runs.run(Pair { flash: INTEL_FILLED, ..Pair::new("wu-dbench", Placed::Flash) })?;
    let mut found: Vec<Vec<Measured>> = Vec::new();
    for processes in PROCESSES {
        let pair = |percent| Pair { processes, ..Pair::new("wu-dbench", Placed::Split(percent)) };
        found.push(SHARES.iter().map(|&percent| runs.run(pair(percent))).collect::<Result<_, _>>()?);
    }
    let figure = |label: &str, of: fn(&Measured) -> f64| Figure {
        title: format!("Figure 10: {label}"),
        note: "The paper's curves are not in the text; what it says of them is held as claims.".into(),
        x: Axis::linear("share of the data on flash, percent"),
        y: Axis::linear(label),
        curves: PROCESSES.iter().zip(&found).map(|(processes, points)| curve(*processes, points, of)).collect(),
    };
    let figures =
        vec![figure("throughput, MB/s", |point| point.mb_per_s), figure("mean latency, ms", |point| point.latency_ms)];
    let mut claims = claims(item, &found);
    claims.push(Claim::beside(
        item.name,
        "10 processes: throughput of flash alone if the drive was only filled once, MB/s",
        filled.mb_per_s,
        "the state of the drive decides which of the two devices is the faster one; table V was fitted in the steady \
         state",
    ));
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

fn curve(processes: u32, points: &[Measured], of: fn(&Measured) -> f64) -> Curve {
    let points = SHARES.iter().zip(points).map(|(share, point)| (f64::from(*share), of(point)));
    Curve::measured(&format!("{processes} processes"), points)
}

/// Claims about the measurements by count of processes and share.
fn claims(item: &Item, found: &[Vec<Measured>]) -> Vec<Claim> {
    let best = |points: &[Measured], of: fn(&Measured) -> f64| -> f64 {
        let values = SHARES.iter().zip(points).map(|(share, point)| (*share, of(point)));
        let best = values.max_by(|one, other| one.1.total_cmp(&other.1));
        best.map_or(f64::NAN, |(share, _)| f64::from(share))
    };
    let reason =
        "shares near the best one go in steps of 10 %, and neighbours of the best one are near it: a step to each side";
    let mut claims = Vec::new();
    for ((processes, points), (throughput, latency)) in
        PROCESSES.iter().zip(found).zip([(100.0, 100.0), (100.0, 100.0), (80.0, 70.0)])
    {
        let within = |what: &str, published: f64, measured: f64| {
            let claim = format!("{processes} processes: share on flash with {what}, percent");
            Claim::within_absolute(item.name, &claim, published, measured, 10.0, reason)
        };
        claims.push(within("most throughput", throughput, best(points, |point| point.mb_per_s)));
        claims.push(by_littles_law(within("least latency", latency, best(points, |point| -point.latency_ms))));
    }
    claims.push(Claim::unreachable(
        item.name,
        "throughput of flash alone at its peak, MB/s",
        Some(620.0),
        "dbench counts file data, most of which never reach a device: at 620 MB/s the drive would read more than twice \
         what it can",
    ));
    claims
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len(), outcome.figures[0].curves.len()), (8, 2, 3));
    }

    #[test]
    fn the_best_share_is_that_with_most_throughput() {
        let point = |mb_per_s: f64| Measured { mb_per_s, latency_ms: 1.0 / mb_per_s, ..Measured::default() };
        let points: Vec<Measured> =
            SHARES.iter().map(|&share| point(100.0 - (f64::from(share) - 78.0).abs())).collect();
        let claims = claims(&ITEM, &[points.clone(), points.clone(), points]);
        assert_eq!(claims.iter().map(|claim| claim.measured).collect::<Vec<_>>()[4..6], [Some(80.0); 2]);
        assert_eq!(claims[4].verdict, crate::ClaimVerdict::Met);
        assert_eq!(claims[0].verdict, crate::ClaimVerdict::Missed);
    }
}
