//! What remains of the data when a device of an offer fails.

use esker_catalogue::Running;
use esker_core::Ratio;
use esker_results::study::Survival;

use super::{Offer, Part};

impl Offer<'_> {
    /// Says what survives the failure of a device, how likely a loss is over the years, and what two copies cost if the
    /// devices of each part are at work for its share of the time.
    pub(crate) fn survival(&self, shares: &[f64], running: &Running) -> Survival {
        // The devices of one copy whose failure loses that copy.
        let groups: Vec<&Part<'_>> = self.parts.iter().filter(|part| !part.may_fail).collect();
        let rates = groups.iter().map(|part| part.product.annual_failure_rate.as_ref());
        let rates: Option<Vec<_>> = rates.collect();
        let kept_a_year = rates.as_ref().map(|rates| {
            let kept = |rate: Ratio, count: u32| (1.0 - rate.as_f64()).powi(i32::try_from(count).unwrap_or(i32::MAX));
            rates.iter().zip(&groups).map(|(rate, part)| kept(rate.value, part.count)).product::<f64>()
        });
        let single = self.copies == 1;
        // A copy is lost with one device of the groups or, if there are none, with all mirrors of one.
        let mirrors = self.parts.iter().map(|part| part.mirrors).filter(|&mirrors| mirrors > 1).min();
        let failures_of_copy = if groups.is_empty() { mirrors.unwrap_or(1) } else { 1 };
        let failures_survived = self.copies.saturating_mul(failures_of_copy).saturating_sub(1);
        Survival {
            failures_survived,
            devices_of_one_copy: groups.iter().map(|part| part.count).sum(),
            annual_failure_rates: rates.iter().flatten().map(|rate| rate.value.as_f64()).collect(),
            rates_are_assumed: rates.iter().flatten().any(|rate| rate.source.is_none()),
            // With further copies or mirrors, the loss depends on how soon a failed device is replaced.
            loss_over_years: kept_a_year.filter(|_| failures_survived == 0).map(|kept| 1.0 - kept.powf(running.years)),
            two_copies_total: single.then(|| self.two_copies(shares, running)),
        }
    }

    /// Returns the cost with a second copy on the same devices. The second copy is bought, even if the user has the
    /// first.
    fn two_copies(&self, shares: &[f64], running: &Running) -> f64 {
        let first = self.cost(shares, running).total;
        let second = Offer { parts: self.parts.iter().map(|part| part.once_more()).collect(), ..self.clone() };
        (first + second.cost(shares, running).total).as_f64()
    }
}

#[cfg(test)]
mod tests {
    use esker_catalogue::{Capacity, Catalogue};
    use esker_core::Bytes;

    use super::super::Terms;
    use super::*;
    use crate::kinds::devices_alone;

    const BUSY: &[f64] = &[0.5, 0.5];

