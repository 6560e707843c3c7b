//! A plain scheduler for comparison.

use std::collections::btree_map::Entry;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Read,
    ReadSector,
    Program,
    ProgramSector,
    Erase,
    /// Read and program in one step, without the bus.
    CopyBack,
    /// A [`Self::CopyBack`] with a transfer between read and program.
    CopyBackChecked,
}

impl Step {
    pub(super) fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::ReadSector)
    }

    /// Returns true if data go to the die.
    fn goes_in(self) -> bool {
        matches!(self, Self::Program | Self::ProgramSector)
    }
}

/// The location of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpLocation {
    pub(super) plane: u32,
    pub(super) flash_page: u32,
    /// Whether it is part of a copy over the bus.
    pub(super) copies: bool,
    /// The write mode of its page.
    pub(super) mode: WriteMode,
}

/// The content of a plane's register.
#[derive(Clone, Copy, Debug)]
struct Held {
    flash_page: u32,
    /// Whether a copy has been programmed since then, so that only further copies find their page.
    for_copies: bool,
}

#[derive(Clone, Copy, Debug)]
struct Op {
    die: usize,
    step: Step,
    place: OpLocation,
    after: Option<usize>,
    request: Option<u32>,
    arrived: u64,
    start: u64,
    /// Whether its flash page was in the register.
    held: bool,
    /// When it has ended and its page is decoded.
    known: Option<u64>,
    /// Number of decoding steps beyond the first that are left, and that were taken.
    more_steps: u8,
    taken: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    /// Cell work before (true) or after (false) the transfer, until this time.
    Cells {
        before_transfer: bool,
        until: u64,
    },
    /// Waiting for the bus since this time.
    Asking {
        since: u64,
    },
    Transfer {
        since: u64,
        until: u64,
    },
    /// Waiting for a decoder that fails at this time.
    Decoder {
        until: u64,
    },
    /// The page has to be read again.
    Failed,
}

/// Each die does one operation and each bus one transfer at a time; everything else follows from that. Buses of a gang
/// that shares strobes transfer in one direction, all from the same time on, and commands wait meanwhile.
pub(super) struct Scheduler {
    timing: Timing,
    dies_per_bus: usize,
    /// `None` if strobes are not shared.
    dies_per_gang: Option<usize>,
    /// Whether flash pages have several units.
    has_units: bool,
    /// Registers by plane.
    registers: BTreeMap<u32, Held>,
    /// Per die, when it last ended an operation.
    ended: Vec<u64>,
    ops: Vec<Op>,
    queues: Vec<VecDeque<usize>>,
    doing: Vec<Doing>,
    /// Times at which decoders finish.
    known: BTreeSet<u64>,
    /// (request, start, end) of host operations.
    pub(super) log: Vec<(u32, u64, u64)>,
    pub(super) bus_busy: Vec<u64>,
    pub(super) die_busy: Vec<u64>,
}

