//! Hybrids: flash of one product and disks of another form one volume, run by the placement engine.
//!
//! The disks hold the data. Over all devices, as many extent places stay free as the flash has, so that hot extents
//! find room there. A placement policy moves extents: that which is best when a sample of the trace is replayed.

mod choice;
mod layout;
mod policies;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use esker_core::registry::{Entry, ParameterSource};
use esker_core::{Bytes, words};
use esker_results::study::{Candidate, Composition, Finding, Hybrid, Level, PoliciesCompared};
use esker_sim::{DeviceDescription, HybridSettings, PreconditionKind};

use super::pairs::{self, Pair};
use crate::StudyError;
use crate::design::{Design, Judging};
use crate::judging::Settled;
use crate::offers::{
    Arrangement, DesignFamily, DesignKind, KindCapability, KindEntry, Offer, OfferInputs, TouchedData, drive,
};
use choice::{PolicyChoice, Sample};
use layout::Layout;
use policies::PolicyCapability;

pub(super) const ENTRY: KindEntry = Entry {
    name: "hybrids",
    summary: "a few flash drives and some disks as one volume that keeps hot data on flash",
    source: "Wu 2011, section II.B",
    parameters: ParameterSource::NONE,
    capabilities: &[KindCapability::OnRequest],
    build: DesignKind {
        class: "hybrid",
        families: &[DesignFamily { name: "tier (hybrid)", has: |_| true }],
        assumption: Some([
            "In a hybrid the disks hold the data, and the flash comes on top: half of it holds data at first, whatever \
             is hot, and the other half is free for what is. Where the policy moves cold data back, the flash is full \
             of them at first, and extents may go on moving as they do at the end of the trace; otherwise what is hot \
             has to stay hot. On its disks touched areas lie side by side, which makes seeks shorter than \
             they would be.",
            "--hybrids; `hybrid` in an experiment file",
        ]),
        offers,
    },
};

/// The smallest extent: smaller ones would need many more moves. A hybrid gets the smallest extent that the map allows.
const EXTENT_MIN: u64 = 128 << 10;
/// The largest extent. Touched areas are known by the MiB, so larger extents would have less to move than in truth.
const EXTENT_MAX: u64 = esker_trace::AREA_BYTES;
/// The most extents that the engine takes.
const EXTENTS_MAX: u64 = 1 << 26;
/// The name of the device that requests go to.
const VOLUME: &str = "hybrid";

/// Flash and disks as one volume with extents of this size, run by a policy.
#[derive(Debug)]
struct OneVolume {
    extent: Bytes,
    choice: Arc<PolicyChoice>,
}

/// Returns every hybrid that may be worth its price. Policies are compared on the cheapest of all pairs that are alike:
/// those whose flash has room for all that the trace touches, or has not, and has about the same share of the data.
/// What of the data lies on flash at first decides what a policy finds out about it.
fn offers<'a>(inputs: &OfferInputs<'a>) -> Result<Vec<Offer<'a>>, StudyError> {
    let pairs = pairs::pairs(inputs)?.into_iter().filter(|pair| pair.is_cheaper_than_flash(inputs));
    let pairs: Vec<(Pair<'a>, Bytes)> = pairs.filter_map(|pair| Some((pair, extent(&pair)?))).collect();
    let touched = pairs::touched(Bytes(inputs.workload.map().footprint()));
    let data = TouchedData::of_one(Bytes(touched), inputs.settings.utilisation);
    let kind_of = |(pair, _): &(Pair<'_>, Bytes)| {
        let holds_all = layout::on_flash(&pair.flash, &pair.disks, touched, data).0 == touched;
        (holds_all, layout::power_of_share(&pair.flash, &pair.disks))
    };
    let offer = |(pair, extent): &(Pair<'a>, Bytes), choice: &Arc<PolicyChoice>| Offer {
        kind: &ENTRY,
        arrangement: Arc::new(OneVolume { extent: *extent, choice: Arc::clone(choice) }),
        parts: vec![pair.flash, pair.disks],
        copies: inputs.copies(),
    };
    let sample = (!pairs.is_empty()).then(|| Sample::of(inputs)).transpose()?;
    let mut choices: BTreeMap<(bool, u32), Arc<PolicyChoice>> = BTreeMap::new();
    for kind in pairs.iter().map(kind_of).collect::<BTreeSet<_>>() {
        let alike = pairs.iter().filter(|&pair| kind_of(pair) == kind);
        let cheapest = alike.min_by_key(|(pair, _)| pair.cost(inputs));
        let (Some(pair), Some(sample)) = (cheapest, &sample) else { continue };
        let with = |policy| offer(pair, &Arc::new(PolicyChoice::without_others(policy)));
        let title = pair.0.title(inputs.copies());
        let design = |policy| with(policy).design(data.active, data.utilisation);
        choices.insert(kind, Arc::new(choice::compare(inputs, sample, (&title, pair.1), design)?));
    }
    Ok(pairs.iter().map(|pair| offer(pair, &choices[&kind_of(pair)])).collect())
}

