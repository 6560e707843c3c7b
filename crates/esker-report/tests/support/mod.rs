//! Studies to draw: see `fixtures/README.md` for where the recorded ones come from.

use std::path::Path;

use serde_json::{Value, json};

/// All studies by name.
pub(crate) fn studies() -> Vec<(&'static str, Value)> {
    vec![
        ("office", fixture("office")),
        ("no-times", fixture("no-times")),
        ("troubled", troubled()),
        ("several", several()),
        ("hostile", hostile()),
        ("minimal", fixture("minimal")),
    ]
}

/// A recorded study.
pub(crate) fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).with_extension("json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Designs of every outcome: served, saturated, failed, too little written to judge.
pub(crate) fn troubled() -> Value {
    let mut study = fixture("no-times");
    let designs = study["workloads"][0]["candidates"].as_array_mut().unwrap();
    for (design, outcome) in designs.iter_mut().zip([
        json!({ "result": "failed", "reason": "the active data (52 GiB) does not fit into 48 GiB" }),
        json!({
            "result": "saturated", "since_s": 31.0, "since_clock": "00:00", "stopped_s": 3631.0,
            "backlog_requests": 1_000_000,
        }),
    ]) {
        design["outcome"] = outcome;
        for gone in ["requests", "response_curve", "busiest_hour", "endurance"] {
            design.as_object_mut().unwrap().remove(gone);
        }
    }
    designs[2]["endurance"]["judged"] = json!(false);
    study
}

/// Two workloads, for the second of which no design is recommended.
pub(crate) fn several() -> Value {
    let mut study = fixture("office");
    let mut second = fixture("no-times")["workloads"][0].clone();
    second["verdict"]["recommended"] = Value::Null;
    study["workloads"].as_array_mut().unwrap().push(second);
    study
}

/// What `esker reproduce` might have found: claims of every verdict, curves and bars with and without published values.
pub(crate) fn reproduction() -> Value {
    let claim = |verdict: &str, published: Value| {
        json!({
            "item": "kim/figure-3.10", "claim": "share of large merges", "published": published, "measured": 0.17,
            "ratio": 0.85, "tolerance": 0.25, "verdict": verdict, "reason": "read off the figure",
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
    let item = |name: &str, claims: Value, figures: Value| {
        json!({
            "name": name, "title": "Full merges", "source": "Kim 2009, section 3.5.1",
            "claims": claims, "figures": figures,
        })
    };
    json!({
        "version": "0.1.0", "seed": 1, "command": "esker reproduce --all",
        "items": [
            item("agrawal/table-3", json!([claim("met", json!(0.2)), claim("missed", json!(0.2))]), json!([])),
            item(
                "kim/figure-3.10",
                json!([claim("stand-in", json!(0.2)), claim("unreachable", Value::Null)]),
                json!([bars, lines]),
            ),
            item("kim/figure-3.12", json!([claim("beside", Value::Null)]), json!([only])),
        ],
    })
}

/// What a trace, a volume or a file might be called to break out of the page.
pub(crate) const HOSTILE: &str =
    "</script><script>document.title=\"owned\"</script><img src=x onerror=alert(1)>\"'&<!--";

/// Every text and every name in a map is hostile.
pub(crate) fn hostile() -> Value {
    let mut study = several();
    poison(&mut study);
    study
}

/// Words of the schema, which the program writes itself.
const SCHEMA_WORDS: &[&str] = &[
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
];

pub(crate) fn poison(value: &mut Value) {
    match value {
        Value::String(text) if !SCHEMA_WORDS.contains(&text.as_str()) => *text = format!("{HOSTILE}{text}"),
        Value::Array(items) => {
            // Fewer points are enough here.
            let step = items.len().div_ceil(40).max(1);
            *items = std::mem::take(items).into_iter().step_by(step).collect();
            items.iter_mut().for_each(poison);
        }
        Value::Object(fields) => {
            for name in ["utilisation", "devices"] {
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
