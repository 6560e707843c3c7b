//! What settings of a volume are possible.

use esker_core::{Bytes, Nanos};

use super::Limits;
use crate::{CloudError, CloudVolumeSettings, LatencyDistribution};

/// Rates beyond this many thousandths per second are refused: a million times what volumes have, and few enough that
/// token buckets can count them for centuries.
const RATE_MAX: u64 = 1_000_000_000_000_000_000;
/// With more than this, the limits of a trace of an hour would be none.
const SAVES_UP_MAX: Nanos = Nanos::from_secs(3_600);

pub(super) fn check(settings: &CloudVolumeSettings) -> Result<(), CloudError> {
    check_size(settings)?;
    check_classes(settings)?;
    check_rules(settings)?;
    check_burst(settings)?;
    check_latency("latency.read", &settings.latency.read)?;
    check_latency("latency.write", &settings.latency.write)?;
    if let Some(merged) = &settings.latency.merged {
        check_latency("latency.merged", merged)?;
        if !settings.operations.merge {
            return contradiction(
                "latency.merged",
                "`latency.merged` needs `operations.merge`: nothing is merged else",
            );
        }
    }
    if settings.saves_up > SAVES_UP_MAX {
        return refuse("saves_up", "at most 1h", settings.saves_up);
    }
    if !(1..=1 << 16).contains(&settings.queue_depth) {
        return refuse("queue_depth", "1 to 65,536", settings.queue_depth);
    }
    Ok(())
}

fn check_size(settings: &CloudVolumeSettings) -> Result<(), CloudError> {
    let size = settings.size();
    if size < Bytes::SECTOR {
        return refuse("size", "at least one sector of 512B", size);
    }
    // More than 2^60 bytes: no such volume, and a full scan of it could not be counted in credits.
    if size > Bytes(1 << 60) {
        return refuse("size", "at most 1048576TiB", size);
    }
    match settings.sizes {
        Some(sizes) if sizes.min > sizes.max => refuse("sizes.min", "no more than `sizes.max`", sizes.min),
        Some(sizes) if !(sizes.min..=sizes.max).contains(&size) => {
            Err(CloudError::Size { size, min: sizes.min, max: sizes.max })
        }
        _ => Ok(()),
    }
}

fn check_classes(settings: &CloudVolumeSettings) -> Result<(), CloudError> {
    for (index, pair) in settings.classes.windows(2).enumerate() {
        if pair[0].size >= pair[1].size {
            let next = index + 1;
            let message = format!("`classes[{next}].size` is {}, no more than that of the class before", pair[1].size);
            return contradiction(format!("classes[{next}].size"), message);
        }
    }
    match settings.classes.last() {
        Some(last) if settings.size() > last.size => {
            let message = format!("`size` is {}, but the largest of `classes` ends at {}", settings.size(), last.size);
            contradiction("size", message)
        }
        _ => Ok(()),
    }
}

fn check_rules(settings: &CloudVolumeSettings) -> Result<(), CloudError> {
    let (operations, throughput) = (&settings.operations, &settings.throughput);
    if let (Some(min), Some(max)) = (operations.min, operations.max)
        && min > max
    {
        return refuse("operations.min", "no more than `operations.max`", min);
    }
    if operations.unit == Some(Bytes::ZERO) {
        return refuse("operations.unit", "at least 1B", Bytes::ZERO);
    }
    if operations.unit.is_none() && operations.merge {
        return contradiction(
            "operations.merge",
            "`operations.merge` needs `operations.unit`, the unit that is shared",
        );
    }
    if operations.unit.is_none() && throughput.whole_units {
        return contradiction(
            "throughput.whole_units",
            "`throughput.whole_units` needs `operations.unit`, the unit that is counted",
        );
    }
    Ok(())
}

fn check_burst(settings: &CloudVolumeSettings) -> Result<(), CloudError> {
    let Some(burst) = settings.burst else { return Ok(()) };
    if let Some(operations) = burst.operations
        && operations.credits.is_some() == operations.duration.is_some()
    {
        let message = "`burst.operations` needs either `credits` or `duration`, the size of its bucket";
        return contradiction("burst.operations", message);
    }
    if let Some(throughput) = burst.throughput
        && throughput.credits_per_gib.is_some() == throughput.duration.is_some()
    {
        let message = "`burst.throughput` needs either `credits_per_gib` or `duration`, the size of its bucket";
        return contradiction("burst.throughput", message);
    }
    Ok(())
}

fn check_latency(key: &str, latency: &LatencyDistribution) -> Result<(), CloudError> {
    let LatencyDistribution { median, p99 } = *latency;
    if median == Nanos::ZERO {
        return contradiction(format!("{key}.median"), format!("`{key}.median` is zero; a request takes at least 1ns"));
    }
    if p99 > Nanos::from_secs(60) {
        return contradiction(format!("{key}.p99"), format!("`{key}.p99` is {p99}, longer than a minute"));
    }
    if p99 < median {
        let message = format!("`{key}.p99` is {p99}, less than the median of {median}");
        return contradiction(format!("{key}.p99"), message);
    }
    Ok(())
}

pub(super) fn check_rates(limits: &Limits) -> Result<(), CloudError> {
    let rates = [
        ("operations", Some(limits.operations.sustained)),
        ("throughput", Some(limits.throughput.sustained)),
        ("burst.operations", limits.operations.burst.map(|burst| burst.rate)),
        ("burst.throughput", limits.throughput.burst.map(|burst| burst.rate)),
        ("host.operations", limits.host_operations),
        ("host.throughput", limits.host_throughput),
    ];
    for (key, rate) in rates {
        match rate {
            Some(0) => return contradiction(key, format!("`{key}` lets nothing through at this size")),
            Some(rate) if rate > RATE_MAX => {
                return contradiction(key, format!("`{key}` comes to more than 10^15 per second"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn refuse<T>(key: &'static str, expected: &str, found: impl ToString) -> Result<T, CloudError> {
    Err(CloudError::OutOfRange { key, expected: expected.to_string(), found: found.to_string() })
}

fn contradiction<T>(key: impl Into<String>, message: impl Into<String>) -> Result<T, CloudError> {
    Err(CloudError::Contradiction { key: key.into(), message: message.into() })
}
