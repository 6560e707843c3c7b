//! Limits of background work: a pause, a budget, and devices that have refused a copy. Why work is held, for reports.

mod budget;

use esker_core::{Bytes, Nanos};

use super::copies::CopyPurpose;
use super::{Event, MoveOutcome, PlacementEngine};
use crate::engine::{
    BackgroundReport, BackgroundSettings, Effect, HeldReason, LiveSettings, LiveSettingsError, MoveLimits,
};
use crate::extent::DeviceIndex;
pub use budget::WrittenInDay;

/// How long nothing is copied to a device that has refused a copy, unless something changes there. Each attempt reads
/// and sends up to 24 extents in vain, which would load the devices for good if it were repeated at once.
const REFUSAL_PAUSE: Nanos = Nanos::from_secs(600);

/// The limits of background work.
#[derive(Debug)]
pub(super) struct Background {
    settings: BackgroundSettings,
    written: WrittenInDay,
    /// Devices that have refused a copy, each with the time until which nothing is copied to it.
    refusing: Vec<(DeviceIndex, Nanos)>,
    /// What has kept the last move from beginning or from ending well; `None` since a move has begun.
    obstacle: Option<Obstacle>,
    /// Whether the volume is only read, so that nothing moves whatever the settings are.
    is_only_read: bool,
}

/// What keeps extents from moving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// No free extent on the device where the policy or a drain wants one.
    NoRoom,
    /// The extent cannot be read from this device.
    Failed(DeviceIndex),
    /// The device is left asleep.
    Asleep(DeviceIndex),
    /// The device is not so full yet that extents leave it.
    FillsFirst(DeviceIndex),
}

impl Background {
    pub(super) fn new() -> Self {
        Self {
            settings: BackgroundSettings::default(),
            written: WrittenInDay::new(),
            refusing: Vec::new(),
            obstacle: None,
            is_only_read: false,
        }
    }

    /// Whether nothing moves, by the operator's settings or because the volume is only read.
    pub(super) const fn is_paused(&self) -> bool {
        self.settings.paused || self.is_only_read
    }

    /// Has nothing move from now on.
    pub(super) fn only_read(&mut self) {
        self.is_only_read = true;
    }

    /// Notes that a move has begun.
    pub(super) fn move_begins(&mut self) {
        self.obstacle = None;
    }

    /// Notes what keeps a move from beginning.
    pub(super) fn is_kept(&mut self, obstacle: Obstacle) {
        self.obstacle = Some(obstacle);
    }

    /// Returns true if nothing is copied to `device` because it has refused a copy.
    pub(super) fn is_refusing(&self, device: DeviceIndex, now: Nanos) -> bool {
        self.refusing.iter().any(|&(refusing, until)| refusing == device && now < until)
    }

    /// Notes that `device` has refused a copy.
    pub(super) fn refused(&mut self, device: DeviceIndex, now: Nanos) {
        self.refusing.retain(|(refusing, _)| *refusing != device);
        self.refusing.push((device, now + REFUSAL_PAUSE));
    }
}

impl PlacementEngine {
    /// Limits background work, before any input.
    ///
    /// # Errors
    /// If the budget is less than an extent.
    pub fn with_background(mut self, settings: BackgroundSettings) -> Result<Self, LiveSettingsError> {
        self.check_background(&settings)?;
        self.background.settings = settings;
        Ok(self)
    }

