//! Results of a disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DiskTimeline;

/// Results of a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskReport {
    /// Seeks over at least one cylinder.
    pub seeks: u64,
    /// Mean seek time over all requests, with or without a move.
    pub mean_seek_us: f64,
    /// Mean rotational wait over all requests.
    pub mean_rotation_us: f64,
    /// Mean transfer time over all requests.
    pub mean_transfer_us: f64,
    /// Mean number of cylinders passed per request.
    pub mean_seek_cylinders: f64,
    /// Of disks whose settings have `power`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power: Option<DiskPowerReport>,
    /// Of shingled disks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shingled: Option<ShingledReport>,
    /// The first accesses one by one, if `run.timeline` asks for them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeline: Option<DiskTimeline>,
}

/// Energy of a disk, and its time in each mode of power. Of disks with several arms, the sums of all arms' times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskPowerReport {
    /// Energy in joules, over the measured time.
    pub energy_j: f64,
    /// Time in which the arm moved to a command's first sector.
    pub seek_s: f64,
    /// Other time in which the arm served a command or read ahead.
    pub active_s: f64,
    /// Time in which the platters turned and the arm served nothing.
    pub idle_s: f64,
    /// Time in which the platters slowed down.
    pub spin_down_s: f64,
    /// Time in which the platters stood still.
    pub standby_s: f64,
    /// Time in which the platters were brought up to speed.
    pub spin_up_s: f64,
    /// How often that was.
    pub spin_ups: u64,
}

impl DiskPowerReport {
    /// The sums of two.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            energy_j: self.energy_j + other.energy_j,
            seek_s: self.seek_s + other.seek_s,
            active_s: self.active_s + other.active_s,
            idle_s: self.idle_s + other.idle_s,
            spin_down_s: self.spin_down_s + other.spin_down_s,
            standby_s: self.standby_s + other.standby_s,
            spin_up_s: self.spin_up_s + other.spin_up_s,
            spin_ups: self.spin_ups + other.spin_ups,
        }
    }
}

/// Where the writes of a shingled disk went, and what cleaning took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShingledReport {
    /// Bytes written at the write pointer of their zone.
    pub direct_write_bytes: u64,
    /// Bytes written to the media cache.
    pub cached_write_bytes: u64,
    /// Entries of the media cache, of 1 MiB at most, that waited for room in it.
    pub waited_writes: u64,
    /// Zones that were read and written anew.
    pub cleaned_zones: u64,
    /// Bytes that cleaning read, from zones and from the media cache.
    pub cleaning_read_bytes: u64,
    /// Bytes that cleaning wrote.
    pub cleaning_write_bytes: u64,
    /// Bytes of the media cache that are not free at the end.
    pub media_cache_used_bytes: u64,
    /// The most that was not free.
    pub media_cache_used_max_bytes: u64,
}
