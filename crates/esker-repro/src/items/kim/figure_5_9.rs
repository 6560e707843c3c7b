//! Kim 2009, figure 5.9: MixDyn with and without fragmentation busting.

use esker_results::RunResults;

use super::mixed_sim::{FINANCIAL, MIXDYN, MixedRuns, STAND_IN, StorePolicy, StoreSetUp, erases_per_s};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-5.9",
    title: "MixDyn with fragmentation busting: the slowest requests, and response times over time",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 5.4.3.2, figure 5.9",
    sections: &["5.4.3.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// Moves are charged: they are requests to both devices.
const BUSTING: StorePolicy = ("busting", r#"{ kind = "mixdyn", busting = {} }"#);
const STORES: [StorePolicy; 2] = [MIXDYN, BUSTING];

/// The mean of the runs of all seeds; times in ms.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    mean: f64,
    p99: f64,
    p999: f64,
    /// Standard deviation of the means of intervals of 100 s.
    over_time: f64,
    erases_per_s: f64,
    moved: f64,
    flash_share: f64,
}

impl Spread {
    fn of(results: &RunResults) -> Self {
        let times = &results.requests.all.response_time;
        let store = results.devices.get("store");
        let placement = store.and_then(|store| store.placement.as_ref());
        let writes = results.workload.write_requests.max(1) as f64;
        Self {
            mean: times.mean_us / 1e3,
            p99: times.p99_us / 1e3,
            p999: times.p999_us / 1e3,
            over_time: deviation(results.series.iter().map(|point| point.mean_us / 1e3)),
            erases_per_s: erases_per_s(results),
            moved: placement.map_or(0, |of| of.moved_extents) as f64 / writes,
            flash_share: store.and_then(|store| store.children.get("flash")).map_or(0.0, |flash| flash.share),
        }
    }

    /// Adds `share` of `other`.
    fn add(&mut self, other: &Self, share: f64) {
        let sums = [
            (&mut self.mean, other.mean),
            (&mut self.p99, other.p99),
            (&mut self.p999, other.p999),
            (&mut self.over_time, other.over_time),
            (&mut self.erases_per_s, other.erases_per_s),
            (&mut self.moved, other.moved),
            (&mut self.flash_share, other.flash_share),
        ];
        sums.into_iter().for_each(|(sum, value)| *sum += value * share);
    }
}

/// Standard deviation of `values`.
pub(super) fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (values.map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = MixedRuns::of_seeds(item, context, part, STORES.len());
    let (mut means, mut curves) = (Vec::new(), Vec::new());
    for (store, policy) in STORES {
        let set_up = StoreSetUp { run: "series = \"100s\"", ..StoreSetUp::new(FINANCIAL, policy) };
        let mut mean = Spread::default();
        for seed in 0..runs.seeds() {
            let experiment = runs.experiment(&set_up, seed)?;
            let results = runs.results(&experiment, None)?;
            mean.add(&Spread::of(&results), 1.0 / runs.seeds() as f64);
            if seed == 0 {
                let points = results.series.iter().map(|point| (point.start_s, point.mean_us / 1e3));
                curves.push(Curve::measured(store, points.collect::<Vec<_>>()));
            }
        }
        means.push(mean);
    }
    let figures = vec![Figure {
        title: "Figure 5.9(b): response times over time".into(),
        note: "Means of 100 s, one seed; the paper's curves are not in the text. The workload is a stand-in.".into(),
        x: Axis::linear("time, s"),
        y: Axis::linear("mean response, ms"),
        curves,
    }];
    let claims = claims_of(item, &means).into_iter().map(|claim| claim.on_stand_in(STAND_IN));
    Ok(ItemOutcome { claims: claims.collect(), figures })
}

fn claims_of(item: &Item, means: &[Spread]) -> Vec<Claim> {
    let [without, with] = means else { unreachable!("one for each store") };
    let lower = |what: &str, of: fn(&Spread) -> f64, reason: &str| {
        Claim::descending(item.name, what, &[("without", of(without)), ("with", of(with))], reason)
    };
    let mut claims = vec![
        lower("busting: 99 % of requests end earlier, ms", |of| of.p99, TAIL),
        lower("busting: 99.9 % of requests end earlier, ms", |of| of.p999, TAIL),
        lower("busting: means of 100 s deviate less, ms", |of| of.over_time, TIME),
    ];
    for ((store, _), of) in STORES.iter().zip(means) {
        for (what, value) in [
            ("mean response, ms", of.mean),
            ("erases per second", of.erases_per_s),
            ("requests that flash serves, share", of.flash_share),
            ("extents moved per write", of.moved),
        ] {
            claims.push(Claim::beside(item.name, &format!("{store}: {what}"), value, "not in the text"));
        }
    }
    claims
}

const TAIL: &str = "section 5.4.3.2: \"reducing the number of requests that experienced high response time\"";
const TIME: &str = "section 5.4.3.2: \"by reducing the variance in response time\"";

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 0.08));
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (3 + 2 * 4, 1));
    }

    #[test]
    fn deviations_are_from_the_mean() {
        assert_eq!(deviation([1.0, 3.0].into_iter()), 1.0);
    }
}
