//! Numbers as people say them, the same in reports and on terminals.

/// "87 µs", "4.3 ms", "1.2 s".
pub fn time(micros: f64) -> String {
    match micros {
        micros if micros < 999.5 => format!("{} µs", digits(micros)),
        micros if micros < 999_500.0 => format!("{} ms", digits(micros / 1e3)),
        micros => format!("{} s", digits(micros / 1e6)),
    }
}

/// "4 minutes", "2.5 hours", "7 days".
pub fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        seconds if seconds < 1.0 => (seconds * 1e3, "milliseconds"),
        seconds if seconds < 120.0 => (seconds, "seconds"),
        seconds if seconds < 7_200.0 => (seconds / 60.0, "minutes"),
        seconds if seconds < 172_800.0 => (seconds / 3_600.0, "hours"),
        seconds => (seconds / 86_400.0, "days"),
    };
    format!("{} {unit}", digits(value))
}

/// "7 months", "12 years".
pub fn years(years: f64) -> String {
    match years {
        years if years < 1.0 / 12.0 => format!("{} days", digits(years * 365.0)),
        years if years < 2.0 => format!("{} months", digits(years * 12.0)),
        years => format!("{} years", digits(years)),
    }
}

/// "4.8 GiB".
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", digits(value), UNITS[unit])
}

/// "45 %".
pub fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// "3.1", "14".
pub fn factor(value: f64) -> String {
    digits(value)
}

/// "1.07", "-" where nothing was written.
pub fn amplification(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.2}"))
}

/// Four significant digits where a value has a fraction: published values are compared to the last of theirs.
pub fn published(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// "123 456".
pub fn count(value: u64) -> String {
    let text = value.to_string();
    let bytes: Vec<&[u8]> = text.as_bytes().rchunks(3).rev().collect();
    bytes.iter().map(|chunk| std::str::from_utf8(chunk).expect("digits")).collect::<Vec<_>>().join(" ")
}

/// A moment after the start, as precise as it is early: "0.4 s", "14 s", "25 min", and from two hours on "02:14", hours
/// and minutes, with days in front where there are any.
pub fn clock(seconds: f64) -> String {
    if seconds < 120.0 {
        return format!("{} s", digits(seconds));
    }
    let minutes = (seconds / 60.0).floor() as u64;
    let (days, hours, rest) = (minutes / 1_440, minutes / 60 % 24, minutes % 60);
    match days {
        0 if minutes < 120 => format!("{minutes} min"),
        0 => format!("{hours:02}:{rest:02}"),
        _ => format!("day {} {hours:02}:{rest:02}", days + 1),
    }
}

/// A kind of resource in words.
pub fn resource(name: &str) -> &'static str {
    match name {
        "bus" => "flash bus",
        "die" => "flash dies",
        "arm" => "disk arm",
        "link" => "link to the host",
        "server" => "server",
        _ => "busiest part",
    }
}

/// Two or three significant digits: enough for people.
pub fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 9.95 => format!("{value:.0}"),
        size if size >= 0.995 || size == 0.0 => format!("{value:.1}").trim_end_matches(".0").to_string(),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_papers_print() {
        assert_eq!(published(43.824), "43.82");
        assert_eq!(published(6.39428), "6.394");
        assert_eq!(published(61_255.4), "61255");
        assert_eq!(published(130.6), "130.6");
        assert_eq!(published(223.0), "223");
        assert_eq!(published(0.0), "0");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(time(87.4), "87 µs");
        assert_eq!(time(999.7), "1 ms");
        assert_eq!(time(4_310.0), "4.3 ms");
        assert_eq!(duration(259.6), "4.3 minutes");
        assert_eq!(years(1.5), "18 months");
        assert_eq!(bytes(5.1e9), "4.7 GiB");
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(count(67), "67");
        assert_eq!(clock(0.42), "0.42 s");
        assert_eq!(clock(119.0), "119 s");
        assert_eq!(clock(1_530.0), "25 min");
        assert_eq!(clock(8_040.0), "02:14");
        assert_eq!(clock(90_061.0), "day 2 01:01");
        assert_eq!(percent(0.452), "45 %");
    }
}
