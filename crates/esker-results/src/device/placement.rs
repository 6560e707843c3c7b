//! Results of placement: extents that were moved or freed, and what a memory cache did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Counters;

/// Counts of extents that were moved or freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementReport {
    /// Extents that were copied to another device.
    pub moved_extents: u64,
    /// Bytes of these extents.
    pub moved_bytes: u64,
    /// Bytes that copies have read, those that were given up included. Only written blocks are copied.
    pub copied_bytes: u64,
    /// Writes of the host that went to another device than the extent that they replaced.
    pub redirected_writes: u64,
    /// Those of them that replaced only a part of the extent's data, so that the rest was read and went with them.
    pub merged_writes: u64,
    /// Bytes that these wrote in addition to the host's.
    pub merged_bytes: u64,
    /// Extents that were copied to a second place, from which they can be read, too.
    pub mirrored_extents: u64,
    /// Bytes of these extents.
    pub mirrored_bytes: u64,
    /// Reads of the host that such a second place has answered, counted for each extent.
    pub mirror_reads: u64,
    /// Copies that were begun and then given up: a device failed or refused them, or moves were paused.
    pub abandoned_moves: u64,
    /// Extents that the host trimmed, whose places were freed.
    pub freed_extents: u64,
    /// New extents that went to another device than the policy chose: that one was full, drained, or took no writes.
    pub displaced_extents: u64,
    /// How often the policy wanted an extent on another device that had no free extent, so that it stayed. Policies
    /// that look at each use of an extent count each.
    pub moves_without_room: u64,
    /// For policies that limit moves by tokens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<TokenReport>,
}

impl Counters for PlacementReport {
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            moved_extents: of(self.moved_extents, other.moved_extents),
            moved_bytes: of(self.moved_bytes, other.moved_bytes),
            copied_bytes: of(self.copied_bytes, other.copied_bytes),
            redirected_writes: of(self.redirected_writes, other.redirected_writes),
            merged_writes: of(self.merged_writes, other.merged_writes),
            merged_bytes: of(self.merged_bytes, other.merged_bytes),
            mirrored_extents: of(self.mirrored_extents, other.mirrored_extents),
            mirrored_bytes: of(self.mirrored_bytes, other.mirrored_bytes),
            mirror_reads: of(self.mirror_reads, other.mirror_reads),
            abandoned_moves: of(self.abandoned_moves, other.abandoned_moves),
            freed_extents: of(self.freed_extents, other.freed_extents),
            displaced_extents: of(self.displaced_extents, other.displaced_extents),
            moves_without_room: of(self.moves_without_room, other.moves_without_room),
            tokens: self.tokens.each_with(&other.tokens, of),
        }
    }
}

/// What became of a policy's tokens. Each lets one extent go to a device where the policy wants more of them. Tokens
/// that are left from before the measured time, or after it, make the difference between those granted and all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenReport {
    /// Tokens that there were.
    pub granted: u64,
    /// Spent on the places of new extents.
    pub new_extents: u64,
    /// Spent on moves, those that could not begin or were given up included.
    pub moves: u64,
    /// Spent on writes of the host that replaced an extent and went to another device.
    pub redirects: u64,
    /// Taken back at the end of their period.
    pub lapsed: u64,
}

impl Counters for TokenReport {
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            granted: of(self.granted, other.granted),
            new_extents: of(self.new_extents, other.new_extents),
            moves: of(self.moves, other.moves),
            redirects: of(self.redirects, other.redirects),
            lapsed: of(self.lapsed, other.lapsed),
        }
    }
}

/// What a cache of extents in memory did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryCacheReport {
    /// Reads of extents, or of parts of them, that were in memory or on their way there.
    pub hits: u64,
    /// All other reads of extents.
    pub misses: u64,
    /// Hits, as a part of both.
    pub hit_ratio: f64,
    /// Bytes of the extents that were fetched, unwritten ones included.
    pub fetched_bytes: u64,
    /// Writes that became writes of all that their extent holds, and so moved it.
    pub widened_writes: u64,
}
