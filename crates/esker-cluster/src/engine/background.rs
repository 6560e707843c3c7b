//! What an operator allows of work in the background, what keeps copies within memory, and drains that get no further.

use std::collections::VecDeque;

use esker_core::{Bytes, Nanos, RequestKind};
use esker_tier::parts::WrittenInDay;
use esker_tier::{
    BackgroundReport, BackgroundSettings, DeviceIndex, Effect, HeldReason, LiveSettings, LiveSettingsError,
    LogicalExtent,
};

use super::ClusterEngine;
use crate::id::{ServerId, SliceId, SliceReplica};
use crate::map::ReplicaPlace;
use crate::route::{EffectId, RouterInput};
use crate::servers::ServerState;

/// Ticks in a row in which all copies failed before a drain is reported to be stuck.
const VAIN_TICKS: u32 = 4;

/// Copies that wrote nothing and for which others were made, at most, in a tick: each has a record.
const UNWRITTEN_MOST: u64 = 2048;

/// The limits of background work, and what is known of it.
#[derive(Debug)]
pub(super) struct Background {
    settings: BackgroundSettings,
    written: WrittenInDay,
    /// Copies that have a buffer.
    copies: u32,
    /// The most copies that may have one at a time.
    copies_max: u32,
    /// Copies that wait for a buffer.
    waiting: VecDeque<EffectId>,
    /// Copies that had failed, and objects that had moved, at the last tick.
    before: [u64; 2],
    /// Ticks in a row in which copies failed and nothing moved.
    vain_ticks: u32,
    /// Copies of this tick that have written nothing, and for which others were made.
    unwritten: u64,
    /// Moves that had begun or ended, and replicas that were lost, when drains that wait for room last tried to go on.
    tried_at: Option<u64>,
    /// Why the last copy failed.
    failure: Option<HeldReason>,
}

impl Default for Background {
    fn default() -> Self {
        Self {
            settings: BackgroundSettings::default(),
            written: WrittenInDay::new(),
            copies: 0,
            copies_max: u32::MAX,
            waiting: VecDeque::new(),
            before: [0; 2],
            vain_ticks: 0,
            unwritten: 0,
            tried_at: None,
            failure: None,
        }
    }
}

impl Background {
    pub(super) fn is_paused(&self) -> bool {
        self.settings.paused
    }

    /// Counts bytes that a copy writes.
    pub(super) fn copied(&mut self, now: Nanos, bytes: Bytes) {
        self.written.write(now, bytes);
    }

    /// Notes that a copy has failed, because a device has not performed a request of this kind. Of one that cannot be
    /// read anywhere, that is the device which it was to leave.
    pub(super) fn copy_failed(&mut self, kind: RequestKind, device: DeviceIndex) {
        let is_read = kind == RequestKind::Read;
        self.failure = Some(if is_read { HeldReason::Unreadable(device) } else { HeldReason::Refused(device) });
    }

    /// A drain begins: whether it gets further is not known yet.
    pub(super) fn drain_begins(&mut self) {
        self.vain_ticks = 0;
    }

    /// Servers have joined or left, or are drained or kept: there may be room for what has waited for it.
    pub(super) fn members_change(&mut self) {
        self.tried_at = None;
    }

    /// Gives a copy a buffer. Returns false if all are in use: then it waits.
    pub(super) fn takes_buffer(&mut self, copy: EffectId) -> bool {
        let has_one = self.copies < self.copies_max;
        match has_one {
            true => self.copies += 1,
            false => self.waiting.push_back(copy),
        }
        has_one
    }

    /// Notes that a task has ended, with a copy's buffer or without one. Returns a copy that may begin now.
    pub(super) fn ended(&mut self, had_buffer: bool) -> Option<EffectId> {
        self.copies -= u32::from(had_buffer);
        if self.copies < self.copies_max { self.waiting.pop_front() } else { None }
    }
}

impl ClusterEngine {
    /// Limits background work, before any input.
    ///
    /// # Errors
    /// If the budget is less than an object.
    pub fn with_background(mut self, settings: BackgroundSettings) -> Result<Self, LiveSettingsError> {
        self.check_background(&settings)?;
        self.background.settings = settings;
        Ok(self)
    }

    /// Limits the objects that are copied at a time, and so the memory of their buffers.
    pub fn with_copies_at_once(mut self, most: u32) -> Self {
        self.background.copies_max = most.max(1);
        self
    }

    fn check_background(&self, settings: &BackgroundSettings) -> Result<(), LiveSettingsError> {
        let object = self.router.map().shape().object;
        match settings.moved_bytes_per_day {
            Some(budget) if budget < object => Err(LiveSettingsError::Budget { budget, extent: object }),
            _ => Ok(()),
        }
    }

    pub(super) fn check_live(&self, settings: &LiveSettings) -> Result<(), LiveSettingsError> {
        // Balancers are no policies of placement.
        if settings.policy.is_some() {
            return Err(LiveSettingsError::Unsupported);
        }
        settings.background.as_ref().map_or(Ok(()), |background| self.check_background(background))
    }

    /// Takes new limits that were checked. Copies under way end as they would have.
    pub(super) fn set_live(&mut self, now: Nanos, settings: &LiveSettings, effects: &mut Vec<Effect>) {
        self.background.written.pass_time(now);
        self.background.settings = settings.background.unwrap_or(self.background.settings);
        self.wake_if_moving(now, effects);
    }

