//! Times of samples, in seconds since 1970 (UTC), and days of the calendar.

const DAY_S: i64 = 86_400;

/// Samples are of this century.
const FIRST_S: i64 = 946_684_800;
const LAST_S: i64 = 4_102_444_800;

/// Whether a sample can be of this time.
pub(super) fn is_plausible(unix_s: i64) -> bool {
    (FIRST_S..LAST_S).contains(&unix_s)
}

/// A time as Ceph writes it: "2026-05-01T12:00:00.123456+0000", before Octopus "2026-05-01 12:00:00.123456"; or a key
/// of health metrics: "20260501-120000". `None` if it is none, or of another century.
pub(super) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = |from: usize, length: usize| -> Option<i64> {
        let part = text.get(from..from + length)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let is_at = |at: usize, marks: &str| text.get(at..=at).is_some_and(|mark| marks.contains(mark));
    let (parts, rest) = if text.len() == 15 && is_at(8, "-") {
        ([digits(0, 4)?, digits(4, 2)?, digits(6, 2)?, digits(9, 2)?, digits(11, 2)?, digits(13, 2)?], "")
    } else {
        let marks = [(4, "-"), (7, "-"), (10, "T "), (13, ":"), (16, ":")];
        if !marks.iter().all(|(at, mark)| is_at(*at, mark)) {
            return None;
        }
        let parts = [digits(0, 4)?, digits(5, 2)?, digits(8, 2)?, digits(11, 2)?, digits(14, 2)?, digits(17, 2)?];
        (parts, text.get(19..)?)
    };
    let [year, month, day, hour, minute, second] = parts;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let unix_s = days_since_1970(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second;
    Some(unix_s - offset_s(rest)?).filter(|unix_s| is_plausible(*unix_s))
}

/// The offset from UTC behind a time: nothing, "Z", "+0000" or "+02:00", perhaps behind a fraction of a second.
fn offset_s(rest: &str) -> Option<i64> {
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|digit: char| digit.is_ascii_digit()),
        None => rest,
    };
    if rest.is_empty() || rest == "Z" {
        return Some(0);
    }
    let sign = match rest.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = rest[1..].chars().filter(|mark| *mark != ':').collect();
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i64 = digits.parse().ok()?;
    Some(sign * (number / 100 * 3_600 + number % 100 * 60))
}

/// Days from the first of January 1970 to a day of the Gregorian calendar (H. Hinnant, "chrono-compatible low-level
/// date algorithms", `days_from_civil`).
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The day of a time: "2026-05-01" (the same source, `civil_from_days`).
pub fn day_in_words(unix_s: i64) -> String {
    let days = unix_s.div_euclid(DAY_S) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days - era * 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_ceph_are_read_in_each_form() {
        // `date -u -d 2026-05-01T12:00:00 +%s`
        let noon = Some(1_777_636_800);
        for text in [
            "2026-05-01T12:00:00.123456+0000",
            "2026-05-01 12:00:00.123456",
            "2026-05-01T14:00:00+02:00",
            "2026-05-01T12:00:00Z",
            "20260501-120000",
        ] {
            assert_eq!(parse(text), noon, "{text}");
        }
        for text in ["", "2026-05-01", "2026-13-01T12:00:00", "1970-01-01T00:00:00", "2026-05-01T12:00:00 noon", "ä"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (unix_s, day) in [(0, "1970-01-01"), (951_782_400, "2000-02-29"), (1_777_636_800, "2026-05-01")] {
            assert_eq!(day_in_words(unix_s), day);
        }
    }
}
