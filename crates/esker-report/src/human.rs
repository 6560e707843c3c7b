//! Numbers as people read them: three significant digits and a unit that keeps them short.

/// A number and its unit, apart, so that tables can align them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quantity {
    pub(crate) number: String,
    pub(crate) unit: &'static str,
}

impl Quantity {
    /// In one piece, with a space that does not break.
    pub(crate) fn text(&self) -> String {
        if self.unit.is_empty() { self.number.clone() } else { format!("{}\u{a0}{}", self.number, self.unit) }
    }
}

/// A unit for values from `scale` on.
type Step = (f64, &'static str);

const TIMES: &[Step] =
    &[(1.0, "µs"), (1e3, "ms"), (1e6, "s"), (120e6, "min"), (2.0 * 3600e6, "h"), (2.0 * 86_400e6, "days")];
/// What one of each unit above is in microseconds.
const TIME_UNITS: &[f64] = &[1.0, 1e3, 1e6, 60e6, 3600e6, 86_400e6];
const BYTES: &[Step] = &[
    (1.0, "B"),
    (1024.0, "KiB"),
    (1048576.0, "MiB"),
    (1073741824.0, "GiB"),
    (1099511627776.0, "TiB"),
    (1125899906842624.0, "PiB"),
];
const BYTES_PER_SECOND: &[Step] =
    &[(1.0, "B/s"), (1024.0, "KiB/s"), (1048576.0, "MiB/s"), (1073741824.0, "GiB/s"), (1099511627776.0, "TiB/s")];
const RATES: &[Step] = &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")];
const COUNTS: &[Step] = &[(1.0, ""), (1e6, "M"), (1e9, "G"), (1e12, "T")];

/// A time or a duration, given in microseconds.
pub(crate) fn micros(value: f64) -> Quantity {
    let at = step_of(value, TIMES);
    // From here on units are not decimal: 119.7 s stay seconds.
    let at = if at < 2 { step_of(as_read(value / TIME_UNITS[at]) * TIME_UNITS[at], TIMES) } else { at };
    Quantity { number: significant(value / TIME_UNITS[at]), unit: TIMES[at].1 }
}

/// A size.
pub(crate) fn bytes(value: f64) -> Quantity {
    scaled(value, BYTES)
}

/// Bytes per second.
pub(crate) fn bytes_per_second(value: f64) -> Quantity {
    scaled(value, BYTES_PER_SECOND)
}

/// Events per second.
pub(crate) fn per_second(value: f64) -> Quantity {
    scaled(value, RATES)
}

/// A count: exact below a million.
pub(crate) fn count(value: f64) -> Quantity {
    if value.abs() < 1e6 && value.fract() == 0.0 {
        return Quantity { number: grouped(&format!("{value:.0}")), unit: "" };
    }
    scaled(value, COUNTS)
}

/// A plain number without a unit.
pub(crate) fn plain(value: f64) -> Quantity {
    Quantity { number: significant(value), unit: "" }
}

/// A factor such as write amplification, with two decimals.
pub(crate) fn factor(value: f64) -> Quantity {
    Quantity { number: format!("{value:.2}"), unit: "" }
}

/// A number of years.
pub(crate) fn years(value: f64) -> Quantity {
    let number = significant(value);
    Quantity { unit: if number == "1" || number == "1.00" { "year" } else { "years" }, number }
}

/// A relative change, in per cent, with its sign.
pub(crate) fn change(value: f64) -> Quantity {
    let quantity = share(value.abs());
    let sign = if quantity.number == "0" {
        ""
    } else if value < 0.0 {
        "\u{2212}"
    } else {
        "+"
    };
    Quantity { number: format!("{sign}{}", quantity.number), unit: quantity.unit }
}

/// A share of one, in per cent. What is not everything never reads as 100 %, nor what is not nothing as 0 %.
pub(crate) fn share(value: f64) -> Quantity {
    let percent = value * 100.0;
    let mut digits = if percent.abs() < 10.0 { 2 } else { 1 };
    let mut number = format!("{percent:.digits$}");
    while digits < 6 && percent < 100.0 && percent > 0.0 && reads_as_limit(&number) {
        digits += 1;
        number = format!("{percent:.digits$}");
    }
    if number.contains('.') {
        number = number.trim_end_matches('0').trim_end_matches('.').to_string();
    }
    Quantity { number, unit: "%" }
}

fn reads_as_limit(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(|read| read == 0.0 || read == 100.0)
}

/// Whether a first arrival is a time of day, in nanoseconds since 1970: later than 1980.
/// Relative clocks begin near zero.
pub(crate) fn is_clock(first_ns: f64) -> bool {
    first_ns >= 315_532_800e9
}

/// A moment of the run, given in seconds after its start. Where the trace has a clock (`first_ns` since 1970), by that:
/// "Sat 24, 02:00 UTC", in the first hour with its seconds; else "13:05:10", with days where there are some.
pub(crate) fn moment(seconds: f64, first_ns: f64) -> String {
    if is_clock(first_ns) {
        let since_1970 = first_ns / 1e9 + seconds;
        // A trace of seconds has all its moments within a minute or two.
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
        return format!("{weekday}\u{a0}{day}, {hour:02}:{minute:02}{second}\u{a0}UTC");
    }
    let whole = seconds.max(0.0).round() as u64;
    let (days, hours, minutes, rest) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60, whole % 60);
    match days {
        0 if whole < 60 => micros(seconds.max(0.0) * 1e6).text(),
        0 => format!("{hours:02}:{minutes:02}:{rest:02}"),
        _ => format!("day\u{a0}{}, {hours:02}:{minutes:02}", days + 1),
    }
}

