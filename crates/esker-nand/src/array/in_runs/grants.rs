//! Decides which die is granted the bus at what time.

use super::op::{DieOp, NEVER, NOBODY};
use super::{Done, InRuns};

/// The die that asks for a bus first.
#[derive(Clone, Copy, Debug)]
struct First {
    die: usize,
    ask: u64,
    /// When another die of that bus next asks.
    second: u64,
}

impl InRuns {
    /// Decides all grants of `bus` to dies that asked before `now`.
    #[inline]
    pub(super) fn catch_up(&mut self, bus: u32, now: u64) {
        let index = bus as usize;
        if self.buses[index].caught_up >= now {
            return;
        }
        self.catch_up_alone(index, now);
        if self.buses[index].blocked > 0 {
            self.catch_up_together(bus, now);
        }
    }

    /// Decides all grants to dies that asked before `now`, for `bus` and all other buses of its island. Called when a
    /// die of `bus` waits for an operation on another bus.
    ///
    /// Each bus proceeds alone until a die's next operation waits for another bus. When all buses are blocked or have
    /// reached `now`, the earliest grant of the blocked ones is safe: the operation that it waits for ends later.
    #[cold]
    fn catch_up_together(&mut self, bus: u32, now: u64) {
        let (island, buses) = (self.buses_per_island.quotient(bus), self.buses_per_island.get());
        let buses = (island * buses) as usize..((island + 1) * buses) as usize;
        loop {
            self.unblocked = false;
            for bus in buses.clone() {
                self.catch_up_alone(bus, now);
            }
            while !self.unblocked {
                let blocked = buses.clone().filter(|bus| self.buses[*bus].blocked > 0);
                let first = blocked.map(|bus| self.first_to_ask(bus)).min_by_key(|first| first.ask);
                match first {
                    Some(First { die, ask, .. }) if ask < now => self.grant(die),
                    _ => {
                        self.buses[buses].iter_mut().for_each(|bus| bus.caught_up = now);
                        return;
                    }
                };
            }
        }
    }

    /// Decides grants of `bus` to dies that asked before `now`, until one of its dies waits for another bus.
    fn catch_up_alone(&mut self, bus: usize, now: u64) {
        while self.buses[bus].blocked == 0 {
            let First { die, ask, second } = self.first_to_ask(bus);
            if ask >= now {
                self.buses[bus].caught_up = now;
                return;
            }
            if second != NEVER && self.dies[die].is_before_repeats() && self.grant_cycles(bus, die, now) {
                continue;
            }
            // The same die asks first again until it reaches another die's time, or lets another die begin.
            let limit = second.min(now);
            loop {
                let repeated = self.dies[die].is_before_repeats() && self.grant_repeats(die, limit);
                if repeated && self.asks[die] >= limit {
                    break;
                }
                if self.grant(die) || self.asks[die] >= limit || self.buses[bus].blocked > 0 {
                    break;
                }
            }
        }
    }

    /// Returns the die of `bus` that asks first, ties by the order of pushing.
    #[inline(always)]
    fn first_to_ask(&self, bus: usize) -> First {
        let start = bus * self.dies_per_bus;
        let asks = &self.asks[start..start + self.dies_per_bus];
        let mut first = First { die: start, ask: asks[0], second: NEVER };
        for (die, &ask) in (start..).zip(asks).skip(1) {
            let before = ask < first.ask
                || ask == first.ask
                    && ask != NEVER
                    && self.dies[die].current.sequence < self.dies[first.die].current.sequence;
            if before {
                first = First { die, ask, second: first.ask };
            } else {
                first.second = first.second.min(ask);
            }
        }
        first
    }

