//! Drives of one host: which of them should change places once.
//!
//! A drive that is written fast and one that is written slowly share their lives best if their data change places at
//! the time from which on both wear out together: after all life that both have left, divided by what both are written.
//! No other way to share is better, and one exchange is enough.

use esker_results::advice::{DriveExchange, FigureRange};

use super::figures::{Stretch, YEAR_DAYS, moment, range, replacements};
use super::judged::JudgedDrive;

/// One end of the ranges of a drive.
#[derive(Clone, Copy, Debug)]
struct Case {
    left: f64,
    endurance: f64,
    per_day: f64,
}

/// Where in the ranges: the end at which fewest drives wear out, the best estimates, the end at which most do.
const CASES: [fn(&JudgedDrive) -> Case; 3] = [
    |drive| Case {
        left: drive.left(drive.endurance.high),
        endurance: drive.endurance.high,
        per_day: drive.per_day.low,
    },
    |drive| Case {
        left: drive.left(drive.endurance.likely),
        endurance: drive.endurance.likely,
        per_day: drive.per_day.likely,
    },
    |drive| Case { left: drive.left(drive.endurance.low), endurance: drive.endurance.low, per_day: drive.per_day.high },
];

/// Pairs drives that wear out within the horizon with drives that do not. Only pairs that save a drive by the best
/// estimates are returned, those that save most first.
pub(super) fn exchanges(drives: &[JudgedDrive], horizon_years: f64) -> Vec<DriveExchange> {
    let days = horizon_years * YEAR_DAYS;
    let life = |drive: &JudgedDrive| CASES[1](drive).left / CASES[1](drive).per_day.max(f64::MIN_POSITIVE);
    let mut by_life: Vec<&JudgedDrive> = drives.iter().collect();
    by_life.sort_by(|one, other| life(one).total_cmp(&life(other)));
    let (mut found, mut taken) = (Vec::new(), vec![false; by_life.len()]);
    for (at, worn) in by_life.iter().enumerate() {
        if life(worn) >= days {
            break;
        }
        // The freshest one that holds the same data.
        let fits = |other: &usize| {
            let fresh = by_life[*other];
            let may_change = *other != at && !taken[*other] && life(fresh) >= days;
            may_change && fresh.capacity == worn.capacity && fresh.price.is_some()
        };
        let Some(other) = (0..by_life.len()).rev().find(fits) else { continue };
        if let Some(exchange) = exchange(worn, by_life[other], days) {
            taken[other] = true;
            found.push(exchange);
        }
    }
    found.sort_by(|one, other| other.money_saved.total_cmp(&one.money_saved));
    found
}

fn exchange(worn: &JudgedDrive, fresh: &JudgedDrive, days: f64) -> Option<DriveExchange> {
    let (capacity, price) = (worn.capacity? as f64, worn.price?);
    fresh.price?;
    let likely = Plan::of(CASES[1](worn), CASES[1](fresh), capacity);
    // The day is chosen by the best estimates, whatever is true.
    let saved = CASES.map(|case| {
        let (one, other) = (case(worn), case(fresh));
        without(one, other, days) - with(one, other, capacity, likely.exchange_days, days)
    });
    let saved = range(saved[1], saved);
    if saved.likely < 1.0 || likely.exchange_days > days {
        return None;
    }
    let spent = [worn, fresh].map(|drive| drive.price.unwrap_or(0.0) * capacity / drive.endurance.likely);
    Some(DriveExchange {
        worn: worn.name.clone(),
        fresh: fresh.name.clone(),
        best_unix_s: moment(worn.last_unix_s, likely.exchange_days)?,
        worn_out_unix_s: moment(worn.last_unix_s, likely.worn_out_days),
        copied_bytes: 2 * worn.capacity?,
        drives_saved: saved,
        money_saved: saved.likely * price,
        money_spent: spent.iter().sum(),
    })
}

/// An exchange after which the first purchase is later, and no fewer are made within the horizon.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PutOff {
    pub(super) worn: String,
    pub(super) fresh: String,
    /// By how many days.
    pub(super) days: f64,
}

/// Returns the exchange of drives of the same size that puts off a purchase within the horizon by most, whether or not
/// it saves one.
pub(super) fn put_off(drives: &[JudgedDrive], horizon_years: f64) -> Option<PutOff> {
    let horizon = horizon_years * YEAR_DAYS;
    let life = |drive: &JudgedDrive| CASES[1](drive).left / CASES[1](drive).per_day.max(f64::MIN_POSITIVE);
    let worn = drives.iter().filter(|drive| life(drive) < horizon);
    let pairs = worn.flat_map(|worn| drives.iter().map(move |fresh| (worn, fresh)));
    let of_pair = |(worn, fresh): (&JudgedDrive, &JudgedDrive)| {
        let (one, other) = (CASES[1](worn), CASES[1](fresh));
        let helps = worn.capacity == fresh.capacity && life(worn) < life(fresh) && one.per_day > other.per_day;
        let plan = Plan::of(one, other, worn.capacity.filter(|_| helps)? as f64);
        let days = plan.worn_out_days - life(worn);
        (days >= 1.0 && plan.exchange_days <= life(worn)).then(|| PutOff {
            worn: worn.name.clone(),
            fresh: fresh.name.clone(),
            days,
        })
    };
    pairs.filter_map(of_pair).max_by(|one, other| one.days.total_cmp(&other.days))
}

/// When to exchange two drives, and when the first of them is worn out then: both at once, unless it is too late for
/// that.
#[derive(Clone, Copy, Debug)]
struct Plan {
    exchange_days: f64,
    worn_out_days: f64,
}

