//! The device's settings at one capacity: a drive with the dies of that capacity, a disk with so many surfaces or
//! tracks.

use esker_core::{Bytes, Ratio};
use esker_disk::{DiskSettings, Picoseconds, SeekSettings};
use esker_flash::SsdSettings;
use esker_sim::{DeviceFault, DeviceSettings, Instance};
use serde_json::Value;

use crate::{Capacity, Product};

/// Pages of a part of a drive: about 1 GiB of memory to simulate.
const PAGES_OF_A_PART: u64 = 1 << 27;
/// Among fewer blocks than these, the ones that a pool keeps free would weigh too much.
const BLOCKS_LEAST: u64 = 128;

/// The settings that a product itself states as its over-provisioning, and that its capacity then does not decide.
const OVER_PROVISIONING: [&str; 3] = ["over_provisioning", "spare_factor", "factory_over_provisioning"];

impl Product {
    /// The settings of a device of `capacity`, as a device table of an experiment without `kind` and `preset`.
    ///
    /// - A drive has all of the dies of that capacity, and the over-provisioning that it is sold with. It is a part of
    ///   the drive: each die has as many of its blocks as make 1 GiB of memory to simulate, at least 128.
    ///   [`Product::simulated_share`] tells how large the part is.
    /// - A disk of at most the preset's capacity has as many of its surfaces as make the capacity; one of more has all
    ///   surfaces, with more tracks on each. See [`Product::disk_settings`].
    /// - A cloud volume has the size.
    pub fn settings_at(&self, capacity: Bytes) -> Value {
        if let Some(settings) = self.ssd_settings(capacity) {
            return plain(&settings);
        }
        if let Some(settings) = self.disk_settings(capacity) {
            return plain(&settings);
        }
        let mut settings = self.settings.clone();
        if self.is_cloud_volume()
            && let Some(table) = settings.as_object_mut()
        {
            table.insert("size".to_string(), capacity.to_string().into());
        }
        settings
    }

    /// The settings of a drive of `capacity`, as [`Product::settings_at`] has them; `None` if this is no drive.
    pub fn ssd_settings(&self, capacity: Bytes) -> Option<SsdSettings> {
        let mut settings: SsdSettings = self.settings_of("ssd")?;
        let (dies, die) = (self.dies_at(capacity)?, self.die?);
        let geometry = &mut settings.geometry;
        geometry.channels = (1..=geometry.channels.min(dies)).rev().find(|channels| dies.is_multiple_of(*channels))?;
        let per_channel = dies / geometry.channels;
        if !per_channel.is_multiple_of(geometry.dies_per_package) {
            geometry.dies_per_package = 1;
        }
        geometry.packages_per_channel = per_channel / geometry.dies_per_package;
        let plane_pages = die.0 / geometry.page_size.0.max(1) / u64::from(geometry.planes_per_die.max(1));
        let whole = (plane_pages / u64::from(geometry.pages_per_block.max(1))).max(1);
        let block_of_all = u64::from(dies) * u64::from(geometry.planes_per_die) * u64::from(geometry.pages_per_block);
        let part = (PAGES_OF_A_PART / block_of_all.max(1)).max(BLOCKS_LEAST).min(whole);
        geometry.blocks_per_plane = u32::try_from(part).unwrap_or(u32::MAX);
        if !OVER_PROVISIONING.iter().any(|key| self.own_settings.iter().any(|own| own == key)) {
            let raw = u128::from(dies) * u128::from(die.0);
            let sold = u128::from(capacity.0) * 1_000_000_000 / raw.max(1);
            let sold = Ratio::parts_per_billion(u64::try_from(sold).unwrap_or(u64::MAX));
            settings.factory_over_provisioning = Some(sold.complement());
        }
        Some(settings)
    }

