//! Seeds of the simulation. `ESKER_SOAK=N` runs N times as many.

use super::*;

/// How many times as many cases are wanted.
fn times() -> u64 {
    std::env::var("ESKER_SOAK").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// Runs `count` seeds, and returns what happened in all of them.
fn run_all(count: u64, plan: Plan) -> Outcome {
    let mut all = Outcome::default();
    for seed in 0..count * times() {
        all += run(&Plan { seed, ..plan }).unwrap_or_else(|violation| panic!("{violation}"));
    }
    all
}

const PLAN: Plan = Plan {
    seed: 0,
    steps: 3_000,
    lives: 6,
    faults: false,
    cuts: Cuts::Never,
    changes: 0,
    clusters: false,
    copies: 0,
    wrong: DiskFault::None,
};

#[test]
fn what_was_promised_survives_losses_of_power() {
    let all = run_all(100, PLAN);
    assert!(all.answered > 40_000 && all.power_losses > 200 && all.kills > 80 && all.cut_openings > 8, "{all:?}");
    assert!(all.caches > 6 && all.arrays > 6 && all.mapped > 6, "{all:?}");
    assert!(all.checkpoints > 200 && all.journal_records > 8_000 && all.lost == 0, "{all:?}");
}

#[test]
fn what_was_promised_survives_failures_of_disks_too() {
    let all = run_all(100, Plan { faults: true, ..PLAN });
    assert!(all.answered > 40_000 && all.degraded > 20 && all.mapped > 6 && all.lost < 40 * times(), "{all:?}");
}

#[test]
fn what_was_promised_is_there_wherever_the_power_fails() {
    let all = run_all(6, Plan { steps: 300, lives: 2, cuts: Cuts::Always, ..PLAN });
    assert!(all.cuts > 200, "{all:?}");
}

#[test]
fn the_journal_before_a_checkpoint_is_needed_until_the_checkpoint_is_durable() {
    let all = run_all(5, Plan { steps: 15_000, lives: 2, cuts: Cuts::AfterCheckpoints, ..PLAN });
    assert!(all.cuts > 100, "{all:?}");
}

#[test]
fn what_was_promised_is_there_wherever_the_power_fails_beside_a_failing_disk() {
    let all = run_all(6, Plan { steps: 300, lives: 3, cuts: Cuts::Always, faults: true, ..PLAN });
    assert!(all.cuts > 200, "{all:?}");
}

#[test]
fn what_was_promised_survives_while_disks_join_grow_and_leave() {
    let all = run_all(32, Plan { changes: 60, ..PLAN });
    assert!(all.joined > 80 && all.removed > 24 && all.grown > 80 && all.offered > 24 && all.set > 24, "{all:?}");
}

#[test]
fn what_was_promised_survives_while_disks_join_grow_leave_and_fail() {
    let all = run_all(32, Plan { changes: 60, faults: true, ..PLAN });
    assert!(all.joined > 80 && all.removed > 24 && all.grown > 80 && all.degraded > 6, "{all:?}");
}

#[test]
fn what_was_promised_is_there_wherever_the_power_fails_while_disks_join_grow_and_leave() {
    let all = run_all(12, Plan { steps: 300, lives: 3, cuts: Cuts::Always, changes: 15, ..PLAN });
    assert!(all.cuts > 200 && all.joined > 5 && all.grown > 5, "{all:?}");
}

const CLUSTERS: Plan = Plan { clusters: true, ..PLAN };

#[test]
fn clusters_keep_their_promises_through_losses_of_power() {
    let all = run_all(24, CLUSTERS);
    assert!(all.clusters == 24 * times() && all.moves > 120 * times() && all.power_losses > 40, "{all:?}");
    assert!(all.checkpoints > 40 && all.journal_records > 3_200 && all.lost == 0, "{all:?}");
}

#[test]
fn clusters_keep_their_promises_when_disks_fail() {
    let all = run_all(32, Plan { faults: true, ..CLUSTERS });
    assert!(all.moves > 40 && all.degraded > 4 && all.lost < 16 * times(), "{all:?}");
}

#[test]
fn clusters_keep_their_promises_wherever_the_power_fails() {
    let all = run_all(6, Plan { steps: 300, lives: 2, cuts: Cuts::Always, ..CLUSTERS });
    assert!(all.cuts > 200, "{all:?}");
}

#[test]
fn clusters_keep_their_promises_while_disks_join_and_leave() {
    let all = run_all(12, Plan { changes: 60, ..CLUSTERS });
    assert!(all.joined > 15 && all.removed > 4 && all.set > 9 && all.moves > 37, "{all:?}");
}

#[test]
fn clusters_keep_their_promises_while_disks_join_leave_and_fail() {
    let all = run_all(12, Plan { changes: 60, faults: true, ..CLUSTERS });
    assert!(all.joined > 15 && all.removed > 2 && all.degraded > 2, "{all:?}");
}

#[test]
fn clusters_keep_their_promises_wherever_the_power_fails_while_disks_join_and_leave() {
    let all = run_all(4, Plan { steps: 300, lives: 3, cuts: Cuts::Always, changes: 15, ..CLUSTERS });
    assert!(all.cuts > 100 && all.joined > 1, "{all:?}");
}

const COPIES: Plan = Plan { copies: 2, faults: true, ..CLUSTERS };

#[test]
fn clusters_of_copies_make_up_for_a_disk() {
    let all = run_all(24, COPIES);
    assert!(all.known_failed > 0, "{all:?}");
    assert!(
        all.made_up_for > 12 && all.degraded > 8 && all.given_up > 2 && all.rebuilt > 400 && all.lost == 0,
        "{all:?}"
    );
}

#[test]
fn clusters_of_copies_make_up_for_a_disk_wherever_the_power_fails() {
    let all = run_all(3, Plan { steps: 300, lives: 3, cuts: Cuts::Always, ..COPIES });
    assert!(all.cuts > 200 && all.made_up_for > 0 && all.lost == 0, "{all:?}");
}

#[test]
fn clusters_of_copies_make_up_for_a_disk_while_disks_join_and_leave() {
    let all = run_all(6, Plan { changes: 60, copies: 3, ..COPIES });
    assert!(all.joined > 5 && all.removed > 3 && all.made_up_for > 2 && all.lost == 0, "{all:?}");
}

#[test]
fn a_disk_that_lies_is_found_out() {
    let found = (0..20).filter(|&seed| run(&Plan { seed, wrong: DiskFault::Lies, ..PLAN }).is_err()).count();
    assert!(found >= 15, "{found}");
}

#[test]
fn a_seed_always_gives_the_same_run() {
    let plan = Plan { seed: 7, faults: true, ..PLAN };
    assert_eq!(run(&plan), run(&plan));
}

#[test]
fn damage_to_one_device_is_repaired_and_no_damage_shows_other_data() {
    let mut all = DamageOutcome::default();
    for seed in 0..2 * times() {
        let outcome = damage(seed, 250).unwrap_or_else(|violation| panic!("{violation}"));
        all.repaired += outcome.repaired;
        all.noticed += outcome.noticed;
        all.older += outcome.older;
        all.refused += outcome.refused;
        all.harmless += outcome.harmless;
    }
    assert!(all.repaired > 200 && all.noticed > 80 && all.older > 50 && all.refused + all.harmless > 50, "{all:?}");
}
