//! dm-cache of Linux with its policy smq, as a policy that moves extents.
//!
//! Sources: `Documentation/admin-guide/device-mapper/cache.rst` and `cache-policies.rst`, and for what these leave open
//! `drivers/md/dm-cache-policy-smq.c` (version 2.0.0 of the policy).
//!
//! The queue of the cache has 64 levels. A block that is read or written rises by one level, at most once in ten
//! seconds, and the block used least recently on that level takes its place; every ten seconds all levels get the same
//! number of blocks. Blocks of the slow device are watched in hotspots of up to 16 neighbours, in a queue of the same
//! kind whose top eight levels hold few. A missed block moves to the fast device if its hotspot is on the upper
//! levels: from level 48 on if less than a sixteenth of the misses lately found their hotspot on levels 48 to 63, from
//! 32 on below an eighth, else on any level. If the fast device is full, the block used least recently on its lowest
//! level below 32 leaves first.
//!
//! What is assumed:
//! - An extent is a block of the cache. Blocks of the cache are copies; here an extent is in one place, so that a block
//!   that leaves is always copied back, also a clean one, and nothing has to be written back otherwise.
//! - `migration_threshold` limits what moves at a time, as the documentation says. At least one extent may move. A
//!   block that finds no room or no budget is not remembered; the next miss asks again.
//! - A tick, after which a hotspot may rise again, ends when the first request sent after the last tick ends.
//! - Nothing is dirty, so the queue of dirty blocks and its sentinels are left out.
//! - The origin, by whose size hotspots are measured, is all slow devices together.
//! - A new extent goes to the fast device if its first write covers all of it; so does a later one that replaces it.
//!   Data that are there before the first request are on the slow devices.

mod levels;

#[cfg(test)]
mod tests;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos, Request};
use esker_tier::{
    DeviceIndex, DeviceView, Event, LogicalExtent, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError,
    Rewrite, WishedMove, Wishes, schema_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tiers::{ExtentSize, MovesUnderWay, Tiers};
use levels::{LEVELS, LevelQueue};

/// The entry of [`super::PUBLISHED_PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "dm-cache",
    summary: "Extents whose neighbourhood is read or written often move to the fast device, the coldest ones back",
    source: "Linux: device-mapper/cache.rst and cache-policies.rst, dm-cache-policy-smq.c (smq 2.0.0)",
    parameters: ParameterSource::Schema(schema_of::<DmCacheSettings>),
    capabilities: &[],
    build,
};

/// The levels of hotspots that count as hits begin here.
const HIT_LEVEL: u8 = LEVELS * 3 / 4;
/// Hotspots change levels this often.
const HOTSPOT_PERIOD: Nanos = Nanos::from_secs(1);
/// Blocks of the cache change levels this often.
const CACHE_PERIOD: Nanos = Nanos::from_secs(10);
/// The least number of hotspots that are watched.
const HOTSPOTS_MIN: u32 = 1024;
/// Most blocks in a hotspot.
const HOTSPOT_BLOCKS: u32 = 16;
/// In one call, at most this many blocks change levels: some milliseconds. The next period goes on.
const STEPS_MAX: u32 = 20_000;
/// Limit of `migration_threshold`.
const THRESHOLD_MAX: u64 = 1_000_000_000;

/// Settings of [`DmCache`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct DmCacheSettings {
    /// The fast device, by its place in `children`, from 0. All others are the origin.
    fast: u16,
    /// Most sectors of 512 bytes that move at a time; at least one extent may move.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    migration_threshold: u64,
}

impl Default for DmCacheSettings {
    fn default() -> Self {
        Self { fast: 0, migration_threshold: 2048 }
    }
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let DmCacheSettings { fast, migration_threshold } = policy.options()?;
    if !(1..=THRESHOLD_MAX).contains(&migration_threshold) {
        let message =
            format!("`migration_threshold` is {migration_threshold}; it has to be 1 to {THRESHOLD_MAX} sectors");
        return Err(PlacementError::new("migration_threshold", message));
    }
    Ok(Box::new(DmCache::new(Tiers::new(fast, policy)?, migration_threshold)))
}