    /// The settings of a disk of `capacity`; `None` if this is no disk. Smaller disks of a family have fewer platters
    /// of the same kind, larger ones more tracks on as many: the curve of seeks is then stretched, so that an arm takes
    /// as long over the same share of its way.
    pub fn disk_settings(&self, capacity: Bytes) -> Option<DiskSettings> {
        let mut settings: DiskSettings = self.settings_of("hdd")?;
        let sectors_of_surface: u64 = settings
            .zones
            .iter()
            .map(|zone| u64::from(zone.cylinders).saturating_mul(zone.sectors_per_track.into()))
            .fold(0, u64::saturating_add);
        let sectors = capacity.0.div_ceil(Bytes::SECTOR.0);
        let surfaces = sectors.div_ceil(sectors_of_surface.max(1)).max(1);
        if surfaces <= u64::from(settings.surfaces) {
            settings.surfaces = surfaces as u32;
        } else {
            // Spare sectors keep their number, so a little more than in proportion is made.
            let stretch = sectors as f64 / (sectors_of_surface as f64 * f64::from(settings.surfaces)) * 1.000_01;
            stretch_tracks(&mut settings, stretch);
        }
        settings.capacity = Some(Bytes(capacity.0 / 4096 * 4096));
        Some(settings)
    }

    /// The part of a device of `capacity` that [`Product::settings_at`] has: 1 for disks and volumes, and for drives
    /// all of whose blocks it has.
    pub fn simulated_share(&self, capacity: Bytes) -> f64 {
        let whole = self.dies_at(capacity).zip(self.die).map(|(dies, die)| f64::from(dies) * die.0 as f64);
        let part = self.ssd_settings(capacity).map(|settings| {
            let geometry = settings.geometry;
            let blocks = f64::from(geometry.channels)
                * f64::from(geometry.packages_per_channel)
                * f64::from(geometry.dies_per_package)
                * f64::from(geometry.planes_per_die)
                * f64::from(geometry.blocks_per_plane);
            blocks * f64::from(geometry.pages_per_block) * geometry.page_size.0 as f64
        });
        part.zip(whole).map_or(1.0, |(part, whole)| (part / whole).min(1.0))
    }

    /// Flash dies of a drive of `capacity`. One that is not on sale has as many as the nearest that is, by the byte.
    pub fn dies_at(&self, capacity: Bytes) -> Option<u32> {
        let nearest = self.capacities.iter().min_by_key(|on_sale| on_sale.bytes.0.abs_diff(capacity.0))?;
        let Capacity { bytes, dies } = *nearest;
        let dies = u128::from(dies?);
        let scaled = (dies * u128::from(capacity.0)).div_ceil(u128::from(bytes.0.max(1)));
        Some(u32::try_from(scaled).unwrap_or(u32::MAX).max(1))
    }

    /// Builds the device of `capacity` with few blocks, to find settings that contradict each other.
    pub(crate) fn try_to_build(&self, capacity: Bytes) -> Result<(), DeviceFault> {
        let instance = || Instance { name: self.name.clone(), seed: 1, children: Vec::new(), joining: 0 };
        if let Some(mut settings) = self.ssd_settings(capacity) {
            let geometry = &mut settings.geometry;
            geometry.blocks_per_plane = geometry.blocks_per_plane.min(BLOCKS_LEAST as u32);
            let units = geometry.units_per_page.max(1);
            geometry.pages_per_block = geometry.pages_per_block.min(units.saturating_mul(8).max(64 / units * units));
            return settings.build(instance()).map(|_| ());
        }
        self.disk_settings(capacity).map_or(Ok(()), |settings| settings.build(instance()).map(|_| ()))
    }

    fn settings_of<T: serde::de::DeserializeOwned>(&self, kind: &str) -> Option<T> {
        if self.kind == kind { serde_json::from_value(self.settings.clone()).ok() } else { None }
    }
}

/// Gives every zone `stretch` times as many cylinders, without changing how long seeks over a share of them take.
fn stretch_tracks(settings: &mut DiskSettings, stretch: f64) {
    let longer = |distance: u32| (f64::from(distance) * stretch).ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
    for zone in &mut settings.zones {
        zone.cylinders = longer(zone.cylinders);
        zone.unused_cylinders = if zone.unused_cylinders == 0 { 0 } else { longer(zone.unused_cylinders) };
    }
    match &mut settings.seek {
        SeekSettings::Points(points) => {
            // The first point stays: it is the seek to the next track.
            for (distance, _) in points.iter_mut().skip(1) {
                *distance = longer(*distance);
            }
        }
        SeekSettings::Formula(formula) => {
            formula.split = longer(formula.split);
            formula.b = Picoseconds((formula.b.0 as f64 / stretch.sqrt()).round() as u64);
            formula.e = Picoseconds((formula.e.0 as f64 / stretch).round() as u64);
        }
    }
}

fn plain(settings: &impl DeviceSettings) -> Value {
    settings.resolved()
}
