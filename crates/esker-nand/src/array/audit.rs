//! Checks in debug builds that the schedule is physically possible, from the decisions of the schedulers alone.

use super::tally::Direction;

/// The times until which each die, each bus and the control lines of each gang are occupied. Does nothing without debug
/// assertions.
#[derive(Debug, Default)]
pub(super) struct Audit {
    #[cfg(debug_assertions)]
    dies: Vec<u64>,
    #[cfg(debug_assertions)]
    buses: Vec<u64>,
    #[cfg(debug_assertions)]
    gangs: Vec<Gang>,
}

#[cfg(debug_assertions)]
#[derive(Clone, Copy, Debug, Default)]
struct Gang {
    /// The last transfers that ran together: when they began, the latest known end, and their direction.
    strobes: (u64, u64, Direction),
    command: u64,
}

#[cfg(debug_assertions)]
impl Audit {
    pub(super) fn new(dies: usize, buses: usize, gangs: usize) -> Self {
        Self { dies: vec![0; dies], buses: vec![0; buses], gangs: vec![Gang::default(); gangs] }
    }

    /// Records that die `index` is occupied from `start` to `end`.
    pub(super) fn die(&mut self, index: usize, start: u64, end: u64) {
        let free = std::mem::replace(&mut self.dies[index], end);
        assert!(
            free <= start && start < end,
            "die {index} does two things at once: {start} to {end}, busy until {free}"
        );
    }

    /// Records that bus `index` is occupied from `start` to `end`.
    pub(super) fn bus(&mut self, index: usize, start: u64, end: u64) {
        let free = std::mem::replace(&mut self.buses[index], end);
        assert!(
            free <= start && start < end,
            "bus {index} carries two things at once: {start} to {end}, busy until {free}"
        );
    }

    /// Records that the strobes of `gang` moved data from `start` to `end`. Called when a transfer ends.
    pub(super) fn strobes(&mut self, gang: usize, direction: Direction, start: u64, end: u64) {
        let Gang { strobes: (since, until, other), command } = self.gangs[gang];
        assert!(
            until <= start || (since, other) == (start, direction),
            "gang {gang} strobes {direction:?} from {start} to {end}, {other:?} from {since} to {until}"
        );
        assert!(
            command <= start || end <= command,
            "gang {gang} took a command during a transfer: {start} {command} {end}"
        );
        self.gangs[gang].strobes = (start, end, direction);
    }

    /// Records a command to a package of `gang`.
    pub(super) fn command(&mut self, gang: usize, now: u64) {
        self.gangs[gang].command = now;
    }
}

#[cfg(not(debug_assertions))]
impl Audit {
    #[inline(always)]
    pub(super) fn new(_: usize, _: usize, _: usize) -> Self {
        Self {}
    }
    #[inline(always)]
    pub(super) fn die(&mut self, _: usize, _: u64, _: u64) {}
    #[inline(always)]
    pub(super) fn bus(&mut self, _: usize, _: u64, _: u64) {}
    #[inline(always)]
    pub(super) fn strobes(&mut self, _: usize, _: Direction, _: u64, _: u64) {}
    #[inline(always)]
    pub(super) fn command(&mut self, _: usize, _: u64) {}
}