    /// Grants the bus to `die`, the first to ask, and computes when it asks next. Returns true if that let another die
    /// begin.
    #[inline(always)]
    fn grant(&mut self, index: usize) -> bool {
        let ask = self.asks[index];
        let die = &mut self.dies[index];
        self.steps[die.counted_at(&die.part)] += 1;
        let end = if die.part.needs_bus {
            let bus = &mut self.buses[die.bus as usize];
            bus.free = ask.max(bus.free) + die.part.hold;
            bus.busy += die.part.hold;
            self.audit.bus(die.bus as usize, bus.free - die.part.hold, bus.free);
            bus.free + die.part.tail
        } else {
            ask + die.part.tail
        };
        debug_assert!(ask >= die.start, "a die asked for the bus before it began");
        self.audit.die(index, die.start, end);
        if let Some((cells, transfers)) = die.another_reading() {
            let again: &mut Done = &mut self.again[die.current.cause as usize];
            (again.steps, again.cells, again.transfers) =
                (again.steps + 1, again.cells + cells, again.transfers + transfers);
        }
        if let Some(ask) = die.go_on(end, &self.parts, &self.timing) {
            self.asks[index] = ask;
            return false;
        }
        self.asks[index] = NEVER;
        let signals = die.current.signals;
        if signals != NOBODY {
            let (known, begun) = (end + die.part.decode, die.begun);
            self.signal(signals, known, begun);
        }
        if let Some(op) = self.dies[index].dequeue() {
            self.begin(index, op);
        }
        signals != NOBODY
    }

    /// Grants the bus to `die` for all repetitions of its operation but the last, as long as no other die asks before
    /// `limit`. Returns false if it could not grant any.
    #[inline(never)]
    fn grant_repeats(&mut self, index: usize, limit: u64) -> bool {
        let die = &mut self.dies[index];
        let bus = &mut self.buses[die.bus as usize];
        let (one, other) = (&die.part, self.parts.second(&die.current));
        let granted = self.asks[index].max(bus.free);
        let last_ask = granted + one.hold + one.decode;
        let (work, decode) = (one.busy() + one.decode + other.busy(), one.decode);
        if last_ask + work >= limit {
            return false;
        }
        let repeats = ((limit - 1 - last_ask) / work + 1).min(u64::from(die.repeats_left()));
        self.steps[die.counted_at(one)] += repeats;
        self.steps[die.counted_at(other)] += repeats;
        bus.busy += repeats * (one.hold + other.hold);
        bus.free = last_ask + other.hold + (repeats - 1) * work;
        self.audit.bus(die.bus as usize, granted, bus.free);
        // The die may have had to wait for the bus once.
        let later = repeats * work + granted - self.asks[index];
        self.asks[index] += later;
        self.audit.die(index, die.start, die.start + later);
        die.skip_repeats(repeats as u32, later, work, decode);
        true
    }

    /// Begins `op` once the die is free and the operation that it waits for has ended.
    #[inline(always)]
    pub(super) fn begin(&mut self, index: usize, op: DieOp) {
        let die = &mut self.dies[index];
        let mut first_begun = NEVER;
        if op.waits != NOBODY {
            let mark = &mut self.marks[op.waits];
            if mark.end == NEVER {
                mark.waiter = index as u32;
                let (bus, other) = (die.bus, mark.die);
                die.wait(op);
                self.buses[bus as usize].blocked += u32::from(self.dies[other as usize].bus != bus);
                return;
            }
            die.free = die.free.max(mark.end);
            first_begun = mark.begun;
            self.marks.free(op.waits);
        }
        self.asks[index] = die.begin(op, &self.parts);
        if op.reports_both {
            die.begun = first_begun;
        }
    }

    /// Records when the operation of `mark` began and when it ends. Begins operations that wait for it and are next on
    /// their die.
    fn signal(&mut self, mut mark: u32, end: u64, begun: u64) {
        while mark != NOBODY {
            let state = &mut self.marks[mark];
            (state.end, state.begun) = (end, begun);
            let (waiter, next) = (state.waiter, state.next);
            let bus = self.dies[state.die as usize].bus;
            if waiter != NOBODY {
                let waiter = waiter as usize;
                let die = &mut self.dies[waiter];
                if bus != die.bus {
                    self.buses[die.bus as usize].blocked -= 1;
                    self.unblocked = true;
                }
                // The waiting die keeps its wake time: its bus may not have been decided as far as this one.
                let op = die.stop_waiting();
                self.begin(waiter, op);
            }
            mark = next;
        }
    }
}
