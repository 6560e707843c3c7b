//! Dates of the Gregorian calendar from 1970 to 2554, which is as far as 64 bits of nanoseconds reach.

/// A date and a time of day, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: u64,
    /// 1 to 12.
    pub(crate) month: u64,
    /// 1 to 31.
    pub(crate) day: u64,
    pub(crate) hour: u64,
    pub(crate) minute: u64,
    pub(crate) second: u64,
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn month_days(year: u64) -> [u64; 12] {
    [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

const fn year_days(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

impl Date {
    /// Seconds since 1970; `None` if there is no such date, or if it is out of range.
    pub(crate) fn seconds(&self) -> Option<u64> {
        let Self { year, month, day, hour, minute, second } = *self;
        if !(1970..=2554).contains(&year) || !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = month_days(year);
        if !(1..=days[month as usize - 1]).contains(&day) {
            return None;
        }
        let before: u64 = (1970..year).map(year_days).sum();
        let day = before + days[..month as usize - 1].iter().sum::<u64>() + day - 1;
        Some(day * 86_400 + hour * 3600 + minute * 60 + second)
    }

    /// The date `seconds` seconds after 1970 began.
    pub(crate) fn at(seconds: u64) -> Self {
        let (mut day, second) = (seconds / 86_400, seconds % 86_400);
        let mut year = 1970;
        while day >= year_days(year) {
            day -= year_days(year);
            year += 1;
        }
        let mut month = 0;
        while day >= month_days(year)[month] {
            day -= month_days(year)[month];
            month += 1;
        }
        Self {
            year,
            month: month as u64 + 1,
            day: day + 1,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_dates() {
        let date = |year, month, day| Date { year, month, day, hour: 0, minute: 0, second: 0 };
        assert_eq!(date(1970, 1, 1).seconds(), Some(0));
        assert_eq!(date(2000, 3, 1).seconds(), Some(951_868_800));
        assert_eq!(date(2026, 11, 20).seconds(), Some(1_795_132_800));
        assert_eq!(date(2023, 2, 29).seconds(), None);
        assert_eq!(date(2100, 2, 29).seconds(), None);
        assert_eq!(date(2026, 13, 1).seconds(), None);
        assert_eq!(date(1969, 12, 31).seconds(), None);
    }

    proptest! {
        #[test]
        fn a_date_and_its_seconds_are_the_same(seconds in 0u64..18_446_744_073) {
            prop_assert_eq!(Date::at(seconds).seconds(), Some(seconds));
        }
    }
}
