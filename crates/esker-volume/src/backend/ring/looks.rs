//! Whether looking for the kernel's news before a wait sleeps is worth its processor time.
//!
//! That depends on what it takes to wake up another processor: little where idle ones are awake, some ten microseconds
//! where a hypervisor has to run them first. So both are tried, and what serves more requests goes on.

use esker_core::Nanos;

/// Turns of a trial, and turns between trials.
const TRIAL: u32 = 64;
const BETWEEN: u32 = 2048;

/// A turn counts as this long at most: one that was held up by something else must not decide a trial.
const TURN_MAX: Nanos = Nanos::from_micros(500);

/// Looking is worth it if it makes requests faster by a quarter of the share of time that it takes.
const WORTH: u64 = 4;

/// Compares turns whose wait looks with turns whose wait sleeps. A turn is a wait, and the work before it.
pub(super) struct LookTrials {
    are_worth_it: bool,
    /// Turns since the last decision: a trial of what was decided, and one of the other, follow after [`BETWEEN`].
    turns: u32,
    asleep: Tally,
    looking: Tally,
}

/// What was done in the turns of a trial.
#[derive(Clone, Copy, Default)]
struct Tally {
    time: Nanos,
    looked: Nanos,
    /// Operations on files that were begun, and turns without one.
    operations: u64,
}

/// A turn whose wait was short.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) time: Nanos,
    /// The part of it that was spent looking.
    pub(super) looked: Nanos,
    pub(super) operations: u64,
}

impl Default for LookTrials {
    /// Begins with a trial.
    fn default() -> Self {
        Self { are_worth_it: true, turns: BETWEEN, asleep: Tally::default(), looking: Tally::default() }
    }
}

impl LookTrials {
    /// Whether the next wait is to look.
    pub(super) fn are_made(&self) -> bool {
        self.are_worth_it == (self.turns < BETWEEN + TRIAL)
    }

    pub(super) fn note(&mut self, turn: Turn) {
        if self.turns >= BETWEEN {
            let tally = if self.are_made() { &mut self.looking } else { &mut self.asleep };
            tally.time += turn.time.min(TURN_MAX);
            tally.looked += turn.looked;
            // Requests may be answered without a file, or by a device behind a socket.
            tally.operations += turn.operations.max(1);
        }
        self.turns += 1;
        if self.turns == BETWEEN + 2 * TRIAL {
            self.are_worth_it = is_worth_it(self.asleep, self.looking);
            (self.turns, self.asleep, self.looking) = (0, Tally::default(), Tally::default());
        }
    }
}

/// Whether `operations / time` of the turns that looked is higher than that of the others, by [`WORTH`].
fn is_worth_it(asleep: Tally, looking: Tally) -> bool {
    let price = looking.time.0 + looking.looked.0 / WORTH;
    let [gained, needed] = [(looking.operations, asleep.time.0), (asleep.operations, price)]
        .map(|(operations, time)| u128::from(operations) * u128::from(time));
    gained > needed
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: u64 = 10;

    /// Waits that take this many microseconds if they look, and if they sleep. Returns how many of the last looked.
    fn looks(trials: &mut LookTrials, (looking, asleep): (u64, u64), operations: u64) -> u32 {
        let mut looks = 0;
        for turn in 0..3 * (BETWEEN + 2 * TRIAL) {
            let looked = if trials.are_made() { Nanos::from_micros(looking) } else { Nanos::ZERO };
            let wait = if trials.are_made() { looking } else { asleep };
            looks += u32::from(trials.are_made() && turn >= 2 * (BETWEEN + 2 * TRIAL));
            trials.note(Turn { time: Nanos::from_micros(WORK + wait), looked, operations });
        }
        looks
    }

    #[test]
    fn waits_look_where_that_makes_turns_shorter() {
        for operations in [0, 1, 30] {
            let mut trials = LookTrials::default();
            let rare = TRIAL + 1;
            assert!(looks(&mut trials, (10, 40), operations) >= BETWEEN);
            assert!(looks(&mut trials, (10, 10), operations) <= rare, "looking gains nothing");
            assert!(looks(&mut trials, (10, 5), operations) <= rare, "looking disturbs the client");
            assert!(looks(&mut trials, (10, 12), operations) <= rare, "half of the time for a tenth more");
            assert!(looks(&mut trials, (1, 2), operations) >= BETWEEN, "a tenth of the time for a tenth more");
            assert!(looks(&mut trials, (10, 40), operations) >= BETWEEN);
        }
    }

    /// More requests may come together if the thread sleeps, and take longer together.
    #[test]
    fn requests_count_and_not_turns() {
        let turn = |time, looked, operations| Tally { time: Nanos(time), looked: Nanos(looked), operations };
        assert!(!is_worth_it(turn(30, 0, 32), turn(20, 1, 16)));
        assert!(is_worth_it(turn(30, 0, 32), turn(20, 1, 24)));
    }

    #[test]
    fn a_turn_that_was_held_up_decides_nothing() {
        let mut trials = LookTrials::default();
        for turn in 0..BETWEEN + 2 * TRIAL {
            let wait = if trials.are_made() { 10 } else { 40 };
            let held_up = if turn == TRIAL / 2 { 10_000 } else { 0 };
            trials.note(Turn { time: Nanos::from_micros(WORK + wait + held_up), looked: Nanos::ZERO, operations: 1 });
        }
        assert!(trials.are_made());
    }
}
