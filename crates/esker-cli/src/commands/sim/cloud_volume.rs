//! What a cloud volume held back, in words.

use esker_core::words;
use esker_results::CloudVolumeReport;

/// One line for the limits, one for each sort of credits.
pub(super) fn describe(volume: &CloudVolumeReport) -> String {
    let limit = |name: &str| volume.limits.get(name).map_or(0.0, |limit| limit.tokens_per_s);
    let mut text = format!(
        "\n  up to {} operations/s and {}/s; {} requests held back, during {}",
        words::digits(limit("operations")),
        words::bytes(limit("throughput")),
        words::count(volume.throttled_requests),
        words::duration(volume.throttled_s),
    );
    for (name, credits) in &volume.credits {
        let amount = |value: f64| match name.as_str() {
            "throughput" => words::bytes(value.max(0.0)),
            _ => words::count(value.max(0.0) as u64),
        };
        let (least, capacity) = (amount(credits.least), amount(credits.capacity));
        text += &match credits.first_dry_s {
            Some(at) => format!("\n  credits for {name}: ran dry {} after the start", words::duration(at)),
            None => format!("\n  credits for {name}: {least} of {capacity} at the lowest"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use esker_results::{CloudLimitReport, CreditReport};

    use super::*;

    #[test]
    fn credits_are_told_by_what_they_are_for() {
        let mut volume = CloudVolumeReport { throttled_requests: 12_345, throttled_s: 90.0, ..Default::default() };
        let rate = |tokens_per_s| CloudLimitReport { tokens_per_s, ..CloudLimitReport::default() };
        volume.limits.insert("operations".to_string(), rate(3000.0));
        volume.limits.insert("throughput".to_string(), rate(f64::from(125 << 20)));
        assert_eq!(
            describe(&volume),
            "\n  up to 3000 operations/s and 125 MiB/s; 12 345 requests held back, during 90 seconds"
        );
        let dry = CreditReport { first_dry_s: Some(2000.0), ..CreditReport::default() };
        let wet = CreditReport { least: f64::from(1 << 20), capacity: f64::from(5 << 20), ..CreditReport::default() };
        volume.credits = [("operations".to_string(), dry), ("throughput".to_string(), wet)].into();
        let text = describe(&volume);
        assert!(text.contains("\n  credits for operations: ran dry 33 minutes after the start"), "{text}");
        assert!(text.contains("\n  credits for throughput: 1 MiB of 5 MiB at the lowest"), "{text}");
    }
}
