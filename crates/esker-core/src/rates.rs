//! Detects rates that no drive reaches.

use crate::words;

/// Bytes per second of a link of four lanes of PCI Express 5.0 (32 GT/s a lane, 128 of 130 bits are data).
const BYTES_PER_S_MAX: f64 = 15.75e9;
/// More requests per second than any drive on such a link serves (the fastest data sheets give 3.3 million).
const REQUESTS_PER_S_MAX: f64 = 4e6;
/// Shorter recordings are not judged: a burst that is only put into a queue may well be that fast.
const REQUESTS_MIN: u64 = 1_000;

/// A warning if a recording is faster than drives are: `requests` with `bytes` within `duration_s` on `volumes`
/// volumes. Its times were then most likely read in a wrong unit.
pub fn unlikely_rate(requests: u64, bytes: u64, duration_s: f64, volumes: u64) -> Option<String> {
    if requests < REQUESTS_MIN || duration_s <= 0.0 {
        return None;
    }
    let volumes = volumes.max(1);
    let (requests_per_s, bytes_per_s) = (requests as f64 / duration_s, bytes as f64 / duration_s);
    let (found, limit) = if bytes_per_s > BYTES_PER_S_MAX * volumes as f64 {
        let limit = format!("{:.2} GB/s, what four lanes of PCI Express 5.0 carry", BYTES_PER_S_MAX / 1e9);
        (format!("{} GB/s", words::digits(bytes_per_s / 1e9)), limit)
    } else if requests_per_s > REQUESTS_PER_S_MAX * volumes as f64 {
        let limit = format!("{}/s, more than any drive answers", words::count(REQUESTS_PER_S_MAX as u64));
        (format!("{} requests/s", words::count(requests_per_s as u64)), limit)
    } else {
        return None;
    };
    let (on, each) = match volumes {
        1 => (String::new(), ""),
        _ => (format!(" on {volumes} volumes"), " for each of them"),
    };
    Some(format!(
        "The trace has {found}{on}; the most that is thought possible{each} is {limit}. Its times may have been taken \
         in a wrong unit: `esker trace filter --speed 0.001` makes a trace a thousand times as slow."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rates_that_no_drive_has_are_remarked_on() {
        // 24 GB/s, and a thousandth of that.
        assert!(unlikely_rate(6_000, 24_000_000_000, 1.0, 1).is_some_and(|text| {
            text.contains("24 GB/s") && text.contains("15.75 GB/s") && text.contains("--speed 0.001")
        }));
        assert_eq!(unlikely_rate(6_000, 24_000_000_000, 1_000.0, 1), None);
        // Two volumes may reach this rate together.
        assert_eq!(unlikely_rate(6_000, 24_000_000_000, 1.0, 2), None);
        assert!(unlikely_rate(5_000_000, 512 * 5_000_000, 1.0, 1).is_some_and(|text| text.contains("requests/s")));
        // A short burst.
        assert_eq!(unlikely_rate(64, 64 << 12, 1e-6, 1), None);
        assert_eq!(unlikely_rate(5_000, 1 << 30, 0.0, 1), None);
    }
}
