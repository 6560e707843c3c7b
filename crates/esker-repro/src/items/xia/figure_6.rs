//! Xia 2017, figure 6 and section 2.5.2: erases of plain and of flash-aware caches.

use super::caches::{Cache, LAYOUTS, POLICIES, Runs, SHARES, SIZES};
use super::figure_4::{Matrix, NOTE, pairs};
use super::workloads::{STAND_IN, Scale, WEB_SEARCH_2};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-6",
    title: "Erases of LRU, FLRU, ARC and FARC",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 2.5.2, figure 6",
    sections: &["2.5.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale::COUNTED)
}

/// Thousands of erases at full size, by workload, share, size and policy.
fn erases(found: &Matrix, scale: Scale, at: (usize, usize, usize), policy: usize) -> f64 {
    let (workload, share, size) = at;
    found.at(workload, share, size, policy).erases as f64 * f64::from(scale.part) / 1e3
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, scale, LAYOUTS.len() * Matrix::RUNS);
    let (mut claims, mut figures) = (Vec::new(), Vec::new());
    for (layout, open) in LAYOUTS {
        let found = Matrix::of(&mut runs, |size, share, policy| Cache::new(size, share, policy).open(open))?;
        claims.extend(examples(item, &found, scale, layout));
        claims.extend(reductions(item, &found, scale, layout));
        figures.extend(SHARES.into_iter().enumerate().map(|(place, share)| Figure {
            title: format!("Xia's figure 6: erases on WebSearch2, over-provisioning {share} %, {layout}"),
            note: NOTE.into(),
            x: Axis::linear("size of the cache, GB"),
            y: Axis::linear("erases at full size, thousands"),
            curves: (0..POLICIES.len()).map(|policy| curve(&found, scale, place, policy)).collect(),
        }));
    }
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

fn curve(found: &Matrix, scale: Scale, share: usize, policy: usize) -> Curve {
    let points = SIZES
        .iter()
        .enumerate()
        .map(|(size, gigabytes)| (f64::from(*gigabytes), erases(found, scale, (WEB_SEARCH_2, share, size), policy)));
    Curve::measured(POLICIES[policy], points)
}

/// The example of section 2.5.2: WebSearch2 on 3 GB.
fn examples(item: &Item, found: &Matrix, scale: Scale, layout: &str) -> Vec<Claim> {
    let of = |policy| erases(found, scale, (WEB_SEARCH_2, 0, 0), policy);
    let claim = |policy: usize| {
        format!("{layout}: WebSearch2, 3 GB, OP 15 %: erases of {}, thousands", POLICIES[policy].to_uppercase())
    };
    vec![
        Claim::at_most(item.name, &claim(0), 300.0, of(0), "\"less than 300,000\""),
        Claim::at_least(item.name, &claim(2), 400.0, of(2), "\"more than 400,000\", though ARC hits more"),
    ]
}

fn reductions(item: &Item, found: &Matrix, scale: Scale, layout: &str) -> Vec<Claim> {
    let fewer = |workload, share, size, plain: usize| {
        let of = |policy| erases(found, scale, (workload, share, size), policy);
        100.0 * (1.0 - of(plain + 1) / of(plain))
    };
    let erasing = |share| pairs().filter(move |(workload, size)| found.all_erase(*workload, share, *size));
    let mut claims = Vec::new();
    for (plain, published) in [(0, 10.0), (2, 17.0)] {
        let all: Vec<f64> = erasing(0).map(|(workload, size)| fewer(workload, 0, size, plain)).collect();
        let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
        let name = POLICIES[plain + 1].to_uppercase();
        let claim = format!("{layout}: OP 15 %: erases that {name} saves in the mean, percent");
        claims.push(Claim::at_least(item.name, &claim, published, mean, "\"at least\" so many, \"about\", on average"));
    }
    let most = erasing(2).flat_map(|(workload, size)| [0, 2].map(|plain| fewer(workload, 2, size, plain)));
    let most = most.fold(f64::NEG_INFINITY, f64::max);
    let claim = format!("{layout}: OP 35 %: largest share of erases saved, percent");
    let reason = "\"nearly 72 %\": the best of forty bars; a sixth";
    claims.push(Claim::within(item.name, &claim, 72.0, most, 1.0 / 6.0, reason));
    let claim = format!("{layout}: OP 35 %, WebSearch2, 3 GB: erases that FLRU saves, percent");
    let reason = "the text has no value for this size alone";
    claims.push(Claim::beside(item.name, &claim, fewer(WEB_SEARCH_2, 2, 0, 0), reason));
    for (policy, name) in POLICIES.into_iter().enumerate() {
        let mean = |share| {
            let of = |(workload, size)| erases(found, scale, (workload, share, size), policy);
            pairs().map(of).sum::<f64>() / pairs().count() as f64
        };
        claims.push(Claim::descending(
            item.name,
            &format!(
                "{layout}: {}: fewer erases with more over-provisioning, thousands in the mean",
                name.to_uppercase()
            ),
            &[("15 %", mean(0)), ("25 %", mean(1)), ("35 %", mean(2))],
            "\"for all these four cache algorithms, higher over-provision will reduce the erase count\"",
        ));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (20, 6));
    }
}
