//! The best designs of all kinds beside each other, in studies of synthetic workloads.

use esker_results::study::{FamilyAnswer, Promotions, WorkloadStudy};

use crate::StudySettings;
use crate::hybrid_tests::{FLASH, HOT, HYBRID, SyntheticWorkload, asked, candidate, small, studied};

const ALL: [&str; 4] = ["all-flash", "all-disk", "tier (hybrid)", "cache"];
const CACHE: &str = "micron-5400-pro-960GB+toshiba-mg10-20TB-write-through-cache";

fn with_all_kinds(made: &SyntheticWorkload) -> WorkloadStudy {
    let folder = tempfile::tempdir().unwrap();
    let kinds = ["hybrids", "caches"].map(String::from).to_vec();
    studied(&StudySettings { kinds, ..asked(&made.write(folder.path()), small()) })
}

fn family<'a>(study: &'a WorkloadStudy, name: &str) -> &'a FamilyAnswer {
    study.families.iter().find(|one| one.family == name).unwrap_or_else(|| panic!("no {name}: {:?}", study.families))
}

fn promotions(study: &WorkloadStudy, design: &str) -> Option<Promotions> {
    candidate(study, design).endurance.as_ref()?.promotions
}

/// The hybrid is the answer. A cache costs more, so that only the comparison asks for it; disks alone are too busy.
#[test]
fn the_best_of_each_kind_stands_beside_the_answer() {
    let study = with_all_kinds(&HOT);
    assert_eq!(study.families.iter().map(|one| one.family.as_str()).collect::<Vec<_>>(), ALL);
    assert_eq!(study.verdict.recommended.as_deref(), Some(HYBRID), "{}", study.verdict.headline);
    let best = ALL.map(|name| family(&study, name).best.clone().unwrap());
    assert_eq!([&best[0], &best[2], &best[3]], [FLASH, HYBRID, CACHE]);
    let cost = |name: &str| candidate(&study, name).cost.total;
    assert!(cost(HYBRID) < cost(CACHE) && cost(CACHE) < cost(FLASH));
    for (name, answer) in ALL.iter().zip(&study.families) {
        assert_eq!(answer.keeps_budgets, *name != "all-disk", "{answer:?}");
        assert_eq!(answer.because.is_empty(), answer.keeps_budgets, "{answer:?}");
        assert!(answer.simulated > 0 && answer.simulated <= answer.offered, "{answer:?}");
    }
    assert!(family(&study, "all-disk").because.contains("p99"), "{:?}", study.families);
    // Nothing moves for good once what is hot is on flash; a line that is used for the first time fills the cache.
    let [tier, cache] = [HYBRID, CACHE].map(|name| promotions(&study, name).unwrap());
    assert!(tier.share_of_writes < 0.1 && cache.share_of_writes > tier.share_of_writes, "{tier:?} {cache:?}");
    assert_eq!(promotions(&study, FLASH), None, "nothing moves there");
    assert!(candidate(&study, CACHE).cost.watts() > candidate(&study, HYBRID).cost.watts(), "its disk has more to do");
}

/// A disk reads consecutive blocks fast enough, and flash beside it only adds to the price. Some such designs are
/// simulated all the same, because they were asked for.
#[test]
fn kinds_that_cost_more_than_the_answer_stand_beside_it() {
    let study = with_all_kinds(&SyntheticWorkload { sequential: true, seconds: 120, write_one_of: 1_000, ..HOT });
    let answer = candidate(&study, "toshiba-mg10-20TB");
    assert_eq!(study.verdict.recommended.as_ref(), Some(&answer.name), "{}", study.verdict.headline);
    for name in ["tier (hybrid)", "cache"] {
        let found = family(&study, name);
        assert!((1..=4).contains(&found.simulated), "{found:?}");
        assert!(candidate(&study, found.best.as_deref().unwrap()).cost.total > answer.cost.total, "{found:?}");
    }
}

/// The hot region moves every twenty seconds, so that no hybrid keeps the budgets. Of the nearest, whose life was not
/// simulated, nothing is said that nobody measured.
#[test]
fn what_was_not_judged_has_no_cost_in_life() {
    let folder = tempfile::tempdir().unwrap();
    let made = SyntheticWorkload { moves_after_s: Some(20), ..HOT };
    let study = studied(&asked(&made.write(folder.path()), small()));
    let tier = family(&study, "tier (hybrid)");
    assert!(!tier.keeps_budgets && !tier.because.is_empty(), "{tier:?}");
    assert_eq!(promotions(&study, tier.best.as_deref().unwrap()), None);
}

/// Flash for 1 TB costs less than a disk with flash before it, so no pair is offered, and the answer says so.
#[test]
fn a_kind_that_was_asked_for_in_vain_says_why() {
    let study = with_all_kinds(&SyntheticWorkload { terabytes: 1, seconds: 100, ..HOT });
    for name in ["tier (hybrid)", "cache"] {
        let found = family(&study, name);
        let expected = (0, None, "none is offered that may be worth its price");
        assert_eq!((found.offered, found.best.as_deref(), found.because.as_str()), expected, "{found:?}");
    }
    let settings = |kinds: Vec<String>| {
        let folder = tempfile::tempdir().unwrap();
        let brief = SyntheticWorkload { terabytes: 1, seconds: 100, ..HOT };
        let study = studied(&StudySettings { kinds, ..asked(&brief.write(folder.path()), small()) });
        study.families.into_iter().map(|one| one.family).collect::<Vec<_>>()
    };
    assert_eq!(settings(Vec::new()), ALL[..2], "nobody asked for the others");
}
