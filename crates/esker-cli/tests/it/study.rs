//! `esker study` from end to end.

use serde_json::Value;

use crate::support::{esker_ok, folder_with_trace};

fn study(folder: &std::path::Path, threads: &str, name: &str) -> (String, Value) {
    let (html, json) = (format!("{name}.html"), format!("{name}.json"));
    esker_ok(
        folder,
        &[
            "study",
            "small.csv",
            "-o",
            &html,
            &format!("--json={json}"),
            "--no-cost",
            "--threads",
            threads,
            "--p99",
            "20ms",
        ],
    );
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect("it was written");
    (read(&html), serde_json::from_str(&read(&json)).expect("it is JSON"))
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let folder = folder_with_trace(3_000);
    let (html, json) = study(folder.path(), "1", "one");
    let (html_of_two, json_of_two) = study(folder.path(), "2", "two");
    assert!(json == json_of_two, "the JSON differs between 1 and 2 threads");
    assert!(html == html_of_two, "the report differs between 1 and 2 threads");
}

#[test]
fn the_result_keeps_its_schema_and_the_report_its_verdict() {
    let folder = folder_with_trace(3_000);
    let (html, json) = study(folder.path(), "2", "report");
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "study"]).stdout).unwrap();
    if let Err(error) = jsonschema::validate(&schema, &json) {
        panic!("the study does not keep its schema: {error}");
    }
    let workload = &json["workloads"][0];
    let headline = workload["verdict"]["headline"].as_str().unwrap();
    assert!(html.contains(headline), "the report says something else than {headline}");
    assert!(workload["verdict"]["recommended"].is_string(), "an SSD carries 3,000 requests in seconds");
    for candidate in workload["candidates"].as_array().unwrap() {
        let served = candidate["outcome"]["result"] == "served";
        assert_ne!(candidate["outcome"]["result"], "failed", "{}: {}", candidate["name"], candidate["outcome"]);
        assert_eq!(served, candidate["requests"].is_object(), "a mean only where everything was served");
    }
}

#[test]
fn the_report_can_be_drawn_again_from_the_json() {
    let folder = folder_with_trace(3_000);
    let (html, _) = study(folder.path(), "2", "one");
    let said = esker_ok(folder.path(), &["report", "one.json", "-o", "again.html"]).stdout;
    assert_eq!(said, "Report: again.html\n");
    let again = std::fs::read_to_string(folder.path().join("again.html")).unwrap();
    assert!(again == html, "the two reports differ");
    assert!(esker_ok(folder.path(), &["report", "one.json", "-o", "-"]).stdout == html);
}

#[test]
fn each_design_runs_again_as_an_experiment() {
    let folder = folder_with_trace(2_000);
    let (_, json) = study(folder.path(), "2", "report");
    let candidate = &json["workloads"][0]["candidates"][0];
    std::fs::write(folder.path().join("again.toml"), toml::to_string(&candidate["config"]).unwrap()).unwrap();
    let run = esker_ok(folder.path(), &["sim", "again.toml", "--json", "--no-cost"]);
    let again: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(again["requests"]["all"], candidate["requests"]["all"]);
    if candidate["endurance"]["judged"] == true {
        assert_eq!(again["settled"]["write_amplification"], candidate["endurance"]["write_amplification"]);
    }
}

#[test]
fn two_traces_alone_and_together() {
    let folder = folder_with_trace(2_000);
    std::fs::copy(folder.path().join("small.csv"), folder.path().join("other.csv")).unwrap();
    let run = |more: &[&str]| -> Value {
        let arguments = [&["study", "small.csv", "other.csv", "--json", "-q"], more].concat();
        serde_json::from_str(&esker_ok(folder.path(), &arguments).stdout).unwrap()
    };
    let alone = run(&[]);
    assert_eq!(alone["workloads"].as_array().unwrap().len(), 2);
    let together = run(&["--together"]);
    assert_eq!(together["workloads"][0]["profile"]["requests"], 4_000);
    assert_eq!(together["workloads"][0]["profile"]["devices"], 2);
    // The configuration names both traces, and repeats what they did together.
    let candidates = together["workloads"][0]["candidates"].as_array().unwrap();
    let stripe = candidates.iter().find(|candidate| candidate["outcome"]["result"] == "served").unwrap();
    let config = &stripe["config"];
    assert_eq!(config["workload"]["trace"], serde_json::json!(["small.csv", "other.csv"]));
    std::fs::write(folder.path().join("again.toml"), toml::to_string(config).unwrap()).unwrap();
    let again = esker_ok(folder.path(), &["sim", "again.toml", "--json", "--no-cost"]);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["requests"], stripe["requests"]);
    assert_eq!(again["devices"], stripe["devices"]);
}

