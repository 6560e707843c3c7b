//! A plan: the picture of which data go where, its section in a study, and its page.

use askama::Template;
use esker_core::words;
use esker_results::study::plan::{MixPlan, PlacedClass, PlanReport, PlanRound, WhatIf, WorkloadPlan};

use crate::bars::Scale;
use crate::columns::Columns;
use crate::error::RenderError;
use crate::filters;
use crate::glossary::{self, Term};
use crate::page::Frame;
use crate::purchase::amount;

/// Bars are at least this wide, in per cent, so that one can see that there is something.
const WIDTH_MIN: f64 = 0.4;
/// How much a cost has to be below another one to be called less: solvers are exact to that.
const LESS: f64 = 1e-3;

/// The page of plans.
#[derive(Template)]
#[template(path = "plan_page.html", whitespace = "minimize")]
struct PlanPage<'a> {
    frame: Frame<'a>,
    report: &'a PlanReport,
    sections: Vec<PlanSection<'a>>,
    terms: Vec<Term>,
}

/// Renders the page of `esker plan`: one HTML file that loads nothing. The same plans always give the same bytes.
///
/// # Errors
/// [`RenderError`], which is a bug.
pub fn render_plan(report: &PlanReport) -> Result<String, RenderError> {
    let sections = (1..).zip(&report.plans).map(|(number, plan)| PlanSection {
        id: format!("w{number}"),
        plan,
        currency: &report.currency,
    });
    let page = PlanPage {
        frame: Frame::new(&report.version, report.seed, report, &[], Columns::default())?,
        report,
        sections: sections.collect(),
        terms: glossary::sorted(TERMS),
    };
    Ok(page.render()?)
}

static TERMS: &[Term] = &[
    glossary::term(
        "class",
        "class of data",
        "Data that are asked for in the same way: as often, in requests as large.",
    ),
    glossary::term(
        "busy",
        "busy",
        "The share of the time in which the busiest part of a device works: arm, dies, bus.",
    ),
    glossary::term("bound", "bound", "No mix of devices that keeps all limits of the model costs less than this."),
];

/// The plan of a workload, on a page.
#[derive(Template)]
#[template(path = "plan.html", whitespace = "minimize")]
pub(crate) struct PlanSection<'a> {
    /// Prefix of ids in the page: "w1".
    pub(crate) id: String,
    pub(crate) plan: &'a WorkloadPlan,
    pub(crate) currency: &'a str,
}

/// Bars of all classes of data.
struct Picture {
    title: &'static str,
    help: &'static str,
    bars: Vec<Bar>,
}

/// A class of data, in the colours of its devices.
struct Bar {
    label: String,
    segments: Vec<Segment>,
    value: String,
}

/// Devices that hold a part, from one place of the scale to another, in per cent.
struct Segment {
    begin: f64,
    width: f64,
    devices: usize,
    tip: String,
}

