//! Hybrids: flash of one product and disks of another form one volume, run by the placement engine.
//!
//! The disks hold the data. Over all devices, as many extent places stay free as the flash has, so that hot extents
//! find room there. The policy moves extents in use to the device that answers faster.

use esker_catalogue::Product;
use esker_core::{Bytes, Ratio};
use esker_results::study::Hybrid;
use esker_sim::{Allocate, DeviceDescription, HybridSettings, PreconditionKind, System};
use esker_tier::PolicySettings;

use super::pairs::{self, DataSize, Disks, Pricing, flash_bytes};
use super::{Design, Offer, PartMinimum, owned};
use crate::StudyError;

/// The placement policy. A budget is for 99 of 100 requests, so every hot extent has to be on flash: `wardrop` keeps
/// some on disks, by lot, and asks a disk ten times a second to learn how fast it is.
pub(crate) const POLICY: &str = "migration";
/// The smallest extent: smaller ones would need many more moves. A hybrid gets the smallest extent that the map allows.
const EXTENT_MIN: u64 = 128 << 10;
/// The largest extent. Touched areas are known by the MiB, so larger extents would have less to move than in truth.
const EXTENT_MAX: u64 = esker_trace::AREA_BYTES;
/// The most extents that the engine takes.
const EXTENTS_MAX: u64 = 1 << 26;
/// Share of the flash that data fill before the first request, hot or not. The rest is free.
const FILLED_AT_FIRST: f64 = 0.5;
/// Weights add up to this.
const WEIGHTS: f64 = 1_000.0;

/// Returns every hybrid of devices among `products` that may be worth its price.
pub(super) fn offers<'a>(
    products: &'a [Product],
    data_size: DataSize,
    pricing: &Pricing<'_>,
) -> Result<Vec<Offer<'a>>, StudyError> {
    pairs::offers(products, data_size, pricing, |pair| extent(&pair).map(|_| pair).into_iter().collect())
}

/// Returns the size of an extent: the smallest with which the map has room for all devices, or `None` if there is none.
fn extent(offer: &Offer<'_>) -> Option<Bytes> {
    let all = flash_bytes(offer).saturating_add(offer.disks.as_ref()?.bytes());
    let sizes = (0..).map(|power| EXTENT_MIN << power).take_while(|&size| size <= EXTENT_MAX);
    sizes.into_iter().find(|size| all / size <= EXTENTS_MAX).map(Bytes)
}

/// Returns the share of the data that is on flash before the first request.
fn share_at_first(offer: &Offer<'_>, disks: &Disks<'_>) -> f64 {
    let share = FILLED_AT_FIRST * flash_bytes(offer) as f64 / disks.bytes().max(1) as f64;
    (share * WEIGHTS).round().clamp(1.0, WEIGHTS / 2.0) / WEIGHTS
}

/// Makes the design of a hybrid for `active` bytes of touched data.
///
/// At first, the flash has the same share of these data as of all data. It has room for more of them: the free half of
/// the real flash, filled to `utilisation`. The cold data in the other half are not simulated. Disks are simulated as
/// they are, but only their first addresses are used: touched data lie side by side.
pub(super) fn design(
    offer: &Offer<'_>,
    disks: &Disks<'_>,
    active: Bytes,
    utilisation: Ratio,
    least: PartMinimum,
) -> Result<Design, StudyError> {
    let extent = extent(offer).unwrap_or(Bytes(EXTENT_MAX));
    let data = pairs::touched(active);
    let share = share_at_first(offer, disks);
    let free = (1.0 - FILLED_AT_FIRST) * flash_bytes(offer) as f64 * utilisation.as_f64();
    let on_flash = Bytes(data.min((data as f64 * share + free) as u64));
    let (drive, flash) = owned::drive(offer, on_flash, utilisation, least)?;
    let drive = drive.preconditioned(PreconditionKind::Steady, utilisation);
    let mut devices = Vec::new();
    let children = pairs::devices(offer, disks, drive, data, &mut devices)?.to_vec();
    let first = (share * WEIGHTS) as u32;
    let weights = serde_json::json!([first, WEIGHTS as u32 - first]);
    let hybrid = HybridSettings {
        children,
        policy: PolicySettings {
            kind: POLICY.into(),
            options: [("weights".to_string(), weights)].into_iter().collect(),
        },
        extent,
        capacity: Some(Bytes(data)),
        reserve: None,
        allocate: Allocate::AtStart,
        cached_extents: 0,
        queue_depth: None,
    };
    devices.push((HYBRID.to_string(), DeviceDescription::new(hybrid)));
    Ok(Design {
        name: offer.name(),
        title: offer.title(),
        kind: HYBRID,
        device_count: offer.devices(),
        system: System::of(devices, HYBRID).map_err(StudyError::design)?,
        on_disks: false,
        limits: None,
        flash: Some(flash),
    })
}

/// The kind of these designs, and the name of the device that requests go to.
pub(crate) const HYBRID: &str = "hybrid";

/// Returns what results say of how a hybrid is run.
pub(super) fn composition(offer: &Offer<'_>) -> Hybrid {
    let extent_bytes = extent(offer).map_or(0, |extent| extent.0);
    Hybrid { policy: POLICY.into(), extent_bytes, reserve_bytes: flash_bytes(offer) }
}
