//! What happens to servers, and when: events of the file, replacements, failures at random.

use std::collections::BTreeMap;

use esker_core::{Nanos, mix64};

use super::YEAR;
use super::settings::{EventSettings, FailureSettings};

/// Something that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// An event of the file, by its number.
    Event(usize),
    /// A server comes in place of this one.
    Replacement(u16),
}

/// Everything that will happen.
#[derive(Debug)]
pub(super) struct Clock {
    /// By time, and then by the order in which it was added.
    due: BTreeMap<(Nanos, u64), Due>,
    added: u64,
}

impl Clock {
    pub(super) fn new(events: &[EventSettings]) -> Self {
        let mut clock = Self { due: BTreeMap::new(), added: 0 };
        events.iter().enumerate().for_each(|(index, event)| clock.add(event.at, Due::Event(index)));
        clock
    }

    pub(super) fn add(&mut self, at: Nanos, due: Due) {
        self.due.insert((at, self.added), due);
        self.added += 1;
    }

    /// Takes what is due before `end`, the end of an epoch. Events that come again are added again.
    pub(super) fn take(&mut self, end: Nanos, events: &[EventSettings]) -> Vec<Due> {
        let mut taken = Vec::new();
        while let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 < end) {
            let ((at, _), due) = entry.remove_entry();
            taken.push(due);
            if let Due::Event(index) = due
                && let Some(every) = events[index].every
            {
                self.add(at + every, due);
            }
        }
        taken
    }
}

/// Failures at random. Whether a server fails in an epoch depends on nothing but their numbers and the seed: the same
/// servers fail whatever the balancer does.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomFailures {
    seed: u64,
    /// The probability for an epoch, times 2^64.
    limit: f64,
}

impl RandomFailures {
    pub(super) fn new(settings: Option<FailureSettings>, epoch: Nanos, seed: u64) -> Self {
        let survives = 1.0 - settings.map_or(0.0, |settings| settings.annual_rate.as_f64());
        let epochs = YEAR.0 as f64 / epoch.0 as f64;
        Self { seed: mix64(seed ^ 0x66_6169_6c75_7265), limit: (1.0 - survives.powf(1.0 / epochs)) * 2f64.powi(64) }
    }

    pub(super) fn fails(&self, server: u16, epoch: u64) -> bool {
        let draw = mix64(self.seed ^ mix64(u64::from(server) << 40 | epoch));
        (draw as f64) < self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::{DAY, EventKind};
    use esker_core::Ratio;

    #[test]
    fn what_is_due_comes_in_its_order_and_again() {
        let event = |at: u64, every: Option<u64>| EventSettings {
            at: DAY * at,
            every: every.map(|every| DAY * every),
            kind: EventKind::Fail,
            server: Some(0),
            group: None,
            count: 1,
        };
        let events = [event(3, None), event(1, Some(2))];
        let mut clock = Clock::new(&events);
        clock.add(DAY * 3, Due::Replacement(9));
        let taken: Vec<Vec<Due>> = (1..=6).map(|day| clock.take(DAY * day, &events)).collect();
        let again = vec![Due::Event(1)];
        let third = vec![Due::Event(0), Due::Replacement(9), Due::Event(1)];
        assert_eq!(taken, [vec![], again.clone(), vec![], third, vec![], again]);
    }

    #[test]
    fn as_many_fail_in_a_year_as_the_rate_says() {
        let settings = Some(FailureSettings { annual_rate: Ratio::percent(4) });
        for (epoch, epochs) in [(DAY, 365), (Nanos::from_secs(3600), 365 * 24)] {
            let failures = RandomFailures::new(settings, epoch, 3);
            let failed = (0..5000).filter(|server| (0..epochs).any(|epoch| failures.fails(*server, epoch))).count();
            assert!((160..240).contains(&failed), "{failed} of 5,000, where 200 should");
        }
        let none = RandomFailures::new(None, DAY, 3);
        assert!((0..5000).all(|server| (0..365).all(|epoch| !none.fails(server, epoch))));
    }
}
