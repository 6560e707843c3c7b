//! Hybrids: flash of one product and disks of another form one volume, run by the placement engine.
//!
//! The disks hold the data. Over all devices, as many extent places stay free as the flash has, so that hot extents
//! find room there. The policy moves extents in use to the device that answers faster.

use std::sync::Arc;

use esker_core::Bytes;
use esker_core::registry::{Entry, ParameterSource};
use esker_results::study::{Composition, Hybrid};
use esker_sim::{Allocate, DeviceDescription, HybridSettings, PreconditionKind};
use esker_tier::{BackgroundSettings, PolicySettings};

use super::pairs::{self, Pair};
use crate::StudyError;
use crate::design::{Design, Judging};
use crate::judging::Settled;
use crate::offers::{Arrangement, DesignKind, KindCapability, KindEntry, Offer, OfferInputs, Part, TouchedData, drive};

pub(super) const ENTRY: KindEntry = Entry {
    name: "hybrids",
    summary: "a few flash drives and some disks as one volume that keeps hot data on flash",
    source: "Wu 2011, section II.B",
    parameters: ParameterSource::NONE,
    capabilities: &[KindCapability::OnRequest],
    build: DesignKind {
        class: "hybrid",
        assumption: Some([
            "In a hybrid the disks hold the data, and the flash comes on top: half of it holds data at first, whatever \
             is hot, and the other half is free for what is. What is hot in the trace stays hot: the policy moves \
             nothing back to make room. On its disks touched areas lie side by side, which makes seeks shorter than \
             they would be.",
            "--hybrids; `hybrid` in an experiment file",
        ]),
        offers,
    },
};

/// The placement policy. A budget is for 99 of 100 requests, so every hot extent has to be on flash: `wardrop` keeps
/// some on disks, by lot, and asks a disk ten times a second to learn how fast it is.
const POLICY: &str = "migration";
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
/// The name of the device that requests go to.
const VOLUME: &str = "hybrid";

/// Flash and disks as one volume with extents of this size.
#[derive(Debug)]
struct OneVolume {
    extent: Bytes,
}

fn offers<'a>(inputs: &OfferInputs<'a>) -> Result<Vec<Offer<'a>>, StudyError> {
    let hybrid = |pair: Pair<'a>| {
        let arrangement = Arc::new(OneVolume { extent: extent(&pair)? });
        let parts = vec![pair.flash, pair.disks];
        pair.is_cheaper_than_flash(inputs).then(|| Offer { kind: &ENTRY, arrangement, parts, copies: inputs.copies() })
    };
    Ok(pairs::pairs(inputs)?.into_iter().filter_map(hybrid).collect())
}

/// Returns the size of an extent: the smallest with which the map has room for all devices, or `None` if there is none.
fn extent(pair: &Pair<'_>) -> Option<Bytes> {
    let all = pair.flash.bytes().saturating_add(pair.disks.bytes());
    let sizes = (0..).map(|power| EXTENT_MIN << power).take_while(|&size| size <= EXTENT_MAX);
    sizes.into_iter().find(|size| all / size <= EXTENTS_MAX).map(Bytes)
}

/// Returns the share of the data that is on flash before the first request.
fn share_at_first(flash: &Part<'_>, disks: &Part<'_>) -> f64 {
    let share = FILLED_AT_FIRST * flash.bytes() as f64 / disks.bytes().max(1) as f64;
    (share * WEIGHTS).round().clamp(1.0, WEIGHTS / 2.0) / WEIGHTS
}

impl Arrangement for OneVolume {
    /// Its policy has to settle.
    fn judging(&self) -> &'static dyn Judging {
        &Settled
    }

    /// At first, the flash has the same share of the touched data as of all data. It has room for more of them: the
    /// free half of the real flash, filled to the utilisation. The cold data in the other half are not simulated. Disks
    /// are simulated as they are, but only their first addresses are used: touched data lie side by side.
    fn design(&self, offer: &Offer<'_>, data: TouchedData) -> Result<Design, StudyError> {
        let (flash, disks) = (&offer.parts[0], &offer.parts[1]);
        let touched = pairs::touched(data.active);
        let share = share_at_first(flash, disks);
        let free = (1.0 - FILLED_AT_FIRST) * flash.bytes() as f64 * data.utilisation.as_f64();
        let on_flash = Bytes(touched.min((touched as f64 * share + free) as u64));
        let (drive, on_sale) = drive(flash, TouchedData { active: on_flash, ..data })?;
        let drive = drive.preconditioned(PreconditionKind::Steady, data.utilisation);
        let mut devices = Vec::new();
        let children = pairs::devices([flash, disks], drive, touched, &mut devices)?.to_vec();
        let first = (share * WEIGHTS) as u32;
        let weights = serde_json::json!([first, WEIGHTS as u32 - first]);
        let hybrid = HybridSettings {
            children,
            policy: PolicySettings::new(POLICY, [("weights".to_string(), weights)].into_iter().collect()),
            extent: self.extent,
            capacity: Some(Bytes(touched)),
            reserve: None,
            allocate: Allocate::AtStart,
            cached_extents: 0,
            journal: false,
            background: BackgroundSettings::default(),
            queue_depth: None,
        };
        devices.push((VOLUME.to_string(), DeviceDescription::new(hybrid)));
        pairs::design(offer, devices, VOLUME, on_sale)
    }

    fn in_title(&self, _: &Offer<'_>) -> Option<String> {
        Some(format!("hybrid ({POLICY})"))
    }

    fn composition(&self, offer: &Offer<'_>) -> Composition {
        let reserve_bytes = offer.parts[0].bytes();
        Composition::Hybrid(Hybrid { policy: POLICY.into(), extent_bytes: self.extent.0, reserve_bytes })
    }

    fn doubts(&self) -> Vec<&'static str> {
        vec![pairs::DOUBT, "A hybrid is judged as if what is hot in the trace stayed hot: nothing moves back to disks."]
    }
}
