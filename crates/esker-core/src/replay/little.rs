//! Little's law, checked in every replay of a build with debug assertions.

use crate::Nanos;

/// Checks Little's law, exactly in integers: the area under "requests in the system" equals the sum of their response
/// times.
#[derive(Default)]
pub(super) struct Little {
    #[cfg(debug_assertions)]
    now: u64,
    #[cfg(debug_assertions)]
    present: u64,
    #[cfg(debug_assertions)]
    area: u128,
    #[cfg(debug_assertions)]
    responses: u128,
}

#[cfg(debug_assertions)]
impl Little {
    pub(super) fn advance(&mut self, now: Nanos) {
        self.area += u128::from(self.present) * u128::from(now.0 - self.now);
        self.now = now.0;
    }
    pub(super) fn came(&mut self) {
        self.present += 1;
    }
    pub(super) fn left(&mut self, response: Nanos) {
        self.present -= 1;
        self.responses += u128::from(response.0);
    }
    pub(super) fn check(&self) {
        assert_eq!(self.area, self.responses, "Little's law does not hold: requests were lost or mistimed");
    }
}

#[cfg(not(debug_assertions))]
impl Little {
    #[inline(always)]
    pub(super) fn advance(&mut self, _: Nanos) {}
    #[inline(always)]
    pub(super) fn came(&mut self) {}
    #[inline(always)]
    pub(super) fn left(&mut self, _: Nanos) {}
    pub(super) fn check(&self) {}
}
