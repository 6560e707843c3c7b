//! Kim 2009, (5.1) and (5.2): response time and erase rate by regression on simulated runs.
//!
//! The runs are those that come with the shipped model, so that nothing is simulated here; a test repeats some of them.

use esker_model::{Errors, Evaluation, FORMS, Model, Run, SHIPPED};

use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemFault, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/regression",
    title: "Response time and erase rate by regression on 900 made-up workloads, judged by 300 others",
    source: "Kim, dissertation, Pennsylvania State University, 2009, sections 5.2.1 and 5.2.2",
    sections: &["5.2.1", "5.2.2"],
    run,
};

/// Groups of runs, by predicted value, that a figure of residuals has a point for.
const GROUPS: usize = 12;

fn run(item: &Item, _: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let shipped = &SHIPPED[0];
    let (runs, unseen) = (shipped.runs(), shipped.unseen());
    let mut judged = Vec::new();
    let mut claims = Vec::new();
    for form in FORMS {
        let trained = Model::train(form.name, &runs);
        let model = trained.map_err(|error| ReproduceError::of(item, ItemFault::Model(error)))?;
        let evaluation = model.evaluate(&unseen);
        claims.extend(claims_of(item, &model, &model.evaluate(&runs), &evaluation));
        judged.push(evaluation);
    }
    claims.extend(published_claims(item, &runs)?);
    let figures = vec![
        residuals("Residuals of response times", "predicted mean response time, ms", &judged, |run| {
            (run.predicted.response_us / 1e3, run.response_us / 1e3)
        }),
        residuals("Residuals of erase rates", "predicted erased blocks per second", &judged, |run| {
            (run.predicted.erases_per_s, run.erases_per_s)
        }),
    ];
    Ok(ItemOutcome { claims, figures })
}

/// The published form, by the name that it has here.
const PUBLISHED: &str = "log-linear";

/// Arrivals whose gaps vary no more than this over their squared mean are even: those of a Poisson process have 1.
const EVEN: f64 = 1.2;

/// The published form on the runs without bursts, of which it has no term.
fn published_claims(item: &Item, runs: &[Run]) -> Result<Vec<Claim>, ReproduceError> {
    let even: Vec<Run> = runs.iter().filter(|run| run.characteristics.gap_variation <= EVEN).cloned().collect();
    let trained = Model::train(PUBLISHED, &even);
    let model = trained.map_err(|error| ReproduceError::of(item, ItemFault::Model(error)))?;
    let errors = model.evaluate(&even);
    let mut claims = Vec::new();
    let parts = [("response time", "response", errors.response), ("erase rate", "erases", errors.erases)];
    for (what, part, errors) in parts {
        let part = model.parts.iter().find(|of| of.name == part);
        let fit = part.map_or(f64::NAN, |part| part.fit.adjusted_r_squared);
        let mean = errors.map_or(f64::NAN, |errors| 100.0 * errors.mean);
        let name = |of: &str| format!("{PUBLISHED} without bursts: {what}, {of}");
        claims.push(Claim::compared(item.name, &name("adjusted R2"), 0.9, fit, TEXT));
        let error = name("mean error on the training runs, percent");
        claims.push(Claim::compared(item.name, &error, 25.0, mean, TEXT));
    }
    Ok(claims)
}

fn claims_of(item: &Item, model: &Model, trained: &Evaluation, unseen: &Evaluation) -> Vec<Claim> {
    let name = |what: &str| format!("{}: {what}", model.form);
    let beside = |what: &str, value: f64| Claim::beside(item.name, &name(what), value, RANGES);
    let adjusted = |part: &str| {
        let part = model.parts.iter().find(|of| of.name == part);
        part.map_or(f64::NAN, |part| part.fit.adjusted_r_squared)
    };
    let median = |errors: Option<Errors>| errors.map_or(f64::NAN, |errors| 100.0 * errors.median);
    let mean = |errors: Option<Errors>| errors.map_or(f64::NAN, |errors| 100.0 * errors.mean);
    let mut claims = vec![
        beside("response time, adjusted R2", adjusted("response")),
        beside("response time, mean error on the training runs, percent", mean(trained.response)),
        beside("response time, median error on unseen runs, percent", median(unseen.response)),
        beside("response time, mean error on unseen runs, percent", mean(unseen.response)),
        beside("erase rate, adjusted R2", adjusted("erases")),
        beside("erase rate, mean error on the training runs, percent", mean(trained.erases)),
        beside("erase rate, median error on unseen runs, percent", median(unseen.erases)),
    ];
    if model.form == SHIPPED[0].model().form {
        let target = "a target of ours for the shipped form";
        let (fit, error) = (adjusted("response"), median(unseen.response));
        claims[0] = Claim::at_least(item.name, &name("response time, adjusted R2"), 0.95, fit, target);
        let error_name = name("response time, median error on unseen runs, percent");
        claims[2] = Claim::at_most(item.name, &error_name, 15.0, error, target);
    }
    claims
}

