//! Rules out offers without simulation, by their figures.

use esker_catalogue::{Class, Product};
use esker_core::{ByteRate, words};
use esker_results::study::RuledOut;
use esker_sim::DEVICES_MAX;

use super::Offer;
use crate::strain::Limits;

/// What the workload needs at least, and what the user allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes per second read and written in the busiest stretch by requests or by bytes, whichever has more.
    pub(crate) bytes_per_s: Option<f64>,
    /// The fewest host bytes a day, on average over the budgeted years.
    pub(crate) host_bytes_per_day: Option<f64>,
    /// Capacity on sale that one copy of the data needs.
    pub(crate) capacity_bytes: u64,
    /// The budget for the number of devices.
    pub(crate) devices: Option<u32>,
    /// Whether desktop drives may be offered.
    pub(crate) consumer: bool,
    /// The budgets for the busiest resource and for the 99th percentile, if the trace has times.
    pub(crate) limits: Option<Limits>,
}

/// Returns why an offer need not be simulated; `None` if bounds do not rule it out.
pub(crate) fn ruled_out(offer: &Offer<'_>, bounds: &Bounds) -> Option<RuledOut> {
    let devices = offer.devices();
    if let Some(limit) = bounds.devices
        && devices > limit
    {
        return Some(offer.ruled_out("devices", format!("takes {devices} devices, the budget is {limit}"), None));
    }
    // Besides its devices, a simulation has those that stripe over them, and the one that makes a volume of several
    // products.
    let simulated = offer.simulated_devices().saturating_add(2);
    if simulated > DEVICES_MAX as u32 {
        let reason = format!("has more devices than a simulation may have ({DEVICES_MAX})");
        return Some(offer.ruled_out("devices", reason, None));
    }
    // All other offers are large enough by construction.
    if offer.is_in_use() && offer.first().bytes() < bounds.capacity_bytes {
        let reason = format!("is too small: {} are needed", words::bytes(bounds.capacity_bytes as f64));
        return Some(offer.ruled_out("capacity", reason, None));
    }
    if offer.class() == Class::Consumer && !bounds.consumer && !offer.is_in_use() {
        let reason = "is made for desktops: a power failure loses what its buffer holds, and its warranty is not for \
                      servers; --consumer allows it";
        return Some(offer.ruled_out("class", reason.into(), None));
    }
    if let Some(reason) = gone(offer) {
        return Some(offer.ruled_out("discontinued", reason, None));
    }
    if let Some((by, reason)) = offer.arrangement.ruled_out(offer, bounds) {
        return Some(offer.ruled_out(by, reason, None));
    }
    let per_day = bounds.host_bytes_per_day;
    if let (Some(per_day), Some(warranted)) = (per_day, offer.warranty().map(|warranty| warranty.bytes_per_day))
        && per_day > warranted
    {
        let reason =
            format!("is warranted for {} a day, and {} are written", words::bytes(warranted), words::bytes(per_day));
        return Some(offer.ruled_out("endurance", reason, None));
    }
    if let (Some(asked), Some(rate)) = (bounds.bytes_per_s, links(offer))
        && asked > rate
    {
        let reason =
            format!("moves at most {}/s, and the busiest time asks for {}/s", words::bytes(rate), words::bytes(asked));
        return Some(offer.ruled_out("bandwidth", reason, None));
    }
    None
}

/// Says why an offer cannot be bought: one of its products is no longer sold, and the user neither asked for it nor has
/// it.
fn gone(offer: &Offer<'_>) -> Option<String> {
    let mut products = offer.parts.iter().map(|part| part.product);
    let gone = products.find(|product| !product.may_be_advised() && !offer.is_in_use())?;
    let reason = gone.discontinued.as_deref().unwrap_or_default();
    Some(format!("{} is no longer sold ({reason}); --only {} allows it", gone.title, gone.name))
}

/// Returns by how much an offer misses the bounds that rule it out, as the logarithm of value over bound; `None` if
/// nothing rules it out, or if the reason is one that no money makes up for.
pub(crate) fn missed(offer: &Offer<'_>, bounds: &Bounds) -> Option<f64> {
    let by = ruled_out(offer, bounds)?.by;
    let times = |is: Option<f64>, limit: Option<f64>| match (is, limit) {
        (Some(is), Some(limit)) if is > limit && limit > 0.0 => (is / limit).ln(),
        _ => 0.0,
    };
    if matches!(by.as_str(), "capacity" | "class" | "discontinued") {
        return None;
    }
    let mut missed = times(Some(f64::from(offer.devices())), bounds.devices.map(f64::from))
        + times(bounds.host_bytes_per_day, offer.warranty().map(|warranty| warranty.bytes_per_day))
        + times(bounds.bytes_per_s, links(offer));
    for more in offer.arrangement.missed_limits(offer, bounds) {
        missed += more;
    }
    Some(missed)
}

