//! What can be ordered of cloud volumes: sizes and rates.

use esker_catalogue::{CloudVolume, PriceRate, Product};
use esker_cloud::{CloudVolumeSettings, HostSettings, OperationRate, ProvisionedSettings, limits, provisionable};
use esker_core::{ByteRate, Bytes};

use crate::StudyError;
use crate::offers::{Part, settings_fault};

const GIB: u64 = 1 << 30;
/// Sizes that are offered, as multiples of what the data need. Where limits grow with the size, a larger volume has
/// higher limits.
const SIZES: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
/// Rates that are offered, as multiples of the lowest rate that can keep the budget for utilisation. Requests that come
/// in bursts need more.
const RATES: [f64; 8] = [1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0];
/// Multiples of the load for which volumes are offered that carry it by their size alone.
const LOADS: [f64; 5] = [1.0, 1.5, 2.0, 4.0, 8.0];
/// At most this many size classes are offered.
const CLASSES_MAX: usize = 5;

/// If one volume can be ordered that carries this many times the lowest rate, no larger numbers of volumes are offered:
/// each further volume may fail, and somebody has to look after the stripe.
pub(super) const AMPLE: f64 = 4.0;

/// Returns true if a volume of `size` can be ordered that sustains `asked` operations and bytes per second.
pub(super) fn carries(settings: &CloudVolumeSettings, size: Bytes, asked: (f64, f64)) -> bool {
    let sized = CloudVolumeSettings { size: Some(size), ..settings.clone() };
    let (Ok(allowed), Ok(plain)) = (provisionable(&sized), limits(&sized)) else { return false };
    let operations = allowed.operations.map_or(plain.operations.sustained, |(_, most)| most.as_thousandths());
    let bytes = allowed.throughput.map_or(plain.throughput.sustained, |(_, most)| most.as_thousandths());
    operations as f64 / 1e3 >= asked.0 && bytes as f64 / 1e3 >= asked.1
}

pub(super) fn plain(size: Bytes) -> CloudVolume {
    CloudVolume { size, operations_per_s: None, bytes_per_s: None }
}

