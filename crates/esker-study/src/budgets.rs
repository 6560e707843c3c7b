//! The budgets by which a workload's designs are judged: those of the user, and defaults for the others.

use esker_core::words;
use esker_results::study::{Budgets, Measured};

use crate::strain::Limits;

/// Bounds of the default budget for response times. The default is today's response time; nobody notices less than the
/// lower bound, or accepts more than the upper one.
const P99_MIN_US: f64 = 1_000.0;
const P99_MAX_US: f64 = 100_000.0;
/// The default budget if the trace recorded no response times.
const P99_DEFAULT_US: f64 = 10_000.0;
/// Default budget for utilisation: in front of a busier resource, queues grow fast with every further request.
const UTILISATION: f64 = 0.7;
/// Default budget for headroom: how many times the load of the trace a design has to carry. It is the customary margin,
/// and about what a forecast may be wrong by.
const HEADROOM: f64 = 1.3;

/// Fills in defaults. `measured` has the response times that the trace recorded.
pub(crate) fn budgets(asked: &Budgets, measured: Option<&Measured>) -> Budgets {
    let mut budgets = asked.clone();
    if budgets.p99_us.is_none() {
        let (limit, why) = match measured.map(|measured| measured.busiest_hour_p99_us).filter(|&p99| p99 > 0.0) {
            Some(today) => {
                let limit = today.clamp(P99_MIN_US, P99_MAX_US);
                let held = if limit == today {
                    String::new()
                } else {
                    format!(", which is {}, held between 1 ms and 100 ms", words::time(today))
                };
                (limit, format!("99 % of requests within {}: no worse than today{held}", words::time_limit(limit)))
            }
            None => (P99_DEFAULT_US, format!("99 % of requests within {}", words::time_limit(P99_DEFAULT_US))),
        };
        budgets.p99_us = Some(limit);
        budgets.defaults.push(why);
    }
    if budgets.utilisation.is_none() {
        budgets.utilisation = Some(UTILISATION);
        budgets.defaults.push(format!("no resource busier than {}", words::percent_limit(UTILISATION)));
    }
    if budgets.headroom.is_none() {
        let grown = asked.load_at_the_end();
        let headroom = HEADROOM.max(grown);
        let why = if grown > HEADROOM { ", what it grows to" } else { "" };
        budgets.headroom = Some(headroom);
        budgets.defaults.push(format!("{} times the load carried{why}", words::factor(headroom)));
    }
    budgets
}

/// Returns the limits that a design has to keep under load.
pub(crate) fn limits(budgets: &Budgets) -> Limits {
    Limits {
        p99_us: budgets.p99_us.unwrap_or(f64::INFINITY),
        utilisation: budgets.utilisation.unwrap_or(1.0),
        load: budgets.headroom.unwrap_or(1.0),
        grown: budgets.load_at_the_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn today(p99_us: f64) -> Measured {
        Measured {
            all: Default::default(),
            read: Default::default(),
            write: Default::default(),
            busiest_hour_p99_us: p99_us,
            requests: 1,
        }
    }

    #[test]
    fn the_default_is_no_worse_than_today_within_reason() {
        let p99 = |measured: Option<&Measured>| budgets(&Budgets::default(), measured).p99_us.unwrap();
        assert_eq!(p99(None), 10_000.0);
        assert_eq!(p99(Some(&today(50.0))), 1_000.0);
        assert_eq!(p99(Some(&today(5_000.0))), 5_000.0);
        assert_eq!(p99(Some(&today(1.8e6))), 100_000.0);
    }

    /// Where the load grows beyond the margin, the default is what it grows to, and says so.
    #[test]
    fn a_load_that_grows_is_carried_at_the_end() {
        let of = |growth_per_year: f64| {
            let found = budgets(&Budgets { growth_per_year, years: 5.0, ..Budgets::default() }, None);
            (found.headroom.unwrap(), found.defaults.last().unwrap().clone())
        };
        assert_eq!(of(0.0), (1.3, "1.3 times the load carried".to_string()));
        assert_eq!(of(0.05), (1.3, "1.3 times the load carried".to_string()));
        let (headroom, said) = of(0.2);
        assert!((headroom - 1.2_f64.powi(5)).abs() < 1e-9, "{headroom}");
        assert_eq!(said, "2.5 times the load carried, what it grows to");
    }

    #[test]
    fn what_was_asked_for_is_no_default() {
        let asked = Budgets {
            p99_us: Some(7.0),
            utilisation: Some(0.5),
            headroom: Some(2.0),
            years: 3.0,
            ..Budgets::default()
        };
        assert_eq!(budgets(&asked, Some(&today(5_000.0))), asked);
        assert_eq!(budgets(&Budgets::default(), None).defaults.len(), 3);
    }
}
