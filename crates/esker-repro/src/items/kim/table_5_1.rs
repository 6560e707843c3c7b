//! Kim 2009, table 5.1 and figure 5.1: the models beside the simulator on four write-only workloads and Financial.

use esker_model::{Model, Prediction, Run, SHIPPED};

use super::made_up::MadeUp;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemFault, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-5.1",
    title: "The models by regression beside the simulator on W1 to W4 and Financial (with figure 5.1)",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 5.2.2, table 5.1, figure 5.1",
    sections: &["5.2.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// The rows of table 5.1.
const ROWS: [MadeUp; 5] = [
    write_only("W1", 0.10, 41.54, 0.89, 322.18),
    write_only("W2", 0.70, 16.90, 0.89, 79.90),
    write_only("W3", 0.30, 115.71, 0.94, 80.24),
    write_only("W4", 0.70, 115.44, 0.58, 319.74),
    MadeUp { reads_percent: 9, ..write_only("Financial", 0.03, 6.57, 0.91, 164.49) },
];

const fn write_only(name: &'static str, sequential: f64, sectors: f64, utilisation: f64, gap_ms: f64) -> MadeUp {
    MadeUp { name, reads_percent: 0, sequential, sectors, utilisation, gap_ms, requests: 30_000 }
}

/// The published errors of response times, percent.
const PUBLISHED: [(&str, f64); 2] = [("W2", 4.0), ("W3", 21.0)];
const FORMS: [&str; 2] = ["log-linear", "queueing"];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Vec::new();
    for (index, row) in ROWS.iter().enumerate() {
        let short = MadeUp { requests: (row.requests as f64 * part).ceil() as u64, ..*row };
        runs.push(short.simulate(item, context, (index, ROWS.len()))?);
    }
    let mut claims = Vec::new();
    let mut predicted = Vec::new();
    for form in FORMS {
        let trained = Model::train(form, &SHIPPED[0].runs());
        let model = trained.map_err(|error| ReproduceError::of(item, ItemFault::Model(error)))?;
        let said: Vec<Prediction> = runs.iter().map(|run| model.predict(&run.characteristics)).collect();
        for (run, said) in runs.iter().zip(&said) {
            claims.extend(claims_of(item, form, run, said));
        }
        predicted.push(said);
    }
    let figures = vec![
        figure("Figure 5.1 (a): performance", "mean response, ms", &runs, &predicted, Run::response_ms, |said| {
            said.response_us / 1e3
        }),
        figure("Figure 5.1 (b): lifetime", "erased blocks per second", &runs, &predicted, Run::erases, |said| {
            said.erases_per_s
        }),
    ];
    Ok(ItemOutcome { claims, figures })
}

/// What a bar of the simulator shows.
trait Bars {
    fn response_ms(&self) -> f64;
    fn erases(&self) -> f64;
}

impl Bars for Run {
    fn response_ms(&self) -> f64 {
        self.measured.response_us / 1e3
    }
    fn erases(&self) -> f64 {
        self.measured.erases_per_s
    }
}

fn claims_of(item: &Item, form: &str, run: &Run, said: &Prediction) -> Vec<Claim> {
    let error = |said: f64, measured: f64| 100.0 * (said / measured - 1.0).abs();
    let response = error(said.response_us, run.measured.response_us);
    let name = |what: &str| format!("{}, {form}: error of {what}, percent", run.name);
    let published = PUBLISHED.iter().find(|(name, _)| *name == run.name && form == "log-linear");
    let response = match published {
        Some((_, published)) => Claim::compared(item.name, &name("response time"), *published, response, TEXT),
        None => Claim::beside(item.name, &name("response time"), response, OTHER),
    };
    let erases = error(said.erases_per_s, run.measured.erases_per_s);
    vec![response, Claim::beside(item.name, &name("erase rate"), erases, OTHER)]
}

const TEXT: &str = "section 5.2.2; the training runs are ours, on wider ranges, and arrivals here are Poisson";
const OTHER: &str = "the text has no number: \"performance as well as lifetime errors are high\" for Financial";

fn figure(
    title: &str,
    y: &str,
    runs: &[Run],
    predicted: &[Vec<Prediction>],
    measured: fn(&Run) -> f64,
    of: fn(&Prediction) -> f64,
) -> Figure {
    let mut curves = vec![Curve::measured_bars("simulator", runs.iter().map(measured))];
    for (form, said) in FORMS.iter().zip(predicted) {
        curves.push(Curve::measured_bars(form, said.iter().map(of)));
    }
    Figure {
        title: title.into(),
        note: "Log-linear is the published form. Financial is made up by its row of the table, with 9 % reads.".into(),
        x: Axis::categories("workload", ROWS.map(|row| row.name)),
        y: Axis::linear(y),
        curves,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_the_rows_of_the_table() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 0.2));
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (20, 2));
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        for row in ROWS {
            let of = MadeUp { requests: 5_000, ..row }.simulate(&ITEM, &context, (0, 1)).unwrap().characteristics;
            let near = |found: f64, expected: f64| {
                assert!((found - expected).abs() <= 0.05 * expected.max(0.2), "{}: {found}, not {expected}", row.name);
            };
            near(of.write_bytes / 512.0, row.sectors);
            near(of.sequential_share, row.sequential);
            near(1e3 / of.requests_per_s, row.gap_ms);
            near(of.fullness, row.utilisation);
        }
    }
}
