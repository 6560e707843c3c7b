//! How fast synthetic records are generated, from settings and from a fitted model.

use esker_core::Bytes;
use esker_testkit::Bench;
use esker_trace::{Record, Synthesiser, SyntheticSettings, TraceModelFitter};

fn records(address: &str) -> Synthesiser {
    let requests = if Bench::is_smoke() { 20_000 } else { 2_000_000 };
    let settings = format!(
        r#"{{ "requests": {requests}, "address": {address}, "sequential_fraction": "30%",
              "size": [{{ "size": "4KiB", "weight": 3 }}, {{ "size": "64KiB", "weight": 1 }}],
              "arrivals": {{ "kind": "bursty", "rate": "1000/s", "on": "10ms", "off": "90ms" }} }}"#
    );
    let settings: SyntheticSettings = serde_json::from_str(&settings).expect("the settings can be read");
    Synthesiser::new(&settings, Bytes::gib(16), 1).expect("the settings make sense")
}

fn consume(records: impl Iterator<Item = Record>) -> u64 {
    records.map(|record| std::hint::black_box(record).offset & 1).map(|_| 1).sum()
}

fn main() {
    for (name, address) in [
        ("synthesise, uniform", r#""uniform""#),
        ("synthesise, Zipf(1.0)", r#"{ "kind": "zipf", "exponent": 1.0 }"#),
        ("synthesise, hot-cold", r#"{ "kind": "hot-cold", "hot_share": "20%", "hot_accesses": "80%" }"#),
    ] {
        Bench::new(name).rate("records", || consume(records(address)));
    }
    let original: Vec<Record> = records(r#"{ "kind": "zipf", "exponent": 1.0 }"#).collect();
    let fit = || {
        let mut fitter = TraceModelFitter::default();
        fitter.push_all(&original);
        fitter.finish(&[])
    };
    Bench::new("fit a model").rate("records", || fit().requests());
    let model = fit();
    Bench::new("generate from a model").rate("records", || consume(model.generate(original.len() as u64, 1)));
}
