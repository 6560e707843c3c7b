//! Controllers: they watch the accesses to a cache, and change its size or the shares of its parts.

use std::fmt::Debug;

use esker_cache::Partitioned;
use esker_core::{Bytes, Nanos};
use esker_results::FlashCacheReport;
use thiserror::Error;

/// An access of the host to a line, as it is before it is served.
#[derive(Clone, Copy, Debug)]
pub struct LineAccess {
    /// The line.
    pub line: u32,
    /// The volume, by the number of its stream.
    pub volume: u16,
    /// Whether it is a write, of data or of zeroes.
    pub is_write: bool,
    /// Whether it is a write of zeroes.
    pub is_zeroes: bool,
    /// Whether it covers the whole line.
    pub is_whole: bool,
    /// Whether the cache holds the line.
    pub is_held: bool,
    /// Whether the cache holds the line and it is dirty.
    pub is_dirty: bool,
}

/// What a controller decides.
#[derive(Clone, Debug, PartialEq)]
pub enum CacheDecision {
    /// The lines leave this share of the flash to cleaning.
    LeaveToCleaning(f64),
    /// The parts of the cache share it in proportion to these weights. There are never fewer parts than before.
    Divide(Vec<u32>),
}

/// Watches the accesses to a cache, and decides about its size or about the shares of its parts. A controller makes
/// only one of the two kinds of decisions: always the kind of its first.
pub trait CacheController: Debug + Send {
    /// Returns the decision with which a new or restored cache begins.
    fn first_decision(&self) -> CacheDecision;

    /// Learns of an access that the role of the cache covers. Returns a decision, if something is to change.
    fn access(&mut self, now: Nanos, access: &LineAccess) -> Option<CacheDecision>;

    /// Returns the part to which the accessed line belongs, if the cache is divided. [`Self::access`] has to be called
    /// first, so that the part exists.
    fn part_of(&self, access: &LineAccess) -> u16 {
        let _ = access;
        0
    }

    /// Returns the part for a restored line, if the cache is divided.
    fn part_of_restored(&self, is_dirty: bool) -> u16 {
        let _ = is_dirty;
        0
    }

    /// Notes that the cache may now hold `room` lines.
    fn resize(&mut self, room: u32) {
        let _ = room;
    }

    /// Notes the flash's erases so far, and the bytes that the cache has written to it since measuring started.
    fn learn_wear(&mut self, erases: u64, bytes: u64) {
        let _ = (erases, bytes);
    }

    /// Begins to count anew for [`Self::report`].
    fn start_measuring(&mut self) {}

    /// Adds the decisions so far to the results of the cache, whose `parts` are there if it is divided.
    fn report(&self, parts: Option<&Partitioned>, into: &mut FlashCacheReport);
}

/// The sizes of a cache for which a controller is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    /// Size of a line.
    pub line: Bytes,
    /// Number of slots of the flash.
    pub slots: u32,
    /// Number of slots that lines may take at most; less than `slots` if the cache owns its flash.
    pub most: u32,
    /// Number of lines that the replacement policy may hold.
    pub room: u32,
    /// Seed of the controller's random numbers.
    pub seed: u64,
}

/// Settings that do not go with a controller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ControllerFault {
    /// The keys of the settings, as configurations name them.
    pub keys: &'static [&'static str],
    /// What is wrong with them.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}
