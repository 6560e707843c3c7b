//! Cloud volumes: which sizes and orders are offered for a workload, and their simulated designs.

use std::cell::Cell;
use std::collections::BTreeMap;

use esker_catalogue::{Capacity, CloudVolume, PriceRate, Product};
use esker_cloud::{CloudVolumeSettings, Counter, OperationRate, ProvisionedSettings, limits, provisionable};
use esker_core::{ByteRate, Bytes, Nanos};
use esker_sim::{DeviceDescription, System};

use super::{Design, Offer, settings_fault, striped};
use crate::arrivals::{Load, arrivals};
use crate::busy::Stretch;
use crate::load::StudyWorkload;
use crate::{DesignFault, StudyError};

const GIB: u64 = 1 << 30;
/// Numbers of volumes that share the data.
const COUNTS: [u32; 4] = [1, 2, 4, 8];
/// Sizes that are offered, as multiples of what the data need. Where limits grow with the size, a larger volume has
/// higher limits.
const SIZES: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
/// Rates that are offered, as multiples of the lowest rate that can keep the budget for utilisation. Requests that come
/// in bursts need more.
const RATES: [f64; 8] = [1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0];
/// At most this many size classes are offered.
const CLASSES_MAX: usize = 5;

/// The rates that a workload asks for, as one kind of volume counts requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    /// Most operations per second, as the volume counts them, in any stretch as long as the busy one.
    pub(crate) busy_operations: f64,
    /// Most bytes per second, as the volume counts them, in any stretch as long as the busy one.
    pub(crate) busy_bytes: f64,
    /// Operations per second over the whole trace.
    pub(crate) mean_operations: f64,
    /// Bytes per second over the whole trace.
    pub(crate) mean_bytes: f64,
}

/// The volume of an offer: what is ordered, and what the workload asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RentedVolume {
    pub(crate) volume: CloudVolume,
    /// The load that all volumes of the offer have to carry together.
    pub(crate) pace: Pace,
}

/// The rates that a workload asks for, by the name of the product that counts them.
pub(super) type Paces = BTreeMap<String, Pace>;

/// Pairs of operations and bytes: in the current stretch, in the stretch with the most, and in all.
#[derive(Clone, Copy, Default)]
struct Counts {
    now: (u64, u64),
    most: (u64, u64),
    all: (u64, u64),
}

/// Counts the workload as the volumes of `products` do, in one pass. The minute with the most requests need not be the
/// one with the most operations or bytes, so time is divided into stretches as long as `stretch`, which is one of them.
pub(super) fn paces(products: &[Product], workload: &StudyWorkload, stretch: &Stretch) -> Result<Paces, StudyError> {
    let left_out = Cell::default();
    // Many products count in the same way.
    let mut counters: Vec<(Counter, Counts)> = Vec::new();
    let mut counter_of: Vec<(&Product, usize)> = Vec::new();
    let mut saved = Vec::new();
    for product in products.iter().filter(|product| product.is_cloud_volume()) {
        let settings = settings(product)?;
        saved.push(settings.saves_up);
        let counter = Counter::new(&settings);
        let known = counters.iter().position(|(other, _)| *other == counter);
        let index = known.unwrap_or_else(|| {
            counters.push((counter, Counts::default()));
            counters.len() - 1
        });
        counter_of.push((product, index));
    }
    let (mut index, mut last) = (0, stretch.to);
    let everything = Bytes(workload.map().footprint().next_multiple_of(1 << 20));
    // Requests within less time than volumes save up may pass at once.
    let longest = saved.into_iter().max().unwrap_or(Nanos(1));
    let length = stretch.length().max(longest);
    let phase = stretch.from.0 % length.0;
    for arrival in arrivals(&workload.requests, &Load::AS_TRACED, everything, &left_out)? {
        last = last.max(arrival.at);
        if !arrival.request.kind.has_data() {
            continue;
        }
        let its_index = (arrival.at.0 + length.0 - phase) / length.0;
        let is_next = its_index != index;
        index = its_index;
        for (counter, Counts { now, most, all }) in &mut counters {
            if is_next {
                *now = (0, 0);
            }
            let cost = counter.count(&arrival.request);
            *now = (now.0 + cost.operations, now.1 + cost.bytes);
            *all = (all.0 + cost.operations, all.1 + cost.bytes);
            *most = (most.0.max(now.0), most.1.max(now.1));
        }
    }
    let (busy, whole) = (length.as_secs_f64(), last.as_secs_f64().max(1.0));
    let pace = |Counts { most, all, .. }: Counts| Pace {
        busy_operations: most.0 as f64 / busy,
        busy_bytes: most.1 as f64 / busy,
        mean_operations: all.0 as f64 / whole,
        mean_bytes: all.1 as f64 / whole,
    };
    Ok(counter_of.into_iter().map(|(product, index)| (product.name.clone(), pace(counters[index].1))).collect())
}