    fn check_background(&self, settings: &BackgroundSettings) -> Result<(), LiveSettingsError> {
        match settings.moved_bytes_per_day {
            Some(budget) if budget.0 < self.extent => {
                Err(LiveSettingsError::Budget { budget, extent: Bytes(self.extent) })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_live(&self, settings: &LiveSettings) -> Result<(), LiveSettingsError> {
        settings.background.as_ref().map_or(Ok(()), |background| self.check_background(background))?;
        if let Some(limits) = &settings.limits {
            MoveLimits::check(limits, self.health.devices().len())?;
        }
        if let Some(policy) = &settings.policy {
            let devices = self.health.devices().len();
            policy.build(self.policies, devices).map_err(|error| LiveSettingsError::Policy(error.below("policy")))?;
        }
        Ok(())
    }

    /// Takes new settings that were checked. Moves under way end as they would have, except that a pause gives them up.
    pub(super) fn set_live(&mut self, now: Nanos, settings: &LiveSettings, effects: &mut Vec<Effect>) {
        self.background.written.pass_time(now);
        if let Some(background) = settings.background {
            self.background.settings = background;
        }
        if let Some(limits) = &settings.limits {
            self.limits.set(limits.clone(), now, self.under_way.len());
        }
        if let Some(policy) = &settings.policy {
            let devices = self.health.devices().len();
            // The new policy did not ask for them.
            self.drop_all_mirrors();
            self.copies.give_mirrors_up();
            self.policy = policy.build(self.policies, devices).expect("it was checked");
            self.wishes.moves.clear();
            self.wishes.mirrors.clear();
            self.end_controls(effects);
            self.tokens_before = self.policy.tokens().unwrap_or_default();
            self.tell_places();
            self.keep_reserve();
        }
        // A policy that has something to move begins, even if the host is idle.
        self.notify_policy(now, Event::Timer);
        self.go_on(now, effects);
    }

    /// Marks in the views of a policy the devices to which nothing may move now.
    pub(super) fn hold_views(&mut self, now: Nanos) {
        let Background { settings, refusing, is_only_read, .. } = &self.background;
        if settings.is_unlimited() && !is_only_read && refusing.is_empty() && !self.leaves_any_asleep() {
            return;
        }
        self.background.written.pass_time(now);
        let all = self.background.is_paused() || !self.may_spend(now, Bytes(self.extent));
        for index in 0..self.views.len() {
            let device = DeviceIndex(index as u16);
            let held = all || self.background.is_refusing(device, now) || self.is_left_asleep(device);
            self.views[index].is_held = held;
        }
    }

    /// Marks in the views for a copy of a drain the devices that have refused one.
    pub(super) fn hold_refusing_views(&mut self, now: Nanos) {
        for &(device, until) in &self.background.refusing {
            self.views[usize::from(device.0)].is_held = now < until;
        }
    }

    /// Returns true if the budget leaves `bytes` for a further move of the policy, beside those that moves under way
    /// may yet write.
    fn may_spend(&self, now: Nanos, bytes: Bytes) -> bool {
        let Some(budget) = self.background.settings.moved_bytes_per_day else { return true };
        let under_way = Bytes(u64::from(self.copies.of_policy()) * self.extent);
        under_way + bytes <= self.background.written.left_of(budget, now)
    }

    /// Returns why a copy between these devices may not begin now, or `None`. Of what may hold it up, only a pause
    /// concerns those that empty a device which is being drained: the operator wants that.
    pub(super) fn held_move(
        &mut self,
        now: Nanos,
        from: DeviceIndex,
        to: DeviceIndex,
        purpose: CopyPurpose,
    ) -> Option<MoveOutcome> {
        let drains = purpose == CopyPurpose::Drain;
        self.background.written.pass_time(now);
        let is_held = self.background.is_paused() || (!drains && !self.may_spend(now, Bytes(self.extent)));
        if is_held {
            return Some(MoveOutcome::Held);
        }
        let leaves = purpose == CopyPurpose::Move;
        if let Some(obstacle) = self.limited_move(from, to, leaves).filter(|_| !drains) {
            self.background.is_kept(obstacle);
            return Some(MoveOutcome::Held);
        }
        self.background.is_refusing(to, now).then_some(MoveOutcome::NoRoom)
    }

    /// Returns true if the copy may write `bytes` now, and counts them.
    pub(super) fn may_write_copy(&mut self, now: Nanos, bytes: Bytes, drains: bool) -> bool {
        let is_paused = self.background.is_paused();
        let Background { settings, written, .. } = &mut self.background;
        written.pass_time(now);
        let budget = settings.moved_bytes_per_day.filter(|_| !drains);
        let is_spent = budget.is_some_and(|budget| written.left_of(budget, now) < bytes);
        if is_paused || is_spent {
            return false;
        }
        written.write(now, bytes);
        true
    }

    /// Notes that `device` takes new data, has grown, or is to be used again: copies to it are tried again.
    pub(super) fn takes_copies_again(&mut self, device: DeviceIndex) {
        let refusing = &mut self.background.refusing;
        let before = refusing.len();
        refusing.retain(|(refusing, _)| *refusing != device);
        if refusing.len() < before {
            self.drains.try_again();
        }
    }

    /// Notes that a device has joined: drains have somewhere to go.
    pub(super) fn tries_all_again(&mut self) {
        self.background.refusing.clear();
        self.drains.try_again();
    }

    /// Ends the pauses after refusals that are over, and asks for a timer for those that are not, if a drain waits.
    pub(super) fn end_refusals(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        let refusing = &mut self.background.refusing;
        let before = refusing.len();
        refusing.retain(|(_, until)| now < *until);
        if refusing.len() < before {
            self.drains.try_again();
        }
        self.ask_after_refusals(effects);
    }

    /// Asks for a timer when the next pause after a refusal is over, if a drain waits for it.
    pub(super) fn ask_after_refusals(&self, effects: &mut Vec<Effect>) {
        let next = self.background.refusing.iter().map(|(_, until)| *until).min();
        if let Some(at) = next.filter(|_| self.drains.any_waits()) {
            effects.push(Effect::WakeAt(at));
        }
    }

    /// Returns what the engine does in the background.
    pub(super) fn background_now(&self, now: Nanos) -> BackgroundReport {
        let Background { settings, written, .. } = &self.background;
        let devices = (0..self.health.devices().len() as u16).map(DeviceIndex);
        BackgroundReport {
            settings: *settings,
            copies: self.copies.count(),
            moved: written.total(),
            moved_in_day: written.in_window(),
            held: self.held_reason(now),
            lives: devices.filter_map(|device| Some((device, self.policy.life_spent(device)?))).collect(),
        }
    }

    fn held_reason(&self, now: Nanos) -> Option<HeldReason> {
        let Background { settings, refusing, obstacle, is_only_read, written } = &self.background;
        if *is_only_read {
            return Some(HeldReason::OnlyRead);
        }
        if settings.paused {
            return Some(HeldReason::Paused);
        }
        if !self.copies.is_empty() {
            return None;
        }
        if self.health.journal_failed() {
            return Some(HeldReason::JournalFailed);
        }
        let budget = settings.moved_bytes_per_day.filter(|_| self.policy.observes());
        let by_budget = budget.and_then(|budget| written.held(budget, Bytes(self.extent), now));
        if by_budget == Some(HeldReason::Budget) {
            return by_budget;
        }
        if let Some((device, _)) = refusing.iter().find(|(_, until)| now < *until) {
            return Some(HeldReason::Refused(*device));
        }
        match obstacle {
            Some(Obstacle::Failed(device)) => Some(HeldReason::Failed(*device)),
            Some(Obstacle::Asleep(device)) => Some(HeldReason::Asleep(*device)),
            Some(Obstacle::FillsFirst(device)) => Some(HeldReason::FillsFirst(*device)),
            Some(Obstacle::NoRoom) => {
                let full = |device: &DeviceIndex| {
                    let is_used = !self.is_drained(*device) && !self.health.is_removed(*device);
                    is_used && self.map.free_extents(device.0.into()) == 0
                };
                let devices: Vec<_> = (0..self.health.devices().len() as u16).map(DeviceIndex).filter(full).collect();
                (!devices.is_empty()).then_some(HeldReason::NoRoom(devices))
            }
            None => by_budget,
        }
    }
}