/// How well hotspots tell what will be read next.
#[derive(Clone, Copy, Debug, Default)]
struct HotspotHits {
    hits: u32,
    misses: u32,
}

impl HotspotHits {
    fn count(&mut self, level: Option<u8>) {
        let counter = if level >= Some(HIT_LEVEL) { &mut self.hits } else { &mut self.misses };
        *counter = counter.saturating_add(1);
    }

    /// Returns by how many levels hotspots rise: more if they tell little, so that the queue changes faster.
    fn jump(self) -> u8 {
        match u64::from(self.hits) * 256 / (u64::from(self.hits) + u64::from(self.misses)).max(1) {
            0..16 => 4,
            16..32 => 2,
            _ => 1,
        }
    }
}

/// Hotspots: groups of neighbouring extents outside the cache.
#[derive(Debug)]
struct Hotspots {
    queue: LevelQueue,
    /// Number of extents in each.
    blocks: u32,
    /// Most hotspots in the queue.
    most: u32,
    lately: HotspotHits,
    jump: u8,
}

impl Hotspots {
    fn new(cache_blocks: u32, origin_blocks: u64) -> Self {
        let most = (cache_blocks / 4).max(HOTSPOTS_MIN);
        let mut blocks = HOTSPOT_BLOCKS;
        while blocks > 1 && u64::from(blocks) * u64::from(most) > origin_blocks {
            blocks /= 2;
        }
        let in_top = (most / u32::from(LEVELS)).min(cache_blocks / blocks);
        Self { queue: LevelQueue::new(Some(in_top)), blocks, most, lately: HotspotHits::default(), jump: 1 }
    }

    /// Notes a miss of `extent`, and returns the level of its hotspot.
    fn missed(&mut self, extent: LogicalExtent) -> u8 {
        let hotspot = extent.0 / self.blocks;
        let level = self.queue.level(hotspot);
        self.lately.count(level);
        if level.is_some() {
            if !self.queue.rise(hotspot, self.jump) {
                self.queue.refresh(hotspot);
            }
        } else {
            let full = self.queue.len() == self.most;
            let oldest = self.queue.coldest(LEVELS).filter(|_| full);
            let level = oldest.and_then(|oldest| self.queue.level(oldest)).unwrap_or(0);
            oldest.into_iter().for_each(|oldest| self.queue.remove(oldest));
            self.queue.add(hotspot, level);
        }
        self.queue.level(hotspot).expect("it is in the queue")
    }
}

/// The cache, as a tier: the queue of its blocks, and the hotspots outside.
#[derive(Debug)]
struct DmCache {
    tiers: Tiers,
    extent: ExtentSize,
    /// `migration_threshold`, in bytes.
    budget: u64,
    /// The extents on the fast device: twelve bytes for each extent of the volume.
    cache: LevelQueue,
    /// Twelve bytes for each hotspot of the volume. `None` before the first request, when no device is known.
    hotspots: Option<Hotspots>,
    /// The level from which on a hotspot's extents move when they are used.
    promoted_from: u8,
    moves: MovesUnderWay,
    /// Time of the last tick.
    ticked: Nanos,
    /// Times of the last changes of levels, of hotspots and of the cache.
    hotspots_spread: Option<Nanos>,
    cache_spread: Option<Nanos>,
}

impl DmCache {
    fn new(tiers: Tiers, migration_threshold: u64) -> Self {
        Self {
            tiers,
            extent: ExtentSize::default(),
            budget: migration_threshold * Bytes::SECTOR.0,
            cache: LevelQueue::new(None),
            hotspots: None,
            promoted_from: LEVELS,
            moves: MovesUnderWay::default(),
            ticked: Nanos::ZERO,
            hotspots_spread: None,
            cache_spread: None,
        }
    }

    /// Takes a read or a write of `extent`.
    fn access(&mut self, extent: LogicalExtent, devices: &[DeviceView], wishes: &mut Wishes) {
        if self.cache.level(extent.0).is_some() {
            self.cache.rise(extent.0, 1);
            return;
        }
        let Some(hotspots) = &mut self.hotspots else { return };
        let level = hotspots.missed(extent);
        if level >= self.promoted_from {
            self.promote(extent, devices, wishes);
        }
    }

