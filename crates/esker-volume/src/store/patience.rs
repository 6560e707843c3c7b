//! How long the answer of a device is waited for.

use esker_core::Nanos;

/// Decides when what is under way has waited too long.
///
/// A process that was stopped, or whose machine was, finds the answers of that time only when it goes on. So the end of
/// the limit alone decides nothing: a last look, when most of it is over, has to have found the same oldest operation,
/// and from then on there is time to take what was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    limit: Nanos,
    /// What the last look found: since when the oldest operation was under way, and when that was.
    last_look: Option<(Nanos, Nanos)>,
}

impl Patience {
    pub(crate) fn new(limit: Nanos) -> Self {
        Self { limit, last_look: None }
    }

    pub(crate) fn limit(&self) -> Nanos {
        self.limit
    }

    /// When to look, if the oldest operation has been under way since `since`.
    pub(crate) fn look_at(&self, since: Nanos) -> Nanos {
        if self.limit == Nanos::NEVER {
            return Nanos::NEVER;
        }
        let last = Nanos(self.limit.0 / 10);
        match self.last_look {
            Some((found, at)) if found == since => (at + last).max(since + self.limit),
            _ => since + self.limit.saturating_sub(last),
        }
    }

    /// Looks at `now`, and returns true if the oldest operation, under way since `since`, has waited too long.
    pub(crate) fn is_over(&mut self, since: Nanos, now: Nanos) -> bool {
        let due = self.look_at(since);
        if now < due {
            return false;
        }
        let was_seen = self.last_look.is_some_and(|(found, _)| found == since);
        // Where this look comes far too late, the process stood still after the one before.
        let is_over = was_seen && now <= due + Nanos(self.limit.0 / 10);
        if !is_over {
            self.last_look = Some((since, now));
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_late_before_the_limit_and_a_last_look() {
        let seconds = Nanos::from_secs;
        let mut patience = Patience::new(seconds(30));
        assert_eq!(patience.look_at(seconds(5)), seconds(32));
        assert!(!patience.is_over(seconds(5), seconds(31)) && !patience.is_over(seconds(5), seconds(32)));
        assert!(!patience.is_over(seconds(5), seconds(34)));
        assert_eq!(patience.look_at(seconds(5)), seconds(35));
        assert!(patience.is_over(seconds(5), seconds(35)));
        // The oldest one is another now.
        assert!(!patience.is_over(seconds(20), seconds(49)));
        // The process stood still, and has three seconds to take what was answered.
        let mut patience = Patience::new(seconds(30));
        assert!(!patience.is_over(Nanos::ZERO, seconds(90)));
        assert_eq!(patience.look_at(Nanos::ZERO), seconds(93));
        assert!(!patience.is_over(Nanos::ZERO, seconds(92)) && patience.is_over(Nanos::ZERO, seconds(93)));
        // It stood still after the last look.
        let mut patience = Patience::new(seconds(30));
        assert!(!patience.is_over(Nanos::ZERO, seconds(27)) && !patience.is_over(Nanos::ZERO, seconds(90)));
        assert!(!patience.is_over(Nanos::ZERO, seconds(92)) && patience.is_over(Nanos::ZERO, seconds(93)));
        assert_eq!(Patience::new(Nanos::NEVER).look_at(seconds(5)), Nanos::NEVER);
    }
}
