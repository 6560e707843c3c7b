//! Background cleaning: cleaning while the drive has no requests.

use esker_core::Nanos;
use esker_nand::ValueError;

use super::Ssd;
use super::power::PowerFailure;
use crate::{CleaningSettings, SsdError};

/// Longer times are refused, so that sums stay far from the end of `u64` nanoseconds.
const IDLE_MAX: Nanos = Nanos::from_secs(86_400);

/// When the next round of cleaning begins. A round is one step (a copy or an erase) in each pool that needs it. So a
/// request that arrives during a round waits for one operation of its die, not for a whole victim.
#[derive(Debug)]
pub(super) struct Background {
    /// How long the drive must be idle before a round begins.
    idle: Nanos,
    /// When it has been idle for so long since its last request.
    ready: Nanos,
    /// When the next round begins.
    due: Nanos,
    /// Flash operations of the current round that have not ended.
    under_way: u32,
}

impl Background {
    /// Returns `None` if the settings do not use idle time.
    pub(super) fn new(settings: &CleaningSettings) -> Result<Option<Self>, SsdError> {
        let idle = settings.idle_before_background;
        if idle > IDLE_MAX {
            return Err(
                ValueError::TooLong { key: "cleaning.idle_before_background", found: idle, limit: IDLE_MAX }.into()
            );
        }
        Ok(settings.background.map(|_| Self { idle, ready: Nanos::ZERO, due: Nanos::NEVER, under_way: 0 }))
    }

    pub(super) fn next_event(&self) -> Nanos {
        self.due
    }

    /// Drops the current round, which a power failure interrupts.
    pub(super) fn lose_power(&mut self) {
        (self.due, self.under_way) = (Nanos::NEVER, 0);
    }

    /// Postpones the next round, since a request has arrived.
    pub(super) fn postpone(&mut self) {
        self.due = Nanos::NEVER;
    }
}

impl Ssd {
    /// Schedules background cleaning if the drive has just become idle.
    #[inline]
    pub(super) fn check_idle(&mut self, now: Nanos) {
        let Some(background) = &mut self.background else { return };
        let no_power = self.power.as_ref().is_some_and(PowerFailure::is_out);
        if no_power || !self.front.is_idle() {
            return;
        }
        background.ready = now + background.idle;
        if background.under_way == 0 {
            background.due = background.ready;
        }
    }

    /// Begins a round of cleaning.
    pub(super) fn clean_in_background(&mut self, now: Nanos) {
        let under_way = self.back.clean(now);
        let background = self.background.as_mut().expect("it was due");
        (background.due, background.under_way) = (Nanos::NEVER, under_way);
    }

    /// Handles the end of an operation of the round. After the last one, the next round begins at once if the drive is
    /// still idle, or once it has been so for long enough since a request that came meanwhile.
    pub(super) fn cleaned_in_background(&mut self, now: Nanos) {
        let background = self.background.as_mut().expect("it is under way");
        background.under_way -= 1;
        if background.under_way == 0 && self.front.is_idle() {
            background.due = background.ready.max(now);
        }
    }
}
