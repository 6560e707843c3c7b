//! The device's settings at one capacity: a drive with the dies of that capacity, a disk with its number of surfaces or
//! tracks.

use esker_catalogue::Product;
use esker_core::{Bytes, Ratio};
use esker_disk::{DiskSettings, Picoseconds, SeekSettings};
use esker_flash::SsdSettings;
use esker_sim::{DeviceFault, DeviceSettings, Instance};
use serde::de::DeserializeOwned;

/// Among fewer blocks than these, the ones that a pool keeps free would weigh too much.
const BLOCKS_LEAST: u32 = 128;

/// The settings that a product itself states as its over-provisioning, and that its capacity then does not decide.
const OVER_PROVISIONING: [&str; 3] = ["over_provisioning", "spare_factor", "factory_over_provisioning"];

/// A flash drive of one capacity as it is sold: all of its dies, with all of their blocks. What is said of the drive
/// itself, such as how much its flash endures, comes from here and never from the part of it that is simulated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WholeDrive {
    settings: SsdSettings,
    raw: Bytes,
    over_provisioning: Ratio,
}

impl WholeDrive {
    /// The whole drive of `capacity`, with all dies of that capacity and the over-provisioning that it is sold with;
    /// `None` if this is no drive of flash.
    pub(crate) fn of(product: &Product, capacity: Bytes) -> Option<Self> {
        let mut settings: SsdSettings = settings_of(product, "ssd")?;
        let (dies, die) = (product.dies_at(capacity)?, product.die?);
        let geometry = &mut settings.geometry;
        geometry.channels = (1..=geometry.channels.min(dies)).rev().find(|channels| dies.is_multiple_of(*channels))?;
        let per_channel = dies / geometry.channels;
        if !per_channel.is_multiple_of(geometry.dies_per_package) {
            geometry.dies_per_package = 1;
        }
        geometry.packages_per_channel = per_channel / geometry.dies_per_package;
        let plane_pages = die.0 / geometry.page_size.0.max(1) / u64::from(geometry.planes_per_die.max(1));
        let blocks = (plane_pages / u64::from(geometry.pages_per_block.max(1))).max(1);
        geometry.blocks_per_plane = u32::try_from(blocks).unwrap_or(u32::MAX);
        let raw = u128::from(dies) * u128::from(die.0);
        let sold = u128::from(capacity.0) * 1_000_000_000 / raw.max(1);
        let left = Ratio::parts_per_billion(u64::try_from(sold).unwrap_or(u64::MAX)).complement();
        let stated = OVER_PROVISIONING.iter().any(|key| product.own_settings.iter().any(|own| own == key));
        let over_provisioning = match &settings {
            SsdSettings { over_provisioning: Some(share), .. } | SsdSettings { spare_factor: Some(share), .. }
                if stated =>
            {
                *share
            }
            SsdSettings { factory_over_provisioning: Some(share), .. } if stated => *share,
            _ => left,
        };
        if !stated {
            settings.factory_over_provisioning = Some(left);
        }
        let raw = Bytes(u64::try_from(raw).unwrap_or(u64::MAX));
        Some(Self { settings, raw, over_provisioning })
    }

    /// Bytes of all its flash, spare space included: its dies times the size of one.
    pub(crate) fn raw(&self) -> Bytes {
        self.raw
    }

    /// Share of its flash that the host cannot address: what the product states, or else what its capacity leaves of
    /// the flash.
    pub(crate) fn over_provisioning(&self) -> Ratio {
        self.over_provisioning
    }

    /// Its settings, as a device table of an experiment without `kind` and `preset`. Simulating it takes as much
    /// memory as it has pages.
    pub(crate) fn settings(&self) -> &SsdSettings {
        &self.settings
    }

    /// Planes of all its dies.
    pub(crate) fn planes(&self) -> u64 {
        let geometry = &self.settings.geometry;
        [geometry.channels, geometry.packages_per_channel, geometry.dies_per_package, geometry.planes_per_die]
            .into_iter()
            .map(u64::from)
            .fold(1, u64::saturating_mul)
    }
}

/// The settings of a disk of `capacity`; `None` if this is no disk. Smaller disks of a family have fewer platters
/// of the same kind, larger ones more tracks on as many: the curve of seeks is then stretched, so that an arm takes
/// as long over the same share of its way.
pub(crate) fn disk_settings(product: &Product, capacity: Bytes) -> Option<DiskSettings> {
    let mut settings: DiskSettings = settings_of(product, "hdd")?;
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

/// Builds the device of `capacity` with few blocks, to find settings that contradict each other.
pub(super) fn try_to_build(product: &Product, capacity: Bytes) -> Result<(), DeviceFault> {
    let instance = || Instance::new(&product.name, Vec::new());
    if let Some(drive) = WholeDrive::of(product, capacity) {
        let mut settings = drive.settings;
        let geometry = &mut settings.geometry;
        geometry.blocks_per_plane = geometry.blocks_per_plane.min(BLOCKS_LEAST);
        let units = geometry.units_per_page.max(1);
        geometry.pages_per_block = geometry.pages_per_block.min(units.saturating_mul(8).max(64 / units * units));
        return settings.build(instance()).map(|_| ());
    }
    disk_settings(product, capacity).map_or(Ok(()), |settings| settings.build(instance()).map(|_| ()))
}

/// The settings of a product, if they are filled in and of this kind of device.
fn settings_of<T: DeserializeOwned>(product: &Product, kind: &str) -> Option<T> {
    let settings = product.settings.as_ref().filter(|_| product.kind == kind)?;
    serde_json::from_value(settings.clone()).ok()
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
