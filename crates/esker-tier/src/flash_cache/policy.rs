//! The replacement policy of a cache, divided into parts or not.

use std::ops::{Deref, DerefMut};

use esker_cache::{Partitioned, Replacement};

/// The replacement policy: it chooses which lines to evict.
#[derive(Debug)]
pub(super) enum CachePolicy {
    /// A policy of the registry, for the whole cache.
    Whole(Box<dyn Replacement>),
    /// Least recently used, for each part by itself.
    Divided(Box<Partitioned>),
}

impl CachePolicy {
    /// Returns the parts; `None` if the cache is not divided.
    pub(super) fn parts(&self) -> Option<&Partitioned> {
        match self {
            Self::Whole(_) => None,
            Self::Divided(parts) => Some(parts),
        }
    }

    /// Returns the parts, to change them; `None` if the cache is not divided.
    pub(super) fn parts_mut(&mut self) -> Option<&mut Partitioned> {
        match self {
            Self::Whole(_) => None,
            Self::Divided(parts) => Some(parts),
        }
    }

    /// A policy for parts with these weights, in a cache that may hold `room` of the volume's `lines` lines.
    pub(super) fn divided(room: u32, lines: u32, weights: &[u32]) -> Self {
        Self::Divided(Box::new(Partitioned::new(room, lines, weights)))
    }
}

impl Deref for CachePolicy {
    type Target = dyn Replacement;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Whole(policy) => &**policy,
            Self::Divided(parts) => &**parts,
        }
    }
}

impl DerefMut for CachePolicy {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Whole(policy) => &mut **policy,
            Self::Divided(parts) => &mut **parts,
        }
    }
}
