//! Verdicts on made-up measurements, and one quick measurement of each item.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use esker_core::Bytes;
use esker_fs_bench::{Rates, Work};

use super::machine::Bench;
use super::{Found, PLANS, Part, Plan, Size, System, measure, measure_here, outcome, plan, stated};
use crate::{Claim, ClaimVerdict, Context, Item, ItemOutcome, ReproduceError};

const QUICK: Size = Size {
    file: Bytes(256 << 10),
    thread_file: Bytes(512 << 10),
    postmark_files: 40,
    postmark_transactions: 200,
    runs: 1,
    pool: Bytes(64 << 20),
};

const SYSTEMS: [System; 7] = [
    System::Scmfs,
    System::ScmfsHuge,
    System::ScmfsMetadata,
    System::ScmfsFuse,
    System::Tmpfs,
    System::Ramfs,
    System::Ext2,
];

/// Claims that contradict others: in the paper's world they are missed.
const AGAINST_THE_PAPER: [&str; 4] = [
    "rewrite: SCMFS over ext2, the least of all records",
    "random write: SCMFS over ext2, the least of all records",
    "reads most: SCMFS with consistency over SCMFS (at least 0.9)",
    "writes most: SCMFS with consistency over SCMFS (at least 0.9)",
];

fn items() -> impl Iterator<Item = (&'static Item, &'static Plan)> {
    PLANS.iter().map(|plan| (crate::ITEMS.iter().find(|item| item.name == plan.item).unwrap(), plan))
}

/// A change of what the paper's machine would measure.
#[derive(Clone, Copy, Debug)]
struct Twin {
    system: System,
    /// Which of the rates.
    part: usize,
    /// Only this job; all without.
    job: Option<Work>,
    factor: f64,
    memory_factor: f64,
}

const AS_THE_PAPER: Twin = Twin { system: System::Scmfs, part: 0, job: None, factor: 1.0, memory_factor: 1.0 };

impl Twin {
    /// A machine on which everything is as the paper says.
    fn rate(&self, system: System, work: &Work, part: usize) -> f64 {
        let mut rate = match (system, work) {
            (System::Ext2, _) => 1e9,
            (System::ScmfsMetadata, _) => 1.2e9,
            // "Close to each other".
            (_, Work::Postmark(_)) => 1.8e9,
            (System::ScmfsHuge, _) => 3e9,
            _ => 2e9,
        };
        if let Work::Transfer(what) | Work::Fio(what, _) = work {
            let kib = what.record.0 >> 10;
            // The surprise of figures 25 and 26, which figure 28 does not have.
            if part < 2 && (64..=512).contains(&kib) && system == System::Scmfs && what.file == QUICK.file {
                rate = 0.9e9;
            }
            rate *= if kib > 1024 { 0.5 } else { 1.0 } * what.threads as f64;
            rate *= if part == Part::Read.index() { 2.0 } else { 1.0 };
        }
        let applies = system == self.system && part == self.part && self.job.is_none_or(|job| job == *work);
        if applies { rate * self.factor } else { rate }
    }
}

impl Bench for Twin {
    fn rates(&self, systems: &[System], work: &Work) -> Result<Vec<Result<Rates, String>>, ReproduceError> {
        Ok(systems.iter().map(|system| Ok([0, 1, 2].map(|part| self.rate(*system, work, part)))).collect())
    }

    fn memory(&self, threads: usize, _: Bytes, _: Bytes) -> Result<f64, ReproduceError> {
        Ok(5e9 * threads as f64 * self.memory_factor)
    }
}

fn on(bench: &dyn Bench, item: &Item, plan: &Plan) -> ItemOutcome {
    let found: Found = measure(plan, &QUICK, bench, &|_| {}).unwrap();
    outcome(item, plan, &QUICK, &found)
}

fn name(claim: &Claim) -> String {
    format!("{} ({})", claim.claim, claim.stated_tolerance().unwrap_or_default())
}

fn is_against_the_paper(claim: &Claim) -> bool {
    AGAINST_THE_PAPER.iter().any(|name| *name == claim.claim || *name == self::name(claim))
}

fn is_judged(claim: &Claim) -> bool {
    matches!(claim.verdict, ClaimVerdict::Met | ClaimVerdict::Missed)
}

/// The paper's machine with rates of one system far off: in all jobs, in the first, or in the last one.
fn twins(plan: &Plan) -> Vec<Twin> {
    let works: Vec<Work> = (plan.jobs)(&QUICK)
        .into_iter()
        .filter_map(|job| match job {
            super::Job::Work(_, work) => Some(work),
            super::Job::Memory(..) => None,
        })
        .collect();
    let jobs = [None, works.first().copied(), works.last().copied()];
    let mut twins = vec![Twin { memory_factor: 20.0, ..AS_THE_PAPER }];
    for system in SYSTEMS {
        for part in 0..3 {
            for factor in [0.01, 100.0] {
                twins.extend(jobs.map(|job| Twin { system, part, job, factor, memory_factor: 1.0 }));
            }
        }
    }
    twins
}