impl Scheduler {
    pub(super) fn new(
        timing: &Timing,
        dies: usize,
        dies_per_bus: usize,
        dies_per_gang: Option<usize>,
        has_units: bool,
    ) -> Self {
        Self {
            has_units,
            registers: BTreeMap::new(),
            ended: vec![0; dies],
            timing: *timing,
            dies_per_bus,
            dies_per_gang,
            ops: Vec::new(),
            queues: vec![VecDeque::new(); dies],
            doing: vec![Doing::Nothing; dies],
            known: BTreeSet::new(),
            log: Vec::new(),
            bus_busy: vec![0; dies / dies_per_bus],
            die_busy: vec![0; dies],
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all of them differ from operation to operation")]
    pub(super) fn push(
        &mut self,
        now: u64,
        die: usize,
        step: Step,
        place: OpLocation,
        more_steps: u8,
        after: Option<usize>,
        request: Option<u32>,
    ) -> usize {
        let (arrived, start, held, known, taken) = (now, 0, false, None, 0);
        self.ops.push(Op { die, step, place, after, request, arrived, start, held, known, more_steps, taken });
        self.queues[die].push_back(self.ops.len() - 1);
        self.ops.len() - 1
    }

    fn decoding(&self, op: &Op) -> DecodingStep {
        self.timing.of_mode(op.place.mode).decoding.steps[op.taken]
    }

    fn program_time(&self, op: &Op) -> u64 {
        self.timing.of_mode(op.place.mode).page_program.0
    }

    /// Spare areas are sensed in the same time in all modes.
    fn sensing_time(&self, op: &Op) -> u64 {
        match op.step {
            Step::ReadSector => self.timing.page_read.0,
            _ => self.timing.of_mode(op.place.mode).page_read.0,
        }
    }

    fn transfer_time(&self, op: &Op) -> u64 {
        match op.step {
            Step::Read if op.taken > 0 => self.decoding(op).transfer,
            Step::ProgramSector | Step::ReadSector => self.timing.sector_transfer.0,
            _ => self.timing.page_transfer.0,
        }
    }

    /// Returns the next time at which anything ends, once everything due before it has been processed.
    pub(super) fn next(&self) -> Option<u64> {
        self.doing
            .iter()
            .filter_map(|doing| match doing {
                Doing::Cells { until, .. } | Doing::Transfer { until, .. } | Doing::Decoder { until } => Some(*until),
                _ => None,
            })
            .chain(self.known.first().copied())
            .min()
    }

    /// Processes everything due at `now`.
    pub(super) fn step(&mut self, now: u64) {
        self.known.remove(&now);
        loop {
            let mut changed = false;
            for die in 0..self.doing.len() {
                changed |= self.end(die, now) || self.begin(die, now);
            }
            if !changed {
                break;
            }
        }
        match self.dies_per_gang {
            None => (0..self.bus_busy.len()).for_each(|bus| self.grant(bus, now)),
            Some(dies) => (0..self.doing.len() / dies).for_each(|gang| self.grant_together(gang, now)),
        }
    }

    /// Returns since when the strobes of the gang of `die` are occupied, and whether data go in.
    fn strobes(&self, die: usize) -> Option<(u64, bool)> {
        let dies = self.dies_per_gang?;
        let gang = die / dies * dies..(die / dies + 1) * dies;
        gang.into_iter().find_map(|die| match self.doing[die] {
            Doing::Transfer { since, .. } => Some((since, self.ops[self.queues[die][0]].step.goes_in())),
            _ => None,
        })
    }

    /// Returns true if `die` cannot be given a command.
    fn waits_for_strobes(&self, die: usize, now: u64) -> bool {
        self.strobes(die).is_some_and(|(since, _)| since < now)
    }

    fn end(&mut self, die: usize, now: u64) -> bool {
        let Some(&index) = self.queues[die].front() else { return false };
        let op = self.ops[index];
        let (step, decoding) = (op.step, self.decoding(&op));
        match self.doing[die] {
            Doing::Transfer { until, .. } if until == now && op.more_steps > 0 => {
                self.die_busy[die] += self.reading_time(&op);
                self.registers.remove(&op.place.plane);
                self.doing[die] = Doing::Decoder { until: now + decoding.decode };
                return true;
            }
            Doing::Decoder { until } if until == now => {
                self.doing[die] = Doing::Failed;
                return true;
            }
            Doing::Failed if !self.waits_for_strobes(die, now) => {
                self.ops[index].more_steps -= 1;
                self.ops[index].taken += 1;
                let until = now + self.decoding(&self.ops[index]).sense;
                self.doing[die] = Doing::Cells { before_transfer: true, until };
                return true;
            }
            Doing::Cells { before_transfer: true, until } if until == now => {
                self.doing[die] = Doing::Asking { since: now };
                return true;
            }
            Doing::Transfer { until, .. } if until == now && !step.is_read() => {
                let until = now + self.program_time(&op);
                self.doing[die] = Doing::Cells { before_transfer: false, until };
                return true;
            }
            Doing::Cells { until, .. } | Doing::Transfer { until, .. } if until == now => {}
            _ => return false,
        }
        self.doing[die] = Doing::Nothing;
        self.queues[die].pop_front();
        self.ended[die] = now;
        let held = Held { flash_page: op.place.flash_page, for_copies: false };
        match self.registers.entry(op.place.plane) {
            // Another read senses with other thresholds.
            Entry::Occupied(register) if step.is_read() && op.taken > 0 => drop(register.remove()),
            Entry::Vacant(_) if step.is_read() && op.taken > 0 => {}
            register if step.is_read() => *register.or_insert(held) = held,
            Entry::Occupied(mut register) if step == Step::Program && op.place.copies => {
                register.get_mut().for_copies = true;
            }
            Entry::Occupied(register) if !register.get().for_copies => drop(register.remove()),
            Entry::Occupied(_) | Entry::Vacant(_) => {}
        }
        self.die_busy[die] += match step {
            Step::Read | Step::ReadSector => self.reading_time(&op),
            Step::Program | Step::ProgramSector => self.transfer_time(&op) + self.program_time(&op),
            Step::Erase => self.timing.block_erase.0,
            Step::CopyBack => self.timing.page_read.0 + self.timing.page_program.0,
            Step::CopyBackChecked => self.timing.page_read.0 + self.transfer_time(&op) + self.timing.page_program.0,
        };
        let known = if step == Step::Read { now + decoding.decode } else { now };
        self.ops[index].known = Some(known);
        if known > now {
            self.known.insert(known);
        }
        if let Some(request) = op.request {
            self.log.push((request, op.start, known));
        }
        true
    }

    /// Cell work and transfer of a read in its current decoding step.
    fn reading_time(&self, op: &Op) -> u64 {
        let sense = match op.taken {
            0 if op.held => 0,
            0 => self.sensing_time(op),
            _ => self.decoding(op).sense,
        };
        sense + self.transfer_time(op)
    }

    fn begin(&mut self, die: usize, now: u64) -> bool {
        let Some(&index) = self.queues[die].front() else { return false };
        let op = self.ops[index];
        if self.doing[die] != Doing::Nothing
            || op.after.is_some_and(|after| self.ops[after].known.is_none_or(|known| known > now))
        {
            return false;
        }
        assert_eq!(op.die, die);
        if !op.step.goes_in() && self.waits_for_strobes(die, now) {
            return false;
        }
        self.ops[index].start = now;
        if op.arrived > self.ended[die] {
            self.registers.retain(|plane, _| (*plane / PLANES_PER_DIE) as usize != die);
        }
        let register = self.registers.get(&op.place.plane).filter(|held| held.flash_page == op.place.flash_page);
        let held = register.is_some_and(|held| op.place.copies || !held.for_copies);
        if self.has_units && held && op.step.is_read() {
            self.ops[index].held = true;
            self.doing[die] = Doing::Asking { since: now };
            return true;
        }
        let before_transfer = op.step.is_read() || op.step == Step::CopyBackChecked;
        let cells = |until| Doing::Cells { before_transfer, until };
        self.doing[die] = match op.step {
            Step::Read | Step::ReadSector | Step::CopyBackChecked => cells(now + self.sensing_time(&op)),
            Step::CopyBack => cells(now + self.timing.page_read.0 + self.timing.page_program.0),
            Step::Erase => cells(now + self.timing.block_erase.0),
            Step::Program | Step::ProgramSector => Doing::Asking { since: now },
        };
        true
    }

    fn grant(&mut self, bus: usize, now: u64) {
        let dies = bus * self.dies_per_bus..(bus + 1) * self.dies_per_bus;
        if dies.clone().any(|die| matches!(self.doing[die], Doing::Transfer { .. })) {
            return;
        }
        if let Some((_, _, die)) = dies.filter_map(|die| self.ask(die)).min() {
            self.transfer(die, now);
        }
    }

    /// Returns the request of `die` for the bus: when it was made, and for which operation.
    fn ask(&self, die: usize) -> Option<(u64, usize, usize)> {
        match self.doing[die] {
            Doing::Asking { since } => Some((since, self.queues[die][0], die)),
            _ => None,
        }
    }

    fn transfer(&mut self, die: usize, now: u64) {
        let time = self.transfer_time(&self.ops[self.queues[die][0]]);
        self.bus_busy[die / self.dies_per_bus] += time;
        self.doing[die] = Doing::Transfer { since: now, until: now + time };
    }

    fn grant_together(&mut self, gang: usize, now: u64) {
        let dies = self.dies_per_gang.expect("there are gangs");
        let mut asks: Vec<_> = (gang * dies..(gang + 1) * dies).filter_map(|die| self.ask(die)).collect();
        asks.sort_unstable();
        for (_, index, die) in asks {
            let step = self.ops[index].step;
            let fits = self.strobes(die).is_none_or(|strobes| strobes == (now, step.goes_in()));
            let bus = die / self.dies_per_bus * self.dies_per_bus;
            let free = (bus..bus + self.dies_per_bus).all(|die| !matches!(self.doing[die], Doing::Transfer { .. }));
            if fits && free {
                self.transfer(die, now);
            }
        }
    }
}