    /// Returns how many of `bytes` may be granted to copies now. `for_members` if servers have joined or are drained:
    /// the operator wants that, so no budget holds it up.
    pub(super) fn allowed_copies(&mut self, now: Nanos, bytes: Bytes, for_members: bool) -> Bytes {
        let Background { settings, written, copies, .. } = &mut self.background;
        written.pass_time(now);
        match settings {
            BackgroundSettings { paused: true, .. } => Bytes::ZERO,
            BackgroundSettings { moved_bytes_per_day: Some(budget), .. } if !for_members => {
                let under_way = u64::from(*copies) * self.router.map().shape().object.0;
                Bytes(bytes.0.min(written.left_of(*budget, now).0.saturating_sub(under_way)))
            }
            _ => bytes,
        }
    }

    /// Copies have written nothing, because their objects were never written: as many others may be made for them.
    pub(super) fn copies_wrote_nothing(&mut self, copies: u64) {
        let copies = copies.min(UNWRITTEN_MOST - self.background.unwritten);
        if copies > 0 && !self.background.is_paused() {
            self.background.unwritten += copies;
            let bytes = copies * self.router.map().shape().object.0;
            self.inputs.push_back(RouterInput::CopyBudget(Bytes(bytes)));
        }
    }

    /// Returns what moves in the background.
    pub(super) fn background_now(&self, now: Nanos) -> BackgroundReport {
        let Background { settings, written, copies, .. } = &self.background;
        BackgroundReport {
            settings: *settings,
            copies: *copies,
            moved: written.total(),
            moved_in_day: written.in_window(),
            held: self.held_reason(now),
            lives: Vec::new(),
        }
    }

    fn held_reason(&self, now: Nanos) -> Option<HeldReason> {
        let Background { settings, written, copies, .. } = &self.background;
        let object = self.router.map().shape().object;
        if self.is_frozen {
            return Some(HeldReason::OnlyRead);
        }
        if settings.paused {
            return Some(HeldReason::Paused);
        }
        if *copies > 0 {
            return None;
        }
        if self.health.journal_failed() {
            return Some(HeldReason::JournalFailed);
        }
        let by_budget = settings.moved_bytes_per_day.and_then(|budget| written.held(budget, object, now));
        if by_budget.is_some() && !self.epochs.members_change && self.router.map().moving_count() > 0 {
            return by_budget;
        }
        let map = self.router.map();
        if self.background.vain_ticks > 0 && map.moving_count() > 0 {
            return self.background.failure.clone();
        }
        let is_homeless = |replica| matches!(map.place(replica), ReplicaPlace::Offloading { destination: None, .. });
        let mut moving = map.moving_from(SliceReplica { slice: SliceId(0), replica: 0 });
        let wants_to_move = map.moving_count() > 0 || !self.draining.is_empty();
        (wants_to_move && moving.all(is_homeless)).then(|| self.without_destination())
    }

    /// Returns why replicas find no server to go to.
    fn without_destination(&self) -> HeldReason {
        let servers = self.router.servers();
        let is_full = |(id, server): &(ServerId, &crate::servers::Server)| {
            server.state == ServerState::Up && !servers.takes_more(*id)
        };
        let full: Vec<DeviceIndex> = servers.iter().filter(is_full).map(|(id, _)| DeviceIndex(id.0)).collect();
        if full.is_empty() { HeldReason::TooFewDevices } else { HeldReason::NoRoom(full) }
    }

    /// Has slots freed and drains go on that wait for the end of an epoch, and notices drains that get no further.
    pub(super) fn tend_moves(&mut self, effects: &mut Vec<Effect>) {
        self.background.unwritten = 0;
        let report = self.router.report();
        let is_stalled = !self.draining.is_empty() && self.router.is_settled();
        // There is no more room than before unless something has moved.
        let changes = Some(report.moves_begun + report.moves_done + report.replicas_lost);
        let has_changed = is_stalled && std::mem::replace(&mut self.background.tried_at, changes) != changes;
        if has_changed || !self.without_slot.is_empty() {
            self.inputs.push_back(RouterInput::EpochEnds);
        }
        let now = [report.copies_failed, report.copies + report.moved_by_requests];
        let [mut failed, moved] = [0, 1].map(|index| now[index] > self.background.before[index]);
        self.background.before = now;
        // Nothing is copied to a server that takes no writes.
        let waits_for = if failed || moved { None } else { self.router.waits_for() };
        if let Some(server) = waits_for {
            self.background.failure = Some(HeldReason::Refused(DeviceIndex(server.0)));
            failed = true;
        }
        self.background.vain_ticks = match (failed, moved) {
            (_, true) => 0,
            _ if self.router.map().moving_count() == 0 => 0,
            (true, false) => self.background.vain_ticks + 1,
            (false, false) => self.background.vain_ticks,
        };
        if failed && waits_for.is_none() && self.background.vain_ticks == VAIN_TICKS {
            effects.extend(self.draining.iter().filter_map(|server| self.stuck(*server)));
        }
    }

    /// Says that a drain is stuck: slices are left that cannot be read.
    fn stuck(&self, server: ServerId) -> Option<Effect> {
        let map = self.router.map();
        let is_there = |replica: &SliceReplica| map.involves(*replica, server);
        let first = map.replicas().find(is_there)?.slice.0;
        let extents = self.router.servers().get(server).used;
        Some(Effect::DrainStuck { device: DeviceIndex(server.0), extents, first: LogicalExtent(first) })
    }
}
