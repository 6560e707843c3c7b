//! Checks that chance does not decide what to buy: ten seeds give the same answer, or call the answers equal. For `make
//! soak`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_catalogue::Market;
use esker_results::study::{Budgets, Verdict};

use crate::brute_force_tests::{settings, traces};
use crate::{Hooks, study};

/// Returns what a verdict recommends, and what it calls equal or too close to call.
fn answers(verdict: &Verdict) -> (String, BTreeSet<String>) {
    let best = verdict.recommended.clone().unwrap_or_else(|| "none".into());
    (best, verdict.equals.iter().chain(&verdict.close).cloned().collect())
}

#[test]
fn ten_seeds_give_the_same_choice_or_call_the_choices_equal() {
    if esker_testkit::soak() == 1 {
        return;
    }
    let names = [
        "Financial1-first10k.spc.zst",
        "WebSearch1-first25k.spc.zst",
        "msr-prxy_0-first20k.csv.zst",
        "sqlite-wal-ext4-5k.wiscsee.zst",
        "diskmon-sys1.diskmon.zst",
        "disksim-sample-100k.disksim.zst",
        "cloudphysics-2h.vscsi.zst",
        "msps-dtrs-8h.ssdsim.zst",
        "ycsb-rocksdb-10k.blkparse.zst",
    ];
    for trace in traces(&names) {
        let budgets = Budgets { years: 5.0, ..Budgets::default() };
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let mut first: Option<(String, BTreeSet<String>)> = None;
        for seed in 1..=10 {
            let mut settings = settings(&trace, catalogue.clone(), Market::OnPremises, budgets.clone());
            settings.seed = seed;
            let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
            let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
            let found = study(&settings, &hooks).unwrap();
            let (best, equals) = answers(&found.workloads[0].verdict);
            let (first_best, first_equals) = first.get_or_insert_with(|| (best.clone(), equals.clone()));
            let same = best == *first_best || equals.contains(first_best) || first_equals.contains(&best);
            assert!(same, "{}: {first_best} with seed 1, {best} with seed {seed}", trace.display());
        }
    }
}