    fn part<'a>(catalogue: &'a Catalogue, name: &str, count: u32) -> Part<'a> {
        let product = catalogue.product(name).unwrap();
        let on_sale = product.capacities.first().copied();
        Part::bought(product, on_sale.unwrap_or(Capacity { bytes: Bytes::gib(100), dies: None }), count)
    }

    fn offer<'a>(catalogue: &'a Catalogue, name: &str, count: u32, copies: u32) -> Offer<'a> {
        devices_alone(part(catalogue, name, count), copies)
    }

    /// Counts by hand: 0.29 % of a thousand drives fail each year, for five years.
    #[test]
    fn a_loss_is_as_likely_as_devices_and_years_make_it() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let running = Running::usual(5.0);
        let of = |count: u32, copies: u32| offer(&catalogue, "micron-5400-pro", count, copies).survival(BUSY, &running);
        let one = of(1, 1);
        let mut whole = 1_000.0;
        (0..5).for_each(|_| whole -= whole * 0.0029);
        assert!((one.loss_over_years.unwrap() - (1_000.0 - whole) / 1_000.0).abs() < 1e-12, "{one:?}");
        assert!(one.failures_survived == 0 && one.devices_of_one_copy == 1 && !one.rates_are_assumed);
        // Eight drives in five years fail like one drive in forty years.
        let eight = of(8, 1);
        let forty = offer(&catalogue, "micron-5400-pro", 1, 1).survival(BUSY, &Running::usual(40.0));
        assert!((eight.loss_over_years.unwrap() - forty.loss_over_years.unwrap()).abs() < 1e-12);
        // A second copy costs as much as the first, and any one device may fail.
        let both = offer(&catalogue, "micron-5400-pro", 1, 2);
        let both_cost = both.cost(BUSY, &running).total.as_f64();
        assert!((one.two_copies_total.unwrap() - both_cost).abs() < 0.01, "{one:?} {both_cost}");
        let two = both.survival(BUSY, &running);
        assert_eq!((two.failures_survived, two.loss_over_years, two.two_copies_total), (1, None, None));
    }

    /// Two drives hold each part of the data, so that any one may fail; of two such copies any three.
    #[test]
    fn mirrors_survive_what_copies_do() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let running = Running::usual(5.0);
        let mirrored = |copies: u32| {
            let pairs = Part { mirrors: 2, may_fail: true, ..part(&catalogue, "micron-5400-pro", 3) };
            devices_alone(pairs, copies).survival(BUSY, &running)
        };
        let found = [1, 2].map(mirrored).map(|one| (one.failures_survived, one.loss_over_years));
        assert_eq!(found, [(1, None), (3, None)]);
        // Mirrored flash does not help a disk that has all data.
        let cache = Part { mirrors: 2, may_fail: true, ..part(&catalogue, "micron-5400-pro", 1) };
        let parts = vec![cache, part(&catalogue, "toshiba-mg10", 1)];
        let cached = Offer { parts, ..offer(&catalogue, "micron-5400-pro", 1, 1) }.survival(BUSY, &running);
        assert!(cached.failures_survived == 0 && cached.loss_over_years.is_some(), "{cached:?}");
    }

    #[test]
    fn what_one_has_needs_a_second_that_is_bought() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let running = Running::usual(5.0);
        let bought = offer(&catalogue, "micron-7450-pro", 1, 1);
        let in_use = |name: &str| devices_alone(Part { terms: Terms::InUse, ..part(&catalogue, name, 1) }, 1);
        let have = in_use("micron-7450-pro");
        let [have_cost, bought_cost] = [&have, &bought].map(|one| one.cost(BUSY, &running));
        let two = have.survival(BUSY, &running).two_copies_total.unwrap();
        assert!((two - have_cost.total.as_f64() - bought_cost.total.as_f64()).abs() < 1e-6);
        // The price of a device in use does not matter, so it is no assumption.
        assert!(bought.summary().assumed.iter().all(|figure| figure != "price"), "its class has a price with a source");
        let sata = offer(&catalogue, "micron-5400-pro", 1, 1);
        let priced = |one: &Offer<'_>| one.summary().assumed.contains(&"price".to_string());
        assert!(priced(&sata) && !priced(&in_use("micron-5400-pro")));
    }

    #[test]
    fn flash_and_disks_of_a_hybrid_both_count() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let running = Running::usual(5.0);
        let parts = vec![part(&catalogue, "micron-5400-pro", 2), part(&catalogue, "toshiba-mg10", 3)];
        let hybrid = Offer { parts, ..offer(&catalogue, "micron-5400-pro", 2, 1) };
        let survival = hybrid.survival(BUSY, &running);
        assert_eq!((survival.devices_of_one_copy, survival.failures_survived), (5, 0));
        let kept = ((1.0 - 0.0029_f64).powi(2) * (1.0 - 0.0035_f64).powi(3)).powi(5);
        assert!((survival.loss_over_years.unwrap() - (1.0 - kept)).abs() < 1e-12, "{survival:?}");
        // The steps of the electricity add up to its cost.
        let parts = hybrid.electricity(BUSY, &running);
        let sum: f64 = parts
            .iter()
            .map(|part| part.kilowatt_hours(5.0) * part.price_per_kwh * part.power_usage_effectiveness)
            .sum();
        let cost = hybrid.cost(BUSY, &running).power.as_f64();
        assert!(parts.len() == 2 && (sum - cost).abs() < 0.01, "{sum} {cost}");
    }
}
