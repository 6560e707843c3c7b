//! Where the data of a simulated hybrid lie before the first request.

use esker_core::{Bytes, Ratio};
use esker_sim::{DeviceDescription, Instance};

use super::policies::{FirstPlaces, PolicyCapability, PolicyEntry};
use crate::design::STRIPE;
use crate::offers::{Part, TouchedData};
use crate::{DesignFault, StudyError};

/// Share of the flash that data fill before the first request where nothing moves back, hot or not. The rest is free.
const FILLED_AT_FIRST: f64 = 0.5;
/// Weights add up to this.
const WEIGHTS: f64 = 10_000.0;
/// Flash that is full of cold data holds this share of the simulated data at least: with less, disks would have to hold
/// many more cold extents, which take memory and are never asked for.
const SHARE_OF_FULL: f64 = 0.1;
/// The most extents that are simulated for the sake of cold data. A million of 1 MiB take a tenth of a GB of memory.
const EXTENTS_WITH_COLD: u64 = 1 << 20;
/// The least and the most of full flash that stays free. New extents never take the last 5 % of a device.
const SPARE_MIN: Ratio = Ratio::percent(5);
const SPARE_MAX: Ratio = Ratio::percent(90);

/// What a simulated hybrid holds, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Bytes of the simulated volume. The touched data come first.
    pub(super) volume: u64,
    pub(super) first: FirstPlaces,
}

/// Returns the bytes of `touched` data for which the flash has room: its share of them, which lies there at first, and
/// what its free half has room for.
pub(super) fn on_flash(flash: &Part<'_>, disks: &Part<'_>, touched: u64, data: TouchedData) -> Bytes {
    let share = f64::from(first_weight(share_at_first(flash, disks))) / WEIGHTS;
    let free = (1.0 - FILLED_AT_FIRST) * flash.bytes() as f64 * data.utilisation.as_f64();
    Bytes(touched.min((touched as f64 * share + free) as u64))
}

/// Returns the share of the data that is on flash at first, as the power of two that is next to its weight or below.
pub(super) fn power_of_share(flash: &Part<'_>, disks: &Part<'_>) -> u32 {
    first_weight(share_at_first(flash, disks)).ilog2()
}

/// Returns the share of the data that is on flash before the first request where nothing moves back.
fn share_at_first(flash: &Part<'_>, disks: &Part<'_>) -> f64 {
    FILLED_AT_FIRST * flash.bytes() as f64 / disks.bytes().max(1) as f64
}

/// Returns the weight of the flash for its share of the data.
fn first_weight(share: f64) -> u32 {
    (share * WEIGHTS).round().clamp(1.0, WEIGHTS / 2.0) as u32
}

/// Returns the layout for a policy. If nothing moves back, the volume has the touched data alone, and half of the flash
/// is free for them. Otherwise flash is full in the long run, whatever moves there: it begins full of cold data, so
/// that something has to leave for each extent that comes.
pub(super) fn layout(
    policy: &PolicyEntry,
    [flash, disks]: [&Part<'_>; 2],
    (drive, extent): (&DeviceDescription, Bytes),
    (touched, utilisation): (u64, Ratio),
) -> Result<Layout, StudyError> {
    let share = share_at_first(flash, disks);
    let spare = if policy.build.keeps_free { utilisation.complement().clamp(SPARE_MIN, SPARE_MAX) } else { SPARE_MIN };
    let weights = |first: u32| [first, WEIGHTS as u32 - first];
    if !policy.can(PolicyCapability::MovesBack) {
        return Ok(Layout { volume: touched, first: FirstPlaces { weights: weights(first_weight(share)), spare } });
    }
    let each = capacity(drive)?.0 / STRIPE.0 * STRIPE.0;
    let full = spare.complement().of(each * u64::from(flash.count) / extent.0) as f64;
    let most = EXTENTS_WITH_COLD.max(touched.div_ceil(extent.0)) as f64;
    let first = first_weight(share.max(SHARE_OF_FULL).max(full / most));
    let extents = ((full * WEIGHTS / f64::from(first)) as u64).max(touched.div_ceil(extent.0));
    let fitting = (full / extents as f64 * WEIGHTS).floor().max(1.0) as u32;
    Ok(Layout { volume: extents * extent.0, first: FirstPlaces { weights: weights(first.min(fitting)), spare } })
}

/// Returns the capacity of a simulated drive.
fn capacity(drive: &DeviceDescription) -> Result<Bytes, StudyError> {
    let instance = Instance::new("", Vec::new());
    Ok(drive
        .settings
        .build(instance)
        .map_err(|fault| StudyError::design(DesignFault::Settings(fault.to_string())))?
        .capacity())
}
