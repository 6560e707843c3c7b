//! Settings of a flash cache.

use std::fmt::Debug;
use std::sync::Arc;

use esker_cache::{Admission, NO_ADMISSION, REPLACEMENTS, Replacement, ReplacementCapability, Shape, build_admission};
use esker_core::registry::{self, Choice};
use esker_core::{Bytes, Ratio};

use super::CacheStreams;
use super::controller::{CacheController, CacheSizes, ControllerFault};
use super::error::FlashCacheError;
use super::modes::{CacheRole, LINE_MAX, LINES_MAX, OwnedFlash, SlotOrder, Trimming, WriteHandling};
use super::routing::{HitRouter, no_routing};

/// Makes the controller of a cache: the settings of one.
pub trait BuildController: Debug + Send + Sync {
    /// Checks that the controller goes with the settings of the cache.
    ///
    /// # Errors
    /// If it does not, or if its own settings make no sense.
    fn check(&self, cache: &FlashCacheSettings) -> Result<(), ControllerFault>;

    /// Makes the controller; `None` if the settings ask for none.
    fn build(&self, sizes: &CacheSizes) -> Option<Box<dyn CacheController>>;
}

/// The settings of a flash cache.
#[derive(Clone, Debug)]
pub struct FlashCacheSettings {
    /// Size of a line, which is cached as a whole: a multiple of the sector size.
    pub line: Bytes,
    /// Capacity of the flash (device 0).
    pub flash: Bytes,
    /// Capacity of the backing device (device 1). The volume consists of the whole lines that fit into it.
    pub backing: Bytes,
    /// The replacement policy.
    pub policy: Choice,
    /// The order in which slots are used.
    pub slots: SlotOrder,
    /// The streams of writes to the flash.
    pub streams: CacheStreams,
    /// The admission policy: which lines that miss may enter the cache.
    pub admission: Choice,
    /// The routing policy: which reads that hit the backing device serves.
    pub routing: Choice,
    /// Which requests bring a line into the cache.
    pub role: CacheRole,
    /// What happens to writes.
    pub write: WriteHandling,
    /// While the host is idle, the cleaner works until at most this share of the slots is dirty.
    pub dirty_low: Ratio,
    /// Above this share of dirty slots, the cleaner works whatever the host does.
    pub dirty_high: Ratio,
    /// Whether slots that become free are trimmed on the flash.
    pub trim_freed: bool,
    /// Makes the controller, which chooses how much of the flash the lines take, or divides the cache into parts;
    /// `None` if the lines take all of it, undivided.
    pub controller: Option<Arc<dyn BuildController>>,
    /// How much may be kept on the flash, if the cache owns it; `None` for a drive, which keeps everything that is
    /// written to it.
    pub owned: Option<OwnedFlash>,
    /// Seed of the policies' random numbers.
    pub seed: u64,
}

impl FlashCacheSettings {
    /// The default settings, which are assumed: lines of 4 KiB, LRU, no admission policy, no routing, both reads and
    /// writes, write-through; cleaning from 60% down to 40%; no trims.
    pub fn new(flash: Bytes, backing: Bytes) -> Self {
        Self {
            line: Bytes::kib(4),
            flash,
            backing,
            policy: Choice::named("lru"),
            slots: SlotOrder::default(),
            streams: CacheStreams::default(),
            admission: Choice::named(NO_ADMISSION),
            routing: no_routing(),
            role: CacheRole::default(),
            write: WriteHandling::default(),
            dirty_low: Ratio::percent(40),
            dirty_high: Ratio::percent(60),
            trim_freed: false,
            controller: None,
            owned: None,
            seed: 0,
        }
    }

    /// Returns the number of lines of the volume and the number of slots of the flash, or the setting that makes no
    /// sense.
    pub(super) fn sizes(&self) -> Result<(u32, u32), FlashCacheError> {
        let line = self.line;
        if line == Bytes::ZERO || !line.0.is_multiple_of(Bytes::SECTOR.0) || line > LINE_MAX {
            return Err(FlashCacheError::Line(line));
        }
        let (lines, slots) = (self.backing.0 / line.0, self.flash.0 / line.0);
        if lines == 0 {
            return Err(FlashCacheError::Backing { line, backing: self.backing });
        }
        if slots < 2 {
            return Err(FlashCacheError::Flash { line, flash: self.flash });
        }
        if lines.max(slots) > LINES_MAX {
            return Err(FlashCacheError::Lines(lines.max(slots)));
        }
        let fits = match self.write {
            WriteHandling::WriteAround => self.role == CacheRole::Read,
            WriteHandling::WriteBack => self.role != CacheRole::Read,
            WriteHandling::WriteThrough => true,
        };
        if !fits {
            return Err(FlashCacheError::Combination { role: self.role, write: self.write });
        }
        if self.slots == SlotOrder::AppendOnly && self.write == WriteHandling::WriteThrough {
            return Err(FlashCacheError::AppendThrough);
        }
        if self.dirty_high > Ratio::ONE {
            return Err(FlashCacheError::HighMark(self.dirty_high));
        }
        if self.dirty_low > self.dirty_high {
            return Err(FlashCacheError::LowMark { low: self.dirty_low, high: self.dirty_high });
        }
        if let Some(controller) = &self.controller {
            controller.check(self)?;
        }
        if self.owned.is_some() && self.slots.is_log() {
            return Err(FlashCacheError::OwnedLog);
        }
        Ok((lines as u32, slots as u32))
    }

    /// Makes the controller of a cache of these sizes; `None` if there is none.
    pub(super) fn build_controller(&self, sizes: &CacheSizes) -> Option<Box<dyn CacheController>> {
        self.controller.as_ref()?.build(sizes)
    }

    /// The replacement policy of a cache that may hold `capacity` of the volume's `lines` lines.
    pub(super) fn build_policy(&self, capacity: u32, lines: u32) -> Result<Box<dyn Replacement>, FlashCacheError> {
        if let Ok(entry) = registry::find(REPLACEMENTS, "cache policy", &self.policy.kind) {
            if entry.can(ReplacementCapability::Future) {
                return Err(FlashCacheError::Future(entry.name));
            }
            if self.slots.is_log() && !entry.can(ReplacementCapability::Log) {
                return Err(FlashCacheError::NoLog { slots: self.slots, policy: entry.name });
            }
        }
        let shape = Shape { capacity, objects: lines, seed: self.seed };
        Ok(esker_cache::build(&self.policy, &shape)?)
    }

    /// The admission policy of a cache that may hold `capacity` of the volume's `lines` lines.
    pub(super) fn build_admission(&self, capacity: u32, lines: u32) -> Result<Box<dyn Admission>, FlashCacheError> {
        let shape = Shape { capacity, objects: lines, seed: self.seed };
        build_admission(&self.admission, &shape).map_err(FlashCacheError::Admission)
    }

    /// The router of a cache of `slots` slots; `None` if the flash serves all hits.
    pub(super) fn build_router(&self, slots: u32) -> Result<Option<HitRouter>, FlashCacheError> {
        HitRouter::new(&self.routing, slots).map_err(FlashCacheError::Routing)
    }
}

impl FlashCacheSettings {
    pub(super) fn trimming(&self) -> Trimming {
        match (self.owned, self.trim_freed) {
            (Some(_), _) => Trimming::Always,
            (None, true) => Trimming::IfPlenty,
            (None, false) => Trimming::Never,
        }
    }
}