impl PlanSection<'_> {
    fn money(&self, value: &f64) -> String {
        amount(value, self.currency)
    }

    fn headline(&self, plan: &MixPlan) -> String {
        let design = &plan.verified.design;
        let years = words::page::years(self.plan.budgets.years).text();
        let verdict = match plan.verified.keeps_budgets {
            true => "Simulated, it keeps every budget".to_string(),
            false => format!("Simulated, it misses a budget: {}", plan.verified.reasons.join("; ")),
        };
        let cost = self.money(&design.cost.total);
        format!("The cheapest mix is {}: {cost} over {years}. {verdict}.", plan.title)
    }

    fn proof(&self, plan: &MixPlan) -> String {
        let p99 =
            plan.verified.design.judgement.worst_p99.map_or("not known".into(), |worst| words::time(worst.p99_us));
        format!(
            "99 % of requests take at most {p99} in the busiest times; the model has {} for one right behind the \
             other. With idle devices the plan costs {}, and no mix of the {} types of devices is cheaper than {}: \
             {} less{}.",
            words::time(plan.verified.predicted_p99_us),
            self.money(&plan.cost),
            words::count(self.plan.types as u64),
            self.money(&plan.bound),
            words::percent(plan.gap),
            if self.plan.left_out.is_empty() { "" } else { ", apart from the devices in use that are named above" },
        )
    }

    fn pictures(&self, plan: &MixPlan) -> [Picture; 2] {
        let sizes: Vec<f64> = plan.classes.iter().map(|class| class.bytes.max(1.0)).collect();
        let scale = (!sizes.is_empty()).then(|| Scale::over(&sizes));
        let length = |bytes: f64| scale.as_ref().map_or(0.0, |scale| scale.percent(bytes.max(1.0)));
        let is_log = scale.as_ref().is_some_and(Scale::is_log);
        let requests = plan.classes.iter().map(|class| class.requests).sum::<u64>().max(1) as f64;
        let size = |class: &PlacedClass| bar(plan, class, length(class.bytes), words::bytes(class.bytes));
        let asked = |class: &PlacedClass| {
            let value = if class.requests == 0 { "none".to_string() } else { words::count(class.requests) };
            bar(plan, class, 100.0 * class.requests as f64 / requests, value)
        };
        [
            Picture {
                title: "Where the data are",
                help: match is_log {
                    true => {
                        "Each class of data by its bytes, in the colours of its devices. The scale is logarithmic: \
                         equal distances are equal ratios."
                    }
                    false => "Each class of data by its bytes, in the colours of its devices.",
                },
                bars: plan.classes.iter().map(size).collect(),
            },
            Picture {
                title: "Where the requests go",
                help: "The same classes by their share of all requests.",
                bars: plan.classes.iter().map(asked).collect(),
            },
        ]
    }

    /// The picture in a sentence, for those who do not see it.
    fn sentence(&self, plan: &MixPlan) -> String {
        let all = plan.classes.iter().map(|class| class.requests).sum::<u64>().max(1) as f64;
        let bytes = plan.classes.iter().map(|class| class.bytes).sum::<f64>().max(1.0);
        let of = |devices: usize, share: &dyn Fn(&PlacedClass) -> f64| -> f64 {
            let placed = plan.classes.iter().flat_map(|class| class.placed.iter().map(move |placed| (class, placed)));
            let here = placed.filter(|(_, placed)| placed.device == devices);
            here.map(|(class, placed)| placed.share * share(class)).sum()
        };
        let parts = plan.devices.iter().enumerate().map(|(number, one)| {
            let data = of(number, &|class| class.bytes) / bytes;
            let asked = of(number, &|class| class.requests as f64) / all;
            let title = &one.title;
            format!("{title}: {} of the data, {} of the requests", words::percent(data), words::percent(asked))
        });
        format!("{}.", parts.collect::<Vec<_>>().join("; "))
    }

    /// What 10 % more of a limit, or none, saves.
    fn saved(&self, plan: &MixPlan, cost: &Option<f64>) -> String {
        match cost {
            Some(cost) if plan.cost - cost > plan.cost * LESS => self.money(&(plan.cost - cost)),
            Some(_) => "nothing".to_string(),
            None => "not known".to_string(),
        }
    }

    fn life(&self, years: &Option<f64>) -> String {
        let text = |years: f64| words::page::years(years).text();
        match years {
            // The most that is worth a forecast.
            Some(years) if *years >= 100.0 => format!("> {}", text(*years)),
            Some(years) => text(*years),
            None => "–".to_string(),
        }
    }

    fn verdict_of(&self, round: &PlanRound) -> String {
        if round.keeps_budgets { "keeps every budget".to_string() } else { round.reasons.join("; ") }
    }

    fn changed(&self, one: &WhatIf) -> String {
        format!("{} times {}", words::factor(one.factor), one.changed.words())
    }
}

/// A bar of this length, in per cent.
fn bar(plan: &MixPlan, class: &PlacedClass, length: f64, value: String) -> Bar {
    let mut begin = 0.0;
    let mut segments = Vec::new();
    for placed in class.placed.iter().filter(|_| length > 0.0) {
        let width = (placed.share * length).max(WIDTH_MIN).min(100.0 - begin);
        let tip = format!("{}: {} of {}", plan.devices[placed.device].title, words::percent(placed.share), class.name);
        // Two decimals are a thirtieth of a pixel, and keep the page small.
        let round = |value: f64| (value * 100.0).round() / 100.0;
        segments.push(Segment { begin: round(begin), width: round(width), devices: placed.device, tip });
        begin += width;
    }
    Bar { label: class.name.clone(), segments, value }
}

#[cfg(test)]
mod tests {
    use esker_results::study::plan::{PlacedShare, PlannedDevices};

    use super::*;

    fn devices(title: &str) -> PlannedDevices {
        PlannedDevices {
            product: title.into(),
            title: title.into(),
            kind: "ssd".into(),
            capacity_bytes: 1,
            count: 1,
            in_use: 0,
            cost_each: 1.0,
            predicted_utilisation: 0.1,
            simulated_utilisation: None,
            predicted_life_years: None,
            simulated_life_years: None,
        }
    }

    fn class(bytes: f64, requests: u64, shares: &[f64]) -> PlacedClass {
        let placed = shares.iter().enumerate().filter(|(_, share)| **share > 0.0);
        PlacedClass {
            name: "hot".into(),
            bytes,
            requests,
            read_share: 1.0,
            requests_per_s: 1,
            bytes_per_s: 1,
            written_bytes_per_day: 0.0,
            may_be_slow: false,
            placed: placed.map(|(device, &share)| PlacedShare { device, share }).collect(),
        }
    }

    #[test]
    fn a_bar_has_a_part_for_each_device_and_shows_what_is_small() {
        let plan = crate::samples::plan(vec![devices("flash"), devices("disk")], vec![class(1.0, 1, &[1.0, 0.0])]);
        let split = bar(&plan, &class(0.0, 0, &[0.25, 0.75]), 40.0, "x".into());
        let parts: Vec<_> = split.segments.iter().map(|one| (one.begin, one.width, one.devices)).collect();
        assert_eq!(parts, [(0.0, 10.0, 0), (10.0, 30.0, 1)]);
        assert_eq!(bar(&plan, &class(0.0, 0, &[1.0, 0.0]), 1e-9, "x".into()).segments[0].width, WIDTH_MIN);
        assert!(bar(&plan, &class(0.0, 0, &[1.0, 0.0]), 0.0, "x".into()).segments.is_empty());
    }
}
