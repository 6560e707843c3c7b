//! Flash that the cache owns. The cache tells it how long to keep the data of each slot. When the flash cleans, it
//! drops some data instead of copying them, and reports which (Xia 2017, chapters 2 and 3).
//!
//! - **Kept** data belong to dirty lines, to lines in use, and to lines that the journal may still name as dirty. If
//!   the settings ask for it, also to the lines that were used most recently ("hot" lines).
//! - **Droppable** data belong to all other lines that the policy holds.
//! - **Suspected** data belong to clean lines that the policy has evicted: *suspects*. A suspect stays, beyond what the
//!   policy may hold, until the flash erases it, or until there are too many suspects and it is the oldest. If a
//!   suspect is used in time, it becomes an ordinary line again, and nothing has to be written for that.
//!
//! The flash promises room for a limited number of slots whose data count as valid (kept or droppable). All other slots
//! are free and trimmed, or hold suspects.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use esker_cache::ObjectId;
use esker_core::{Bytes, Lba, Linked, Links, List, Retention};

use super::error::FlashCacheError;
use super::modes::{OwnedFlash, reserve};
use super::settings::FlashCacheSettings;
use super::slots::RecordedState;
use super::wear::WearHistory;
use super::{FLASH, FlashCacheEngine};
use crate::engine::{Effect, RecordNumber};

/// How long the flash that the cache owns has to keep each slot.
#[derive(Debug)]
pub(super) struct OwnedSlots {
    /// Most slots whose data count as valid, and most suspects.
    pub(super) user: u32,
    suspects_max: u32,
    /// How the room has become less since the flash was new.
    pub(super) wear: WearHistory,
    slots: Vec<OwnedSlot>,
    /// Slots of suspects, oldest first.
    suspects: List,
    /// Slots of hot lines, the one used longest ago first; and the most of them.
    hot: List,
    hot_max: u32,
    /// Number of taken slots that the flash was told to treat as suspected.
    suspected: u32,
    /// Lines whose retention may have changed and has to be computed again.
    touched: Vec<u32>,
    /// Records, not durable yet, that a line is clean; and the last such record of each line.
    clean: VecDeque<(RecordNumber, u32)>,
    awaited: BTreeMap<u32, RecordNumber>,
    /// Changes of retention that the flash has to be told before any other effect of this input.
    retained: Vec<(u32, Retention)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OwnedSlot {
    links: Links,
    listed: SlotList,
    /// The retention that the flash was told last.
    told: Retention,
}

/// The list in which a slot is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SlotList {
    #[default]
    Nowhere,
    Suspects,
    Hot,
}

