//! Fast-forwards dies of one bus that repeat the same copies.
//!
//! Merges and cleaning give a die dozens of copies in a row. While every active die of a bus copies within itself, the
//! next decisions depend only on when the dies and the bus become ready. So if all ask for the bus at the same times,
//! relative to the first of them, as one copy earlier, the cycle repeats until a die has no copies left, or until
//! something else may arrive.

use super::InRuns;
use super::op::NEVER;

/// State of a bus when the first of its active dies asked for the next copy.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// When that die asked.
    ask: u64,
    /// How long the bus was occupied from then on.
    taken: u64,
    dies: Vec<Standing>,
}

/// State of a die when a [`Cycle`] was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    /// How long after [`Cycle::ask`] it asked, or [`NEVER`].
    ask: u64,
    /// Its position in the order of pushing; if it does not ask, that of its last operation.
    sequence: u64,
    /// Number of copies left, if it asks.
    count: u32,
}

impl Cycle {
    pub(super) fn new(dies: usize) -> Self {
        Self { ask: 0, taken: NEVER, dies: vec![Standing { ask: NEVER, sequence: NEVER, count: 0 }; dies] }
    }
}

impl InRuns {
    /// Grants all cycles that end before `now` in one go. Die `first` is the first die on `bus` to ask, and about to
    /// begin a copy that is not its last. Returns false if there are no such cycles.
    #[inline(never)]
    pub(super) fn grant_cycles(&mut self, bus: usize, first: usize, now: u64) -> bool {
        let start = bus * self.dies_per_bus;
        if self.asks[start..first].iter().any(|ask| *ask != NEVER) {
            return false;
        }
        let Some((cycles, later)) = self.cycles_before(bus, first, now) else { return false };
        for index in start..start + self.dies_per_bus {
            if self.asks[index] == NEVER {
                continue;
            }
            self.asks[index] += later;
            let die = &mut self.dies[index];
            let (one, other) = (self.parts.first(&die.current), self.parts.second(&die.current));
            self.steps[die.counted_at(one)] += cycles;
            self.steps[die.counted_at(other)] += cycles;
            self.buses[bus].busy += cycles * (one.hold + other.hold);
            self.audit.die(index, die.start, die.start + later);
            die.skip_repeats(cycles as u32, later, one.busy() + one.decode + other.busy(), one.decode);
        }
        let free = self.buses[bus].free;
        self.buses[bus].free += later;
        self.audit.bus(bus, free, free + later);
        true
    }

    /// Compares `bus` with its state when die `first` last began a copy, and stores its state now. Returns the number
    /// of cycles that end before `now`, and their total time.
    fn cycles_before(&mut self, bus: usize, first: usize, now: u64) -> Option<(u64, u64)> {
        let ask = self.asks[first];
        let start = bus * self.dies_per_bus;
        let cycle = &mut self.cycles[bus];
        let period = ask - cycle.ask;
        let taken = self.buses[bus].free.saturating_sub(ask);
        let mut is_same = cycle.taken == taken;
        let mut cycles = u64::MAX;
        for (index, before) in (start..).zip(&mut cycle.dies) {
            let die = &self.dies[index];
            let mut standing = Standing { ask: NEVER, sequence: die.current.sequence, count: 0 };
            let mut expected = standing;
            if self.asks[index] != NEVER {
                // The die did one of its copies, and nothing else.
                standing = Standing { ask: self.asks[index] - ask, count: die.current.count, ..standing };
                expected =
                    Standing { sequence: standing.sequence.wrapping_sub(2), count: standing.count + 1, ..standing };
                cycles = cycles.min(u64::from(die.repeats_left()));
            }
            is_same &= *before == expected;
            *before = standing;
        }
        (cycle.ask, cycle.taken) = (ask, taken);
        if !is_same {
            return None;
        }
        let cycles = cycles.min((now - 1 - ask) / period);
        (cycles > 0).then_some((cycles, cycles * period))
    }
}