/// Returns every order of `product` that holds `capacity` bytes and might carry the workload while its limits are used
/// to at most the share `utilisation`. Without `pace`, the trace has no times, and only the smallest volume is offered.
pub(super) fn offers<'a>(
    product: &'a Product,
    capacity: u64,
    copies: u32,
    pace: Option<Pace>,
    utilisation: f64,
) -> Result<Vec<Offer<'a>>, StudyError> {
    let settings = settings(product)?;
    let Some(pace) = pace else {
        let size = sizes(product, &settings, capacity, None).into_iter().next();
        let rented = |size| RentedVolume { volume: plain(size), pace: Pace::default() };
        return Ok(size.map(|size| Offer::rented(product, rented(size), 1, copies)).into_iter().collect());
    };
    let mut offers = Vec::new();
    for count in COUNTS {
        let share = 1.0 / f64::from(count) / utilisation;
        let least = (pace.busy_operations * share, pace.busy_bytes * share);
        let sizes = sizes(product, &settings, capacity.div_ceil(count.into()), Some(least.0));
        for &size in &sizes {
            for volume in orders(&settings, size, least) {
                offers.push(Offer::rented(product, RentedVolume { volume, pace }, count, copies));
            }
        }
        if sizes.last().is_some_and(|size| carries(&settings, *size, (least.0 * AMPLE, least.1 * AMPLE))) {
            break;
        }
    }
    Ok(offers)
}

/// If one volume can be ordered that carries this many times the lowest rate, no larger numbers of volumes are offered:
/// each further volume may fail, and somebody has to look after the stripe.
const AMPLE: f64 = 4.0;

/// Returns true if a volume of `size` can be ordered that sustains `asked` operations and bytes per second.
fn carries(settings: &CloudVolumeSettings, size: Bytes, asked: (f64, f64)) -> bool {
    let sized = CloudVolumeSettings { size: Some(size), ..settings.clone() };
    let (Ok(allowed), Ok(plain)) = (provisionable(&sized), limits(&sized)) else { return false };
    let operations = allowed.operations.map_or(plain.operations.sustained, |(_, most)| most.as_thousandths());
    let bytes = allowed.throughput.map_or(plain.throughput.sustained, |(_, most)| most.as_thousandths());
    operations as f64 / 1e3 >= asked.0 && bytes as f64 / 1e3 >= asked.1
}

fn plain(size: Bytes) -> CloudVolume {
    CloudVolume { size, operations_per_s: None, bytes_per_s: None }
}

/// Returns the sizes to offer for at least `least` bytes and, if given, `operations` per second.
fn sizes(product: &Product, settings: &CloudVolumeSettings, least: u64, operations: Option<f64>) -> Vec<Bytes> {
    let Some(range) = product.volume_sizes else { return Vec::new() };
    let least = Bytes(least.max(range.least.0).next_multiple_of(GIB));
    if least > range.most {
        return Vec::new();
    }
    if let PriceRate::Monthly(price) = &product.price.value.rate
        && !price.classes.is_empty()
    {
        // A size class is billed as a whole, so smaller volumes of the class cost as much as the largest one.
        let fitting = price.classes.iter().map(|class| class.size).filter(|size| *size >= least);
        return fitting.take(CLASSES_MAX).collect();
    }
    let grow = settings.operations.per_gib.is_some()
        || settings.throughput.per_gib.is_some()
        || settings.burst.is_some()
        || !settings.classes.is_empty();
    let mut sizes = vec![least];
    if grow && operations.is_some() {
        sizes = SIZES.iter().map(|times| Bytes(((least.0 as f64 * times) as u64).next_multiple_of(GIB))).collect();
    } else if let (Some(per_gib), Some(asked)) = (settings.operations.max_per_gib, operations) {
        // Large enough for the operations to be provisioned, then with room to spare, then for the highest rate that is
        // ever ordered: bursts are much faster than the mean of a busy stretch.
        let gib = (asked * 1e3 / per_gib.as_thousandths().max(1) as f64).ceil().min(1e9) as u64;
        let most = RATES.iter().copied().fold(AMPLE, f64::max);
        sizes.extend([1.0, AMPLE, most].map(|times| Bytes((gib as f64 * times) as u64 * GIB).max(least)));
    }
    sizes.retain(|size| *size <= range.most);
    sizes.dedup();
    sizes
}