impl Linked for OwnedSlot {
    fn links(&self) -> &Links {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl OwnedSlots {
    /// Creates `slots` free slots. At most `user` of them may hold data that count as valid, `suspects_max` may be
    /// suspects, and `hot_max` may hold hot lines.
    fn new(slots: u32, user: u32, suspects_max: u32, hot_max: u32) -> Self {
        Self {
            user,
            suspects_max,
            wear: WearHistory::new(user),
            slots: vec![OwnedSlot::default(); slots as usize],
            suspects: List::EMPTY,
            hot: List::EMPTY,
            hot_max,
            suspected: 0,
            touched: Vec::new(),
            clean: VecDeque::new(),
            awaited: BTreeMap::new(),
            retained: Vec::new(),
        }
    }

    /// Limits the slots to `user` valid ones and `suspects_max` suspects. The most hot lines shrink in proportion.
    pub(super) fn shrink(&mut self, user: u32, suspects_max: u32) {
        self.hot_max = (u64::from(self.hot_max) * u64::from(user) / u64::from(self.user.max(1))) as u32;
        (self.user, self.suspects_max) = (user, suspects_max);
    }

    /// Notes that the retention of `line` may have changed.
    pub(super) fn touched(&mut self, line: Option<u32>) {
        self.touched.extend(line);
    }

    /// Returns the oldest suspect, if there are too many.
    pub(super) fn excess_suspect(&self) -> Option<u32> {
        (self.suspects.len() > self.suspects_max).then(|| self.suspects.first()).flatten()
    }

    /// If there are too many hot lines, takes the slot of the coldest one off the list and returns it.
    pub(super) fn cool(&mut self) -> Option<u32> {
        let cold = (self.hot.len() > self.hot_max).then(|| self.hot.first()).flatten()?;
        self.take_out(cold);
        Some(cold)
    }

    fn tell(&mut self, slot: u32, retention: Retention) {
        let told = std::mem::replace(&mut self.slots[slot as usize].told, retention);
        if told != retention {
            self.suspected += u32::from(retention == Retention::Suspected);
            self.suspected -= u32::from(told == Retention::Suspected);
            self.retained.push((slot, retention));
        }
    }

    /// Notes that `slot` is free. The flash keeps whatever is written to it next.
    fn freed(&mut self, slot: u32) {
        let told = std::mem::take(&mut self.slots[slot as usize].told);
        self.suspected -= u32::from(told == Retention::Suspected);
    }

    /// Takes `slot` off its list. Returns true if it was a suspect.
    fn take_out(&mut self, slot: u32) -> bool {
        let listed = std::mem::take(&mut self.slots[slot as usize].listed);
        match listed {
            SlotList::Nowhere => {}
            SlotList::Suspects => drop(self.suspects.remove(&mut self.slots, slot)),
            SlotList::Hot => drop(self.hot.remove(&mut self.slots, slot)),
        }
        listed == SlotList::Suspects
    }
}

impl FlashCacheSettings {
    /// The slots of a flash of `slots` slots, if the cache owns it.
    pub(super) fn owned_slots(&self, slots: u32) -> Result<Option<OwnedSlots>, FlashCacheError> {
        let Some(OwnedFlash { user, suspects, hot }) = self.owned else { return Ok(None) };
        let [most, suspected, hot] = [user, suspects, hot].map(|bytes| bytes.0 / self.line.0);
        if most < 2 || most + suspected > u64::from(slots) {
            return Err(FlashCacheError::OwnedRoom { user, suspects, slots, line: self.line });
        }
        Ok(Some(OwnedSlots::new(slots, most as u32, suspected as u32, hot.min(most) as u32)))
    }
}

impl FlashCacheEngine {
    /// Returns the most slots whose data may count as valid.
    pub(super) fn most_valid(&self) -> u32 {
        self.owned.as_ref().map_or(self.slots.limit(), |owned| owned.user)
    }

    /// Returns how many more slots may hold data that count as valid.
    pub(super) fn room_for_valid(&self) -> u32 {
        let Some(owned) = &self.owned else { return u32::MAX };
        owned.user.saturating_sub(self.slots.taken() - owned.suspected)
    }

    /// Notes that the retention of `line` may have changed, because a job has begun or ended on it.
    pub(super) fn touched(&mut self, line: u32) {
        if let Some(owned) = &mut self.owned {
            owned.touched.push(line);
        }
    }

    pub(super) fn is_suspect(&self, line: u32) -> bool {
        let slot = self.slots.of(line);
        self.owned
            .as_ref()
            .zip(slot)
            .is_some_and(|(owned, slot)| owned.slots[slot as usize].listed == SlotList::Suspects)
    }

    /// Has the retention of all hot lines computed again: the flash has become short of room, or no longer is.
    pub(super) fn touch_hot(&mut self) {
        let Some(owned) = &mut self.owned else { return };
        let hot: Vec<u32> = owned.hot.iter(&owned.slots).collect();
        owned.touched.extend(hot.into_iter().filter_map(|slot| self.slots.line_in(slot)));
    }

    /// Notes a use of the cached `line`: it is the hottest line now.
    pub(super) fn warm(&mut self, line: u32) {
        let slot = self.slots.of(line);
        let Some((owned, slot)) = self.owned.as_mut().filter(|owned| owned.hot_max > 0).zip(slot) else { return };
        owned.take_out(slot);
        owned.slots[slot as usize].listed = SlotList::Hot;
        owned.hot.push_back(&mut owned.slots, slot);
        if let Some(cold) = owned.cool() {
            owned.touched.extend(self.slots.line_in(cold));
        }
    }

    /// Number of suspects.
    pub(super) fn suspects(&self) -> u32 {
        self.owned.as_ref().map_or(0, |owned| owned.suspects.len())
    }

    /// Keeps the clean `line`, which the policy has evicted, as a suspect. Returns false if it cannot stay.
    pub(super) fn suspect(&mut self, line: u32) -> bool {
        let (slot, recorded) = (self.slots.of(line), self.slots.recorded(line));
        let Some((owned, slot)) = self.owned.as_mut().zip(slot) else { return false };
        // The journal says that the line is dirty: until a record says otherwise, the flash must not drop its data.
        if recorded == RecordedState::Dirty || owned.suspects_max == 0 || self.health.has_failed(FLASH) {
            return false;
        }
        owned.take_out(slot);
        owned.slots[slot as usize].listed = SlotList::Suspects;
        owned.suspects.push_back(&mut owned.slots, slot);
        owned.touched.push(line);
        self.drop_excess_suspects();
        true
    }

    /// Drops the oldest suspects while there are too many.
    pub(super) fn drop_excess_suspects(&mut self) {
        while let Some(slot) = self.owned.as_ref().and_then(|owned| owned.excess_suspect()) {
            let line = self.slots.line_in(slot).expect("a suspect is held");
            self.drop_line(line);
        }
    }

    /// Takes `line` off the lists, because it leaves or the policy holds it again. Returns true if it was a suspect.
    pub(super) fn end_suspicion(&mut self, line: u32) -> bool {
        let slot = self.slots.of(line);
        self.owned.as_mut().zip(slot).is_some_and(|(owned, slot)| owned.take_out(slot))
    }

    /// Has the flash keep the data of the suspect `line`, which is about to be used. If there is no room for that, the
    /// line leaves.
    pub(super) fn claim(&mut self, line: u32) {
        if !self.is_suspect(line) {
            return;
        }
        let has_room = self.room_for_valid() > 0;
        let slot = self.slots.of(line).expect("a suspect has a slot");
        let owned = self.owned.as_mut().expect("it has a suspect");
        if has_room || owned.slots[slot as usize].told != Retention::Suspected {
            owned.tell(slot, Retention::Kept);
        } else {
            self.counts.without_slot += 1;
            self.drop_line(line);
        }
    }

    /// Notes that the trims of `slots` have ended: they are free.
    pub(super) fn slots_told(&mut self, slots: Range<u32>) {
        if let Some(owned) = &mut self.owned {
            slots.clone().for_each(|slot| owned.freed(slot));
        }
        self.slots.told(slots);
    }

    /// Notes that `record`, which says that `line` is clean, has been issued.
    pub(super) fn await_clean(&mut self, line: u32, record: RecordNumber) {
        if let Some(owned) = &mut self.owned {
            owned.clean.push_back((record, line));
            owned.awaited.insert(line, record);
        }
    }

    /// Notes that records up to `through` are durable: the flash need not keep the lines that they call clean.
    pub(super) fn clean_durable(&mut self, through: RecordNumber) {
        let Some(owned) = &mut self.owned else { return };
        while let Some((record, line)) = owned.clean.pop_front_if(|(record, _)| *record <= through) {
            if owned.awaited.get(&line) == Some(&record) {
                owned.awaited.remove(&line);
                owned.touched.push(line);
            }
        }
    }

    /// Hardens the records that lines are clean, if there are enough of them, so that the flash need not keep those
    /// lines.
    pub(super) fn harden_clean(&mut self) {
        let few = if self.is_short_of_room() { 1 } else { self.few().max(1) };
        if self.owned.as_ref().is_some_and(|owned| owned.clean.len() >= few) && !self.health.journal_failed() {
            self.durability.harden(&mut self.effects);
        }
    }

    /// Drops the lines whose data the flash has dropped. Lines in use are not among them: the flash was told to keep
    /// them.
    pub(super) fn slots_dropped(&mut self, start: Lba, length: Bytes) {
        #[cfg(test)]
        if self.fault == Some(super::Fault::KeepsDropped) {
            return;
        }
        let first = (start.byte_offset() / self.line) as u32;
        let end = (start.byte_offset() + length.0).div_ceil(self.line) as u32;
        for slot in first..end.min(self.slots.limit()) {
            let Some(line) = self.slots.line_in(slot) else { continue };
            if self.locks.is_in_use(line) || self.slots.is_dirty(line) {
                continue;
            }
            match self.is_suspect(line) {
                true => self.counts.erased_suspects += 1,
                false => self.counts.dropped_lines += 1,
            }
            self.drop_line(line);
        }
    }

    /// Returns how long the flash has to keep the data of `line`, which is in `slot`.
    fn retention(&self, owned: &OwnedSlots, line: u32, slot: u32) -> Retention {
        let is_in_use = self.locks.is_in_use(line);
        let is_awaited = self.slots.recorded(line) == RecordedState::Dirty || owned.awaited.contains_key(&line);
        #[cfg(test)]
        let is_in_use = is_in_use && self.fault != Some(super::Fault::DropsInUse);
        #[cfg(test)]
        let is_awaited = is_awaited && self.fault != Some(super::Fault::DropsRecordedDirty);
        if self.slots.is_dirty(line) || is_in_use || is_awaited {
            Retention::Kept
        } else {
            match owned.slots[slot as usize].listed {
                SlotList::Nowhere => Retention::Droppable,
                SlotList::Suspects => Retention::Suspected,
                SlotList::Hot if owned.wear.is_short() => Retention::Droppable,
                SlotList::Hot => Retention::Kept,
            }
        }
    }

    /// Computes the retention of all touched lines, and puts the changes before the effects of this input.
    pub(super) fn settle_retention(&mut self) {
        let Some(mut owned) = self.owned.take() else { return };
        for line in std::mem::take(&mut owned.touched) {
            if let Some(slot) = self.slots.of(line) {
                let retention = self.retention(&owned, line, slot);
                owned.tell(slot, retention);
            }
        }
        let line = self.line;
        let mut effects: Vec<Effect> = Vec::with_capacity(owned.retained.len() + self.effects.len());
        effects.extend(owned.retained.drain(..).map(|(slot, retention)| Effect::Retain {
            device: FLASH,
            start: Lba::containing(u64::from(slot) * line),
            length: Bytes(line),
            retention,
        }));
        if !effects.is_empty() {
            effects.append(&mut self.effects);
            self.effects = effects;
        }
        self.owned = Some(owned);
    }

    /// Returns the restored `lines` that the policy may hold: the dirty ones, and then as many clean ones as there is
    /// room for. The others are evicted. All of them count as valid until the flash is told otherwise, which happens
    /// before anything is written.
    pub(super) fn most_needed(&mut self, lines: Vec<u32>) -> Vec<u32> {
        lines.iter().for_each(|&line| self.touched(line));
        let (mut dirty, mut clean): (Vec<u32>, Vec<u32>) =
            lines.into_iter().partition(|&line| self.slots.is_dirty(line));
        let most = self.most_valid();
        let room = (most - reserve(most)) as usize;
        let leave = clean.split_off(clean.len().min(room.saturating_sub(dirty.len())));
        self.to_evict.extend(leave);
        dirty.append(&mut clean);
        dirty
    }

    pub(super) fn check_owned(&self) {
        let Some(owned) = &self.owned else { return };
        owned.suspects.check(&owned.slots);
        owned.hot.check(&owned.slots);
        assert!(owned.hot.len() <= owned.hot_max, "too many lines are kept for their use");
        assert!(owned.hot.iter(&owned.slots).all(|slot| self.slots.line_in(slot).is_some()), "a free slot is kept");
        assert!(owned.suspects.len() <= owned.suspects_max, "too many suspects");
        for slot in owned.suspects.iter(&owned.slots) {
            let line = self.slots.line_in(slot).expect("a suspect is held");
            assert!(!self.slots.is_dirty(line) && !self.policy.holds(ObjectId(line)), "{line} is no suspect");
        }
        let told = owned.slots.iter().filter(|slot| slot.told == Retention::Suspected).count();
        assert_eq!(told, owned.suspected as usize, "the suspects are counted wrongly");
    }
}