#[test]
fn what_the_paper_says_is_met_on_its_machine_and_each_claim_can_be_missed() {
    for (item, plan) in items() {
        let paper = on(&AS_THE_PAPER, item, plan).claims;
        let mut turned = vec![false; paper.len()];
        for twin in twins(plan) {
            for (at, claim) in on(&twin, item, plan).claims.iter().enumerate() {
                turned[at] |= is_judged(claim) && claim.verdict != paper[at].verdict;
            }
        }
        for (claim, turned) in paper.iter().zip(turned) {
            if is_judged(claim) {
                assert_eq!(claim.verdict == ClaimVerdict::Missed, is_against_the_paper(claim), "{claim:?}");
                assert!(turned, "no measurement changes the verdict on {}: {}", item.name, name(claim));
            }
        }
        assert!(paper.iter().filter(|claim| is_judged(claim)).count() >= 6, "{}", item.name);
    }
}

/// Whatever is claimed of a system is wrong on a machine whose ext2 is a hundred times as fast.
#[test]
fn a_fast_ext2_breaks_what_is_claimed_over_it() {
    for (item, plan) in items() {
        for part in 0..3 {
            let fast = Twin { system: System::Ext2, part, factor: 100.0, ..AS_THE_PAPER };
            let paper = on(&AS_THE_PAPER, item, plan).claims;
            for (claim, paper) in on(&fast, item, plan).claims.iter().zip(paper) {
                if claim.claim.contains(" over ext2") && claim.measured != paper.measured {
                    assert_eq!(claim.verdict, ClaimVerdict::Missed, "{}: {}", item.name, name(claim));
                }
            }
        }
    }
}

struct Without(System);

impl Bench for Without {
    fn rates(&self, systems: &[System], work: &Work) -> Result<Vec<Result<Rates, String>>, ReproduceError> {
        let all = AS_THE_PAPER.rates(systems, work)?;
        let lacking = |(system, rates): (&System, _)| {
            if *system == self.0 { Err(format!("{}: needs root", system.name())) } else { rates }
        };
        Ok(systems.iter().zip(all).map(lacking).collect())
    }

    fn memory(&self, threads: usize, bytes: Bytes, piece: Bytes) -> Result<f64, ReproduceError> {
        AS_THE_PAPER.memory(threads, bytes, piece)
    }
}

#[test]
fn what_cannot_be_had_is_unreachable_with_the_reason_and_never_met() {
    for (item, plan) in items() {
        let paper = on(&AS_THE_PAPER, item, plan);
        for system in SYSTEMS {
            let without = on(&Without(system), item, plan);
            for (claim, whole) in without.claims.iter().zip(&paper.claims) {
                if claim.reason.contains("needs root") {
                    assert_eq!(claim.verdict, ClaimVerdict::Unreachable, "{}", name(claim));
                    assert!(claim.reason.starts_with(system.name()) && claim.measured.is_none(), "{}", name(claim));
                } else {
                    assert_eq!((claim.verdict, claim.measured), (whole.verdict, whole.measured));
                }
            }
            let named = |claim: &&Claim| claim.claim.ends_with("over ext2") && claim.measured.is_some();
            assert!(system != System::Ext2 || !without.claims.iter().any(|claim| named(&claim)), "{}", item.name);
        }
    }
}

#[test]
fn claims_are_stated_before_the_run_as_they_are_after_it() {
    for (item, plan) in items() {
        assert!(item.is_measured_here());
        let (before, after) = (stated(item).unwrap(), on(&AS_THE_PAPER, item, plan).claims);
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            crate::items::check_claim(after);
            let published = after.published.filter(|_| after.verdict != ClaimVerdict::Unreachable);
            assert_eq!(before.claim, after.claim);
            if is_judged(after) {
                assert_eq!((before.limit.clone(), before.published), (after.stated_tolerance(), published));
                assert_eq!(before.reason, after.reason);
            }
        }
        let mut names: Vec<String> = after.iter().map(name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), after.len(), "{}", item.name);
    }
    let simulated = crate::ITEMS.iter().find(|item| item.name == "wu/figure-2").unwrap();
    assert!(!simulated.is_measured_here() && plan(simulated).is_none());
}

/// On this machine, with small files: as root all is measured, as anybody else nothing can be mounted.
#[test]
fn every_item_measures_this_machine_or_says_why_not() {
    let cancel = AtomicBool::new(false);
    let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
    for (item, _) in items() {
        let outcome = measure_here(item, &QUICK, &context).unwrap();
        assert_eq!(outcome.claims.len(), stated(item).unwrap().len());
        for claim in &outcome.claims {
            assert_eq!(claim.verdict == ClaimVerdict::Unreachable, claim.measured.is_none(), "{claim:?}");
            assert!(claim.measured.is_none_or(|value| value.is_finite() && value > 0.0), "{claim:?}");
        }
        assert!(!outcome.figures.is_empty());
    }
}

#[test]
fn an_item_that_is_stopped_ends() {
    let cancel = AtomicBool::new(true);
    let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
    for (item, _) in items() {
        // Where nothing can be mounted, there is nothing to stop.
        match measure_here(item, &QUICK, &context) {
            Err(error) => assert!(matches!(error, ReproduceError::Cancelled), "{error}"),
            Ok(outcome) => assert!(outcome.claims.iter().all(|claim| claim.measured.is_none())),
        }
    }
}
