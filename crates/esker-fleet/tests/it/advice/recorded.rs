//! The advice on a cluster that was recorded.

use std::collections::BTreeMap;

use esker_core::Bytes;
use esker_fleet::advice::{Advice, AdviceSettings};
use esker_results::advice::Advised;
use serde_json::Value;

use super::reference::{Items, items_of, mapped, put, run};
use super::{files, judge, settings};

fn parsed(files: &[(String, Vec<u8>)], name: &str) -> Value {
    serde_json::from_slice(&files.iter().find(|(file, _)| file == name).unwrap().1).unwrap()
}

fn replace(files: &mut [(String, Vec<u8>)], name: &str, value: &Value) {
    files.iter_mut().find(|(file, _)| file == name).unwrap().1 = value.to_string().into_bytes();
}

/// Where CRUSH puts placement groups: nothing was moved off there yet.
fn raw(pg_dump: &Value) -> BTreeMap<String, Vec<i64>> {
    let osds = |stat: &Value| stat["up"].as_array().unwrap().iter().map(|osd| osd.as_i64().unwrap()).collect();
    let stats = pg_dump["pg_map"]["pg_stats"].as_array().unwrap();
    stats.iter().map(|stat| (stat["pgid"].as_str().unwrap().to_string(), osds(stat))).collect()
}

/// What is wrong with the scripts of an advice on the recorded dumps.
fn faults(advice: &Advice, apply: &str, undo: &str) -> Vec<String> {
    let files = files("ceph");
    let pg_dump = parsed(&files, "pg-dump-2.json");
    let raw = raw(&pg_dump);
    let size = |pg: &str| {
        let stats = pg_dump["pg_map"]["pg_stats"].as_array().unwrap();
        stats.iter().find(|stat| stat["pgid"] == pg).unwrap()["stat_sum"]["num_bytes"].as_u64().unwrap()
    };
    let mut items = Items::new();
    let mut faults: Vec<String> = run(apply, &mut items).err().into_iter().collect();
    let (mut copied, none) = (0, Vec::new());
    for (pg, before) in &raw {
        let now = mapped(before, items.get(pg).unwrap_or(&none));
        let mut sorted = now.clone();
        sorted.sort_unstable();
        sorted.dedup();
        // Each OSD is alone in its host.
        if sorted.len() != 3 || sorted.iter().any(|osd| !(0..5).contains(osd)) {
            faults.push(format!("{pg} is on {now:?}"));
        }
        if items.contains_key(pg) && now == *before {
            faults.push(format!("the pairs of {pg} do nothing"));
        }
        copied += now.iter().zip(before).filter(|(now, before)| now != before).count() as u64 * size(pg);
    }
    let said = advice.cluster.as_ref().unwrap();
    if copied != said.copied_bytes || copied > said.budget_bytes {
        faults.push(format!("{copied} bytes move, {} are said, {} allowed", said.copied_bytes, said.budget_bytes));
    }
    faults.extend(run(undo, &mut items).err());
    if !items.is_empty() {
        faults.push(format!("the undo script leaves {items:?}"));
    }
    faults
}

#[test]
fn the_script_keeps_domains_and_budget_and_the_undo_script_restores_the_map() {
    let advice = judge(&files("ceph"), &settings()).unwrap();
    assert_eq!(advice.verdict.advised, Advised::Balance, "{:?}", advice.verdict);
    let scripts = advice.scripts.as_ref().unwrap();
    assert_eq!(faults(&advice, &scripts.apply, &scripts.undo), Vec::<String>::new());
    let cluster = advice.cluster.as_ref().unwrap();
    assert!(
        cluster.moves.iter().any(|one| one.from == 0) && cluster.moves.iter().all(|one| one.to != 0),
        "{cluster:?}"
    );
    assert!(cluster.first_worn_out_after_unix_s > cluster.first_worn_out_unix_s);
    assert!((cluster.written_per_client_byte.unwrap() - 1.35).abs() < 0.01);
    // The one that wears out first is saved, whichever end of the ranges is true.
    assert!(cluster.drives_saved.unwrap().low >= 1.0 && cluster.money_saved >= Some(100.0));
}

