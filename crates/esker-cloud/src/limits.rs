//! What a volume may do: its limits, and what may be provisioned at its size. Pure functions of the settings, which
//! planners call too.

mod check;

use esker_core::{ByteRate, Bytes, Nanos};

use self::check::{check, check_rates};
use crate::{CloudError, CloudVolumeSettings, FineByteRate, OperationRate, SizeClass};

/// The limits of one volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Operations per second.
    pub operations: Limit,
    /// Bytes per second.
    pub throughput: Limit,
    /// Thousandths of an operation per second that the instance lets through.
    pub host_operations: Option<u64>,
    /// Thousandths of a byte per second that the instance lets through.
    pub host_throughput: Option<u64>,
    /// How long each of these limits saves up what is not used.
    pub saves_up: Nanos,
}

/// A limit on operations or on bytes. Rates are in thousandths per second, so that they are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is allowed for good.
    pub sustained: u64,
    /// What is allowed while credits last.
    pub burst: Option<Burst>,
}

/// A burst. Its bucket is full at the start, and filled at the sustained rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Thousandths per second while credits last.
    pub rate: u64,
    /// Operations or bytes in a full bucket.
    pub credits: u64,
}

impl Limit {
    /// What is allowed for good, per second.
    pub fn sustained_per_s(&self) -> f64 {
        self.sustained as f64 / 1e3
    }

    /// The most that is ever allowed, in thousandths per second.
    pub fn peak(&self) -> u64 {
        self.burst.map_or(self.sustained, |burst| burst.rate)
    }

    /// The most that is ever allowed, per second.
    pub fn peak_per_s(&self) -> f64 {
        self.peak() as f64 / 1e3
    }

    /// How long a full bucket lasts at the rate of the burst, rounded down; `None` without a burst.
    pub fn burst_time(&self) -> Option<Nanos> {
        let burst = self.burst?;
        let nanos = u128::from(burst.credits) * THOUSANDTHS_PER_NANO / u128::from(burst.rate - self.sustained);
        Some(Nanos(u64::try_from(nanos).unwrap_or(u64::MAX - 1)))
    }
}

/// Thousandths of one, times nanoseconds of a second.
const THOUSANDTHS_PER_NANO: u128 = 1_000_000_000_000;

/// What may be provisioned at a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provisionable {
    /// Least and most operations per second; `None` if the size alone decides.
    pub operations: Option<(OperationRate, OperationRate)>,
    /// Least and most bytes per second; `None` if the size alone decides. The most needs the most operations where
    /// `bytes_per_operation` says so.
    pub throughput: Option<(FineByteRate, FineByteRate)>,
    /// Bytes per second that may be provisioned for each operation per second, beyond the least.
    pub bytes_per_operation: Option<Bytes>,
}

impl Provisionable {
    /// The fewest operations per second to provision together with `throughput`.
    pub fn operations_for(&self, throughput: ByteRate) -> OperationRate {
        let least = self.operations.map_or(OperationRate::default(), |(least, _)| least);
        match (self.bytes_per_operation, self.throughput) {
            (Some(bytes), Some((free, _))) if FineByteRate::from(throughput) > free => {
                let thousandths = (u128::from(throughput.0) * 1_000).div_ceil(u128::from(bytes.0.max(1)));
                least.max(OperationRate::thousandths(u64::try_from(thousandths).unwrap_or(u64::MAX)))
            }
            _ => least,
        }
    }
}

