//! Whether the schedule is possible: kept up beside the schedulers, from nothing but what they decide, in debug builds.

use super::tally::Direction;

/// When each die, each bus and the control lines of each gang were last occupied. Without debug
/// assertions it holds and does nothing.
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
    /// Of transfers that ran together last: when they began, when the last of them that
    /// is known of ended, and where to.
    strobes: (u64, u64, Direction),
    command: u64,
}

#[cfg(debug_assertions)]
impl Audit {
    pub(super) fn new(dies: usize, buses: usize, gangs: usize) -> Self {
        Self { dies: vec![0; dies], buses: vec![0; buses], gangs: vec![Gang::default(); gangs] }
    }

    /// Die `index` is occupied from `start` to `end`.
    pub(super) fn die(&mut self, index: usize, start: u64, end: u64) {
        let free = std::mem::replace(&mut self.dies[index], end);
        assert!(
            free <= start && start < end,
            "die {index} does two things at once: {start} to {end}, busy until {free}"
        );
    }

    /// Bus `index` carries something from `start` to `end`.
    pub(super) fn bus(&mut self, index: usize, start: u64, end: u64) {
        let free = std::mem::replace(&mut self.buses[index], end);
        assert!(
            free <= start && start < end,
            "bus {index} carries two things at once: {start} to {end}, busy until {free}"
        );
    }

    /// The strobes of `gang` moved data from `start` to `end`. Said as transfers end.
    pub(super) fn strobes(&mut self, gang: usize, direction: Direction, start: u64, end: u64) {
        let Gang { strobes: (since, until, other), command } = self.gangs[gang];
        assert!(
            until <= start || (since, other) == (start, direction),
            "gang {gang} strobes {direction:?} from {start} to {end}, {other:?} from {since} to {until}"
        );
        assert!(
            command <= start || end <= command,
            "gang {gang} took a command amid a transfer: {start} {command} {end}"
        );
        self.gangs[gang].strobes = (start, end, direction);
    }

    /// A package of `gang` is given a command.
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
