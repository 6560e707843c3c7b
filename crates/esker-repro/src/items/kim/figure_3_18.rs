//! Kim 2009, figure 3.18: response time if fewer blocks are searched for a victim.
//!
//! The text does not give the cost of a search in processor and bus time, and it is not modelled. The number of
//! searched blocks stands for it.

use esker_flash::{ParameterValue, SsdSettings};

use super::drive::{Setup, simulate};
use super::workload::{FINANCIAL, StandIn};
use crate::drive::choice;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.18",
    title: "Searching a share of the blocks for a victim: response against effort",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.6, figure 3.18",
    sections: &["3.5.6"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// Share of the blocks that are searched, percent.
const SEARCHED: [u32; 7] = [0, 5, 10, 25, 50, 75, 100];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let workload = StandIn { requests: 150_000, ..FINANCIAL.clone() };
    let short = workload.shortened(part);
    let (mut response, mut copies, mut effort) = (Vec::new(), Vec::new(), Vec::new());
    for (index, percent) in SEARCHED.into_iter().enumerate() {
        let fraction = ParameterValue::Text(format!("{percent}%"));
        let victim = choice("search-fraction", [("fraction", fraction)]);
        let change = |ssd: &mut SsdSettings| ssd.cleaning.victim = victim.clone();
        let setup = Setup { change: &change, ..Setup::new(&short, "DFTL", (index, SEARCHED.len())) };
        let run = simulate(item, context, &setup)?;
        let share = f64::from(percent) / 100.0;
        response.push((share, run.response_ms()));
        let victims = run.flash.erases.max(1) as f64;
        copies.push((share, run.flash.programs.cleaning as f64 / victims));
        effort.push((share, share));
    }
    let full = response[SEARCHED.len() - 1].1;
    let normalised: Vec<(f64, f64)> = response.iter().map(|(share, ms)| (*share, ms / full)).collect();
    let at = |percent: u32| {
        SEARCHED.iter().position(|searched| *searched == percent).map_or(f64::NAN, |index| normalised[index].1)
    };
    let claims = vec![
        Claim::descending(
            item.name,
            "response, over that of a full search: random victim > a tenth searched > a full search",
            &[("0 %", at(0)), ("10 %", at(10)), ("100 %", at(100))],
            "section 3.5.6: \"higher search operations decreases the response time\"",
        ),
        Claim::descending(
            item.name,
            "pages copied per erase: random victim > a full search",
            &[("0 %", copies[0].1), ("100 %", copies[SEARCHED.len() - 1].1)],
            "section 3.5.6: \"blocks with fewer valid pages require fewer copy operations\"",
        ),
        Claim::beside(
            item.name,
            "response with a random victim, over that of a full search",
            at(0),
            "section 3.5.6: \"slightly\" higher, without a value",
        ),
    ];
    let mut claims: Vec<Claim> = claims.into_iter().map(|claim| claim.on_stand_in(FINANCIAL.stand_in)).collect();
    claims.push(Claim::unreachable(
        item.name,
        "energy of the search",
        None,
        "neither the text nor the model says what a processor takes to look at a block; the share of blocks is shown \
        instead",
    ));
    let figure = Figure {
        title: "Figure 3.18: DFTL's response against the share of blocks searched, Financial".into(),
        note: "The paper's curves are not in the text. The search is the share of blocks that are looked at. The \
            workload is a stand-in."
            .into(),
        x: Axis::linear("share of blocks searched"),
        y: Axis::linear("over that of a full search"),
        curves: vec![Curve::measured("mean response", normalised), Curve::measured("blocks searched", effort)],
    };
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.02);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (4, 2));
    }
}