/// The limits of a volume.
///
/// # Errors
/// The first setting that is not possible, with what would be.
pub fn limits(settings: &CloudVolumeSettings) -> Result<Limits, CloudError> {
    check(settings)?;
    let size = settings.size();
    let operations = operations(settings, size);
    let throughput = throughput(settings, size, operations);
    let allowed = provisionable(settings)?;
    let (operations, throughput) = ordered(settings, &allowed, operations, throughput)?;
    let burst = settings.burst.filter(|burst| burst.largest.is_none_or(|largest| size <= largest));
    let operation_burst = burst.and_then(|burst| burst.operations).and_then(|burst| {
        let rate = burst.rate.as_thousandths();
        let credits = burst.credits.map(|credits| credits.0);
        burst_over(operations, rate, credits, burst.duration)
    });
    let throughput_burst = burst.and_then(|burst| burst.throughput).and_then(|burst| {
        let fixed = burst.rate.map_or(0, |rate| FineByteRate::from(rate).as_thousandths());
        let growing = burst.per_gib.map_or(0, |rate| per_gib(rate.as_thousandths(), size));
        let most = burst.max.map_or(u64::MAX, |rate| FineByteRate::from(rate).as_thousandths());
        let credits = burst.credits_per_gib.map(|credits| per_gib(credits.0, size));
        burst_over(throughput, fixed.saturating_add(growing).min(most), credits, burst.duration)
    });
    let limits = Limits {
        operations: Limit { sustained: operations, burst: operation_burst },
        throughput: Limit { sustained: throughput, burst: throughput_burst },
        host_operations: settings.host.operations.map(OperationRate::as_thousandths),
        host_throughput: settings.host.throughput.map(|rate| FineByteRate::from(rate).as_thousandths()),
        saves_up: settings.saves_up,
    };
    check_rates(&limits)?;
    Ok(limits)
}

/// What may be provisioned for a volume of this size.
///
/// # Errors
/// The first setting that is not possible, with what would be.
pub fn provisionable(settings: &CloudVolumeSettings) -> Result<Provisionable, CloudError> {
    check(settings)?;
    let size = settings.size();
    let rules = &settings.operations;
    let free = operations(settings, size);
    let operations = rules.max_per_gib.map(|rate| {
        let most = per_gib(rate.as_thousandths(), size).max(free);
        let most = most.min(rules.max.map_or(u64::MAX, OperationRate::as_thousandths));
        let least = rules.min.map_or(free, OperationRate::as_thousandths).min(most);
        (OperationRate::thousandths(least), OperationRate::thousandths(most))
    });
    let least = throughput(settings, size, free);
    let most_operations = operations.map_or(free, |(_, most)| most.as_thousandths());
    let most = settings.throughput.max_per_operation.map(|_| most_throughput(settings, least, most_operations));
    Ok(Provisionable {
        operations,
        throughput: most.map(|most| (FineByteRate::thousandths(least), FineByteRate::thousandths(most))),
        bytes_per_operation: settings.throughput.max_per_operation,
    })
}

/// The most throughput that `operations` (in thousandths per second) allow.
fn most_throughput(settings: &CloudVolumeSettings, least: u64, operations: u64) -> u64 {
    let rules = &settings.throughput;
    let by_operations = rules.max_per_operation.map_or(u64::MAX, |bytes| bytes.0.saturating_mul(operations));
    let most = rules.max.map_or(u64::MAX, |rate| FineByteRate::from(rate).as_thousandths());
    by_operations.max(least).min(most)
}