const RANGES: &str = "on ranges of ours: 2 to 64 KiB, 40 to 95 % full, busy for up to nine tenths of the time";
const TEXT: &str = "section 5.2.2: \"around 90%\" and \"about 25%\" for both models, on ranges that are not published; \
                    ours are wide, and near saturation no product of powers follows";

/// What was measured over what was predicted, by what was predicted: in groups of equally many runs, the median and the
/// tenths at both ends. A form that fits has its median at 1 everywhere, and no more spread at one end than at the
/// other.
fn residuals(title: &str, x: &str, judged: &[Evaluation], pair: fn(&esker_model::Judged) -> (f64, f64)) -> Figure {
    let mut curves = Vec::new();
    for evaluation in judged {
        let pairs = evaluation.runs.iter().map(pair).filter(|(said, measured)| *said > 0.0 && *measured > 0.0);
        let mut pairs: Vec<(f64, f64)> = pairs.map(|(said, measured)| (said, measured / said)).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (what, share) in [("a tenth below", 0.1), ("median", 0.5), ("a tenth above", 0.9)] {
            let points = pairs.chunks(pairs.len().div_ceil(GROUPS).max(1)).map(|group| {
                let mut ratios: Vec<f64> = group.iter().map(|(_, ratio)| *ratio).collect();
                ratios.sort_by(f64::total_cmp);
                (group[group.len() / 2].0, ratios[((ratios.len() - 1) as f64 * share).round() as usize])
            });
            curves.push(Curve::measured(&format!("{}, {what}", evaluation.form), points));
        }
    }
    Figure {
        title: title.into(),
        note: "Measured over predicted, of unseen runs in groups of equally many; predictions below zero are left out."
            .into(),
        x: Axis::logarithmic(x),
        y: Axis::logarithmic("measured over predicted"),
        curves,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use esker_results::RunResults;
    use esker_sim::{Experiment, SweepOptions, sweep};

    use super::*;

    #[test]
    fn every_claim_has_a_value_and_every_figure_its_curves() {
        let outcome = super::super::made_up::tests::outcome(&ITEM, run);
        assert_eq!(outcome.claims.len(), 7 * FORMS.len() + 4);
        assert!(outcome.claims.iter().all(|claim| claim.measured.is_some() && !claim.is_wrong()));
        for figure in &outcome.figures {
            assert_eq!(figure.curves.len(), 3 * FORMS.len());
            assert!(figure.curves.iter().all(|curve| curve.points.len() >= GROUPS / 2), "{}", figure.title);
        }
    }

    /// A few points of the sweep, simulated again, are the rows of the shipped table.
    #[test]
    fn the_shipped_runs_come_out_again() {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ssd-model.toml");
        let experiment = Experiment::load(&example).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options =
            SweepOptions { threads: NonZeroUsize::new(2), shard: Some((0, 225)), ..SweepOptions::new(folder.path()) };
        let done = sweep(&experiment, &options).unwrap();
        assert_eq!((done.run, done.failed), (4, 0));
        let shipped = SHIPPED[0].runs();
        let mut compared = 0;
        for row in done.table.to_json().as_array().unwrap() {
            let file = row["file"].as_str().unwrap();
            let results: RunResults =
                serde_json::from_slice(&std::fs::read(folder.path().join(file)).unwrap()).unwrap();
            let name = file.strip_suffix(".json").unwrap();
            let stored = shipped.iter().find(|run| run.name == name);
            assert_eq!(stored.is_none(), results.saturated.is_some(), "{name}");
            let Some(stored) = stored else { continue };
            let point = Experiment::from_resolved(&results.config, name).unwrap();
            let profile = point.profile(&AtomicBool::new(false)).unwrap();
            assert_eq!(Run::of(name, &results, &profile).unwrap(), *stored);
            compared += 1;
        }
        assert!(compared >= 2, "{compared} of the points did not saturate");
    }
}
