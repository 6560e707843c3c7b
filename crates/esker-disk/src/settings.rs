//! The settings of a disk, as written in an experiment file.

use std::fmt;

use esker_core::{ByteRate, Bytes, Nanos, Priority};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::{
    CacheSettings, DiskError, FirmwareSettings, Picoseconds, PowerSettings, RotationSpeed, ShingledSettings, WaitLimit,
};

/// All settings of a disk. Physical parameters have no default: name a preset or give them all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskSettings {
    /// Bytes that the host can address. Default: all sectors of the zones.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity: Option<Bytes>,
    /// Speed of the platters.
    pub rotation_speed: RotationSpeed,
    /// Arms, each with an equal share of the surfaces and of the addresses (docs/disk-model.md).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub actuators: u32,
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
    /// How much sooner than a read a write may begin after any move of the arm or change of head: of drives whose seek
    /// times for writes are below those for reads. At most the move itself. Default: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub write_advance: Nanos,
    /// Controller time per read, before anything else. Hidden while the arm serves others.
    pub read_overhead: Nanos,
    /// Controller time per write, hidden likewise.
    pub write_overhead: Nanos,
    /// Rate of the link to the host. Without it, transfers take no time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bus_rate: Option<ByteRate>,
    /// Rate of the link from the host, where it differs. Default: `bus_rate`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_bus_rate: Option<ByteRate>,
    /// What the controller of a particular drive does, as extracted from it. With it, `read_overhead` and
    /// `write_overhead` are not used. Default: the plain controller of docs/disk-model.md.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub firmware: Option<FirmwareSettings>,
    /// The drive's buffer. Without it, every request goes to the medium.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cache: Option<CacheSettings>,
    /// Shingled recording. Default: none; tracks can be written in any order.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shingled: Option<ShingledSettings>,
    /// What the disk draws, and when its platters stop. Default: nothing is reported, and they never stop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power: Option<PowerSettings>,
    /// The order of service, by name ([`crate::SCHEDULERS`]).
    #[serde(default = "default_scheduler")]
    pub scheduler: String,
    /// A command that has waited this long goes next, whatever the scheduler's order (default: 10s; "off": never).
    /// Early writes in the buffer have no limit until a flush has waited this long.
    #[serde(default = "default_wait_limit", skip_serializing_if = "is_default_wait_limit")]
    pub wait_limit: WaitLimit,
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

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}
fn is_none(number: &u32) -> bool {
    *number == 0
}
fn one() -> u32 {
    1
}
fn default_scheduler() -> String {
    "c-look".to_string()
}
fn default_wait_limit() -> WaitLimit {
    WaitLimit::after(Priority::AGING)
}
fn is_default_wait_limit(limit: &WaitLimit) -> bool {
    *limit == default_wait_limit()
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
    /// Spare sectors without addresses, at the end of the zone or of each `layout.spare_unit`.
    #[serde(default)]
    pub spare_sectors: u32,
    /// Sectors at the start of the zone that hold the drive's own data and have no addresses.
    #[serde(default, skip_serializing_if = "is_none")]
    pub front_sectors: u32,
    /// Angle of the zone's first sector, in sectors. Default: zero, as on all other zones.
    #[serde(default, skip_serializing_if = "is_none")]
    pub first_sector_offset: u32,
    /// `[first, count]` of sectors that are left out as defective, counted from the zone's first sector, in rising
    /// order. Addresses go on behind them, and use up spare sectors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slips: Vec<(u64, u32)>,
    /// Cylinders behind the zone that hold no data.
    #[serde(default)]
    pub unused_cylinders: u32,
}

impl ZoneSettings {
    /// Creates a zone with addresses on all of its sectors and the default skews.
    pub fn new(cylinders: u32, sectors_per_track: u32) -> Self {
        Self {
            cylinders,
            sectors_per_track,
            track_skew: None,
            cylinder_skew: None,
            group_skew: None,
            spare_sectors: 0,
            front_sectors: 0,
            first_sector_offset: 0,
            slips: Vec::new(),
            unused_cylinders: 0,
        }
    }
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
    /// Whether `alternate_surfaces` counts groups from the disk's first cylinder on, not anew in each zone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alternate_across_zones: bool,
    /// What has `spare_sectors` of its own.
    #[serde(skip_serializing_if = "is_default_spare_unit")]
    pub spare_unit: SpareUnit,
    /// With `spare_unit = "range"`: cylinders of a range.
    #[serde(skip_serializing_if = "is_one")]
    pub spare_range: u32,
    /// Whether spare sectors lie at the start of their unit instead of its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub spares_first: bool,
    /// Whether each slipped sector also moves the start of the tracks behind it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub slips_shift_tracks: bool,
}

/// What has spare sectors of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpareUnit {
    /// The zone.
    #[default]
    Zone,
    /// `spare_range` cylinders of a zone.
    Range,
    /// Each cylinder.
    Cylinder,
    /// Each track.
    Track,
}

fn is_default_spare_unit(unit: &SpareUnit) -> bool {
    *unit == SpareUnit::default()
}
fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Default for LayoutSettings {
    fn default() -> Self {
        Self {
            cylinders_per_group: 1,
            alternate_surfaces: false,
            alternate_across_zones: false,
            spare_unit: SpareUnit::Zone,
            spare_range: 1,
            spares_first: false,
            slips_shift_tracks: false,
        }
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Measured times of the shortest distances, from one cylinder on, instead of the formula's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Nanos>,
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

impl DiskSettings {
    /// Checks what no part of the disk checks, for a disk with one arm that is not shingled.
    pub(crate) fn check_plain(&self) -> Result<(), DiskError> {
        let refuse = |key, expected, found: String| Err(DiskError::OutOfRange { key, expected, found });
        if self.actuators != 1 {
            return refuse("actuators", "1 for this kind of disk", self.actuators.to_string());
        }
        if self.shingled.is_some() {
            return refuse("shingled", "nothing for this kind of disk", "a table".to_string());
        }
        if !(1..=1 << 16).contains(&self.queue_depth) {
            return refuse("queue_depth", "1 to 65,536", self.queue_depth.to_string());
        }
        for (key, time) in [("read_overhead", self.read_overhead), ("write_overhead", self.write_overhead)] {
            if time > Nanos::from_secs(10) {
                return refuse(key, "at most 10s", time.to_string());
            }
        }
        for (key, rate) in [("bus_rate", self.bus_rate), ("write_bus_rate", self.write_bus_rate)] {
            if let Some(rate) = rate.filter(|rate| rate.0 < 1_000_000) {
                return refuse(key, "at least 1MB/s", rate.to_string());
            }
        }
        self.power.map_or(Ok(()), |power| power.check())
    }
}
