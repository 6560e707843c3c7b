//! Finds misalignment: would requests be aligned to 4 KiB if all addresses moved by a few sectors?
//!
//! A guest partition that begins at an odd sector shifts every request of its file system: each 4 KiB page then
//! straddles two pages of the device.

use esker_results::profile::Misalignment;

/// A shift is reported if it aligns at least this share of the requests whose size is whole pages...
const AFTER_MIN: f64 = 0.8;
/// ...if less than this share was aligned before...
const BEFORE_MAX: f64 = 0.2;
/// ...and if they are at least this share of all requests.
const ALIGNABLE_MIN: f64 = 0.5;

/// Counts requests whose size is whole pages, by the sector within a 4 KiB page at which they begin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Phases([u64; 8]);

impl Phases {
    #[inline]
    pub(super) fn push(&mut self, offset: u64, length: u32) {
        if length.is_multiple_of(4096) && length > 0 && offset.is_multiple_of(512) {
            self.0[(offset / 512 % 8) as usize] += 1;
        }
    }

    /// Requests with aligned address and size.
    pub(super) fn aligned(&self) -> u64 {
        self.0[0]
    }

    /// The shift that aligns nearly all requests that can be aligned, if there is one. `requests` counts requests of
    /// all sizes.
    pub(super) fn misalignment(&self, requests: u64) -> Option<Misalignment> {
        let alignable: u64 = self.0.iter().sum();
        let (phase, &count) = self.0.iter().enumerate().max_by_key(|&(phase, count)| (count, 7 - phase))?;
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        let found = alignable > 0
            && share(alignable, requests) >= ALIGNABLE_MIN
            && share(count, alignable) >= AFTER_MIN
            && share(self.0[0], alignable) < BEFORE_MAX;
        found.then(|| Misalignment {
            shift_bytes: (8 - phase as u64) % 8 * 512,
            aligned_before: share(self.0[0], requests),
            aligned_after: share(count, requests),
            alignable: share(alignable, requests),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_results::profile::Misalignment;

    #[test]
    fn a_partition_at_sector_63_is_found_and_a_mixture_is_not() {
        let mut phases = Phases::default();
        for page in 0..90u64 {
            phases.push(63 * 512 + page * 4096, 4096);
        }
        for _ in 0..10 {
            phases.push(0, 512);
        }
        let found = phases.misalignment(100).unwrap();
        assert_eq!(found, Misalignment { shift_bytes: 512, aligned_before: 0.0, aligned_after: 0.9, alignable: 0.9 });
        for page in 0..30u64 {
            phases.push(page * 4096, 4096);
        }
        assert_eq!(phases.misalignment(130), None);
        assert_eq!(phases.aligned(), 30);
        assert_eq!(Phases::default().misalignment(0), None);
    }
}
