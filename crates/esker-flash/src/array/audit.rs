//! Whether the schedule is possible: kept up beside the schedulers, from nothing but what they decide, in debug builds.

/// When each die and each bus was last occupied. Without debug assertions it holds and does nothing.
#[derive(Debug, Default)]
pub(super) struct Audit {
    #[cfg(debug_assertions)]
    dies: Vec<u64>,
    #[cfg(debug_assertions)]
    buses: Vec<u64>,
}

#[cfg(debug_assertions)]
impl Audit {
    pub(super) fn new(dies: usize, buses: usize) -> Self {
        Self { dies: vec![0; dies], buses: vec![0; buses] }
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
}

#[cfg(not(debug_assertions))]
impl Audit {
    #[inline(always)]
    pub(super) fn new(_: usize, _: usize) -> Self {
        Self {}
    }
    #[inline(always)]
    pub(super) fn die(&mut self, _: usize, _: u64, _: u64) {}
    #[inline(always)]
    pub(super) fn bus(&mut self, _: usize, _: u64, _: u64) {}
}