impl Plan {
    fn of(worn: Case, fresh: Case, copied: f64) -> Self {
        let together = (worn.left + fresh.left - 2.0 * copied).max(0.0) / (worn.per_day + fresh.per_day);
        let ahead = worn.left - copied - fresh.per_day * together;
        let exchange_days = (ahead / (worn.per_day - fresh.per_day).max(f64::MIN_POSITIVE)).max(0.0);
        let after = |one: Case, other: Case| {
            let left = one.left - copied - one.per_day * exchange_days;
            exchange_days + left.max(0.0) / other.per_day.max(f64::MIN_POSITIVE)
        };
        Self { exchange_days, worn_out_days: after(worn, fresh).min(after(fresh, worn)) }
    }
}

/// Drives that are bought if nothing is done.
fn without(one: Case, other: Case, days: f64) -> f64 {
    [one, other]
        .iter()
        .map(|case| replacements(case.left, case.endurance, &[Stretch { days, per_day: case.per_day }]))
        .sum()
}

/// Drives that are bought if the two change places after `exchange_days`.
fn with(one: Case, other: Case, copied: f64, exchange_days: f64, days: f64) -> f64 {
    let then = days - exchange_days;
    let bought = |case: Case, later: Case| {
        let stretches =
            [Stretch { days: exchange_days, per_day: case.per_day }, Stretch { days: then, per_day: later.per_day }];
        replacements(case.left - copied, case.endurance, &stretches)
    };
    bought(one, other) + bought(other, one)
}

/// What exchanges save together, at each end of the ranges.
pub(super) fn saved(exchanges: &[DriveExchange]) -> FigureRange {
    let sum = |of: fn(&FigureRange) -> f64| exchanges.iter().map(|exchange| of(&exchange.drives_saved)).sum();
    FigureRange { low: sum(|range| range.low), likely: sum(|range| range.likely), high: sum(|range| range.high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(name: &str, left: f64, per_day: f64) -> JudgedDrive {
        JudgedDrive {
            name: name.into(),
            capacity: Some(10),
            written: 1_000.0 - left,
            endurance: range(1_000.0, []),
            per_day: range(per_day, [per_day * 0.9, per_day * 1.1]),
            price: Some(50.0),
            last_unix_s: 0,
        }
    }

    #[test]
    fn both_wear_out_together_after_all_life_divided_by_all_writes() {
        let plan = Plan::of(CASES[1](&drive("a", 400.0, 1.0)), CASES[1](&drive("b", 990.0, 0.1)), 10.0);
        assert!((plan.worn_out_days - 1_370.0 / 1.1).abs() < 1e-9);
        let (then, whole) = (plan.exchange_days, plan.worn_out_days);
        assert!((then * 1.0 + (whole - then) * 0.1 - 390.0).abs() < 1e-9);
        assert!((then * 0.1 + (whole - then) * 1.0 - 980.0).abs() < 1e-9);
    }

    #[test]
    fn only_what_saves_a_drive_is_exchanged() {
        let (fast, slow) = (drive("fast", 400.0, 1.0), drive("slow", 990.0, 0.1));
        let found = exchanges(&[slow.clone(), fast.clone()], 500.0 / YEAR_DAYS);
        assert_eq!((found.len(), found[0].worn.as_str(), found[0].fresh.as_str()), (1, "fast", "slow"));
        assert_eq!((found[0].drives_saved.likely, found[0].money_saved, found[0].money_spent), (1.0, 50.0, 1.0));
        // Where both wear out within the horizon after an exchange, as many are bought.
        let longer = [slow.clone(), fast.clone()];
        assert!(exchanges(&longer, 1_300.0 / YEAR_DAYS).is_empty());
        let later = put_off(&longer, 1_300.0 / YEAR_DAYS).unwrap();
        assert_eq!((later.worn.as_str(), later.fresh.as_str()), ("fast", "slow"));
        assert!((later.days - (1_370.0 / 1.1 - 400.0)).abs() < 1e-9, "{later:?}");
        assert_eq!(put_off(&[fast.clone(), fast.clone()], 1_300.0 / YEAR_DAYS), None);
        // The other one is written faster, or too much has been written by now for both to wear out together.
        let slower = [drive("old", 100.0, 0.5), drive("new", 990.0, 1.0)];
        assert_eq!(put_off(&slower, 5.0), None);
        let late = put_off(&[drive("old", 20.0, 1.0), slow.clone()], 5.0).unwrap();
        assert!((late.days - ((20.0 - 10.0) / 0.1 - 20.0)).abs() < 1e-9, "{late:?}");
        // Neither wears out within the horizon, or there is none to take over.
        assert!(exchanges(&[slow.clone(), fast.clone()], 300.0 / YEAR_DAYS).is_empty());
        assert!(exchanges(&[fast.clone(), fast.clone()], 500.0 / YEAR_DAYS).is_empty());
        let larger = JudgedDrive { capacity: Some(20), ..slow.clone() };
        assert!(exchanges(&[larger, fast.clone()], 500.0 / YEAR_DAYS).is_empty());
        let free = JudgedDrive { price: None, ..fast };
        assert!(exchanges(&[slow.clone(), free], 500.0 / YEAR_DAYS).is_empty());
        // One whose price is not known is passed over.
        let (fresh, fast) = (JudgedDrive { price: None, ..drive("unknown", 995.0, 0.1) }, drive("fast", 400.0, 1.0));
        let found = exchanges(&[slow, fresh, fast], 500.0 / YEAR_DAYS);
        assert_eq!((found.len(), found[0].fresh.as_str()), (1, "slow"));
    }
}
