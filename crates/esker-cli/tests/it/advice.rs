//! What `esker study` recommends: products, cloud volumes, what one has already; and how it explains itself.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::support::{esker_in, esker_ok, folder_with_trace};

/// Runs a study, and returns its only workload.
fn studied(folder: &Path, arguments: &str) -> Value {
    let words = ["study"].into_iter().chain(arguments.split_whitespace()).chain(["--json=out.json", "--quiet"]);
    esker_ok(folder, &words.collect::<Vec<_>>());
    let json = std::fs::read(folder.join("out.json")).unwrap();
    let mut study: Value = serde_json::from_slice(&json).unwrap();
    study["workloads"][0].take()
}

fn candidate<'a>(workload: &'a Value, name: &str) -> &'a Value {
    let candidates = workload["candidates"].as_array().unwrap();
    let found = candidates.iter().find(|candidate| candidate["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {name} among {:?}", names(workload)))
}

fn names(workload: &Value) -> Vec<&str> {
    workload["candidates"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// 5,000 reads of 16 KiB a second, for 24 seconds, in 3,000 places within 300 GB.
fn folder_with_steady_reads() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = String::new();
    for index in 0..120_000_u64 {
        // A step that has nothing in common with the number of places: each comes once before any comes again.
        let block = index * 1_601 % 3_000 * 200_000;
        writeln!(trace, "0,{block},16384,R,{:.6}", index as f64 / 5_000.0).unwrap();
    }
    std::fs::write(folder.path().join("steady.spc"), trace).unwrap();
    folder
}

/// What an expert orders for 5,000 operations a second: with 70 % as the limit 7,143 are needed, so 7,200 of gp3, whose
/// 125 MiB/s are free and carry 16 KiB each (78 MiB/s). A month costs 330 GiB x 0.08 and 4,200 x 0.005 dollars.
#[test]
fn five_thousand_operations_a_second_get_the_order_of_an_expert() {
    let folder = folder_with_steady_reads();
    let only = "--only aws-ebs-gp2,aws-ebs-gp3,aws-ebs-io2,aws-ebs-st1,micron-7450-pro,gcp-pd-ssd";
    let workload = studied(folder.path(), &format!("steady.spc --market aws {only}"));
    let verdict = &workload["verdict"];
    let name = verdict["recommended"].as_str().unwrap_or_else(|| panic!("{verdict}"));
    assert!(name.starts_with("aws-ebs-gp3-") && name.ends_with("GiB-7200iops"), "{name}: {verdict}");
    let best = candidate(&workload, name);
    let gib = best["capacity_on_sale_bytes"].as_u64().unwrap() >> 30;
    let month = best["cost"]["per_month"].as_f64().unwrap();
    assert!((month - (gib as f64 * 0.08 + 4_200.0 * 0.005)).abs() < 0.005, "{gib} GiB for {month}");
    let busy = best["busy"]["utilisation"].as_f64().unwrap();
    assert!((busy - 5_000.0 / 7_200.0).abs() < 0.01, "{busy}");
    // The other markets answer beside it; none is ranked against another.
    let others: Vec<&str> =
        verdict["other_markets"].as_array().unwrap().iter().map(|one| one["market"].as_str().unwrap()).collect();
    assert_eq!(others, ["on-premises", "google"]);
}

#[test]
fn what_one_has_costs_only_electricity() {
    let folder = folder_with_trace(3_000);
    let workload = studied(folder.path(), "small.csv --p99 20ms --have micron-7450-pro:3.84TB --only micron-7450-pro");
    let have = candidate(&workload, "micron-7450-pro-3.84TB-in-use");
    assert_eq!(have["cost"]["purchase"], 0.0);
    assert!(have["cost"]["total"].as_f64().unwrap() > 0.0, "{}", have["cost"]);
    assert_eq!(workload["verdict"]["recommended"], "micron-7450-pro-3.84TB-in-use");
    // Its price is paid, so that nothing is said of it; one failure loses the data, and a second one has to be bought.
    let findings = workload["verdict"]["findings"].to_string();
    assert!(!findings.contains("ask for an offer"), "{findings}");
    let headline = workload["verdict"]["headline"].as_str().unwrap();
    assert!(
        headline.contains("If it fails, the data are lost (") && headline.contains("; two copies cost "),
        "{headline}"
    );
    let two_copies = have["survival"]["two_copies_total"].as_f64().unwrap();
    assert!(two_copies > 1_000.0, "{two_copies}");
    // A copy on each of two, and no more capacity asked for than one of them has.
    let two = "--have 2x-micron-7450-pro:3.84TB --copies 2 --only micron-7450-pro";
    let workload = studied(folder.path(), &format!("small.csv --p99 20ms --thorough {two}"));
    assert_eq!(workload["verdict"]["recommended"], "2x-micron-7450-pro-3.84TB-in-use");
    for (arguments, words) in [
        ("--have micron-7450-prp:1TB", "did you mean `micron-7450-pro`?"),
        ("--have aws-ebs-gp3:100GiB", "aws-ebs-gp3 is rented"),
        ("--have micron-7450-pro:1TB --copies 2", "cannot hold 2 copies"),
        ("--have micron-7450-pro", "write micron-7450-pro:3.84TB"),
    ] {
        let all: Vec<&str> = ["study", "small.csv"].into_iter().chain(arguments.split(' ')).collect();
        let refused = esker_in(folder.path(), &all);
        assert!(refused.code == 2 && refused.stderr.contains(words), "{arguments}: {}", refused.stderr);
    }
    // Too small a one is ruled out by its capacity.
    let few = studied(
        folder.path(),
        "small.csv --p99 20ms --capacity 10TB --have micron-7450-pro:960GB --only micron-7450-pro",
    );
    let ruled = few["ruled_out"].as_array().unwrap();
    assert!(ruled.iter().any(|one| one["name"] == "micron-7450-pro-960GB-in-use" && one["by"] == "capacity"));
}

#[test]
fn prices_and_products_of_ones_own_decide() {
    let folder = folder_with_trace(3_000);
    let two = "--only micron-7450-pro,samsung-pm9a3";
    let recommended = |more: &str| {
        let workload = studied(folder.path(), &format!("small.csv --p99 20ms {two} {more}"));
        let cost = &candidate(&workload, workload["verdict"]["recommended"].as_str().unwrap())["cost"];
        (workload["verdict"]["recommended"].as_str().unwrap().to_string(), cost["purchase"].as_f64().unwrap())
    };
    let (dear, _) = recommended("--price samsung-pm9a3=900USD/TB --price micron-7450-pro=100USD/TB");
    assert_eq!(dear, "micron-7450-pro-960GB");
    let (cheap, price) = recommended("--price samsung-pm9a3=50USD/TB --price micron-7450-pro=100USD/TB");
    assert_eq!(cheap, "samsung-pm9a3-960GB");
    assert!((price - 48.0).abs() < 0.01, "0.96 TB at 50 cost {price}");
    let (_, half) = recommended("--discount 50%");
    let (_, full) = recommended("");
    assert!((half * 2.0 - full).abs() < 0.01, "{half} and {full}");
}

#[test]
fn a_design_is_explained_and_tables_are_written() {
    let folder = folder_with_trace(3_000);
    let workload = studied(folder.path(), "small.csv --p99 20ms --csv tables --markdown study.md");
    let name = workload["verdict"]["recommended"].as_str().unwrap();
    let said = esker_ok(folder.path(), &["report", "out.json", "-o", "r.html", "--explain", name]).stdout;
    for words in [
        "Capacity\n",
        "Price\n",
        " kWh, x ",
        "What survives\n",
        " busy x (",
        "Response times\n",
        "the budget is 20 ms: kept",
        "It is recommended",
    ] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    let ruled = workload["ruled_out"][0]["name"].as_str().unwrap();
    let said = esker_ok(folder.path(), &["report", "out.json", "-o", "r.html", "--explain", ruled]).stdout;
    assert!(said.contains("It was not simulated ("), "{said}");
    let wrong = esker_in(folder.path(), &["report", "out.json", "-o", "r.html", "--explain", "micron"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("no design of the study is called `micron`"), "{}", wrong.stderr);
    let table = std::fs::read_to_string(folder.path().join("tables/candidates.csv")).unwrap();
    let rows = csv_rows(&table);
    assert_eq!(rows.len(), 1 + names(&workload).len());
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "a row has more cells than there are heads");
    let markdown = std::fs::read_to_string(folder.path().join("study.md")).unwrap();
    assert!(markdown.contains(workload["verdict"]["headline"].as_str().unwrap()));
    // A second run replaces its own files, and no others.
    studied(folder.path(), "small.csv --p99 20ms --csv tables --markdown study.md");
    std::fs::write(folder.path().join("tables/answers.csv"), "a letter").unwrap();
    let refused = esker_in(folder.path(), &["report", "out.json", "-o", "r.html", "--csv", "tables"]);
    assert!(refused.code == 2 && refused.stderr.contains("answers.csv"), "{}", refused.stderr);
}

fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|record| record.unwrap().iter().map(Into::into).collect()).collect()
}

