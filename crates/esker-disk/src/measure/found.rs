//! Turns the measured values into the settings of a disk.

use std::fmt::Write;

use esker_core::{ByteRate, Bytes, Nanos, Priority};

use super::bench::median;
use super::buffer::Buffer;
use super::curve::FoundSeeks;
use super::layout::{FoundLayout, Skews, TrackOrder};
use super::zones::FoundZone;
use crate::preset_text::{self, MEASURED};
use crate::{
    CacheSettings, Disk, DiskError, DiskSettings, LayoutSettings, RotationSpeed, SeekSettings, SpareUnit, WaitLimit,
    ZoneSettings,
};

/// A disk that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The disk's settings.
    pub settings: DiskSettings,
    /// What was not found, or could not be: one sentence each.
    pub remarks: Vec<String>,
}

/// The findings of all stages of a measurement.
pub(super) struct Findings<'a> {
    pub(super) sectors: u64,
    pub(super) block: u64,
    pub(super) turn_ns: f64,
    pub(super) buffer: Option<Buffer>,
    pub(super) zones: &'a [FoundZone],
    pub(super) layout: &'a FoundLayout,
    pub(super) seeks: &'a FoundSeeks,
}

impl Measured {
    /// Returns the preset's text for a disk called `name`: remarks as comments, then the settings, with their `kind`.
    pub fn to_toml(&self, name: &str) -> String {
        let mut text = format!("# {}{MEASURED}\n", name.replace(char::is_control, "?"));
        for remark in &self.remarks {
            let _ = writeln!(text, "#   {remark}");
        }
        text + &preset_text::settings(&self.settings)
    }
}

/// Returns a time of the model, which has no negative times.
fn nanos(time: f64) -> Nanos {
    Nanos(time.max(0.0).round() as u64)
}

