//! Defaults of settings that experiments and volumes share.

use esker_core::registry::Choice;
use esker_core::{Bytes, Nanos, Ratio};

/// Copies of each slice.
pub const fn replicas() -> u8 {
    1
}

/// Bytes of an object.
pub const fn object() -> Bytes {
    Bytes::kib(256)
}

/// Objects of a slice.
pub const fn objects_per_slice() -> u32 {
    16
}

/// Ranges of the hash space.
pub const fn partitions() -> u32 {
    4096
}

/// Share of a server that its share of the ring leaves free.
pub const fn reserve() -> Ratio {
    Ratio::percent(10)
}

/// The policy of balancing.
pub fn balancer() -> Choice {
    Choice::named("life")
}

/// How many erases writes cost.
pub fn wear() -> Choice {
    Choice::named("light")
}

/// Length of an epoch.
pub const fn epoch() -> Nanos {
    Nanos::from_secs(3600)
}

/// Share of an epoch during which nothing is copied.
pub const fn copies_after() -> Ratio {
    Ratio::percent(50)
}

/// Bytes that may be copied in a second.
pub const fn copies() -> Bytes {
    Bytes::mib(20)
}

/// Size of a flash page.
pub const fn page() -> Bytes {
    Bytes::kib(4)
}

/// Pages of a block.
pub const fn pages_per_block() -> u32 {
    64
}

/// Times that a device can be written as a whole.
pub const fn rated_fills() -> u32 {
    3000
}