/// 15 TB of data ask for a disk; 300 requests a second to 64 MiB of them, each 4 KiB `apart` sectors from the one
/// before, one in `writes` of them a write, ask for
/// flash.
fn folder_with_hot_data(writes: u64, apart: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = String::from("0,0,4096,R,0.000000\n0,29296874992,4096,R,0.000000\n");
    for index in 0..24_000_u64 {
        // 20 a second at first. A step that has nothing in common with the number of hot blocks.
        let at = if index < 600 { index as f64 / 20.0 } else { 30.0 + (index - 600) as f64 / 300.0 };
        let kind = if index % writes == 0 { 'W' } else { 'R' };
        writeln!(trace, "0,{},4096,{kind},{at:.6}", 8_000_000 + index * 7_919 % 16_384 * apart).unwrap();
    }
    std::fs::write(folder.path().join("made.spc"), trace).unwrap();
    folder
}

#[test]
fn a_hybrid_is_advised_explained_and_run_again() {
    let folder = folder_with_hot_data(3, 8);
    let only = "--only micron-5400-pro,toshiba-mg10 --p99 5ms --devices 8";
    let arguments = format!("made.spc {only} --hybrids --no-cost --markdown study.md");
    let workload = studied(folder.path(), &arguments);
    let verdict = &workload["verdict"];
    let name = verdict["recommended"].as_str().unwrap_or_else(|| panic!("{verdict}"));
    assert!(name.ends_with("+toshiba-mg10-20TB"), "{name}: {verdict}");
    let best = candidate(&workload, name);
    let title = best["title"].as_str().unwrap();
    assert!(title.ends_with(" + 1 x Toshiba MG10, 20 TB, hybrid (migration)"), "{title}");
    let [flash, disks] = [0, 1].map(|part| &best["parts"][part]);
    assert_eq!((&best["composition"]["kind"], &best["judged"]["state"]), (&"hybrid".into(), &"settled".into()));
    assert_eq!((&disks["product"]["name"], &disks["count"]), (&"toshiba-mg10".into(), &1.into()));
    let sum = flash["purchase"].as_f64().unwrap() + disks["purchase"].as_f64().unwrap();
    assert_eq!(best["cost"]["purchase"].as_f64(), Some(sum));
    // The page, its tables and the arithmetic speak of both parts.
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    let markdown = std::fs::read_to_string(folder.path().join("study.md")).unwrap();
    assert!(page.contains("hybrid (migration)") && markdown.contains("hybrid (migration)"));
    let words = format!("study {arguments} --quiet --explain {name}");
    let explained = esker_ok(folder.path(), &words.split_whitespace().collect::<Vec<_>>()).stdout;
    for part in ["Toshiba MG10: 1 x 440 USD = 440 USD to buy", "1 x 20 TB = 20 TB", "Micron 5400 PRO: "] {
        assert!(explained.contains(part), "no {part} in {explained}");
    }
    let again = run_again(folder.path(), best, " --hybrids");
    assert_eq!(again["devices"]["hybrid"]["placement"], best["devices"]["hybrid"]["placement"]);
}

