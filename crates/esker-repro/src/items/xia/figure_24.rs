//! Xia 2017, figure 24: reads and writes by themselves.

use super::volumes::{OVERLAPPING, STAND_IN, VOLUMES, VolumeScale};
use super::write_modes::{COMPARED, LOAD, Measured, Scheme, State, all, bars, matrix};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-24",
    title: "Reads and writes, normal, AGCR and differentiated",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.4.2.2, figure 24",
    sections: &["5.4.2.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, VolumeScale::COMPARED)
}

pub(super) fn measure(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<ItemOutcome, ReproduceError> {
    let found = matrix(item, context, State::full(scale), (&all(), &COMPARED), LOAD)?;
    let mut claims = claims(item, &found);
    let schemes = [Scheme::Normal, Scheme::IdleNormal];
    let idle = matrix(item, context, State::full(scale), (&all(), &schemes), LOAD)?;
    claims.extend(idle_normal(item, &idle));
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    let figures = vec![
        bars("Xia's figure 24a: mean response of writes", &found, |run| run.write_us),
        bars("Xia's figure 24b: mean response of reads", &found, |run| run.read_us),
    ];
    Ok(ItemOutcome { claims, figures })
}

/// By how many percent writes, and reads, are shorter under a scheme than on the normal drive.
fn writes(runs: &[Measured], scheme: usize) -> f64 {
    100.0 * (1.0 - runs[scheme].write_us / runs[0].write_us)
}

fn reads(runs: &[Measured], scheme: usize) -> f64 {
    100.0 * (1.0 - runs[scheme].read_us / runs[0].read_us)
}

fn mean(found: &[Vec<Measured>], of: impl Fn(&[Measured]) -> f64) -> f64 {
    found.iter().map(|runs| of(runs)).sum::<f64>() / found.len() as f64
}

/// The place of AGCR and of the paper's own scheme in [`COMPARED`].
const AGCR: usize = 1;
const OWN: usize = 2;
/// The place of src0 in [`VOLUMES`], whose reads overlap with writes.
const SRC0: usize = 7;

/// What the text says of the figure, of the runs of all volumes under [`COMPARED`].
pub(super) fn claims(item: &Item, found: &[Vec<Measured>]) -> Vec<Claim> {
    let mut claims = of_volumes(item, found);
    claims.extend(of_agcr(item, found));
    let majority = (VOLUMES.len() / 2 + 1) as f64;
    let reason = "8 of 15: \"more than 40 % reduction for most of the workloads\", of both schemes";
    for (name, scheme) in [("AGCR", AGCR), ("differentiated", OWN)] {
        let count = found.iter().filter(|runs| writes(runs, scheme) > 40.0).count();
        let claim = format!("{name}: volumes with writes more than 40 % shorter than normal");
        claims.push(Claim::at_least(item.name, &claim, majority, count as f64, reason));
    }
    let reason = "section 5.5; 10 points";
    for (what, published, measured) in
        [("writes", 48.0, mean(found, |runs| writes(runs, OWN))), ("reads", 11.0, mean(found, |runs| reads(runs, OWN)))]
    {
        let claim = format!("{what} shorter than normal, percent, mean over the volumes");
        claims.push(Claim::percent(item.name, &claim, published, measured, reason));
    }
    let reason = "section 5.5; 4 points, so that the sign is tested";
    for (what, published, measured) in [
        ("writes", 4.0, mean(found, |runs| writes(runs, OWN) - writes(runs, AGCR))),
        ("reads", 11.0, mean(found, |runs| reads(runs, OWN) - reads(runs, AGCR))),
    ] {
        let claim = format!("{what} shorter than normal, points more than with AGCR, mean over the volumes");
        claims.push(Claim::within_absolute(item.name, &claim, published, measured, 4.0, reason));
    }
    claims
}

/// The paper's own scheme on each volume.
fn of_volumes(item: &Item, found: &[Vec<Measured>]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (volume, (row, runs)) in VOLUMES.iter().zip(found).enumerate() {
        let claim = format!("{}: writes shorter than normal, percent", row.name);
        claims.push(Claim::beside(item.name, &claim, writes(runs, OWN), "the bars are not in the text"));
        let claim = format!("{}: reads shorter than normal, percent", row.name);
        claims.push(match volume {
            0 | 1 => {
                let reason = "40: \"improve the read performance by more than 40 % for ... Financial1 and hm0\"";
                Claim::at_least(item.name, &claim, 40.0, reads(runs, OWN), reason)
            }
            SRC0 => {
                let reason = "0: \"the read performance can be boosted\"";
                Claim::at_least(item.name, &claim, 0.0, reads(runs, OWN), reason)
            }
            _ => Claim::beside(item.name, &claim, reads(runs, OWN), "the bars are not in the text"),
        });
    }
    let others = |volume: &usize| *volume > OVERLAPPING[1] && *volume != SRC0;
    let same = (0..VOLUMES.len()).filter(others).filter(|&volume| reads(&found[volume], OWN).abs() <= 5.0).count();
    let reason = "\"can still maintain the same performance for majority of the workloads\": 8 of 15; 5 % for \"the \
                  same\", whether shorter or longer";
    let claim = "volumes with reads within 5 % of the normal ones, without Financial1, hm0 and src0";
    claims.push(Claim::at_least(item.name, claim, 8.0, same as f64, reason));
    claims
}

/// What the text says of AGCR's reads.
fn of_agcr(item: &Item, found: &[Vec<Measured>]) -> Vec<Claim> {
    let gain = [0, 1, SRC0];
    let reason = "0: \"except Financial1, hm0, and src0 which can benefit\"";
    let mut claims: Vec<Claim> = gain
        .into_iter()
        .map(|volume| {
            let claim = format!("{}: reads shorter than normal with AGCR, percent", VOLUMES[volume].name);
            Claim::at_least(item.name, &claim, 0.0, reads(&found[volume], AGCR), reason)
        })
        .collect();
    let worse = (0..VOLUMES.len()).filter(|volume| !gain.contains(volume) && reads(&found[*volume], AGCR) < 0.0);
    let reason = "7 of the other 12: \"most of the workloads shows worse read performance even compared with the \
                  normal scheme\"";
    let claim = "volumes with reads longer than normal with AGCR, of those without Financial1, hm0 and src0";
    claims.push(Claim::at_least(item.name, claim, 7.0, worse.count() as f64, reason));
    claims
}

/// Claims for the other reading of how cleaning copies pages that were neither read nor written lately: `found` has the
/// normal drive and [`Scheme::IdleNormal`].
fn idle_normal(item: &Item, found: &[Vec<Measured>]) -> Vec<Claim> {
    let reason = "section 5.5; 10 points. Section 5.3.3 leaves open how such pages are copied";
    let of =
        [("writes", 48.0, mean(found, |runs| writes(runs, 1))), ("reads", 11.0, mean(found, |runs| reads(runs, 1)))];
    let claim = |(what, published, measured): (&str, f64, f64)| {
        let claim = format!("{what} shorter than normal, percent, mean, with idle pages copied in the normal mode");
        Claim::percent(item.name, &claim, published, measured, reason)
    };
    of.into_iter().map(claim).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::few;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = few(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (43, 2));
    }

    /// Reads that are much shorter are not "the same".
    #[test]
    fn shorter_reads_are_not_the_same_reads() {
        let runs = |read_us: f64| {
            let run = |read_us| Measured { read_us, write_us: 1.0, all_us: 1.0, ..Measured::default() };
            vec![run(100.0), run(100.0), run(read_us)]
        };
        let holds = |read_us| {
            let found: Vec<Vec<Measured>> = VOLUMES.iter().map(|_| runs(read_us)).collect();
            let claims = of_volumes(&ITEM, &found);
            claims.last().unwrap().verdict == crate::ClaimVerdict::Met
        };
        assert_eq!([40.0, 96.0, 104.0, 140.0].map(holds), [false, true, true, false]);
    }
}