/// Returns what can be ordered with a volume of `size` so that it carries at least `least` operations and bytes per
/// second.
fn orders(settings: &CloudVolumeSettings, size: Bytes, least: (f64, f64)) -> Vec<CloudVolume> {
    let sized = CloudVolumeSettings { size: Some(size), ..settings.clone() };
    let Ok(allowed) = provisionable(&sized) else { return Vec::new() };
    let mut orders = Vec::new();
    // Raises both rates, or only one of them.
    let pairs = RATES.iter().flat_map(|&rate| [(rate, rate), (rate, 1.0), (1.0, rate)]);
    for (more_operations, more_bytes) in pairs {
        let mut volume = plain(size);
        if let Some((_, most)) = allowed.throughput {
            let asked = round_up(least.1 * more_bytes / MIB, 2) * MIB;
            let asked = ByteRate((asked as u64).min(most.as_thousandths() / 1_000));
            if asked > free_throughput(&sized) {
                volume.bytes_per_s = Some(asked.0);
            }
        }
        if let Some((fewest, most)) = allowed.operations {
            let for_bytes = volume.bytes_per_s.map_or(fewest, |bytes| allowed.operations_for(ByteRate(bytes)));
            let asked = OperationRate::per_s(round_up(least.0 * more_operations, 2) as u64);
            let asked = asked.max(for_bytes).max(fewest).min(most);
            let asked = asked.as_thousandths().div_ceil(1_000).min(most.as_thousandths() / 1_000);
            // A rate that every volume has need not be ordered, except for products that require an order.
            if settings.operations.min.is_some() || OperationRate::per_s(asked) > free_operations(&sized) {
                volume.operations_per_s = Some(asked);
            }
        }
        let possible = limits(&order(&sized, &volume)).is_ok();
        if possible && !orders.contains(&volume) {
            orders.push(volume);
        }
    }
    orders
}

const MIB: f64 = (1 << 20) as f64;

fn free_operations(settings: &CloudVolumeSettings) -> OperationRate {
    limits(settings).map_or(OperationRate::default(), |limits| OperationRate::thousandths(limits.operations.sustained))
}

fn free_throughput(settings: &CloudVolumeSettings) -> ByteRate {
    limits(settings).map_or(ByteRate(0), |limits| ByteRate(limits.throughput.sustained / 1_000))
}

/// Rounds `value` up to `digits` digits: nobody orders 7,143 operations a second.
fn round_up(value: f64, digits: i32) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let unit = 10f64.powi((value.log10().floor() as i32 + 1 - digits).max(0));
    // A multiple of the unit stays as it is, despite the rounding error of the division.
    (value / unit - 1e-9).ceil() * unit
}

/// Returns the settings of a volume as it is ordered.
pub(super) fn order(settings: &CloudVolumeSettings, volume: &CloudVolume) -> CloudVolumeSettings {
    CloudVolumeSettings {
        size: Some(volume.size),
        provisioned: ProvisionedSettings {
            operations: volume.operations_per_s.map(OperationRate::per_s),
            throughput: volume.bytes_per_s.map(ByteRate),
        },
        ..settings.clone()
    }
}

/// The most operations and bytes that a volume of the offer ever lets through, in thousandths per second.
pub(crate) fn peaks(offer: &Offer<'_>) -> Option<(u64, u64)> {
    let settings = settings_of(offer.product, &offer.rented.as_ref()?.volume).ok()?;
    let limits = limits(&settings).ok()?;
    Some((limits.operations.peak(), limits.throughput.peak()))
}