/// Returns the sizes to offer for at least `least` bytes and, if given, `operations` per second.
pub(super) fn sizes(
    product: &Product,
    settings: &CloudVolumeSettings,
    least: u64,
    operations: Option<f64>,
) -> Vec<Bytes> {
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

/// Returns the sizes of at least `capacity` from which on a volume carries `least` operations and bytes per second, and
/// multiples of them, by its size alone: bursts are faster than the mean of a busy stretch.
pub(super) fn sizes_that_carry(
    product: &Product,
    settings: &CloudVolumeSettings,
    capacity: Bytes,
    least: (f64, f64),
) -> Vec<Bytes> {
    let Some(range) = product.volume_sizes else { return Vec::new() };
    let (operations, throughput) = (&settings.operations, &settings.throughput);
    let size = |times: f64| {
        let by_operations = operations.per_gib.map_or(0.0, |rate| {
            (least.0 * times * 1e3 - operations.base.as_thousandths() as f64) / rate.as_thousandths().max(1) as f64
        });
        let by_bytes = throughput.per_gib.map_or(0.0, |rate| {
            (least.1 * times * 1e3 - throughput.base.as_thousandths() as f64) / rate.as_thousandths().max(1) as f64
        });
        let gib = by_operations.max(by_bytes).ceil().clamp(0.0, 1e9) as u64;
        Bytes((gib * GIB).max(capacity.0.next_multiple_of(GIB)))
    };
    let sizes = LOADS.map(size);
    let fits = |size: &Bytes| (range.least..=range.most).contains(size) && carries(settings, *size, least);
    sizes.into_iter().filter(fits).collect()
}

/// Returns what can be ordered with a volume of `size` so that it carries at least `least` operations and bytes per
/// second.
pub(super) fn orders(settings: &CloudVolumeSettings, size: Bytes, least: (f64, f64)) -> Vec<CloudVolume> {
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
fn order(settings: &CloudVolumeSettings, volume: &CloudVolume) -> CloudVolumeSettings {
    CloudVolumeSettings {
        size: Some(volume.size),
        provisioned: ProvisionedSettings {
            operations: volume.operations_per_s.map(OperationRate::per_s),
            throughput: volume.bytes_per_s.map(ByteRate),
        },
        ..settings.clone()
    }
}

/// Returns the settings of each volume of a part. Of a type whose volumes share the limits of one of their total size,
/// the instance lets each have its part of them.
pub(super) fn settings_of(part: &Part<'_>, volume: &CloudVolume) -> Result<CloudVolumeSettings, StudyError> {
    let (product, count) = (part.product, u64::from(part.count));
    let each = order(&settings(product)?, volume);
    if product.shared_limits.is_none() || count < 2 {
        return Ok(each);
    }
    let all = CloudVolume { size: Bytes(volume.size.0.saturating_mul(count)), ..*volume };
    // One of that size cannot be ordered, but says what they share.
    let unbounded = CloudVolumeSettings { sizes: None, ..order(&settings(product)?, &all) };
    let shared = limits(&unbounded).map_err(|_| settings_fault(product))?;
    let operations = OperationRate::thousandths(shared.operations.peak() / count);
    let throughput = ByteRate(shared.throughput.peak() / 1_000 / count);
    let host = HostSettings {
        operations: Some(each.host.operations.map_or(operations, |own| own.min(operations))),
        throughput: Some(each.host.throughput.map_or(throughput, |own| own.min(throughput))),
    };
    Ok(CloudVolumeSettings { host, ..each })
}

pub(super) fn settings(product: &Product) -> Result<CloudVolumeSettings, StudyError> {
    let settings = product.settings.clone().unwrap_or_default();
    serde_json::from_value(settings).map_err(|_| settings_fault(product))
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

    /// A balanced disk of Google has 3,000 operations a second, and 6 more for each GiB.
    #[test]
    fn a_volume_that_carries_the_load_holds_the_data_too() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let product = catalogue.product("gcp-pd-balanced").unwrap();
        let sizes = |gib, operations| {
            let sizes = sizes_that_carry(product, &settings(product), Bytes::gib(gib), (operations, 1e6));
            sizes.iter().map(|size| size.0 >> 30).collect::<Vec<_>>()
        };
        assert_eq!(sizes(10, 3_600.0), [100, 400, 700, 1_900, 4_300]);
        assert_eq!(sizes(5_478, 3_600.0), [5_478; 5]);
        // It has 80,000 at most, and 64 TiB.
        assert_eq!(sizes(10, 60_000.0), [9_500, 14_500, 19_500, 39_500]);
        assert!(sizes(70 << 10, 3_600.0).is_empty());
    }

    /// Two of 10 GiB share 3,120 operations a second, where two that have their own have 6,120 together.
    #[test]
    fn volumes_that_share_their_limits_have_their_part_of_those_of_one() {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let of = |name: &str, count: u32| {
            let capacity = esker_catalogue::Capacity { bytes: Bytes::gib(10), dies: None };
            let part = Part::bought(catalogue.product(name).unwrap(), capacity, count);
            limits(&settings_of(&part, &plain(Bytes::gib(10))).unwrap()).unwrap()
        };
        assert_eq!(of("gcp-pd-balanced", 1).host_operations, None);
        assert_eq!(of("gcp-pd-balanced", 2).host_operations, Some(3_120_000 / 2));
        assert_eq!(of("aws-ebs-gp3", 2).host_operations, None);
        // Of as many as hold more than one may, too: one of that size would have the most that there is.
        let large = Part::bought(
            catalogue.product("gcp-pd-ssd").unwrap(),
            esker_catalogue::Capacity { bytes: Bytes::gib(64 << 10), dies: None },
            2,
        );
        let large = limits(&settings_of(&large, &plain(Bytes::gib(64 << 10))).unwrap()).unwrap();
        assert_eq!(large.host_operations, Some(100_000_000 / 2));
    }
}
