//! The replacement policy of a cache, which may be one in parts.

use std::ops::{Deref, DerefMut};

use esker_cache::{Partitioned, Replacement};

/// What chooses the lines that leave.
#[derive(Debug)]
pub(in super::super) enum Policy {
    /// One of the registry.
    Whole(Box<dyn Replacement>),
    /// Least recently used, in parts.
    Parted(Box<Partitioned>),
}

impl Policy {
    /// The parts; `None` of a cache that has none.
    pub(in super::super) fn parts(&self) -> Option<&Partitioned> {
        match self {
            Self::Whole(_) => None,
            Self::Parted(parts) => Some(parts),
        }
    }

    /// The parts, to change them.
    pub(in super::super) fn parts_mut(&mut self) -> Option<&mut Partitioned> {
        match self {
            Self::Whole(_) => None,
            Self::Parted(parts) => Some(parts),
        }
    }

    /// Parts with these weights, for a cache of `room` of `lines` lines.
    pub(in super::super) fn parted(room: u32, lines: u32, weights: &[u32]) -> Self {
        Self::Parted(Box::new(Partitioned::new(room, lines, weights)))
    }
}

impl Deref for Policy {
    type Target = dyn Replacement;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Whole(policy) => &**policy,
            Self::Parted(parts) => &**parts,
        }
    }
}

impl DerefMut for Policy {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Whole(policy) => &mut **policy,
            Self::Parted(parts) => &mut **parts,
        }
    }
}
