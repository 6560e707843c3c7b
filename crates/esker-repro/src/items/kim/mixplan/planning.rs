//! The cheapest mix of devices for classes of data, by (4.1) to (4.8).

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use esker_plan::{DeviceType, Outcome, Problem, Resource, Sharing, SolverSettings, solve};

use super::device::Device;
use super::{DataClass, devices};
use crate::{Context, ReproduceError};

/// Seconds of five years of 365 days.
const FIVE_YEARS: f64 = 157_680_000.0;
const SETTINGS: SolverSettings = SolverSettings { gap: 1e-6, nodes_max: 100_000 };

/// Which costs the plan is to minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::items::kim) enum Costs {
    /// (4.3).
    PurchaseAndElectricity,
    /// (4.1) alone.
    Purchase,
}

/// What is planned with.
#[derive(Clone, Debug)]
pub(in crate::items::kim) struct Planning {
    pub(in crate::items::kim) devices: Vec<Device>,
    /// Whether the bandwidths of classes on a type add up. The paper's (4.6) is per class.
    pub(in crate::items::kim) sharing: Sharing,
    pub(in crate::items::kim) costs: Costs,
}

/// The cheapest mix.
#[derive(Clone, Debug)]
pub(in crate::items::kim) struct MixPlan {
    /// Number of devices of each type.
    pub(in crate::items::kim) counts: Vec<u32>,
    /// `shares[class][type]`.
    pub(in crate::items::kim) shares: Vec<Vec<f64>>,
    /// Dollars.
    pub(in crate::items::kim) cost: f64,
}

impl MixPlan {
    /// Devices of a type, for claims.
    pub(in crate::items::kim) fn count(&self, device: usize) -> f64 {
        f64::from(self.counts[device])
    }
}

impl Planning {
    /// The devices of table 4.4, with all costs.
    pub(in crate::items::kim) fn published(sharing: Sharing) -> Self {
        Self { devices: devices(), sharing, costs: Costs::PurchaseAndElectricity }
    }

    /// The same with only this type of device.
    pub(in crate::items::kim) fn only(&self, device: usize) -> Self {
        Self { devices: vec![self.devices[device].clone()], ..self.clone() }
    }

    /// The cheapest mix for `classes`.
    pub(in crate::items::kim) fn cheapest(
        &self,
        classes: &[DataClass],
        context: &Context<'_>,
    ) -> Result<MixPlan, ReproduceError> {
        let mut observer = |_: &_| {
            if context.cancel.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let outcome = solve(&self.problem(classes), &SETTINGS, &mut observer);
        // Any number of devices can be bought, so that there always is a plan.
        match outcome.expect("sizes, rates and prices of the tables are positive") {
            Outcome::Planned(found) if !context.cancel.load(Ordering::Relaxed) => {
                Ok(MixPlan { counts: found.plan.counts, shares: found.plan.shares, cost: found.cost })
            }
            _ => Err(ReproduceError::Cancelled),
        }
    }

    fn problem(&self, classes: &[DataClass]) -> Problem {
        let sizes = classes
            .iter()
            .map(|class| esker_plan::DataClass { name: class.name.clone(), bytes: class.gigabytes * 1e9 });
        let sizes: Vec<esker_plan::DataClass> = sizes.collect();
        let of = |device: &Device| {
            // Devices that the whole class would keep busy.
            let busy = |class: &DataClass| class.bandwidth / device.kilobytes_per_s(class.request, class.reads);
            let mut bandwidth = Resource::summed("bandwidth", 1.0, classes.iter().map(busy).collect());
            bandwidth.sharing = self.sharing;
            let mut resources = vec![Resource::capacity(&sizes, device.gigabytes * 1e9, device.in_use), bandwidth];
            resources.extend(device.life_gigabytes().map(|life| {
                let written = |class: &DataClass| class.bandwidth * (1.0 - class.reads) * FIVE_YEARS / 1e6;
                Resource::summed("life", life, classes.iter().map(written).collect())
            }));
            let cost = match self.costs {
                Costs::PurchaseAndElectricity => device.purchase + device.electricity,
                Costs::Purchase => device.purchase,
            };
            DeviceType::new(device.name, cost, resources)
        };
        Problem { types: self.devices.iter().map(of).collect(), classes: sizes.clone(), ..Problem::default() }
    }
}
