//! The settings of a disk, as written in an experiment file.

use std::fmt;

use esker_core::{ByteRate, Bytes, Nanos, Priority};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::{CacheSettings, Picoseconds, RotationSpeed};

/// All settings of a disk. Physical parameters have no default: name a preset or give them all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskSettings {
    /// Bytes that the host can address. Default: all sectors of the zones.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity: Option<Bytes>,
    /// Speed of the platters.
    pub rotation_speed: RotationSpeed,
    /// Recorded surfaces, one head each.
    #[schemars(range(min = 1, max = 64))]
    pub surfaces: u32,
    /// Groups of cylinders with the same number of sectors per track, from the outer edge inwards.
    pub zones: Vec<ZoneSettings>,
    /// The order in which addresses fill the tracks.
    #[serde(default)]
    pub layout: LayoutSettings,
    /// Seek time by distance.
    pub seek: SeekSettings,
    /// Time to change from one head to another in the same cylinder.
    pub head_switch: Nanos,
    /// Extra settling time before a write, after any move of the arm or change of head.
    pub write_settle: Nanos,
    /// Controller time per read, before anything else. Hidden while the arm serves others.
    pub read_overhead: Nanos,
    /// Controller time per write, hidden likewise.
    pub write_overhead: Nanos,
    /// Rate of the link to the host. Without it, transfers take no time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bus_rate: Option<ByteRate>,
    /// The drive's buffer. Without it, every request goes to the medium.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cache: Option<CacheSettings>,
    /// The order of service: a name of [`crate::SCHEDULERS`].
    #[serde(default = "default_scheduler")]
    pub scheduler: String,
    /// User commands go before background ones, to the arm and into the buffer. Background commands that have waited
    /// this long (default: 10s) get every other turn; while a flush waits they get it at once, because the flush may
    /// wait for any of them.
    #[serde(default = "default_priority_aging", skip_serializing_if = "is_default_priority_aging")]
    pub priority_aging: Nanos,
    /// Requests that the disk holds at once, including the one in service.
    #[schemars(range(min = 1, max = 65_536))]
    #[serde(default = "default_queue_depth")]
    pub queue_depth: u32,
}

fn default_scheduler() -> String {
    "c-look".to_string()
}
fn default_priority_aging() -> Nanos {
    Priority::AGING
}
fn is_default_priority_aging(time: &Nanos) -> bool {
    *time == default_priority_aging()
}
fn default_queue_depth() -> u32 {
    32
}

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneSettings {
    /// Cylinders that hold data.
    pub cylinders: u32,
    /// Sectors of 512 bytes on each track.
    pub sectors_per_track: u32,
    /// Sectors by which the first sector of a track lies behind that of the track before it, on another surface.
    /// Default: as many as pass during a head switch and write settling.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub track_skew: Option<u32>,
    /// Skew from one cylinder to the next, in sectors. Default: as many as pass during that seek and write settling.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cylinder_skew: Option<u32>,
    /// Skew from one group of cylinders to the next, in sectors. Used only if `layout.cylinders_per_group` is over 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_skew: Option<u32>,
    /// Spare sectors at the end of the zone, without addresses.
    #[serde(default)]
    pub spare_sectors: u32,
    /// Cylinders behind the zone that hold no data.
    #[serde(default)]
    pub unused_cylinders: u32,
}

/// The order in which addresses fill the tracks. Within a group of cylinders they go along one surface, then back along
/// the next. With one cylinder per group that is cylinder by cylinder, surface by surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LayoutSettings {
    /// Adjacent tracks of one surface that are filled before the next surface.
    pub cylinders_per_group: u32,
    /// Whether every second group takes the surfaces in reverse order, so that going on to the next group changes no
    /// head.
    pub alternate_surfaces: bool,
}

impl Default for LayoutSettings {
    fn default() -> Self {
        Self { cylinders_per_group: 1, alternate_surfaces: false }
    }
}

/// Seek time by distance: a list of `[cylinders, time]` points joined by straight lines, or a formula.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SeekSettings {
    /// `[cylinders, time]` in rising order of cylinders.
    Points(Vec<(u32, Nanos)>),
    /// Two pieces (Ruemmler and Wilkes 1994).
    Formula(SeekFormula),
}

/// `a + b * sqrt(d)` for distances below `split` cylinders, `c + e * d` from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekFormula {
    /// Constant of short seeks.
    pub a: Nanos,
    /// Per square root of a cylinder.
    pub b: Picoseconds,
    /// First distance that counts as long, in cylinders.
    pub split: u32,
    /// Constant of long seeks.
    pub c: Nanos,
    /// Per cylinder.
    pub e: Picoseconds,
}

/// Written by hand, because an untagged derive would answer every mistake with "did not match any variant".
impl<'de> Deserialize<'de> for SeekSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PointsOrFormula;
        impl<'de> Visitor<'de> for PointsOrFormula {
            type Value = SeekSettings;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of [cylinders, time] points, or a table with a, b, split, c and e")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, points: A) -> Result<SeekSettings, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(points)).map(SeekSettings::Points)
            }
            fn visit_map<A: MapAccess<'de>>(self, formula: A) -> Result<SeekSettings, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(formula)).map(SeekSettings::Formula)
            }
        }
        deserializer.deserialize_any(PointsOrFormula)
    }
}
