//! Adaptive wear-levelling (Kim 2009, section 5.3.4.2): a device moves no data to level wear while it is erased faster
//! than the life that it should have allows. Moving them takes erases, too, which then come when they are needed least.

use esker_core::{Nanos, Ratio};

/// Pauses and resumes the levelling of one device.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdaptiveLevelling {
    life: Nanos,
    /// How long the wear is added up before it is compared.
    window: Nanos,
    /// Begin of the window, and the share of its life that the device had used up by then.
    begin: Option<(Nanos, Ratio)>,
    is_paused: bool,
}

impl AdaptiveLevelling {
    /// For a device that should last `life`.
    pub(super) fn new(life: Nanos, window: Nanos) -> Self {
        Self { life, window, begin: None, is_paused: false }
    }

    /// Takes the share of its life that the device has used up by `now`. If that changes anything, returns whether
    /// levelling is to pause (true) or to resume (false).
    pub(super) fn look(&mut self, now: Nanos, used: Ratio) -> Option<bool> {
        let (since, before) = *self.begin.get_or_insert((now, used));
        let passed = now.saturating_sub(since);
        if passed < self.window {
            return None;
        }
        self.begin = Some((now, used));
        let was_paused = self.is_paused;
        // Used up, of a whole, against passed, of the life.
        let used_up = used.as_parts_per_billion().saturating_sub(before.as_parts_per_billion());
        let allowed = u128::from(passed.0) * u128::from(Ratio::ONE.as_parts_per_billion());
        self.is_paused = u128::from(used_up) * u128::from(self.life.0) > allowed;
        (self.is_paused != was_paused).then_some(self.is_paused)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIFE: Nanos = Nanos::from_secs(1_000_000);
    const WINDOW: Nanos = Nanos::from_secs(100);

    /// What is asked for when a device uses up these shares of its life, in millionths, in one window after the other.
    /// It is looked at ten times in each.
    fn asked(windows: &[u64]) -> Vec<(u64, bool)> {
        let mut levelling = AdaptiveLevelling::new(LIFE, WINDOW);
        assert_eq!(levelling.look(Nanos::ZERO, Ratio::percent(10)), None, "the first look begins a window");
        let (mut asked, mut used) = (Vec::new(), 100_000_000);
        for (window, millionths) in (0..).zip(windows) {
            for look in 1..=10 {
                used += millionths * 100;
                let now = Nanos::from_secs(100 * window + 10 * look);
                asked.extend(
                    levelling.look(now, Ratio::parts_per_billion(used)).map(|pause| (now.0 / 1_000_000_000, pause)),
                );
            }
        }
        asked
    }

    /// A window is a ten-thousandth of the life: 100 millionths.
    #[test]
    fn levelling_pauses_while_more_is_used_up_than_the_life_allows() {
        assert_eq!(asked(&[99, 100, 99]), []);
        assert_eq!(asked(&[99, 101, 150, 99, 99, 200]), [(200, true), (400, false), (600, true)]);
        // What was used up earlier does not count: activity is normal again.
        assert_eq!(asked(&[5_000, 50]), [(100, true), (200, false)]);
    }

    proptest! {
        /// It asks for each change once, in turns, at the end of the first window that is over or under the budget.
        #[test]
        fn each_change_is_asked_for_once(windows in proptest::collection::vec(0..200_u64, 1..40)) {
            let mut expected = Vec::new();
            let mut is_paused = false;
            for (window, used) in (1..).zip(&windows) {
                if (*used > 100) != is_paused {
                    is_paused = !is_paused;
                    expected.push((100 * window, is_paused));
                }
            }
            prop_assert_eq!(asked(&windows), expected);
        }
    }
}
