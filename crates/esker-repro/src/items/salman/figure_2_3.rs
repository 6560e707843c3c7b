//! Salman 2017, figure 2.3: how uneven erases are under MSR and YCSB loads.

use super::cluster::{Case, Found, Requests, Runs, Scale, mean};
use super::loads::{USR, stand_in};
use super::schemes::BASELINE;
use super::ycsb::CORES;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-2.3",
    title: "Erases by server under MSR and YCSB loads",
    source: "Salman, thesis, 2017, section 2.1.3, figure 2.3",
    sections: &["2.1.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, 2 + CORES.len());
    let (mut claims, mut curves) = (Vec::new(), Vec::new());
    let loads = [Requests::Of(USR), Requests::Of(0)].into_iter().chain((0..CORES.len()).map(Requests::Ycsb));
    for load in loads {
        let found = runs.run(&Case { load, ..Case::of(USR, BASELINE, scale) })?;
        let name = load.name();
        curves.push(by_server(name, &found));
        match load {
            Requests::Ycsb(core) if CORES[core].writes() < 50 => {
                let reason = "it writes so little that few blocks have to be cleaned";
                let claim = format!("{name}: erases of a server, mean");
                claims.push(Claim::beside(item.name, &claim, mean(&found.erases), reason));
            }
            _ => claims.push(most_over_mean(item, name, &found)),
        }
    }
    claims.push(Claim::unreachable(item.name, "hm: erases by server", None, "table 7.1 has no column of hm_0"));
    let stand_in = format!("{}; A to F by their definitions, with records of 44 KiB", stand_in(context));
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(&stand_in)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure("Figure 2.3: erases by server without balancing", curves)] })
}

/// "The erase count is severely imbalanced".
pub(super) fn most_over_mean(item: &Item, load: &str, found: &Found) -> Claim {
    let most = found.erases.iter().copied().fold(0.0, f64::max);
    let claim = format!("{load}: erases of the server with most, over the mean");
    let reason = "\"severely imbalanced\", which was taken for half as many again";
    Claim::at_least(item.name, &claim, 1.5, most / mean(&found.erases), reason)
}

/// Erases of servers, most first.
pub(super) fn by_server(name: &str, found: &Found) -> Curve {
    let mut erases = found.erases.clone();
    erases.sort_by(|one, two| two.total_cmp(one));
    Curve::measured(name, (1..).map(f64::from).zip(erases))
}

pub(super) fn figure(title: &str, curves: Vec<Curve>) -> Figure {
    Figure {
        title: title.into(),
        note: "Servers by their erases. The values of the thesis's figure are not in the text.".into(),
        x: Axis::linear("servers, most erased first"),
        y: Axis::linear("erases"),
        curves,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (9, 1));
    }
}