/// Day of the month, by days since 1970-01-01: years are counted from March, so that a leap day ends them.
fn day_of_month(days: u64) -> u64 {
    let of_era = (days + 719_468) % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    of_year - (153 * month + 2) / 5 + 1
}

/// Index of the largest step that `value` reaches.
fn step_of(value: f64, steps: &[Step]) -> usize {
    steps.iter().rposition(|(from, _)| value.abs() >= *from).unwrap_or(0)
}

fn scaled(value: f64, steps: &[Step]) -> Quantity {
    let mut at = step_of(value, steps);
    // 1023.9 KiB would read as 1024 KiB, and 999.9 k as 1000 k.
    if let Some((next, _)) = steps.get(at + 1)
        && as_read(value / steps[at].0) * steps[at].0 >= *next
    {
        at += 1;
    }
    Quantity { number: significant(value / steps[at].0), unit: steps[at].1 }
}

/// Three significant digits, all digits before the point, no zeroes at the end of a fraction.
fn significant(value: f64) -> String {
    grouped(&rounded(value))
}

fn rounded(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    // The exponent after rounding: 9.996 is written as 10.0.
    let exponent = format!("{value:.2e}").rsplit('e').next().and_then(|digits| digits.parse::<i32>().ok());
    let digits = (2 - exponent.unwrap_or(0)).clamp(0, 9) as usize;
    let number = format!("{value:.digits$}");
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.').to_string() } else { number }
}

/// The value that is read where this one is written.
fn as_read(value: f64) -> f64 {
    rounded(value).parse().unwrap_or(value)
}

/// Thin spaces between thousands, as the verdict's sentences have spaces.
fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = sign.to_string();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_the_unit_that_keeps_them_short() {
        let texts = [0.0, 0.5, 12.34, 999.4, 999.7, 1000.0, 12_340.0, 999_700.0, 119e6, 120e6, 7200e6, 1e12]
            .map(|value| micros(value).text().replace('\u{a0}', " "));
        assert_eq!(
            texts,
            [
                "0 µs",
                "0.5 µs",
                "12.3 µs",
                "999 µs",
                "1 ms",
                "1 ms",
                "12.3 ms",
                "1 s",
                "119 s",
                "2 min",
                "2 h",
                "11.6 days"
            ]
        );
    }

    #[test]
    fn sizes_and_rates_do_not_read_as_a_thousand_of_the_smaller_unit() {
        assert_eq!(bytes(4096.0).text(), "4\u{a0}KiB");
        assert_eq!(bytes(1023.0).text(), "1\u{202f}023\u{a0}B");
        assert_eq!(bytes(1_048_575.0).text(), "1\u{a0}MiB");
        assert_eq!(per_second(12_345.0).text(), "12.3\u{a0}k/s");
        assert_eq!(per_second(999_990.0).text(), "1\u{a0}M/s");
        assert_eq!(count(113_872.0).text(), "113\u{202f}872");
        assert_eq!(count(1_234_567.0).text(), "1.23\u{a0}M");
    }

    #[test]
    fn a_share_that_is_not_the_whole_never_reads_as_the_whole() {
        let texts = [0.0, 1.0, 0.458, 0.0234, 0.99996, 0.000_001, 1.2].map(|value| share(value).number);
        assert_eq!(texts, ["0", "100", "45.8", "2.34", "99.996", "0.0001", "120"]);
    }

    #[test]
    fn moments_read_as_clock_times() {
        assert_eq!(moment(12.0, 0.0), "12\u{a0}s");
        assert_eq!(moment(3_725.0, 0.0), "01:02:05");
        assert_eq!(moment(90_000.0, 0.0), "day\u{a0}2, 01:00");
        // date -u -d @1172163600; date -u -d @1709208000 (a leap day)
        assert_eq!(moment(3_660.0, 1_172_163_600e9), "Thu\u{a0}22, 18:01\u{a0}UTC");
        assert_eq!(moment(0.0, 1_709_208_000e9), "Thu\u{a0}29, 12:00:00\u{a0}UTC");
        assert_eq!(moment(67.8, 1_709_208_000e9), "Thu\u{a0}29, 12:01:07\u{a0}UTC");
    }
}