impl Findings<'_> {
    /// # Errors
    /// Settings that the model refuses, which a real disk cannot have.
    pub(super) fn measured(&self) -> Result<Measured, DiskError> {
        let mut remarks = vec!["Only reads were made: writes are ASSUMED to have the same overhead.".to_string()];
        let head_switch = self.head_switch(&mut remarks);
        let overhead = nanos(self.seeks.overhead - self.buffer.map_or(0.0, |b| b.sector_ns * self.block as f64));
        let settings = DiskSettings {
            capacity: Some(Bytes(self.sectors * Bytes::SECTOR.0)),
            rotation_speed: RotationSpeed::thousandths((60e12 / self.turn_ns).round() as u64),
            actuators: 1,
            surfaces: self.layout.order.surfaces() as u32,
            zones: self.zones(&mut remarks),
            layout: self.layout(&mut remarks),
            seek: SeekSettings::Points(
                self.seeks.points.iter().map(|&(distance, time)| (distance, nanos(time))).collect(),
            ),
            head_switch,
            write_settle: self.write_settle(head_switch, &mut remarks),
            write_advance: Nanos::ZERO,
            read_overhead: overhead,
            write_overhead: overhead,
            bus_rate: self.bus_rate(&mut remarks),
            write_bus_rate: None,
            firmware: None,
            cache: self.cache(&mut remarks),
            shingled: None,
            power: None,
            scheduler: "c-look".to_string(),
            wait_limit: WaitLimit::after(Priority::AGING),
            priority_aging: Priority::AGING,
            queue_depth: 32,
        };
        remarks.push("The order of service and the depth of the queue are ASSUMED.".to_string());
        Disk::new("measured", &settings)?;
        Ok(Measured { settings, remarks })
    }

    fn zones(&self, remarks: &mut Vec<String>) -> Vec<ZoneSettings> {
        let surfaces = self.layout.order.surfaces();
        let spares = self.spares_by_track();
        let (mut laid_out, mut zones) = (0, Vec::new());
        for (index, (zone, skews)) in self.zones.iter().zip(&self.layout.skews).enumerate() {
            let cylinder = zone.sectors_per_track * surfaces;
            // The next zone makes up for rounding errors of a zone. The last zone holds all that is left.
            let left = zone.end.saturating_sub(laid_out);
            let last = index + 1 == self.zones.len();
            let cylinders = if last { left.div_ceil(cylinder) } else { (left + cylinder / 2) / cylinder }.max(1);
            laid_out += cylinders * cylinder;
            let per_turn = if spares { zone.per_turn().round() as u64 } else { zone.sectors_per_track };
            let Skews { track, cylinder, group } = *skews;
            let sectors = |skew: f64| Some((skew * per_turn as f64).round() as u32 % per_turn as u32);
            zones.push(ZoneSettings {
                track_skew: sectors(track).filter(|_| surfaces > 1),
                cylinder_skew: sectors(cylinder),
                group_skew: sectors(group).filter(|_| matches!(self.layout.order, TrackOrder::ByGroup { .. })),
                spare_sectors: (per_turn - zone.sectors_per_track) as u32,
                ..ZoneSettings::new(cylinders as u32, per_turn as u32)
            });
        }
        if self.zones.iter().any(|zone| zone.per_turn() > zone.sectors_per_track as f64) && !spares {
            remarks.push("Tracks have spare sectors, which the preset has in the skews instead.".to_string());
        }
        zones
    }

    /// Returns true if tracks have sectors without addresses, and the layout is one that can have them.
    fn spares_by_track(&self) -> bool {
        let grouped = matches!(self.layout.order, TrackOrder::ByGroup { .. });
        !grouped
            && self.zones.iter().all(|zone| zone.per_turn().round() as u64 >= zone.sectors_per_track)
            && self.zones.iter().any(|zone| zone.per_turn().round() as u64 > zone.sectors_per_track)
    }

    fn layout(&self, remarks: &mut Vec<String>) -> LayoutSettings {
        let spare_unit = if self.spares_by_track() { SpareUnit::Track } else { SpareUnit::Zone };
        let plain = LayoutSettings { spare_unit, ..LayoutSettings::default() };
        match self.layout.order {
            TrackOrder::ByCylinder { .. } => plain,
            TrackOrder::ByGroup { tracks, .. } => {
                remarks.push("That every second group takes the surfaces in reverse order is ASSUMED.".to_string());
                LayoutSettings { cylinders_per_group: tracks as u32, alternate_surfaces: true, ..plain }
            }
            TrackOrder::Unknown { surfaces } => {
                let remark = format!(
                    "How many surfaces there are does not show in the skews. The preset has {surfaces}, with tracks in \
                     the order of their addresses; its times from address to address are those measured."
                );
                remarks.push(remark);
                plain
            }
        }
    }

    fn head_switch(&self, remarks: &mut Vec<String>) -> Nanos {
        if self.seeks.head_switch.is_none() {
            remarks.push("`head_switch` was not found; it counts as part of the seek times.".to_string());
        }
        nanos(self.seeks.head_switch.unwrap_or(0.0))
    }

    /// Returns the settling time of writes. The drive lays out its tracks so that a write, too, is in time for the next
    /// one.
    fn write_settle(&self, head_switch: Nanos, remarks: &mut Vec<String>) -> Nanos {
        let surfaces = self.layout.order.surfaces();
        let skew = |skews: &Skews| if surfaces > 1 { skews.track } else { skews.cylinder };
        let usual = median(&mut self.layout.skews.iter().map(skew).collect::<Vec<_>>()) * self.turn_ns;
        let switch =
            if surfaces > 1 { head_switch.0 as f64 } else { self.seeks.points.first().map_or(0.0, |(_, time)| *time) };
        remarks.push("`write_settle` is ASSUMED: what skews leave beyond a switch.".to_string());
        // A skew that is much longer has other reasons.
        nanos((usual - switch).clamp(0.0, 1e6))
    }

    fn bus_rate(&self, remarks: &mut Vec<String>) -> Option<ByteRate> {
        let sector_ns = self.buffer.map_or(0.0, |buffer| buffer.sector_ns);
        // No link moves 512 bytes in less than 40 ns, so the clock has seen no difference.
        if sector_ns < 40.0 {
            remarks.push("`bus_rate` could not be seen: transfers take no time.".to_string());
            return None;
        }
        Some(ByteRate(((Bytes::SECTOR.0 as f64 / sector_ns * 1e3).round() * 1e6).max(1e6) as u64))
    }

    fn cache(&self, remarks: &mut Vec<String>) -> Option<CacheSettings> {
        let Some(buffer) = self.buffer else {
            remarks.push("No buffer answers reads: a sector read again takes a turn.".to_string());
            return None;
        };
        let size = Bytes(buffer.read_ahead.max(256) * Bytes::SECTOR.0);
        remarks.push("`segment_size` is ASSUMED: as long as the read-ahead. Early writes were not looked for.".into());
        Some(CacheSettings {
            segments: buffer.segments as u32,
            segment_size: size,
            read_ahead: Bytes(buffer.read_ahead * Bytes::SECTOR.0),
            read_ahead_on_hit: buffer.reads_on,
            write_back: Bytes::ZERO,
            write_batch: None,
        })
    }
}
