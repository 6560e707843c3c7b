//! The free slots of the flash, and the order in which they are used.

use esker_core::bits;

/// Free slots.
#[derive(Debug)]
pub(super) enum FreeSlots {
    /// The slot that became free last is used first.
    Any(Vec<u32>),
    /// Slots are used in the order of their addresses, round after round.
    Log(Log),
}

/// Slots in a ring. The slots that the log uses next are its *window*: the lines in them have to leave.
#[derive(Debug)]
pub(super) struct Log {
    /// The free slots, as a set of bits.
    free: Vec<u64>,
    /// Number of slots that may be used.
    limit: u32,
    /// First slot of the window.
    next: u32,
    /// Number of slots in the window.
    ahead: u32,
    /// Number of free slots, and of those among them in the window.
    count: u32,
    ready: u32,
}

impl FreeSlots {
    /// Creates `slots` free slots. If `ahead` is given, they form a log with a window of that many slots.
    pub(super) fn new(slots: u32, ahead: Option<u32>) -> Self {
        match ahead {
            None => Self::Any((0..slots).rev().collect()),
            Some(ahead) => Self::Log(Log::new(slots, ahead)),
        }
    }

    /// Number of slots that can be taken now.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Any(free) => free.len(),
            Self::Log(log) => log.ready as usize,
        }
    }

    /// Number of free slots. In a log, only those in the window can be taken now.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Any(free) => free.len(),
            Self::Log(log) => log.count as usize,
        }
    }

    /// Number of slots that can be taken before a log has to skip a slot that is not free.
    pub(super) fn run(&self) -> usize {
        match self {
            Self::Any(free) => free.len(),
            Self::Log(log) => (0..log.ahead).take_while(|&step| log.is_free(log.at(step))).count(),
        }
    }

    /// Takes a slot. Calls `reached` for each slot that enters the window of a log.
    pub(super) fn take(&mut self, reached: impl FnMut(u32)) -> Option<u32> {
        match self {
            Self::Any(free) => free.pop(),
            Self::Log(log) => log.take(reached),
        }
    }

    /// Frees `slot`, which was taken.
    pub(super) fn put_back(&mut self, slot: u32) {
        match self {
            Self::Any(free) => free.push(slot),
            Self::Log(log) => {
                bits::set(&mut log.free, slot as usize);
                log.count += 1;
                log.ready += u32::from(log.is_reached(slot));
            }
        }
    }

    /// Limits the slots to those below `limit`. A log then has a window of `ahead` slots.
    pub(super) fn shrink(&mut self, limit: u32, ahead: u32) {
        match self {
            Self::Any(free) => free.retain(|&slot| slot < limit),
            Self::Log(log) => {
                let next = if log.next < limit { log.next } else { 0 };
                (log.limit, log.next, log.ahead) = (limit, next, ahead);
                log.count_free();
            }
        }
    }

    /// Returns true if the log has reached `slot`: the line in it has to leave.
    pub(super) fn is_reached(&self, slot: u32) -> bool {
        matches!(self, Self::Log(log) if log.is_reached(slot))
    }

    /// Returns the rank of `slot` in the order in which a log's slots were filled, oldest first; `None` if slots are
    /// not a log.
    pub(super) fn age(&self, slot: u32) -> Option<u32> {
        match self {
            Self::Any(_) => None,
            Self::Log(log) => Some(log.steps_to(slot)),
        }
    }

    /// Frees exactly the slots for which `is_free` is true. The journal does not record the position of a log: it
    /// continues where the longest run of free slots begins.
    pub(super) fn restore(&mut self, limit: u32, is_free: impl Fn(u32) -> bool) {
        match self {
            Self::Any(free) => *free = (0..limit).rev().filter(|&slot| is_free(slot)).collect(),
            Self::Log(log) => log.restore(is_free),
        }
    }

    /// Returns the free slots, in no particular order.
    pub(super) fn all(&self) -> Vec<u32> {
        match self {
            Self::Any(free) => free.clone(),
            Self::Log(log) => (0..log.limit).filter(|&slot| bits::is_set(&log.free, slot as usize)).collect(),
        }
    }

    pub(super) fn check(&self) {
        if let Self::Log(log) = self {
            let window = (0..log.ahead).map(|step| log.at(step));
            let ready = window.filter(|&slot| bits::is_set(&log.free, slot as usize)).count();
            assert_eq!(log.ready as usize, ready, "the free slots of the window are counted wrongly");
            assert_eq!(log.count as usize, self.all().len(), "the free slots are counted wrongly");
        }
    }
}

impl Log {
    fn new(slots: u32, ahead: u32) -> Self {
        let mut free = vec![0; slots.div_ceil(64) as usize];
        bits::set_all(&mut free, 0..slots as usize);
        Self { free, limit: slots, next: 0, ahead, count: slots, ready: ahead }
    }

    /// Returns the slot `step` steps after the beginning of the window.
    fn at(&self, step: u32) -> u32 {
        ((u64::from(self.next) + u64::from(step)) % u64::from(self.limit)) as u32
    }

    /// Returns how many steps `slot` comes after the beginning of the window.
    fn steps_to(&self, slot: u32) -> u32 {
        if slot >= self.next { slot - self.next } else { self.limit - self.next + slot }
    }

    fn is_reached(&self, slot: u32) -> bool {
        slot < self.limit && self.steps_to(slot) < self.ahead
    }

    fn is_free(&self, slot: u32) -> bool {
        bits::is_set(&self.free, slot as usize)
    }

    /// Takes the first free slot of the window, which then begins after that slot. Skipped slots hold lines that have
    /// not left yet; they wait for the next round.
    fn take(&mut self, mut reached: impl FnMut(u32)) -> Option<u32> {
        let step = (0..self.ahead).find(|&step| self.is_free(self.at(step)))?;
        let slot = self.at(step);
        bits::clear(&mut self.free, slot as usize);
        self.count -= 1;
        self.ready -= 1;
        for new in self.ahead..=self.ahead + step {
            let new = self.at(new);
            self.ready += u32::from(self.is_free(new));
            reached(new);
        }
        self.next = self.at(step + 1);
        Some(slot)
    }

    fn count_free(&mut self) {
        self.count = (0..self.limit).filter(|&slot| self.is_free(slot)).count() as u32;
        self.ready = (0..self.ahead).filter(|&step| self.is_free(self.at(step))).count() as u32;
    }

    fn restore(&mut self, is_free: impl Fn(u32) -> bool) {
        self.free.fill(0);
        (0..self.limit).filter(|&slot| is_free(slot)).for_each(|slot| bits::set(&mut self.free, slot as usize));
        // Goes around twice, so that a run across the end of the ring counts as one.
        let (mut longest, mut run) = (0, 0);
        self.next = 0;
        for step in 0..2 * u64::from(self.limit) {
            run = if self.is_free((step % u64::from(self.limit)) as u32) { run + 1 } else { 0 };
            if run > longest && run <= u64::from(self.limit) {
                longest = run;
                self.next = ((step + 1 - run) % u64::from(self.limit)) as u32;
            }
        }
        self.count_free();
    }
}
