//! Cloud volumes of one product, alone or striped: every size and order that might carry the workload.

mod limits;
mod orders;
mod pace;

use std::sync::Arc;

use esker_catalogue::{Capacity, CloudVolume, Product};
use esker_cloud::CloudVolumeSettings;
use esker_core::registry::{Entry, ParameterSource};
use esker_core::{Bytes, Nanos};
use esker_results::study::RunsDry;
use esker_sim::DeviceDescription;

use crate::design::{Design, Judging};
use crate::judging::AtAnyTime;
use crate::offers::{
    Arrangement, Bounds, DesignFamily, DesignKind, KindEntry, Offer, OfferInputs, Part, RuledOutBy, Terms, TouchedData,
    striped,
};
use crate::{DesignFault, StudyError};
use orders::{AMPLE, carries, orders, plain, settings, settings_of, sizes, sizes_that_carry};
use pace::{Pace, paces};

pub(super) const ENTRY: KindEntry = Entry {
    name: "volumes",
    summary: "cloud volumes of one product, alone or striped",
    source: "the providers' documentation of their limits (docs/cloud-volumes.md)",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: DesignKind {
        class: "volumes",
        families: &[DesignFamily { name: "volumes", has: |_| true }],
        assumption: None,
        offers,
    },
};

/// Numbers of volumes that share the data.
const COUNTS: [u32; 4] = [1, 2, 4, 8];

/// What is ordered with each volume of an offer.
#[derive(Clone, Copy, Debug)]
struct Ordered {
    volume: CloudVolume,
    /// The load that all volumes of the offer have to carry together.
    pace: Pace,
}

fn offers<'a>(inputs: &OfferInputs<'a>) -> Result<Vec<Offer<'a>>, StudyError> {
    let paces = inputs.stretch.map(|stretch| paces(inputs.products(), inputs.workload, stretch)).transpose()?;
    let mut offers = Vec::new();
    for product in inputs.products().iter().filter(|product| product.is_cloud_volume()) {
        let pace = paces.as_ref().map(|paces| paces[&product.name]);
        offers.extend(of_product(product, inputs, pace)?);
    }
    Ok(offers)
}

/// Returns every order of `product` that might carry the workload while its limits are used to at most the share of the
/// budget. Without `pace`, the trace has no times, and only the smallest volume is offered.
fn of_product<'a>(
    product: &'a Product,
    inputs: &OfferInputs<'a>,
    pace: Option<Pace>,
) -> Result<Vec<Offer<'a>>, StudyError> {
    let (settings, capacity, copies) = (settings(product)?, inputs.capacity(), inputs.copies());
    let Some(pace) = pace else {
        let smallest = sizes(product, &settings, capacity, None).into_iter().next();
        let ordered = smallest.map(|size| Ordered { volume: plain(size), pace: Pace::default() });
        return Ok(ordered.map(|ordered| offer(product, ordered, 1, copies)).into_iter().collect());
    };
    let mut offers = Vec::new();
    for count in COUNTS {
        let share = 1.0 / f64::from(count) / inputs.utilisation;
        let least = (pace.busy_operations * share, pace.busy_bytes * share);
        let capacity = capacity.div_ceil(count.into());
        let mut sizes = sizes(product, &settings, capacity, Some(least.0));
        if product.shared_limits.is_some() {
            // No second one helps, so that one has to be large enough.
            sizes.extend(sizes_that_carry(product, &settings, Bytes(capacity), least));
            sizes.sort_unstable();
            sizes.dedup();
        }
        for &size in &sizes {
            let all = orders(&settings, size, least).into_iter();
            offers.extend(all.map(|volume| offer(product, Ordered { volume, pace }, count, copies)));
        }
        // Where all share the limits of one, more of them carry no more.
        if product.shared_limits.is_some() && !sizes.is_empty() {
            break;
        }
        if sizes.last().is_some_and(|size| carries(&settings, *size, (least.0 * AMPLE, least.1 * AMPLE))) {
            break;
        }
    }
    Ok(offers)
}

fn offer(product: &Product, ordered: Ordered, count: u32, copies: u32) -> Offer<'_> {
    let capacity = Capacity { bytes: ordered.volume.size, dies: None };
    let part = Part { terms: Terms::Rented(ordered.volume), ..Part::bought(product, capacity, count) };
    Offer { kind: &ENTRY, arrangement: Arc::new(ordered), parts: vec![part], copies }
}

impl Ordered {
    /// Makes the design of an offer of volumes with these settings.
    fn design_of(&self, offer: &Offer<'_>, settings: CloudVolumeSettings) -> Result<Design, StudyError> {
        let count = offer.first().count;
        let counted = (settings.operations.unit, settings.operations.merge, settings.throughput.whole_units);
        let allowed = esker_cloud::limits(&settings);
        let allowed = allowed.map_err(|fault| StudyError::design(DesignFault::Settings(fault.to_string())))?;
        let alike = format!("{count} x {allowed:?} {counted:?} {:?} {}", settings.latency, settings.queue_depth);
        Ok(Design {
            name: offer.name(),
            title: offer.title(),
            device_count: offer.devices(),
            system: striped("volume", DeviceDescription::new(settings), count)?,
            on_disks: false,
            limits: Some(alike),
            flash: None,
            judging: self.judging(),
        })
    }
}

impl Arrangement for Ordered {
    fn judging(&self) -> &'static dyn Judging {
        &AtAnyTime
    }

    fn design(&self, offer: &Offer<'_>, _: TouchedData) -> Result<Design, StudyError> {
        self.design_of(offer, settings_of(offer.first(), &self.volume)?)
    }

    fn design_saving_up(&self, offer: &Offer<'_>, time: Nanos) -> Result<Option<Design>, StudyError> {
        let settings = settings_of(offer.first(), &self.volume)?;
        let longer = settings.saves_up < time;
        longer.then(|| self.design_of(offer, CloudVolumeSettings { saves_up: time, ..settings })).transpose()
    }

    fn ruled_out(&self, offer: &Offer<'_>, bounds: &Bounds) -> Option<RuledOutBy> {
        limits::ruled_out(offer.first(), self, bounds.limits.as_ref()?)
    }

    fn missed_limits(&self, offer: &Offer<'_>, bounds: &Bounds) -> Vec<f64> {
        let missed = bounds.limits.as_ref().and_then(|budgets| limits::missed(offer.first(), self, budgets));
        missed.unwrap_or_default()
    }

    fn runs_dry(&self, offer: &Offer<'_>, bounds: &Bounds) -> Option<RunsDry> {
        limits::runs_dry(offer.first(), self, bounds.limits.as_ref()?)
    }

    fn peaks(&self, offer: &Offer<'_>) -> Option<(u64, u64)> {
        let limits = esker_cloud::limits(&settings_of(offer.first(), &self.volume).ok()?).ok()?;
        Some((limits.operations.peak(), limits.throughput.peak()))
    }
}