/// Returns the size of an extent: the smallest with which the map has room for all devices, or `None` if there is none.
fn extent(pair: &Pair<'_>) -> Option<Bytes> {
    let all = pair.flash.bytes().saturating_add(pair.disks.bytes());
    let sizes = (0..).map(|power| EXTENT_MIN << power).take_while(|&size| size <= EXTENT_MAX);
    sizes.into_iter().find(|size| all / size <= EXTENTS_MAX).map(Bytes)
}

impl Arrangement for OneVolume {
    /// Its policy has to settle.
    fn judging(&self) -> &'static dyn Judging {
        &Settled
    }

    /// Where nothing moves back, the flash has at first the same share of the touched data as of all data. It has room
    /// for more of them: the free half of the real flash, filled to the utilisation. The cold data in the other half
    /// are not simulated. Disks are simulated as they are, but only their first addresses are used: touched data lie
    /// side by side.
    fn design(&self, offer: &Offer<'_>, data: TouchedData) -> Result<Design, StudyError> {
        let (flash, disks) = (&offer.parts[0], &offer.parts[1]);
        let touched = pairs::touched(data.active);
        let on_flash = layout::on_flash(flash, disks, touched, data);
        let (drive, on_sale) = drive(flash, TouchedData { active: on_flash, ..data })?;
        let policy = self.choice.policy;
        let Layout { volume, first } =
            layout::layout(policy, [flash, disks], (&drive, self.extent), (touched, data.utilisation))?;
        let drive = drive.preconditioned(PreconditionKind::Steady, data.utilisation);
        let mut devices = Vec::new();
        let children = pairs::devices([flash, disks], drive, volume, &mut devices)?.to_vec();
        let policy = (policy.build.settings)(&first);
        let hybrid = HybridSettings {
            extent: self.extent,
            capacity: Some(Bytes(volume)),
            ..HybridSettings::new(children.iter().map(String::as_str), policy)
        };
        devices.push((VOLUME.to_string(), DeviceDescription::new(hybrid)));
        pairs::design(offer, devices, VOLUME, on_sale)
    }

    fn in_title(&self, _: &Offer<'_>) -> Option<String> {
        Some(format!("hybrid ({})", self.choice.policy.name))
    }

    fn composition(&self, offer: &Offer<'_>) -> Composition {
        Composition::Hybrid(Hybrid {
            policy: self.choice.policy.name.into(),
            because: self.choice.because.clone(),
            compared: self.choice.compared.clone(),
            extent_bytes: self.extent.0,
            reserve_bytes: offer.parts[0].bytes(),
        })
    }

    fn doubts(&self) -> Vec<&'static str> {
        let hot = match self.choice.policy.can(PolicyCapability::MovesBack) {
            true => "A hybrid is judged as if what is hot in the trace went on changing as fast as at its end.",
            false => "A hybrid is judged as if what is hot in the trace stayed hot: nothing moves back to disks.",
        };
        vec![pairs::DOUBT, hot]
    }

    fn findings(&self, _: &Candidate) -> Vec<Finding> {
        let PolicyChoice { because, compared, .. } = &*self.choice;
        let compared = compared.iter().map(|PoliciesCompared { on, requests, .. }| Finding {
            level: Level::Info,
            topic: "hybrid".into(),
            text: format!("{because} They were compared on {on}, with {} requests.", words::count(*requests)),
        });
        compared.collect()
    }
}
