//! How often each page was written: what wear-levelling goes by (the future work of Wu, VI.B).

use crate::layout::{Geometry, PAGE, number32, number64};
use crate::persist::Persist;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Writes of a page between two looks at it.
pub(crate) const LOOK_EVERY: u8 = 64;

/// Writes of pages. The pool keeps those up to the last flush, 4 bytes a page, behind a sum of 8 bytes in a line of its
/// own; memory those since. What memory has is lost in a crash, which costs nothing but some evenness. Writes since the
/// last look at a page are in no sum: adding each would be a locked instruction, which waits for the stores before it.
#[derive(Debug)]
pub(crate) struct Wear {
    /// Of each page, those since it was looked at: small, so that writes find it in the cache.
    since_look: Vec<AtomicU8>,
    /// Of each page, those since the last flush up to its last look.
    recent: Vec<AtomicU32>,
    recent_total: AtomicU64,
    flushed_total: AtomicU64,
    pages: u64,
    is_off: AtomicBool,
}

fn place(plan: &Geometry, page: u64) -> u64 {
    plan.wear * PAGE + 64 + page * 4
}

impl Wear {
    /// The writes of a pool.
    pub(crate) fn load<P: Persist>(persist: &P, plan: &Geometry) -> Wear {
        let mut bytes = [0; 8];
        persist.read(plan.wear * PAGE, &mut bytes);
        let flushed_total = AtomicU64::new(number64(&bytes, 0));
        // Zeroes that the system gives: memory is touched where pages are written.
        let recent = vec![0_u32; plan.pages as usize].into_iter().map(AtomicU32::new).collect();
        let since_look = vec![0_u8; plan.pages as usize].into_iter().map(AtomicU8::new).collect();
        let (recent_total, is_off) = (AtomicU64::new(0), AtomicBool::new(false));
        Wear { since_look, recent, recent_total, flushed_total, pages: plan.pages - plan.data, is_off }
    }

    /// Counts writes from now on, or does not.
    pub(crate) fn set_counting(&self, is_counting: bool) {
        self.is_off.store(!is_counting, Ordering::Relaxed);
    }

    /// Whether writes are counted.
    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        !self.is_off.load(Ordering::Relaxed)
    }

    /// Counts a write of `page`; whether it is time to look at the page. Whoever writes a page has its file locked, so
    /// that no two count the same page at once.
    #[inline]
    pub(crate) fn count(&self, page: u64) -> bool {
        let since_look = &self.since_look[page as usize];
        let count = since_look.load(Ordering::Relaxed) + 1;
        if count < LOOK_EVERY {
            since_look.store(count, Ordering::Relaxed);
            return false;
        }
        since_look.store(0, Ordering::Relaxed);
        self.recent[page as usize].fetch_add(u32::from(count), Ordering::Relaxed);
        self.recent_total.fetch_add(u64::from(count), Ordering::Relaxed);
        true
    }

    /// Counts `writes` of `page` that were made without [`Wear::count`].
    pub(crate) fn add(&self, page: u64, writes: u32) {
        if writes > 0 {
            self.recent[page as usize].fetch_add(writes, Ordering::Relaxed);
            self.recent_total.fetch_add(u64::from(writes), Ordering::Relaxed);
        }
    }

    /// Adds the writes since the last looks to the others: the pool is unmounted.
    pub(crate) fn end_looks(&self) {
        for (since_look, recent) in self.since_look.iter().zip(&self.recent) {
            let count = since_look.swap(0, Ordering::Relaxed);
            if count > 0 {
                recent.fetch_add(u32::from(count), Ordering::Relaxed);
                self.recent_total.fetch_add(u64::from(count), Ordering::Relaxed);
            }
        }
    }

    /// Writes of `page` up to the last look at it.
    pub(crate) fn writes<P: Persist>(&self, persist: &P, plan: &Geometry, page: u64) -> u64 {
        let mut bytes = [0; 4];
        persist.read(place(plan, page), &mut bytes);
        u64::from(number32(&bytes, 0)) + u64::from(self.recent[page as usize].load(Ordering::Relaxed))
    }

    /// Mean writes of a page.
    pub(crate) fn mean(&self) -> u64 {
        (self.flushed_total.load(Ordering::Relaxed) + self.recent_total.load(Ordering::Relaxed)) / self.pages
    }

    /// Adds what memory has up to the last looks to what the pool has. It is durable after the next fence. Writes that
    /// are counted meanwhile may be counted twice.
    pub(crate) fn flush<P: Persist>(&self, persist: &P, plan: &Geometry) {
        let recent_total = self.recent_total.swap(0, Ordering::Relaxed);
        if recent_total == 0 {
            return;
        }
        for page in plan.data..plan.pages {
            let recent = self.recent[page as usize].swap(0, Ordering::Relaxed);
            if recent > 0 {
                let mut bytes = [0; 4];
                persist.read(place(plan, page), &mut bytes);
                let count = number32(&bytes, 0).saturating_add(recent);
                persist.write(place(plan, page), &count.to_le_bytes());
                persist.write_back(place(plan, page), 4);
            }
        }
        let total = self.flushed_total.fetch_add(recent_total, Ordering::Relaxed) + recent_total;
        persist.write(plan.wear * PAGE, &total.to_le_bytes());
        persist.write_back(plan.wear * PAGE, 8);
    }
}
