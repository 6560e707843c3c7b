//! The pairs of devices, cut down to what a load touches.

use esker_core::{Bytes, Ratio};
use esker_disk::DiskSettings;
use esker_flash::SsdSettings;
use esker_sim::{CacheSettings, DeviceDescription, HybridSettings, PreconditionKind, System, preset};
use esker_tier::PolicySettings;
use serde_json::json;

use super::contestants::Store;

/// The names of the devices in results.
pub(super) const FAST: &str = "fast";
pub(super) const SLOW: &str = "slow";
pub(super) const VOLUME: &str = "volume";

/// Bytes of an extent, as in all examples with Wu's devices.
const EXTENT: Bytes = Bytes::kib(128);
/// The slow device holds all data and 6 % more: the 5 % that hybrids keep free for moves, rounded up to extents.
const SLOW_PERCENT: u64 = 106;

/// A fast device before a slow one. The fast one is flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) title: &'static str,
    /// The preset of the fast device.
    pub(super) fast: &'static str,
    pub(super) slow: Slow,
}

/// The slow device, by its preset.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slow {
    Disk(&'static str),
    Flash(&'static str),
}

/// All pairs.
pub(super) const PAIRS: [Pair; 3] = [
    Pair {
        title: "SLC of 2008 and a disk of 15,000 rpm",
        fast: "samsung-k9xxg08-slc-32g",
        slow: Slow::Disk("seagate-cheetah-15k5-146g"),
    },
    Pair { title: "TLC and QLC", fast: "tlc-data-centre", slow: Slow::Flash("qlc-data-centre-2t") },
    Pair { title: "TLC and a nearline disk", fast: "tlc-data-centre", slow: Slow::Disk("nearline-7200-20t") },
];

impl Pair {
    /// The system in which `store` serves `touched` bytes of data, with a fast device of `fast_percent` of them.
    pub(super) fn system(&self, store: &Store, touched: Bytes, fast_percent: u64) -> System {
        let fast = whole_extents(Bytes(touched.0 * fast_percent / 100));
        let slow = whole_extents(Bytes(touched.0 * SLOW_PERCENT / 100));
        let volume = match store {
            Store::Policy(policy) => DeviceDescription::new(hybrid(policy.clone(), touched)),
            Store::Split(percent) => {
                // A thousandth is an extent or more of the smallest load, and weights add up to few turns.
                let on_fast = (fast.0 * 1000 / whole_extents(touched).0 * percent / 100).min(1000);
                let options = json!({ "weights": [on_fast, 1000 - on_fast] });
                let options = options.as_object().expect("it is a table").clone();
                DeviceDescription::new(hybrid(PolicySettings::new("static-split", options), touched))
            }
            Store::Cache { routing, write } => {
                let settings =
                    CacheSettings { routing: routing.clone(), write: *write, ..CacheSettings::new(FAST, SLOW) };
                DeviceDescription::new(settings)
            }
        };
        let slow = match self.slow {
            Slow::Disk(name) => {
                let whole: DiskSettings = preset(name).expect("a pair names a preset");
                DeviceDescription::new(DiskSettings { capacity: Some(slow), ..whole })
            }
            Slow::Flash(name) => drive(name, slow),
        };
        let devices = [(FAST, drive(self.fast, fast)), (SLOW, slow), (VOLUME, volume)];
        System::of(devices.map(|(name, device)| (name.to_string(), device)), VOLUME).expect("all devices are there")
    }

    /// The bytes of a flash page of each device that is flash.
    pub(super) fn page_bytes(&self, device: &str) -> Option<u64> {
        let name = match (device, self.slow) {
            (FAST, _) => self.fast,
            (SLOW, Slow::Flash(name)) => name,
            _ => return None,
        };
        Some(settings_of(name).geometry.page_size.0)
    }

    /// The devices that are flash, and the names of their presets.
    pub(super) fn flash(&self) -> Vec<(&'static str, &'static str)> {
        let slow = match self.slow {
            Slow::Flash(name) => Some((SLOW, name)),
            Slow::Disk(_) => None,
        };
        std::iter::once((FAST, self.fast)).chain(slow).collect()
    }
}

fn settings_of(drive: &str) -> SsdSettings {
    preset(drive).expect("a pair names a preset")
}

fn whole_extents(bytes: Bytes) -> Bytes {
    Bytes(bytes.0.div_ceil(EXTENT.0).max(1) * EXTENT.0)
}

/// A hybrid with the default of every key but these: all data are there before the run.
fn hybrid(policy: PolicySettings, touched: Bytes) -> HybridSettings {
    let capacity = Some(whole_extents(touched));
    HybridSettings { extent: EXTENT, capacity, ..HybridSettings::new([FAST, SLOW], policy) }
}

/// Blocks that a plane of a drive that was cut down should have, and has at least: enough for the few that are kept
/// free not to weigh too much.
const BLOCKS_WANTED: u64 = 128;
const BLOCKS_MIN: u64 = 24;
/// Pages that a block has at least.
const PAGES_MIN: u64 = 32;
/// A write buffer takes no larger part of a drive that was cut down, but a mebibyte at least.
const BUFFER_PART: u64 = 64;

/// The drive with all channels and dies, and `capacity` for the host, with data in all of it. It has the spare space
/// that it is sold with, or more where so small a drive would have too few blocks.
fn drive(name: &str, capacity: Bytes) -> DeviceDescription {
    let mut settings = settings_of(name);
    let sold = settings.factory_over_provisioning.expect("presets state it").as_f64();
    let shape = &mut settings.geometry;
    let planes = [shape.channels, shape.packages_per_channel, shape.dies_per_package, shape.planes_per_die];
    let planes: u64 = planes.into_iter().map(u64::from).product();
    let host = capacity.0.div_ceil(shape.page_size.0) + 1;
    let per_plane = (host as f64 / (1.0 - sold) / planes as f64).ceil() as u64;
    let (whole, units) = (u64::from(shape.pages_per_block), u64::from(shape.units_per_page));
    let pages = (per_plane / BLOCKS_WANTED).max(PAGES_MIN).next_multiple_of(units).min(whole);
    let blocks = per_plane.div_ceil(pages).max(BLOCKS_MIN) + 1;
    shape.pages_per_block = pages as u32;
    shape.blocks_per_plane = u32::try_from(blocks).expect("a load touches less than drives hold");
    // The pieces of a block share the time of its erase.
    settings.timing.blocks_per_erase = (whole / pages).max(1) as u32;
    settings.over_provisioning = Some(Ratio::from_f64(1.0 - host as f64 / (planes * blocks * pages) as f64));
    if let Some(buffer) = &mut settings.write_buffer {
        buffer.size = buffer.size.min(Bytes(capacity.0 / BUFFER_PART).max(Bytes::mib(1)));
    }
    DeviceDescription::new(settings).preconditioned(PreconditionKind::Filled, Ratio::ONE)
}
