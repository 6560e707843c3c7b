//! The results of a cache.

use esker_results::FlashCacheReport;

use super::FlashCacheEngine;

impl FlashCacheEngine {
    /// Returns what the cache did since measuring started, and what it holds now. Takes time in proportion to the lines
    /// that it holds.
    pub fn report_now(&self) -> FlashCacheReport {
        let suspects = u64::from(self.suspects());
        let held = self.slots.held().count() as u64 - suspects;
        let (limit, slots) = (self.slots.limit(), u64::from(self.most_valid()));
        let beyond_lines = match self.owned {
            Some(_) => held.saturating_sub(slots),
            None => self.slots.held().filter(|(_, slot, ..)| *slot >= limit).count() as u64,
        };
        let ratio = |hits: u64, misses: u64| hits as f64 / (hits + misses).max(1) as f64;
        let counts = &self.counts;
        let mut report = FlashCacheReport {
            hit_ratio: ratio(counts.hits, counts.misses),
            read_hit_ratio: ratio(counts.read_hits, counts.read_misses),
            suspected_lines: suspects,
            held_lines: held,
            dirty_lines: self.slots.held().filter(|(.., dirty)| *dirty).count() as u64,
            slots,
            beyond_lines,
            routing: self.router.as_ref().map(|router| router.report(counts.read_hits)),
            room: self.owned.as_ref().and_then(|owned| owned.wear.report()),
            ..counts.clone()
        };
        if let Some(controller) = &self.controller {
            controller.report(self.policy.parts(), &mut report);
        }
        report
    }
}
