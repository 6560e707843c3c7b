//! Counts that can be added up, and counted from a later moment on.

use std::collections::BTreeMap;
use std::ops::{Add, Sub};

/// Counts that only grow. A type lists its counts once, in [`Self::each_with`].
pub trait Counters: Sized {
    /// Combines each count with the same one of `other`, by `of`. What is no count, such as a size, is that of `self`.
    #[must_use]
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self;

    /// The counts since they were `earlier`.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self {
        self.each_with(earlier, u64::sub)
    }

    /// The counts of both together.
    #[must_use]
    fn plus(&self, other: &Self) -> Self {
        self.each_with(other, u64::add)
    }
}

/// Counts that not everything has. What has none adds nothing.
impl<T: Counters + Copy> Counters for Option<T> {
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        match (self, other) {
            (Some(one), Some(other)) => Some(one.each_with(other, of)),
            (one, other) => one.or(*other),
        }
    }
}

/// Counts by what they count; those that are zero are left out.
impl<K: Ord + Copy> Counters for BTreeMap<K, u64> {
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        let mut all = self.clone();
        for (key, count) in other {
            let entry = all.entry(*key).or_default();
            *entry = of(*entry, *count);
        }
        all.retain(|_, count| *count > 0);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MappingCounts, MergeCounts};

    #[test]
    fn what_was_counted_since_and_what_was_counted_before_are_all() {
        let before: BTreeMap<u32, u64> = [(1, 3), (4, 1)].into();
        let now: BTreeMap<u32, u64> = [(1, 3), (2, 7), (4, 6)].into();
        assert_eq!(now.since(&before), [(2, 7), (4, 5)].into());
        assert_eq!(now.since(&before).plus(&before), now);
    }

    #[test]
    fn what_has_no_counts_adds_nothing() {
        let merges = Some(MergeCounts { switch: 1, partial: 2, full: 3 });
        assert_eq!([merges.plus(&None), None.plus(&merges), merges.since(&None)], [merges; 3]);
        assert_eq!(merges.since(&merges), Some(MergeCounts::default()));
    }

    #[test]
    fn sizes_are_not_added_up() {
        let now = MappingCounts { cache_entries: 8, lookups: 5, ..MappingCounts::default() };
        let former = MappingCounts { cache_entries: 4, lookups: 2, ..MappingCounts::default() };
        assert_eq!(now.plus(&former), MappingCounts { lookups: 7, ..now });
        assert_eq!(now.since(&former), MappingCounts { lookups: 3, ..now });
    }
}