/// Returns the settings of the volume of an offer.
pub(crate) fn settings_of(product: &Product, volume: &CloudVolume) -> Result<CloudVolumeSettings, StudyError> {
    Ok(order(&settings(product)?, volume))
}

fn settings(product: &Product) -> Result<CloudVolumeSettings, StudyError> {
    let settings = product.settings.clone().unwrap_or_default();
    serde_json::from_value(settings).map_err(|_| settings_fault(product))
}

/// Makes the design of an offer of volumes. `saves_up` replaces the time for which their settings save up unused
/// limits.
pub(super) fn design(offer: &Offer<'_>, volume: &CloudVolume, saves_up: Option<Nanos>) -> Result<Design, StudyError> {
    let settings = settings_of(offer.product, volume)?;
    let settings = CloudVolumeSettings { saves_up: saves_up.unwrap_or(settings.saves_up), ..settings };
    let counted = (settings.operations.unit, settings.operations.merge, settings.throughput.whole_units);
    let allowed = limits(&settings).map_err(|fault| StudyError::design(DesignFault::Settings(fault.to_string())))?;
    let alike = format!("{} x {allowed:?} {counted:?} {:?} {}", offer.count, settings.latency, settings.queue_depth);
    let system: System = striped("volume", DeviceDescription::new(settings), offer.count)?;
    let kind = if offer.count == 1 { "cloud-volume" } else { "array" };
    let (name, title, device_count) = (offer.name(), offer.title(), offer.devices());
    Ok(Design { name, title, kind, device_count, system, on_disks: false, limits: Some(alike), flash: None })
}

/// The capacity on sale of a volume.
pub(super) fn capacity(volume: &CloudVolume) -> Capacity {
    Capacity { bytes: volume.size, dies: None }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn settings(product: &Product) -> CloudVolumeSettings {
        super::settings(product).unwrap()
    }

    #[test]
    fn rates_are_rounded_up_to_what_people_order() {
        let rounded = [0.0, 3.2, 99.0, 101.0, 7_143.0, 7_100.0, 12_300.0].map(|value| round_up(value, 2));
        assert_eq!(rounded, [0.0, 4.0, 99.0, 110.0, 7_200.0, 7_100.0, 13_000.0]);
    }

    /// 5,000 operations a second at 70 % utilisation need 7,143, and an expert orders 7,200 of gp3. Its 125 MiB/s are
    /// free, and enough for 16 KiB each (78 MiB/s, so 112 MiB/s at 70 %).
    #[test]
    fn an_order_is_the_least_that_carries_the_load_first() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let gp3 = catalogue.product("aws-ebs-gp3").unwrap();
        let least = (5_000.0 / 0.7, 5_000.0 * 16_384.0 / 0.7);
        let first = orders(&settings(gp3), Bytes::gib(200), least)[0];
        assert_eq!((first.operations_per_s, first.bytes_per_s), (Some(7_200), None));
        // io2 always needs an order for operations.
        let io2 = catalogue.product("aws-ebs-io2").unwrap();
        let few = orders(&settings(io2), Bytes::gib(200), (50.0, 1e6))[0];
        assert_eq!((few.operations_per_s, few.bytes_per_s), (Some(100), None));
        // 8 GiB of gp3 take at most 4,000 operations, so the volume has to be larger.
        let sizes = sizes(gp3, &settings(gp3), 8 << 30, Some(7_200.0));
        assert_eq!(sizes, [8, 15, 60, 120].map(Bytes::gib));
        // One volume may have 80,000, ten times as many, so no stripes are offered.
        assert!(carries(&settings(gp3), Bytes::gib(200), (7_143.0 * AMPLE, 1e8)));
        assert!(!carries(&settings(gp3), Bytes::gib(200), (30_000.0 * AMPLE, 1e8)));
    }

    #[test]
    fn every_order_is_one_that_can_be_made() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        for product in catalogue.products.iter().filter(|product| product.is_cloud_volume()) {
            for (operations, bytes) in [(10.0, 1e5), (9_000.0, 3e8), (300_000.0, 5e9)] {
                for size in sizes(product, &settings(product), 300 << 30, Some(operations)) {
                    let found = orders(&settings(product), size, (operations, bytes));
                    assert!(!found.is_empty(), "{} {size}", product.name);
                    for volume in found {
                        limits(&order(&settings(product), &volume)).unwrap();
                    }
                }
            }
        }
    }
}