/// What is ordered, or else what every volume of the size has, in thousandths per second.
fn ordered(
    settings: &CloudVolumeSettings,
    allowed: &Provisionable,
    mut operations: u64,
    mut throughput_: u64,
) -> Result<(u64, u64), CloudError> {
    let size = settings.size();
    if let Some(asked) = settings.provisioned.operations {
        let (least, most) = allowed.operations.ok_or(CloudError::NothingToProvision { what: "operations" })?;
        if asked < least || asked > most {
            return Err(CloudError::Provisioned {
                what: "operations",
                found: asked.to_string(),
                size,
                least: least.to_string(),
                most: most.to_string(),
                remedy: larger_size(settings, asked),
            });
        }
        operations = asked.as_thousandths();
        throughput_ = throughput(settings, size, operations);
    }
    if let Some(asked) = settings.provisioned.throughput {
        let (least, _) = allowed.throughput.ok_or(CloudError::NothingToProvision { what: "throughput" })?;
        let most = FineByteRate::thousandths(most_throughput(settings, least.as_thousandths(), operations));
        let fine = FineByteRate::from(asked);
        if fine < least || fine > most {
            let needed = allowed.operations_for(asked);
            let in_reach = fine > most && allowed.operations.is_some_and(|(_, most)| needed <= most);
            let in_reach = in_reach && settings.throughput.max.is_none_or(|max| asked <= max);
            return Err(CloudError::Provisioned {
                what: "throughput",
                found: asked.to_string(),
                size,
                least: least.to_string(),
                most: most.to_string(),
                remedy: in_reach.then(|| format!("set `provisioned.operations` to {needed} or more")),
            });
        }
        throughput_ = fine.as_thousandths();
    }
    Ok((operations, throughput_))
}

/// The size that would allow `asked` operations, in words.
fn larger_size(settings: &CloudVolumeSettings, asked: OperationRate) -> Option<String> {
    let rules = &settings.operations;
    let each = rules.max_per_gib?.as_thousandths().max(1);
    let size = Bytes(asked.as_thousandths().div_ceil(each).checked_mul(1 << 30)?);
    let sold = settings.sizes.is_none_or(|sizes| size <= sizes.max) && rules.max.is_none_or(|max| asked <= max);
    (sold && size > settings.size()).then(|| format!("a `size` of {size} or more allows it"))
}

/// Operations that a volume of `size` has without provisioning, in thousandths per second.
fn operations(settings: &CloudVolumeSettings, size: Bytes) -> u64 {
    let rules = &settings.operations;
    if let Some(rate) = class(settings, size).and_then(|class| class.operations) {
        return rate.as_thousandths();
    }
    let growing = rules.per_gib.map_or(0, |rate| per_gib(rate.as_thousandths(), size));
    let rate = rules.base.as_thousandths().saturating_add(growing);
    let rate = rate.max(rules.min.map_or(0, OperationRate::as_thousandths));
    rate.min(rules.max.map_or(u64::MAX, OperationRate::as_thousandths))
}

/// Throughput of a volume of `size` with `operations`, without provisioning, in thousandths per second.
fn throughput(settings: &CloudVolumeSettings, size: Bytes, operations: u64) -> u64 {
    let rules = &settings.throughput;
    if let Some(rate) = class(settings, size).and_then(|class| class.throughput) {
        return FineByteRate::from(rate).as_thousandths();
    }
    let growing = rules.per_gib.map_or(0, |rate| per_gib(rate.as_thousandths(), size));
    let with_operations = rules.per_operation.map_or(0, |bytes| bytes.0.saturating_mul(operations));
    let rate = rules.base.as_thousandths().saturating_add(growing).saturating_add(with_operations);
    rate.min(rules.max.map_or(u64::MAX, |rate| FineByteRate::from(rate).as_thousandths()))
}

fn class(settings: &CloudVolumeSettings, size: Bytes) -> Option<&SizeClass> {
    settings.classes.iter().find(|class| size <= class.size)
}

/// `each` for every GiB of `size`, rounded down.
fn per_gib(each: u64, size: Bytes) -> u64 {
    u64::try_from((u128::from(each) * u128::from(size.0)) >> 30).unwrap_or(u64::MAX)
}

fn burst_over(sustained: u64, rate: u64, credits: Option<u64>, duration: Option<Nanos>) -> Option<Burst> {
    if rate <= sustained {
        return None;
    }
    let for_duration = |duration: Nanos| {
        let credits = u128::from(rate - sustained) * u128::from(duration.0) / THOUSANDTHS_PER_NANO;
        u64::try_from(credits).unwrap_or(u64::MAX)
    };
    Some(Burst { rate, credits: credits.or(duration.map(for_duration))? })
}
