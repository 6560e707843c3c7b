//! Tells hot pages of a pool from cold ones, with two bits per page.

use esker_core::Ratio;
use esker_nand::ValueError;
use esker_nand::memory::zeroed;

use crate::{BuildError, FtlSettings, Separation, Space};

/// Remembers the pages written in the current window of writes and in the last one. A page is hot if it is in either:
/// it was last written less than one to two windows ago. This combines frequency and recency like the Bloom filters of
/// Park and Du ("Hot data identification for flash-based storage systems using multiple bloom filters", MSST 2011).
/// Those save memory and have false positives; these tables are exact.
#[derive(Clone, Debug)]
pub(super) struct Temperature {
    /// One bit for each page of the pool.
    current: Vec<u64>,
    former: Vec<u64>,
    /// The owners of a pool are consecutive and at most as many as the mask has values, so no two share a bit.
    mask: u32,
    window: u32,
    /// Writes left in the current window.
    left: u32,
}

impl Temperature {
    /// `None` if the settings do not separate hot and cold pages.
    pub(super) fn new(settings: &FtlSettings, space: &Space) -> Option<Self> {
        if settings.cleaning.separate != Separation::HotCold {
            return None;
        }
        let pages = space.logical_pages_per_pool().next_power_of_two();
        let window = settings.cleaning.hot_window.of(u64::from(space.host_pages_per_pool())).max(1) as u32;
        let words = pages.div_ceil(64) as usize;
        Some(Self { current: zeroed(words), former: zeroed(words), mask: pages - 1, window, left: window })
    }

    /// Records a write of `owner`'s page. Returns true if it was hot before.
    #[inline]
    pub(super) fn written(&mut self, owner: u32) -> bool {
        let hot = self.is_hot(owner);
        let (word, bit) = self.place(owner);
        self.current[word] |= bit;
        self.left -= 1;
        if self.left == 0 {
            self.begin_window();
        }
        hot
    }

    /// Returns true if the page of `owner` was written recently.
    #[inline]
    pub(super) fn is_hot(&self, owner: u32) -> bool {
        let (word, bit) = self.place(owner);
        (self.current[word] | self.former[word]) & bit != 0
    }

    /// Returns the number of writes in a window.
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    #[inline(always)]
    fn place(&self, owner: u32) -> (usize, u64) {
        let index = owner & self.mask;
        (index as usize / 64, 1 << (index % 64))
    }

    #[cold]
    fn begin_window(&mut self) {
        self.left = self.window;
        std::mem::swap(&mut self.current, &mut self.former);
        self.current.fill(0);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.current) + size_of_val(&*self.former)
    }
}

/// Refuses a window that is too short or too long to tell pages apart.
pub(crate) fn check(settings: &FtlSettings) -> Result<(), BuildError> {
    let window = settings.cleaning.hot_window;
    if settings.cleaning.separate == Separation::HotCold && (window == Ratio::ZERO || window > Ratio::ONE) {
        return Err(ValueError::Parameter {
            key: "cleaning.hot_window".to_string(),
            expected: "a share above 0% and up to 100%".to_string(),
            found: window.to_string(),
        }
        .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temperature(window: u32) -> Temperature {
        Temperature { current: vec![0; 2], former: vec![0; 2], mask: 127, window, left: window }
    }

    #[test]
    fn a_page_is_hot_for_one_to_two_windows() {
        let mut pages = temperature(4);
        // First and last write of one window.
        assert!(!pages.written(1000));
        assert!(!pages.written(1001) && !pages.written(1002) && !pages.written(1003));
        assert!([1000, 1001, 1002, 1003].iter().all(|owner| pages.is_hot(*owner)));
        (0..3).for_each(|owner| assert!(!pages.written(1010 + owner)));
        assert!(pages.is_hot(1000) && pages.is_hot(1003));
        assert!(!pages.written(1013));
        assert!(!pages.is_hot(1000) && !pages.is_hot(1003) && pages.is_hot(1010));
        assert!(pages.written(1010), "it was written in the window before");
        (0..8).for_each(|owner| assert!(!pages.written(1020 + owner)));
        assert!(!pages.is_hot(1010));
    }
}
