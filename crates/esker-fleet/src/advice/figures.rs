//! Figures with their ranges.

use esker_results::advice::{FigureRange, MomentRange};

/// Seconds of a day.
pub(super) const DAY_S: f64 = 86_400.0;
/// Days of a year.
pub(super) const YEAR_DAYS: f64 = 365.25;
/// Nobody knows what happens later.
const LATEST_DAYS: f64 = 100.0 * YEAR_DAYS;

/// The range of several estimates, of which `likely` is the best.
pub(super) fn range(likely: f64, estimates: impl IntoIterator<Item = f64>) -> FigureRange {
    let start = FigureRange { low: likely, likely, high: likely };
    estimates.into_iter().fold(start, |range, one| FigureRange {
        low: range.low.min(one),
        high: range.high.max(one),
        ..range
    })
}

/// Days until `written` bytes become `endurance`: earliest, likely, latest. Infinite where nothing is written.
pub(super) fn days_left(written: f64, endurance: FigureRange, per_day: FigureRange) -> FigureRange {
    let days = |endurance: f64, rate: f64| ((endurance - written) / rate.max(f64::MIN_POSITIVE)).max(0.0);
    FigureRange {
        low: days(endurance.low, per_day.high),
        likely: days(endurance.likely, per_day.likely),
        high: days(endurance.high, per_day.low),
    }
}

/// When something happens `days` after a time; `None` if in more than 100 years.
pub(super) fn moment(from_unix_s: i64, days: f64) -> Option<i64> {
    (days <= LATEST_DAYS).then(|| from_unix_s.saturating_add((days * DAY_S).round() as i64))
}

pub(super) fn moments(from_unix_s: i64, days: FigureRange) -> MomentRange {
    MomentRange {
        earliest_unix_s: moment(from_unix_s, days.low),
        likely_unix_s: moment(from_unix_s, days.likely),
        latest_unix_s: moment(from_unix_s, days.high),
    }
}

/// A stretch of time in which a drive is written evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) days: f64,
    pub(super) per_day: f64,
}

/// Drives that have to be bought over some stretches for one that has `left` bytes of its life of `endurance` bytes.
pub(super) fn replacements(left: f64, endurance: f64, stretches: &[Stretch]) -> f64 {
    let written: f64 = stretches.iter().map(|stretch| stretch.days * stretch.per_day).sum();
    if written < left || endurance <= 0.0 {
        return 0.0;
    }
    1.0 + ((written - left) / endurance).floor()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_bought_whenever_one_is_used_up() {
        let over = |days: f64| replacements(50.0, 100.0, &[Stretch { days, per_day: 1.0 }]);
        assert_eq!([over(49.0), over(50.0), over(149.0), over(150.0)], [0.0, 1.0, 1.0, 2.0]);
        let two = [Stretch { days: 40.0, per_day: 1.0 }, Stretch { days: 100.0, per_day: 0.05 }];
        assert_eq!(replacements(50.0, 100.0, &two), 0.0);
    }

    #[test]
    fn the_earliest_day_takes_the_shortest_life_and_the_highest_rate() {
        let range = |low, likely, high| FigureRange { low, likely, high };
        let days = days_left(100.0, range(200.0, 300.0, 500.0), range(1.0, 2.0, 4.0));
        assert_eq!(days, range(25.0, 100.0, 400.0));
        assert_eq!(days_left(300.0, range(200.0, 200.0, 200.0), range(1.0, 1.0, 1.0)).high, 0.0);
        assert_eq!(moment(0, days_left(0.0, range(1.0, 1.0, 1.0), range(0.0, 0.0, 0.0)).low), None);
    }
}
