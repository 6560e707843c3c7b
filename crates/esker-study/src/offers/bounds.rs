//! Offers that need no simulation: what they cannot do follows from their figures.

use esker_core::{ByteRate, words};
use esker_plan::Class;
use esker_results::study::RuledOut;

use super::Offer;

/// What the workload asks for at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes per second read and written in the busy stretch.
    pub(crate) bytes_per_s: Option<f64>,
    /// The fewest host bytes a day, on average over the budgeted years.
    pub(crate) host_bytes_per_day: Option<f64>,
    /// Largest number of devices.
    pub(crate) devices: Option<u32>,
    /// Whether drives for desktops may be offered.
    pub(crate) consumer: bool,
}

/// Returns why an offer need not be simulated, if that is so.
pub(crate) fn ruled_out(offer: &Offer<'_>, bounds: &Bounds) -> Option<RuledOut> {
    let devices = offer.devices();
    if let Some(limit) = bounds.devices
        && devices > limit
    {
        return Some(offer.ruled_out("devices", format!("takes {devices} devices, the budget is {limit}"), None));
    }
    if offer.class() == Class::Consumer && !bounds.consumer {
        let reason = "is made for desktops: a power failure loses what its buffer holds, and its warranty is not for \
                      servers; --consumer allows it";
        return Some(offer.ruled_out("class", reason.into(), None));
    }
    let per_day = bounds.host_bytes_per_day;
    if let (Some(per_day), Some(warranted)) = (per_day, offer.warranted_bytes_per_day())
        && per_day > warranted
    {
        let reason =
            format!("is warranted for {} a day, and {} are written", words::bytes(warranted), words::bytes(per_day));
        return Some(offer.ruled_out("endurance", reason, None));
    }
    if let (Some(asked), Some(link)) = (bounds.bytes_per_s, link(offer)) {
        let rate = link.0 as f64 * f64::from(offer.count);
        if asked > rate {
            let reason = format!(
                "moves at most {}/s, and the busiest time asks for {}/s",
                words::bytes(rate),
                words::bytes(asked)
            );
            return Some(offer.ruled_out("bandwidth", reason, None));
        }
    }
    None
}

/// The rate of a device's link to its host, if its settings state one.
fn link(offer: &Offer<'_>) -> Option<ByteRate> {
    let settings = &offer.product.settings;
    let rate = match offer.product.kind.as_str() {
        "ssd" => &settings["link"]["rate"],
        "hdd" => &settings["bus_rate"],
        _ => return None,
    };
    rate.as_str()?.parse().ok()
}
