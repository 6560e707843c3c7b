//! Moments of a run: after its start, or by the clock of its trace.

use super::page::micros;
use super::units::Digits;

/// A moment after the start, more precise the earlier it is: "0.4 s", "14 s", "25 min". From two hours on as hours and
/// minutes, "02:14", with days in front if there are any.
pub fn clock(seconds: f64) -> String {
    if seconds < 120.0 {
        return format!("{} s", Digits::Short.write(seconds));
    }
    let minutes = (seconds / 60.0).floor() as u64;
    let (days, hours, rest) = (minutes / 1_440, minutes / 60 % 24, minutes % 60);
    match days {
        0 if minutes < 120 => format!("{minutes} min"),
        0 => format!("{hours:02}:{rest:02}"),
        _ => format!("day {} {hours:02}:{rest:02}", days + 1),
    }
}

/// Whether a first arrival, in nanoseconds since 1970, is a time of day: later than 1980. Relative clocks begin near
/// zero.
pub fn is_clock(first_ns: u64) -> bool {
    first_ns >= 315_532_800_000_000_000
}

/// A moment of the run, given in seconds after its start. If the trace has a clock (`first_ns` since 1970), by that
/// clock: "Sat 24, 02:00 UTC", in the first hour with seconds. Otherwise "13:05:10", with days if there are any.
pub fn moment(seconds: f64, first_ns: u64) -> String {
    if is_clock(first_ns) {
        return time_of_day(seconds, first_ns as f64 / 1e9 + seconds);
    }
    let whole = seconds.max(0.0).round() as u64;
    let (days, hours, minutes, rest) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60, whole % 60);
    match days {
        0 if whole < 60 => micros(seconds.max(0.0) * 1e6).text(),
        0 => format!("{hours:02}:{minutes:02}:{rest:02}"),
        _ => format!("day\u{a0}{}, {hours:02}:{minutes:02}", days + 1),
    }
}

fn time_of_day(seconds: f64, since_1970: f64) -> String {
    // In the first hour seconds are shown: all moments of a short trace lie within a minute or two.
    let in_seconds = (seconds < 3_600.0).then(|| since_1970.floor() as u64 % 60);
    let minutes = match in_seconds {
        Some(_) => since_1970.floor() as u64 / 60,
        None => (since_1970 / 60.0).round() as u64,
    };
    let days = minutes / 1440;
    // 1970 began on a Thursday.
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(days % 7) as usize];
    let (day, hour, minute) = (day_of_month(days), minutes / 60 % 24, minutes % 60);
    let second = in_seconds.map_or_else(String::new, |second| format!(":{second:02}"));
    format!("{weekday}\u{a0}{day}, {hour:02}:{minute:02}{second}\u{a0}UTC")
}

/// Day of the month from days since 1970-01-01. Years are counted from March, so that a leap day is the last day of its
/// year.
fn day_of_month(days: u64) -> u64 {
    let of_era = (days + 719_468) % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    of_year - (153 * month + 2) / 5 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_as_clock_times() {
        assert_eq!(moment(12.0, 0), "12\u{a0}s");
        assert_eq!(moment(3_725.0, 0), "01:02:05");
        assert_eq!(moment(90_000.0, 0), "day\u{a0}2, 01:00");
        // date -u -d @1172163600; date -u -d @1709208000 (a leap day)
        assert_eq!(moment(3_660.0, 1_172_163_600_000_000_000), "Thu\u{a0}22, 18:01\u{a0}UTC");
        assert_eq!(moment(0.0, 1_709_208_000_000_000_000), "Thu\u{a0}29, 12:00:00\u{a0}UTC");
        assert_eq!(moment(67.8, 1_709_208_000_000_000_000), "Thu\u{a0}29, 12:01:07\u{a0}UTC");
    }

    #[test]
    fn moments_after_the_start_are_as_precise_as_they_are_early() {
        let moments = [0.42, 119.0, 1_530.0, 8_040.0, 90_061.0].map(clock);
        assert_eq!(moments, ["0.42 s", "119 s", "25 min", "02:14", "day 2 01:01"]);
    }
}
