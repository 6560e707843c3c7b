//! Studies to draw: see `fixtures/README.md` for where the recorded ones come from.

pub(crate) mod run;

use std::path::Path;

use esker_results::RunResults;
use esker_results::reproduction::Reproduction;
use esker_results::study::{Candidate, CandidateOutcome, Cost, Judgement, MarketAnswer, StudyReport, Verdict};
use serde_json::{Value, json};

use run::run_json;

/// All studies by name.
pub(crate) fn studies() -> Vec<(&'static str, StudyReport)> {
    vec![
        ("office", fixture("office")),
        ("no-times", fixture("no-times")),
        ("priced", fixture("priced")),
        ("markets", markets()),
        ("troubled", troubled()),
        ("several", several()),
        ("hostile", hostile()),
        ("minimal", minimal()),
    ]
}

/// A recorded study.
pub(crate) fn fixture(name: &str) -> StudyReport {
    serde_json::from_value(fixture_json(name)).unwrap()
}

pub(crate) fn fixture_json(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).with_extension("json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Designs of every outcome: failed, saturated, served; of the latter, too little is written to judge its life.
pub(crate) fn troubled() -> StudyReport {
    let mut study = fixture("no-times");
    let designs = &mut study.workloads[0].candidates;
    let failed = CandidateOutcome::Failed { reason: "the active data (52 GiB) does not fit into 48 GiB".into() };
    let saturated = CandidateOutcome::Saturated {
        since_s: 31.0,
        since_clock: "00:00".into(),
        stopped_s: 3631.0,
        backlog_requests: 1_000_000,
    };
    let served = designs[0].clone();
    designs[0].endurance.as_mut().unwrap().judged = false;
    for (name, outcome) in [("failed", failed), ("saturated", saturated)] {
        designs.push(Candidate {
            name: name.into(),
            title: name.into(),
            outcome,
            response_curve: Vec::new(),
            judgement: Judgement::default(),
            requests: None,
            busy: None,
            busiest_hour: None,
            endurance: None,
            ..served.clone()
        });
    }
    study
}

/// The recorded study with prices, and volumes of two clouds beside: of one market no design keeps the budgets.
pub(crate) fn markets() -> StudyReport {
    let mut study = fixture("priced");
    let workload = &mut study.workloads[0];
    let served = workload.candidates.iter().find(|candidate| candidate.outcome == CandidateOutcome::Served).unwrap();
    let volume = |market: &str, name: &str, per_month: f64, p99_us: f64, reason: Option<&str>| {
        let mut volume = served.clone();
        (volume.name, volume.title, volume.kind) = (name.into(), format!("{name}, 100 GiB"), "cloud-volume".into());
        let product = &mut volume.product;
        (product.name, product.title, product.market) = (name.into(), name.into(), market.into());
        (product.year, product.assumed) = (2025, Vec::new());
        volume.capacity_on_sale_bytes = Some(100 << 30);
        volume.cost = Cost {
            per_month,
            total: 60.0 * per_month,
            currency: "USD".into(),
            as_of: "2026-10-01".into(),
            ..Cost::default()
        };
        volume.busy.as_mut().unwrap().response_time.p99_us = p99_us;
        volume.judgement.worst_p99.as_mut().unwrap().p99_us = p99_us;
        volume.endurance = None;
        volume.judgement.keeps_budgets = reason.is_none();
        volume.judgement.reasons = reason.into_iter().map(String::from).collect();
        volume
    };
    let slow = "p99 in the busiest time is 1.9 ms, the budget 1 ms";
    let volumes = [
        volume("aws", "gp3", 8.0, 1_900.0, Some(slow)),
        volume("aws", "gp3-6000", 23.0, 990.0, None),
        volume("aws", "io2", 402.5, 420.0, None),
        volume("azure", "premium-v2", 17.0, 1_900.0, Some(slow)),
    ];
    workload.candidates.extend(volumes);
    workload.verdict.other_markets = vec![
        MarketAnswer {
            market: "aws".into(),
            recommended: Some("gp3-6000".into()),
            because: "The cheapest of two.".into(),
            ..MarketAnswer::default()
        },
        MarketAnswer { market: "azure".into(), nearest: Some("premium-v2".into()), ..MarketAnswer::default() },
    ];
    study
}

/// Two workloads; for the second one no design is recommended.
pub(crate) fn several() -> StudyReport {
    let mut study = fixture("office");
    study.workloads.extend(fixture("no-times").workloads);
    study
}

/// The smallest possible study.
pub(crate) fn minimal() -> StudyReport {
    let mut study = fixture("office");
    (study.cost, study.budgets.p99_us, study.budgets.devices) = (None, None, None);
    study.assumptions.clear();
    let workload = &mut study.workloads[0];
    let said = "The trace has no requests.";
    workload.verdict = Verdict { headline: said.into(), because: said.into(), ..Verdict::default() };
    (workload.slowest, workload.measured) = (None, None);
    workload.inputs.clear();
    workload.candidates.clear();
    workload.misalignments.clear();
    workload.miss_ratio_curve.points.clear();
    let profile = &mut workload.profile;
    (profile.requests, profile.read_requests, profile.write_requests) = (0, 0, 0);
    (profile.load, profile.working_set) = (Vec::new(), Vec::new());
    (profile.skew, profile.write_skew, profile.sizes) = Default::default();
    study
}

/// Possible results of `esker reproduce`: claims of every verdict, curves and bars with and without published values.
pub(crate) fn reproduction() -> Reproduction {
    serde_json::from_value(reproduction_json()).unwrap()
}

pub(crate) fn reproduction_json() -> Value {
    let claim = |verdict: &str, published: Value| {
        json!({
            "item": "kim/figure-3.10", "claim": "share of large merges", "published": published, "measured": 0.17,
            "ratio": 0.85, "tolerance": 0.25, "fitted": false, "verdict": verdict, "reason": "read off the figure",
        })
    };
    let curve = |name: &str, source: &str, points: Value| json!({ "name": name, "source": source, "points": points });
    let axis = |label: &str, kind: &str| json!({ "label": label, "scale": { "kind": kind } });
    let lines = json!({
        "title": "Figure 3.14: response against load", "note": "Further right is a higher load.",
        "x": axis("requests per second", "logarithmic"), "y": axis("mean response, ms", "logarithmic"),
        "curves": [
            curve("FAST", "published", json!([[10, 2.0], [100, 9.0], [300, 150.0]])),
            curve("FAST", "measured", json!([[10, 2.2], [100, 11.0], [300, 190.0]])),
            curve("DFTL", "measured", json!([[10, 0.6], [100, 0.7], [1000, 9.0]])),
        ],
    });
    let names = json!({ "kind": "categories", "names": ["Financial", "TPC-H"] });
    let bars = json!({
        "title": "Figure 3.10: large merges", "note": "Hollow is published.",
        "x": { "label": "workload", "scale": names }, "y": axis("share of full merges", "linear"),
        "curves": [
            curve("20 data blocks or more", "published", json!([[0, 0.2], [1, 0.6]])),
            curve("20 data blocks or more", "measured", json!([[0, 0.17], [1, 0.55]])),
        ],
    });
    let only = json!({
        "title": "Figure 3.12: response times", "note": "One workload.",
        "x": axis("response time, ms", "linear"), "y": axis("share of requests", "linear"),
        "curves": [curve("page map", "measured", (0..100).map(|at| json!([at, f64::from(at) / 100.0])).collect())],
    });
    let source = "Kim 2009, section 3.5.1";
    let item = |name: &str, claims: Value, figures: Value| {
        let title = "Full merges";
        json!({ "name": name, "title": title, "source": source, "claims": claims, "figures": figures })
    };
    json!({
        "version": "0.1.0", "seed": 1, "command": "esker reproduce --all",
        "items": [
            item("agrawal/table-3", json!([claim("met", json!(0.2)), claim("missed", json!(0.2))]), json!([])),
            item(
                "kim/figure-3.10",
                json!([claim("stand-in", json!(0.2)), claim("unreachable", Value::Null)]),
                json!([bars, lines])
            ),
            item("kim/figure-3.12", json!([claim("beside", Value::Null)]), json!([only])),
        ],
    })
}

/// A name of a trace, volume or file that tries to break out of the page.
pub(crate) const HOSTILE: &str =
    "</script><script>document.title=\"owned\"</script><img src=x onerror=alert(1)>\"'&<!--";

/// A study in which every text and every name in a map is hostile.
pub(crate) fn hostile() -> StudyReport {
    let mut study = several();
    study.workloads.extend(markets().workloads);
    let mut study = serde_json::to_value(study).unwrap();
    poison(&mut study);
    serde_json::from_value(study).unwrap()
}

/// A reproduction with hostile names of papers, figures and claims.
pub(crate) fn hostile_reproduction() -> Reproduction {
    let mut found = reproduction_json();
    poison(&mut found);
    serde_json::from_value(found).unwrap()
}

/// A run with hostile names of devices, children, events and its policy.
pub(crate) fn hostile_run() -> RunResults {
    let mut run = run_json();
    poison(&mut run);
    serde_json::from_value(run).unwrap()
}

/// Words of the schema, which only esker itself writes.
const SCHEMA_WORDS: &[&str] = &[
    "alike",
    "any",
    "served",
    "saturated",
    "failed",
    "good",
    "info",
    "warning",
    "bad",
    "open",
    "closed",
    "met",
    "missed",
    "stand-in",
    "unreachable",
    "beside",
    "published",
    "measured",
    "linear",
    "logarithmic",
    "categories",
    "overwriting",
    "stationary-distribution",
    "low",
    "medium",
    "high",
    "busiest-by-requests",
    "busiest-by-bytes",
    "busiest-hour",
    "whole-trace",
    "last-quarter",
    "2s",
];

fn poison(value: &mut Value) {
    match value {
        Value::String(text) if !SCHEMA_WORDS.contains(&text.as_str()) => *text = format!("{HOSTILE}{text}"),
        Value::Array(items) => {
            // Fewer points are enough here.
            let step = items.len().div_ceil(40).max(1);
            *items = std::mem::take(items).into_iter().step_by(step).collect();
            items.iter_mut().for_each(poison);
        }
        Value::Object(fields) => {
            for name in ["utilisation", "devices", "device", "children"] {
                if let Some(Value::Object(map)) = fields.get_mut(name) {
                    *map = std::mem::take(map)
                        .into_iter()
                        .map(|(key, field)| (format!("{HOSTILE}{key}"), field))
                        .collect();
                }
            }
            fields.values_mut().for_each(poison);
        }
        _ => {}
    }
}
