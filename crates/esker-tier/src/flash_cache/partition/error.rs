//! Errors of dividing a cache into parts.

use esker_core::Hint;
use thiserror::Error;

use super::super::allocation::AllocationFault;

/// Why a cache cannot be divided as its settings ask.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PartitionError {
    /// Parts evict lines in an order of their own. Contains the policy's name.
    #[error("`partition` replaces the least recently used lines of each part, and `policy` is \"{0}\"")]
    Policy(String),
    /// A log evicts lines in an order of its own. Contains the order of slots, as configurations name it.
    #[error("`slots = \"{0}\"` lets lines leave in the order in which they came in, and `partition` does not")]
    Log(String),
    /// `allocation` and `partition` cannot be combined.
    #[error("`allocation` changes the size of the cache, and `partition` divides one that stays")]
    Allocation,
    /// There are no dirty lines, or no clean ones. Role and handling of writes are as configurations name them.
    #[error(
        "`by = \"access\"` divides the cache between clean and dirty lines, and there are not both with \
         `role = \"{role}\"` and `write = \"{write}\"`"
    )]
    Access {
        /// Which requests bring a line into the cache.
        role: String,
        /// What happens to writes.
        write: String,
    },
    /// A setting of `partition` makes no sense.
    #[error("{}", .0.message)]
    Setting(AllocationFault),
}

impl PartitionError {
    /// Returns the keys that the error is about, as configurations name them.
    pub(in super::super) fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::Policy(_) => &["policy", "partition"],
            Self::Log(_) => &["slots", "partition"],
            Self::Allocation => &["partition", "allocation"],
            Self::Access { .. } => &["partition", "by"],
            Self::Setting(fault) => fault.keys,
        }
    }
}

impl Hint for PartitionError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Policy(_) => "leave `policy` out",
            Self::Log(_) => "leave `slots` out",
            Self::Allocation => "leave one of them out",
            Self::Access { .. } => "use `role = \"unified\"` with `write = \"write-back\"`, or `by = \"volume\"`",
            Self::Setting(_) => return None,
        };
        Some(hint.to_string())
    }
}