/// The study's command ends with `option` and its results keep their schema; the configuration of `best` repeats its
/// run, which is returned.
fn run_again(folder: &Path, best: &Value, option: &str) -> Value {
    let json: Value = serde_json::from_slice(&std::fs::read(folder.join("out.json")).unwrap()).unwrap();
    assert!(json["command"].as_str().unwrap().ends_with(option), "{}", json["command"]);
    let schema: Value = serde_json::from_str(&esker_ok(folder, &["schema", "study"]).stdout).unwrap();
    if let Err(error) = jsonschema::validate(&schema, &json) {
        panic!("the study does not keep its schema: {error}");
    }
    std::fs::write(folder.join("again.toml"), toml::to_string(&best["config"]).unwrap()).unwrap();
    let run = esker_ok(folder, &["sim", "again.toml", "--json", "--no-cost"]);
    let again: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(again["requests"]["all"], best["requests"]["all"]);
    again
}

#[test]
fn a_cache_is_advised_explained_and_run_again() {
    // Side by side, a disk's own buffer would hold them all, whatever its arm does.
    let folder = folder_with_hot_data(1_000, 24);
    let arguments = "made.spc --only micron-5400-pro,toshiba-mg10 --p99 5ms --devices 8 --caches --no-cost";
    let workload = studied(folder.path(), arguments);
    let verdict = &workload["verdict"];
    let name = verdict["recommended"].as_str().unwrap_or_else(|| panic!("{verdict}"));
    assert!(name.ends_with("+toshiba-mg10-20TB-write-through-cache"), "{name}: {verdict}");
    let best = candidate(&workload, name);
    assert_eq!((&best["composition"]["kind"], &best["composition"]["policy"]), (&"cache".into(), &"lru".into()));
    assert_eq!(best["judged"]["warmed"]["warm"], true);
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("cache (lru, write-through)") && page.contains("Its policy is lru"));
    let words = format!("study {arguments} --quiet --explain {name}");
    let explained = esker_ok(folder.path(), &words.split_whitespace().collect::<Vec<_>>()).stdout;
    for part in ["a cache, which adds no capacity", "write-through: ", "the flash takes ", "Toshiba MG10: 1 x 440 USD"]
    {
        assert!(explained.contains(part), "no {part} in {explained}");
    }
    let again = run_again(folder.path(), best, " --caches");
    assert_eq!(again["devices"]["cache"]["flash_cache"], best["devices"]["cache"]["flash_cache"]);
}

#[test]
fn json_says_that_nothing_is_recommended_and_what_is_nearest() {
    let folder = folder_with_trace(3_000);
    let workload = studied(folder.path(), "small.csv --p99 1us --only micron-7450-pro,toshiba-mg10");
    let verdict = workload["verdict"].as_object().unwrap();
    assert!(verdict["recommended"].is_null() && verdict.contains_key("recommended"), "{verdict:?}");
    assert!(verdict["nearest"].is_string(), "{verdict:?}");
}

#[test]
fn a_product_that_is_no_longer_sold_is_named_but_not_advised() {
    let folder = folder_with_trace(3_000);
    let all = studied(folder.path(), "small.csv --p99 20ms --without micron-5400-pro");
    let ruled = all["ruled_out"].as_array().unwrap();
    let gone = ruled.iter().find(|one| one["by"] == "discontinued").unwrap();
    assert!(gone["reason"].as_str().unwrap().contains("is no longer sold"), "{gone}");
    assert!(!names(&all).iter().any(|name| name.contains("samsung-983-zet")));
    let asked = studied(folder.path(), "small.csv --p99 20ms --only samsung-983-zet");
    assert!(names(&asked).contains(&"samsung-983-zet-480GB"));
}
