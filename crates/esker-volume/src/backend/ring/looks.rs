//! Whether looking for the kernel's news before a wait sleeps is worth its processor time.
//!
//! That depends on what it takes to fall asleep and to be woken up: little where idle processors are awake, more than
//! ten microseconds of processor time where a hypervisor has to run them first. So both are tried in turn, and
//! measured.

use esker_core::Nanos;

/// Turns of a trial, and turns between trials.
const TRIAL: u32 = 64;
const BETWEEN: u32 = 8192;

/// A turn counts as this long at most: one that was held up by something else must not decide a trial.
const TURN_MAX: Nanos = Nanos::from_micros(500);

/// A microsecond of processor time is worth as much as this part of a microsecond that requests take less.
const WORTH: f64 = 4.0;

/// Looking may at most make a request cost this many times the processor time.
const COST_MAX: f64 = 2.0;

/// Compares turns whose wait looks with turns whose wait sleeps. A turn is a wait, and the work before it.
pub(super) struct LookTrials {
    are_worth_it: bool,
    /// Short turns since the last decision: a trial of what was decided, and one of the other, follow after
    /// [`BETWEEN`].
    turns: u32,
    /// The processor time of the thread when the trial under way began.
    begin: Nanos,
    asleep: Tally,
    looking: Tally,
}

/// What was done in the turns of a trial. Turns without an operation on a file count as one: requests may be answered
/// without a file, or by a device behind a socket.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// Of short turns, and the operations that they have begun.
    time: Nanos,
    operations: u64,
    /// Of all turns. It is measured when a trial begins and when it ends: in each turn, that would take long enough to
    /// change what is measured.
    processor: Nanos,
    all_operations: u64,
}

impl Tally {
    fn time_per_operation(self) -> f64 {
        self.time.0 as f64 / self.operations as f64
    }

    fn processor_per_operation(self) -> f64 {
        self.processor.0 as f64 / self.all_operations as f64
    }
}

impl Default for LookTrials {
    /// Begins with a trial.
    fn default() -> Self {
        let (asleep, looking) = Default::default();
        Self { are_worth_it: true, turns: BETWEEN - 1, begin: Nanos::ZERO, asleep, looking }
    }
}

impl LookTrials {
    /// Whether the next wait is to look.
    pub(super) fn are_made(&self) -> bool {
        self.are_worth_it == (self.turns < BETWEEN + TRIAL)
    }

    /// The tally of the trial under way.
    fn tally(&mut self) -> &mut Tally {
        if self.are_made() { &mut self.looking } else { &mut self.asleep }
    }

    /// Notes a turn and the operations that were begun in it. It comes with its time if it was short.
    /// `processor_time` returns what the thread has used.
    pub(super) fn note(&mut self, operations: u64, time: Option<Nanos>, processor_time: impl Fn() -> Nanos) {
        let operations = operations.max(1);
        let is_trial = self.turns >= BETWEEN;
        if is_trial {
            self.tally().all_operations += operations;
        }
        let Some(time) = time else { return };
        if is_trial {
            let tally = self.tally();
            tally.time += time.min(TURN_MAX);
            tally.operations += operations;
        }
        if [BETWEEN, BETWEEN + TRIAL, BETWEEN + 2 * TRIAL].contains(&(self.turns + 1)) {
            let now = processor_time();
            let begin = std::mem::replace(&mut self.begin, now);
            if is_trial {
                self.tally().processor = now - begin;
            }
        }
        self.turns += 1;
        if self.turns == BETWEEN + 2 * TRIAL {
            self.are_worth_it = is_worth_it(self.asleep, self.looking);
            (self.turns, self.asleep, self.looking) = Default::default();
        }
    }
}

/// Whether looking makes operations faster by [`WORTH`] of the processor time that it costs.
fn is_worth_it(asleep: Tally, looking: Tally) -> bool {
    let saved = asleep.time_per_operation() - looking.time_per_operation();
    let [before, after] = [asleep, looking].map(Tally::processor_per_operation);
    saved * WORTH > after - before && after <= COST_MAX * before
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const WORK: u64 = 10;
    const PERIOD: u32 = BETWEEN + 2 * TRIAL;

    /// Waits that take this many microseconds if they look, and if they sleep; falling asleep and waking up costs
    /// `sleep` of processor time. Returns how many of the last looked.
    fn looks(trials: &mut LookTrials, (looking, asleep, sleep): (u64, u64, u64), operations: u64) -> u32 {
        let (mut looks, used) = (0, Cell::new(Nanos::ZERO));
        for turn in 0..3 * PERIOD {
            let (wait, cost) = if trials.are_made() { (looking, looking) } else { (asleep, sleep) };
            looks += u32::from(trials.are_made() && turn >= 2 * PERIOD);
            used.update(|used| used + Nanos::from_micros(WORK + cost));
            trials.note(operations, Some(Nanos::from_micros(WORK + wait)), || used.get());
        }
        looks
    }

    #[test]
    fn waits_look_where_that_is_worth_its_processor_time() {
        for operations in [0, 1, 30] {
            let mut trials = LookTrials::default();
            let rare = TRIAL + 1;
            assert!(looks(&mut trials, (10, 40, 0), operations) >= BETWEEN);
            assert!(looks(&mut trials, (10, 10, 0), operations) <= rare, "looking gains nothing");
            assert!(looks(&mut trials, (10, 5, 0), operations) <= rare, "looking disturbs the client");
            assert!(looks(&mut trials, (10, 12, 0), operations) <= rare, "twice the cost for a tenth more");
            assert!(looks(&mut trials, (1, 2, 0), operations) >= BETWEEN, "a tenth of the cost for a tenth more");
            assert!(looks(&mut trials, (10, 12, 10), operations) >= BETWEEN, "sleeping costs as much");
            assert!(looks(&mut trials, (10, 10, 12), operations) >= BETWEEN, "sleeping costs more");
            assert!(looks(&mut trials, (40, 90, 0), operations) <= rare, "five times the cost");
            assert!(looks(&mut trials, (10, 40, 0), operations) >= BETWEEN);
        }
    }

    /// More requests may come together if the thread sleeps, and take longer together.
    #[test]
    fn requests_count_and_not_turns() {
        let tally = |time, processor, operations| {
            let (time, processor) = (Nanos(time), Nanos(processor));
            Tally { time, operations, processor, all_operations: operations }
        };
        assert!(!is_worth_it(tally(30, 20, 32), tally(20, 10, 16)));
        assert!(is_worth_it(tally(30, 20, 32), tally(20, 15, 24)));
    }

    /// Long waits between short ones are those of the client. Their work counts as that of as many operations.
    #[test]
    fn a_turn_that_was_held_up_decides_nothing() {
        let (mut trials, used) = (LookTrials::default(), Cell::new(Nanos::ZERO));
        for turn in 0..PERIOD + 1 {
            let wait = if trials.are_made() { 10 } else { 40 };
            let held_up = if turn == TRIAL / 2 { 10_000 } else { 0 };
            used.update(|used| used + Nanos::from_micros(WORK));
            trials.note(1, Some(Nanos::from_micros(WORK + wait + held_up)), || used.get());
            for _ in 0..10 * u32::from(trials.are_made()) {
                used.update(|used| used + Nanos::from_micros(WORK));
                trials.note(1, None, || used.get());
            }
        }
        assert!(trials.are_made());
    }
}