/// Scripts with one slip each.
#[test]
fn wrong_scripts_are_found() {
    let advice = judge(&files("ceph"), &settings()).unwrap();
    let scripts = advice.scripts.as_ref().unwrap();
    let first = &advice.cluster.as_ref().unwrap().moves[0];
    let command = format!("pg-upmap-items {} {} {}", first.pg, first.from, first.to);
    let raw = raw(&parsed(&files("ceph"), "pg-dump-2.json"));
    let home = raw[&first.pg].iter().find(|osd| **osd != first.from as i64).unwrap();
    assert!(scripts.apply.contains(&command));
    let without_last = |script: &str| script.trim_end().rsplit_once('\n').unwrap().0.to_string();
    for (apply, undo) in [
        (
            scripts.apply.replace(&command, &format!("pg-upmap-items {} {} {home}", first.pg, first.from)),
            scripts.undo.clone(),
        ),
        (
            scripts.apply.replace(&command, &format!("pg-upmap-items {} {} 5", first.pg, first.from)),
            scripts.undo.clone(),
        ),
        (without_last(&scripts.apply), scripts.undo.clone()),
        (scripts.apply.clone(), without_last(&scripts.undo)),
        (scripts.apply.clone(), scripts.undo.replace("rm-pg-upmap-items", "pg-upmap-items")),
    ] {
        assert!(!faults(&advice, &apply, &undo).is_empty(), "{apply}\n{undo}");
    }
}

#[test]
fn a_second_advice_on_the_changed_dumps_is_empty() {
    let mut files = files("ceph");
    let advice = judge(&files, &settings()).unwrap();
    let (mut osd_dump, mut pg_dump) = (parsed(&files, "osd-dump.json"), parsed(&files, "pg-dump-2.json"));
    let raw = raw(&pg_dump);
    let mut items = items_of(&osd_dump);
    run(&advice.scripts.unwrap().apply, &mut items).unwrap();
    put(&items, &raw, &mut osd_dump, &mut pg_dump);
    replace(&mut files, "osd-dump.json", &osd_dump);
    replace(&mut files, "pg-dump-2.json", &pg_dump);
    let second = judge(&files, &settings()).unwrap();
    assert_eq!(second.verdict.advised, Advised::NothingToDo, "{:?}", second.verdict);
    assert!(second.scripts.is_none() && second.cluster.unwrap().moves.is_empty());
}

/// The script was run on that cluster, and its dumps recorded again: tests/ceph/README.md.
#[test]
fn the_cluster_did_what_the_script_says() {
    let mut files = files("ceph");
    let advice = judge(&files, &settings()).unwrap();
    let mut items = Items::new();
    run(&advice.scripts.unwrap().apply, &mut items).unwrap();
    let before = raw(&parsed(&files, "pg-dump-2.json"));
    let moved = super::files("ceph-moved");
    assert_eq!(items_of(&parsed(&moved, "osd-dump.json")), items);
    let none = Vec::new();
    let expected: BTreeMap<String, Vec<i64>> =
        before.iter().map(|(pg, raw)| (pg.clone(), mapped(raw, items.get(pg).unwrap_or(&none)))).collect();
    assert_eq!(raw(&parsed(&moved, "pg-dump-2.json")), expected);
    for (name, bytes) in moved {
        files.iter_mut().find(|(file, _)| *file == name).unwrap().1 = bytes;
    }
    let second = judge(&files, &settings()).unwrap();
    assert_eq!((second.verdict.advised, second.scripts), (Advised::NothingToDo, None), "{:?}", second.verdict);
}

/// Without the dump of rules the flat tree leaves no doubt.
#[test]
fn the_rule_of_a_flat_tree_is_guessed() {
    let mut files = files("ceph");
    let all = judge(&files, &settings()).unwrap();
    files.retain(|(name, _)| name != "crush-rules.json");
    assert_eq!(judge(&files, &settings()).unwrap().scripts, all.scripts);
}

#[test]
fn there_is_no_plan_without_a_budget_a_price_or_a_rating() {
    let with = |change: fn(&mut AdviceSettings)| {
        let mut settings = settings();
        change(&mut settings);
        judge(&files("ceph"), &settings).unwrap()
    };
    for (advice, advised) in [
        (with(|settings| settings.budget = Some(Bytes(1_000_000))), Advised::NothingToDo),
        (with(|settings| settings.prices.clear()), Advised::NotJudged),
        (with(|settings| settings.prices[0].1 = 0.0), Advised::NothingToDo),
        (with(|settings| settings.horizon_years = 1.0), Advised::NothingToDo),
    ] {
        assert_eq!((advice.verdict.advised, advice.scripts), (advised, None), "{:?}", advice.verdict);
    }
    // What the drives say themselves is enough of a rating.
    let own = with(|settings| settings.ratings.clear());
    assert!(own.drives.iter().all(|drive| drive.endurance_source[0].contains("own count")), "{:?}", own.drives);
}