/// Returns the bytes per second that all links of an offer can move, if the settings of its devices state their rates.
fn links(offer: &Offer<'_>) -> Option<f64> {
    offer.parts.iter().map(|part| Some(link(part.product)?.0 as f64 * f64::from(part.count))).sum()
}

/// The rate of a device's link to its host, if its settings state one.
fn link(product: &Product) -> Option<ByteRate> {
    let settings = product.settings.as_ref()?;
    let rate = match product.kind.as_str() {
        "ssd" => &settings["link"]["rate"],
        "hdd" => &settings["bus_rate"],
        _ => return None,
    };
    rate.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Part, Terms};
    use super::*;
    use crate::kinds::devices_alone;

    fn bounds() -> Bounds {
        Bounds {
            bytes_per_s: Some(4e9),
            host_bytes_per_day: Some(3.84e12),
            capacity_bytes: 1,
            devices: None,
            consumer: false,
            limits: None,
        }
    }

    fn by(offer: &Offer<'_>) -> Option<String> {
        ruled_out(offer, &Bounds { bytes_per_s: None, host_bytes_per_day: None, ..bounds() }).map(|ruled| ruled.by)
    }

    #[test]
    fn a_design_too_large_to_simulate_ends_no_study() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let product = catalogue.product("micron-7450-pro").unwrap();
        let of = |count| devices_alone(Part::bought(product, product.capacities[0], count), 1);
        assert_eq!(by(&of(DEVICES_MAX as u32)).as_deref(), Some("devices"));
        assert_eq!(by(&of(DEVICES_MAX as u32 - 2)), None);
    }

    #[test]
    fn what_is_no_longer_sold_is_advised_only_if_it_is_asked_for() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let gone = catalogue.product("samsung-983-zet").unwrap();
        assert!(gone.discontinued.is_some());
        let gone = Part::bought(gone, gone.capacities[0], 1);
        assert_eq!(by(&devices_alone(gone, 1)).as_deref(), Some("discontinued"));
        assert_eq!(by(&devices_alone(Part { terms: Terms::InUse, ..gone }, 1)), None);
        // It is no part of a hybrid either.
        let flash = catalogue.product("micron-7450-pro").unwrap();
        let flash = Part::bought(flash, flash.capacities[0], 1);
        let both = Offer { parts: vec![flash, gone], ..devices_alone(flash, 1) };
        assert_eq!(by(&both).as_deref(), Some("discontinued"));
        let only = crate::builtin_catalogue("current").unwrap().only(&["samsung-983-zet"]).unwrap();
        let asked_for = &only.products[0];
        assert_eq!(by(&devices_alone(Part::bought(asked_for, asked_for.capacities[0], 1), 1)), None);
    }

    /// An offer that is warranted for half of what is written misses by a factor of two; likewise for links and
    /// devices.
    #[test]
    fn misses_of_bounds_are_factors() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let drive = catalogue.product("samsung-pm9a3").unwrap();
        let of = |gigabytes: u64| drive.capacities.iter().find(|one| one.bytes.0 == gigabytes * 1_000_000_000).copied();
        let offer = |gigabytes: u64, count: u32| devices_alone(Part::bought(drive, of(gigabytes).unwrap(), count), 1);
        let two = missed(&offer(1_920, 1), &bounds()).unwrap();
        assert!((two - 2.0_f64.ln()).abs() < 1e-9, "{two}");
        assert_eq!(missed(&offer(3_840, 1), &bounds()), None, "nothing rules it out");
        let slow = Bounds { bytes_per_s: Some(13e9), ..bounds() };
        let both = missed(&offer(1_920, 1), &slow).unwrap();
        assert!((both - 4.0_f64.ln()).abs() < 1e-9, "{both}");
        let few = Bounds { devices: Some(1), ..bounds() };
        assert!((missed(&offer(1_920, 3), &few).unwrap() - 3.0_f64.ln()).abs() < 1e-9);
        let consumer = catalogue.product("samsung-990-pro").unwrap();
        assert_eq!(missed(&devices_alone(Part::bought(consumer, consumer.capacities[0], 1), 1), &bounds()), None);
    }
}
