//! The simulated part of a drive, as large as the data need.

use esker_catalogue::Product;
use esker_core::{Bytes, Ratio};
use esker_flash::SsdSettings;
use esker_sim::DeviceDescription;

use super::{Part, settings_fault};
use crate::StudyError;
use crate::design::STRIPE;
use crate::endurance::FlashOnSale;
use crate::models::WholeDrive;

/// Raw size of the smallest simulated drive, so that pools have enough blocks to behave like those of a drive.
pub(crate) const RAW_MIN: Bytes = Bytes::gib(8);
/// The same for each of several drives, which share the requests.
const RAW_MIN_OF_SEVERAL: Bytes = Bytes::gib(2);
/// A part of a drive has fewer blocks than the drive, so that the few blocks that are kept free would weigh too much.
/// Blocks are halved until a plane has this many of them, or blocks are as small as [`PartMinimum`] allows. The pieces
/// of a block share its erase, so that reads wait for erases as long and as often as in the drive.
const BLOCKS_PER_PLANE_WANTED: u64 = 128;

/// How small the simulated part of a drive and its blocks may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartMinimum {
    raw: Bytes,
    blocks_per_plane: u64,
    pages_per_block: u32,
}

impl PartMinimum {
    /// Limits for one drive.
    pub(crate) const ALONE: Self = Self { raw: RAW_MIN, blocks_per_plane: 24, pages_per_block: 128 };

    /// Limits for each of `count` drives that share the requests.
    pub(crate) fn of_each(count: u32) -> Self {
        Self { raw: Self::for_looks(count).raw.max(RAW_MIN_OF_SEVERAL), ..Self::ALONE }
    }

    /// Limits for each of `count` drives in a rough look. All together are no larger than one drive otherwise, if that
    /// is enough blocks to begin in the steady state by theory, which takes a tenth of the time of overwriting. Blocks
    /// may be small for that.
    pub(super) fn for_looks(count: u32) -> Self {
        Self { raw: Bytes(RAW_MIN.0 / u64::from(count.max(1))), blocks_per_plane: 104, pages_per_block: 32 }
    }
}

/// Returns a note for the report on how the shape of a drive is changed for a simulated part.
pub(crate) fn min_note() -> String {
    format!(
        "A simulated part keeps its drive's channels, dies and page times. It has fewer blocks per plane; where those \
        would be fewer than {BLOCKS_PER_PLANE_WANTED}, blocks are cut into pieces that share the time of an erase. \
        Cleaning pieces disturbs reads less than cleaning whole blocks: under many writes, percentiles of 99 and \
        beyond are too low, and 99.9th percentiles are not to be relied on."
    )
}

/// The touched data that simulated parts of drives have to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TouchedData {
    pub(crate) active: Bytes,
    /// The share of the simulated parts of all drives that the data fill.
    pub(crate) utilisation: Ratio,
    /// How much of each drive is simulated at least.
    pub(crate) least: PartMinimum,
}

impl TouchedData {
    /// Returns touched data of which one drive may hold all.
    pub(crate) fn of_one(active: Bytes, utilisation: Ratio) -> Self {
        Self { active, utilisation, least: PartMinimum::ALONE }
    }
}

/// Returns the simulated part of each of `drives`, without data; and the flash of the whole drives.
pub(crate) fn drive(drives: &Part<'_>, data: TouchedData) -> Result<(DeviceDescription, FlashOnSale), StudyError> {
    let whole = WholeDrive::of(drives.product, drives.capacity.bytes).ok_or_else(|| settings_fault(drives.product))?;
    // Each drive has its share of the data, and at most one stripe unit more.
    let share = Bytes(data.active.0.div_ceil(u64::from(drives.count)) + STRIPE.0);
    let flash = drives.flash_on_sale(&whole);
    Ok((DeviceDescription::new(part(&whole, share, (data.utilisation, data.least))), flash))
}

/// Returns the part of a drive of `capacity` that is simulated for little data; `None` if the product is no drive.
pub(crate) fn smallest_part(product: &Product, capacity: Bytes) -> Option<SsdSettings> {
    let whole = WholeDrive::of(product, capacity)?;
    Some(part(&whole, Bytes::ZERO, (Ratio::ONE, PartMinimum::ALONE)))
}

/// Returns the simulated part of a drive. It has the same spare share as the whole drive.
fn part(whole: &WholeDrive, active: Bytes, (utilisation, least): (Ratio, PartMinimum)) -> SsdSettings {
    let mut settings = whole.settings().clone();
    let (geometry, planes) = (settings.geometry, whole.planes());
    let block = |pages_per_block: u32| u64::from(pages_per_block) * geometry.page_size.0;
    let spare = whole.over_provisioning().as_f64();
    // The host's share of the raw pages has to hold the active data at the given utilisation.
    let host = active.0 as f64 / utilisation.as_f64();
    let raw = ((host / (1.0 - spare).max(1e-9)) as u64).max(least.raw.0);
    let mut pages_per_block = geometry.pages_per_block;
    while raw / (planes * block(pages_per_block)) < BLOCKS_PER_PLANE_WANTED
        && pages_per_block > least.pages_per_block
        && pages_per_block.is_multiple_of(2 * geometry.units_per_page)
    {
        pages_per_block /= 2;
        settings.timing.blocks_per_erase *= 2;
    }
    // If the spare share is so small that it is hardly a block, the part gets more blocks, not more spare share.
    let for_spare = (SPARE_BLOCKS_MIN / spare.max(1e-9)).ceil() as u64;
    let blocks_min = least.blocks_per_plane.max(for_spare.min(BLOCKS_FOR_SPARE_MAX));
    let blocks_per_plane = raw.div_ceil(planes * block(pages_per_block)).max(blocks_min) + 1;
    settings.geometry.blocks_per_plane = u32::try_from(blocks_per_plane).unwrap_or(u32::MAX);
    settings.geometry.pages_per_block = pages_per_block;
    settings.array.details = true;
    settings
}

/// The fewest spare blocks per plane of a part: a pool has to keep some free, whatever the spare share is.
const SPARE_BLOCKS_MIN: f64 = 3.0;
/// No part gets more blocks per plane than this for the sake of spare blocks.
const BLOCKS_FOR_SPARE_MAX: u64 = 1 << 10;

#[cfg(test)]
mod tests;
