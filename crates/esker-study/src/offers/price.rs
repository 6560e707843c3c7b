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

    /// Returns for each part the share of the time in which one of its simulated devices was at work, on average over
    /// these: each draws power for what it does itself. None are simulated of what holds nothing that is asked for.
    pub(crate) fn busy_shares(&self, simulated: &Candidate) -> Vec<f64> {
        let of = |part: usize| simulated.busy_for_load(&self.arrangement.device_name(self, part));
        (0..self.parts.len()).map(|part| of(part).unwrap_or(0.0)).collect()
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

#[cfg(test)]
mod tests {
    use esker_results::DeviceReport;
    use esker_results::study::ResourceLimit;

    use super::*;
    use crate::kinds::devices_alone;

    /// A simulated design whose devices have these busy shares by resource, of which the bus has the highest peak.
    fn simulated(devices: &[(&str, &[(&str, f64)])]) -> Candidate {
        let device = |&(name, busy): &(&str, &[(&str, f64)])| {
            let utilisation = busy.iter().map(|&(resource, share)| (resource.to_string(), share)).collect();
            (name.to_string(), DeviceReport { utilisation, ..DeviceReport::default() })
        };
        let bus = ResourceLimit { resource: "bus".into(), utilisation: 0.1, busiest: 1.0, peak: 1.0, peak_s: 0.0 };
        Candidate {
            devices: devices.iter().map(device).collect(),
            limits: vec![bus],
            ..Candidate::new("design", "design", "ssd", 2)
        }
    }

    /// The peak of a bus draws no power at other times; what its dies did all the time does.
    #[test]
    fn a_device_draws_power_for_as_long_as_its_busiest_part_works() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let part = |name: &str, count: u32| {
            let product = catalogue.product(name).unwrap();
            Part::bought(product, product.capacities[0], count)
        };
        let drives = |count| devices_alone(part("micron-5400-pro", count), 1);
        let one = simulated(&[("ssd", &[("bus", 0.1), ("die", 0.6)])]);
        assert_eq!(drives(1).busy_shares(&one), [0.6]);
        // What filling it had left over comes once.
        let left_over = [("die".to_string(), 0.45), ("bus".to_string(), 0.1)].into();
        let filled = Candidate { left_over: [("ssd".to_string(), left_over)].into(), ..one };
        assert!((drives(1).busy_shares(&filled)[0] - 0.15).abs() < 1e-12);
        // Two drives, of which one does all the work, draw what two drives draw that share it.
        let shares = |busy: [f64; 2]| {
            let [first, second] = busy.map(|busy| [("die", busy)]);
            drives(2).busy_shares(&simulated(&[("array", &[]), ("ssd.0", &first), ("ssd.1", &second)]))
        };
        assert_eq!((shares([0.6, 0.0]), shares([0.3, 0.3])), (vec![0.3], vec![0.3]));
        // Each product of a pair has its own.
        let pair = Offer { parts: vec![part("micron-5400-pro", 2), part("toshiba-mg10", 1)], ..drives(1) };
        let both = [("ssd.0", &[("die", 0.2)][..]), ("ssd.1", &[("die", 0.4)]), ("disk", &[("arm", 0.9)])];
        let shares = pair.busy_shares(&simulated(&both));
        assert!((shares[0] - 0.3).abs() < 1e-12 && shares[1] == 0.9, "{shares:?}");
        // A design that could not be simulated did nothing.
        assert_eq!(pair.busy_shares(&simulated(&[])), [0.0, 0.0]);
    }
}