    /// Moves `extent` to the fast device, or makes room there.
    fn promote(&mut self, extent: LogicalExtent, devices: &[DeviceView], wishes: &mut Wishes) {
        let moving = self.moves.count() as u64;
        if moving > 0 && (moving + 1) * self.extent.bytes() > self.budget {
            return;
        }
        let fast = self.tiers.fast_view(devices);
        if fast.has_room() {
            self.moves.ask(WishedMove::among_requests(extent, self.tiers.fast), wishes);
        } else if fast.is_full() {
            wishes.without_room += 1;
            let coldest = self.cache.coldest(LEVELS / 2);
            if let Some((coldest, slow)) = coldest.zip(self.tiers.slow_with_room(devices)) {
                self.moves.ask(WishedMove::among_requests(LogicalExtent(coldest), slow), wishes);
                // Another one is the coldest until this one has left.
                self.cache.refresh(coldest);
            }
        }
    }

    /// Ends a tick.
    fn tick(&mut self, now: Nanos) {
        self.ticked = now;
        let is_due = |last: Option<Nanos>, period| last.is_none_or(|last| now > last + period);
        if let Some(hotspots) = &mut self.hotspots {
            hotspots.queue.begin_period();
            let jump = hotspots.lately.jump();
            self.promoted_from = LEVELS - LEVELS / jump;
            if is_due(self.hotspots_spread, HOTSPOT_PERIOD) {
                self.hotspots_spread = Some(now);
                hotspots.jump = jump;
                hotspots.queue.spread(STEPS_MAX);
                hotspots.lately = HotspotHits::default();
            }
        }
        if is_due(self.cache_spread, CACHE_PERIOD) {
            self.cache_spread = Some(now);
            self.cache.begin_period();
            self.cache.spread(STEPS_MAX);
        }
    }

    /// Returns true if `write` covers all of the extent that begins at `start`.
    fn covers(&self, write: &Request, start: Bytes) -> bool {
        write.start.byte_offset() <= start.0 && write.end_byte() >= start.0 + self.extent.bytes()
    }
}

impl Placement for DmCache {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        self.extent.learn(new.extent, new.start);
        self.tiers.place(new.write.is_some_and(|write| self.covers(write, new.start)), devices)
    }

    /// Nothing is known of extents that were there before the first request: they are on all levels. Later ones begin
    /// on the top level.
    fn placed(&mut self, extent: LogicalExtent, start: Bytes, device: Option<DeviceIndex>) {
        self.extent.learn(extent, start);
        let is_cached = device == Some(self.tiers.fast);
        match self.cache.level(extent.0) {
            None if is_cached && self.hotspots.is_none() => self.cache.add(extent.0, drawn_level(extent)),
            None if is_cached => self.cache.add(extent.0, LEVELS - 1),
            Some(_) if !is_cached => self.cache.remove(extent.0),
            _ => {}
        }
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Request { request, first, extents } if request.kind.has_data() => {
                let tiers = self.tiers;
                self.hotspots.get_or_insert_with(|| {
                    let origin = tiers.slow(devices).map(|(_, view)| u64::from(view.extents)).sum();
                    Hotspots::new(tiers.fast_view(devices).extents, origin)
                });
                for extent in first.0..first.0 + extents {
                    self.access(LogicalExtent(extent), devices, wishes);
                }
            }
            Event::Completed(done) if done.for_host && done.sent >= self.ticked => self.tick(now),
            Event::Moved { extent, .. } => drop(self.moves.ended(extent)),
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        self.tiers.redirect(write.from, devices)
    }

    fn redirects(&self) -> bool {
        true
    }

    fn devices_joined(&mut self, _: usize) {}
}

/// Returns a level for an extent of which nothing is known; neighbours have different ones.
fn drawn_level(extent: LogicalExtent) -> u8 {
    (extent.0.wrapping_mul(0x9E37_79B1) >> 26) as u8
}