#[test]
fn the_published_schemas_are_current() {
    let folder = tempfile::tempdir().unwrap();
    let all = [
        ("results", "results-1"),
        ("study", "study-1"),
        ("plan", "plan-1"),
        ("trace", "trace-1"),
        ("cache", "cache-1"),
        ("validation", "validation-1"),
        ("fs-bench", "fs-bench-1"),
        ("fleet", "fleet-1"),
        ("advice", "advice-1"),
    ];
    for (of, file) in all.map(|(of, name)| (of, format!("{name}.json"))) {
        let path = format!("{}/../../docs/schema/{file}", env!("CARGO_MANIFEST_DIR"));
        let current = esker_ok(folder.path(), &["schema", of]).stdout;
        if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &current).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(published == current, "docs/schema/{file} is not what the code says: run `make docs`");
    }
}

#[test]
fn a_growing_load_is_simulated_as_it_will_be() {
    let folder = folder_with_trace(3_000);
    let run = |arguments: &[&str]| -> Value {
        let all = [&["study", "small.csv", "--json", "-q", "--years", "7"], arguments].concat();
        serde_json::from_str(&esker_ok(folder.path(), &all).stdout).unwrap()
    };
    let steady = run(&[]);
    let growing = run(&["--growth", "300%", "--p99", "1s"]);
    let candidates = |study: &Value| study["workloads"][0]["candidates"].as_array().unwrap().clone();
    assert!(candidates(&steady).iter().all(|candidate| candidate["grown"].is_null()));
    let mut overloaded = 0;
    for candidate in candidates(&growing) {
        if candidate["outcome"]["result"] != "served" {
            continue;
        }
        let grown = &candidate["grown"];
        assert!((grown["factor"].as_f64().unwrap() - 4f64.powi(7)).abs() < 1e-6);
        if grown["keeps_up"] == false {
            overloaded += 1;
            assert_eq!(candidate["judgement"]["keeps_budgets"], false, "{}", candidate["name"]);
        } else {
            let today = candidate["busiest_hour"]["response_time"]["mean_us"].as_f64().unwrap();
            let then = grown["busiest_hour_p99_us"].as_f64().unwrap();
            assert!(then >= today, "{}: p99 {then} us under the grown load, mean {today} us today", candidate["name"]);
        }
    }
    assert!(overloaded > 0, "sixteen thousand times the load should be too much for a disk");
}

/// The way of somebody who measures a disk, and asks how many of its kind a workload takes. Reads alone: how writes
/// settle is not measured.
#[test]
fn a_study_offers_disks_with_a_preset_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("shop")).unwrap();
    let measure = ["devices", "measure", "--simulated", "seagate-cheetah-15k5-146g", "-o", "shop/mine.toml", "-q"];
    esker_ok(folder.path(), &measure);
    let product = |name: &str, preset: &str| {
        format!(
            "[product.{name}]\ntitle = \"{name}\"\nyear = 2007\nclass = \"disk-15k\"\ninterface = \"SAS\"\n\
             preset = \"{preset}\"\ncapacities = [\"146GB\"]\nsource = \"the shelf\"\n\
             price = {{ per_TB = \"100 USD\", as_of = \"2026-05-08\" }}\n"
        )
    };
    let shop = product("measured", "mine.toml") + &product("known", "seagate-cheetah-15k5-146g");
    std::fs::write(folder.path().join("shop/shop.toml"), shop).unwrap();
    let read = |number: u64| {
        let (at, place) = (128_166_372_000_000_000 + number * 300_000, number * 7_919_993 % 30_000_000 * 4096);
        format!("{at},host,0,Read,{place},4096,10000\n")
    };
    std::fs::write(folder.path().join("reads.csv"), (0..3_000).map(read).collect::<String>()).unwrap();
    let arguments = ["study", "reads.csv", "--catalogue", "shop/shop.toml", "--only", "measured,known", "--json", "-q"];
    let study: Value = serde_json::from_str(&esker_ok(folder.path(), &arguments).stdout).unwrap();
    let candidates = study["workloads"][0]["candidates"].as_array().unwrap();
    let p99 = |design: &str| {
        let found = candidates.iter().find(|candidate| candidate["name"] == design);
        let found = found.unwrap_or_else(|| panic!("{design} is not offered"));
        found["requests"]["all"]["response_time"]["p99_us"].as_f64().unwrap()
    };
    let ratio = p99("measured-146GB") / p99("known-146GB");
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}
