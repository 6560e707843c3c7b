//! What offers cost.

use esker_catalogue::{Cost, Money, Running, cloud_cost, owned_cost};
use esker_core::Power;
use esker_results::study::{Candidate, Electricity};

use super::{Offer, Part, Terms};

impl Part<'_> {
    /// Returns the cost of the devices for `copies` copies of the data, which are at work for the share `busy` of the
    /// time.
    pub(crate) fn cost(&self, copies: u32, busy: f64, running: &Running) -> Cost {
        let devices = self.devices(copies);
        let owned = || owned_cost(self.product, self.capacity.bytes, devices, busy, running);
        match &self.terms {
            Terms::Rented(volume) => cloud_cost(self.product, volume, devices, running.years),
            Terms::Bought => owned(),
            Terms::InUse => {
                // Devices in use are paid for: only their electricity can be saved.
                let cost = owned();
                let month = Money::from_f64(cost.power.as_f64() / (12.0 * running.years));
                let assumed = cost.power_is_assumed;
                Cost { purchase: Money::ZERO, per_month: month, total: cost.power, assumed, ..cost }
            }
        }
    }

    /// Returns the electricity of the devices for `copies` copies of the data, which are at work for the share `busy`
    /// of the time; `None` if their power is not known, or if they are rented.
    fn electricity(&self, copies: u32, busy: f64, running: &Running) -> Option<Electricity> {
        if matches!(self.terms, Terms::Rented(_)) {
            return None;
        }
        let power = &self.product.power.as_ref()?.value;
        let watts = |power: Power| power.0 as f64 / 1e6;
        Some(Electricity {
            product: self.product.title.clone(),
            devices: self.devices(copies),
            idle_w: watts(power.idle),
            active_w: watts(power.active),
            supplement_w: watts(power.supplement),
            busy: busy.clamp(0.0, 1.0),
            price_per_kwh: running.electricity_per_kwh.value.as_f64(),
            power_usage_effectiveness: running.power_usage_effectiveness.value,
        })
    }
}

impl Offer<'_> {
    /// Returns the least that the offer can cost: that of idle devices.
    pub(crate) fn least_cost(&self, running: &Running) -> Money {
        self.cost(&vec![0.0; self.parts.len()], running).total
    }

    /// Returns the cost if the devices of each part are at work for its share of the time.
    pub(crate) fn cost(&self, shares: &[f64], running: &Running) -> Cost {
        let parts = self.parts.iter().zip(shares).map(|(part, &busy)| part.cost(self.copies, busy, running));
        parts.reduce(sum).expect("an offer has a part")
    }

    /// Returns what the cost of electricity is made of; nothing for rented volumes.
    pub(crate) fn electricity(&self, shares: &[f64], running: &Running) -> Vec<Electricity> {
        let parts = self.parts.iter().zip(shares);
        parts.filter_map(|(part, &busy)| part.electricity(self.copies, busy, running)).collect()
    }

    /// Returns for each part the share of the time in which its simulated devices were at work: that of their busiest
    /// resource.
    pub(crate) fn busy_shares(&self, simulated: &Candidate) -> Vec<f64> {
        if self.only().is_some() {
            return vec![simulated.limits.first().map_or(0.0, |limit| limit.utilisation)];
        }
        let of = |part: &Part<'_>| {
            let devices = simulated.devices.values().filter(|device| match part.product.kind.as_str() {
                "ssd" => device.flash.is_some(),
                _ => device.disk.is_some(),
            });
            devices.flat_map(|device| device.utilisation.values()).copied().fold(0.0, f64::max)
        };
        self.parts.iter().map(of).collect()
    }
}

/// Adds the costs of two parts. The sum is as old as the older price.
fn sum(one: Cost, other: Cost) -> Cost {
    Cost {
        purchase: one.purchase + other.purchase,
        power: one.power + other.power,
        per_month: one.per_month + other.per_month,
        total: one.total + other.total,
        currency: one.currency,
        as_of: one.as_of.min(other.as_of),
        assumed: one.assumed || other.assumed,
        power_is_assumed: one.power_is_assumed || other.power_is_assumed,
    }
}
