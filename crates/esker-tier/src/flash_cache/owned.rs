//! Flash that the cache owns. It is told how long the data of each slot have to stay, drops some of them instead of
//! copying them when it cleans, and says which (Xia 2017, chapters 2 and 3).
//!
//! - **Kept** are slots of lines that are dirty or in use, and of lines that the journal may still name as dirty. Also
//!   those of the lines that were used last, if some of these are to be kept.
//! - **Droppable** are those of all other lines that the policy holds.
//! - **Suspected** are those of clean lines that the policy has let go. They stay, beyond what the policy may hold,
//!   until the flash erases them, or until there are too many of them: then the one that left first goes. A line that
//!   is used again before is held again, and nothing has to be written for that.
//!
//! So many slots at most hold data that count as valid: the flash promises no more. All others are free, and trimmed,
//! or suspected.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use esker_cache::ObjectId;
use esker_core::{Bytes, Lba, Linked, Links, List, Retention};

use super::error::FlashCacheError;
use super::modes::{OwnedFlash, reserve};
use super::settings::FlashCacheSettings;
use super::slots::Recorded;
use super::worn::Worn;
use super::{FLASH, FlashCacheEngine};
use crate::engine::{Effect, RecordNumber};

/// Slots of flash that the cache owns.
#[derive(Debug)]
pub(super) struct Owned {
    /// Most slots whose data count as valid, and most suspects.
    pub(super) user: u32,
    suspects_max: u32,
    /// What has become of the room since the flash was new.
    pub(super) wear: Worn,
    slots: Vec<OwnedSlot>,
    /// Slots of lines that the policy has let go, the one that left first at the front.
    suspects: List,
    /// Slots of the lines that were used last, the one used longest ago at the front; and how many of them there are at
    /// most.
    hot: List,
    hot_max: u32,
    /// Slots that are not free, and that the flash was told are suspected.
    suspected: u32,
    /// Lines whose data may have to stay for another time than the flash was told.
    touched: Vec<u32>,
    /// Records that lines are clean which are not durable yet; and the last one of each line.
    clean: VecDeque<(RecordNumber, u32)>,
    awaited: BTreeMap<u32, RecordNumber>,
    /// What the flash is to be told before anything else.
    retained: Vec<(u32, Retention)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OwnedSlot {
    links: Links,
    listed: Listed,
    /// What the flash was told.
    told: Retention,
}

/// In which list a slot is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Listed {
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

impl Owned {
    /// `slots` slots, all of them free: `user` of them may hold data that count as valid, `suspects_max` may be
    /// suspects, and `hot_max` those of lines that are kept since they were used last.
    fn new(slots: u32, user: u32, suspects_max: u32, hot_max: u32) -> Self {
        Self {
            user,
            suspects_max,
            wear: Worn::new(user),
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

    /// From now on there is room for so many slots. As large a share of them as before is kept for its use.
    pub(super) fn shrink(&mut self, user: u32, suspects_max: u32) {
        self.hot_max = (u64::from(self.hot_max) * u64::from(user) / u64::from(self.user.max(1))) as u32;
        (self.user, self.suspects_max) = (user, suspects_max);
    }

    /// `line` may have to stay for another time.
    pub(super) fn touched(&mut self, line: Option<u32>) {
        self.touched.extend(line);
    }

    /// The suspect that left first, if there are too many.
    pub(super) fn excess_suspect(&self) -> Option<u32> {
        (self.suspects.len() > self.suspects_max).then(|| self.suspects.first()).flatten()
    }

    /// The slot used longest ago of those that are kept for their use, if these are too many. It is so no longer.
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

    /// `slot` is free: what is written to it next has to stay.
    fn freed(&mut self, slot: u32) {
        let told = std::mem::take(&mut self.slots[slot as usize].told);
        self.suspected -= u32::from(told == Retention::Suspected);
    }

    /// Takes `slot` out of its list. Returns whether it was a suspect.
    fn take_out(&mut self, slot: u32) -> bool {
        let listed = std::mem::take(&mut self.slots[slot as usize].listed);
        match listed {
            Listed::Nowhere => {}
            Listed::Suspects => drop(self.suspects.remove(&mut self.slots, slot)),
            Listed::Hot => drop(self.hot.remove(&mut self.slots, slot)),
        }
        listed == Listed::Suspects
    }
}

impl FlashCacheSettings {
    /// What is kept on the flash, which has so many slots, if the cache owns it.
    pub(super) fn owned_slots(&self, slots: u32) -> Result<Option<Owned>, FlashCacheError> {
        let Some(OwnedFlash { user, suspects, hot }) = self.owned else { return Ok(None) };
        let [most, suspected, hot] = [user, suspects, hot].map(|bytes| bytes.0 / self.line.0);
        if most < 2 || most + suspected > u64::from(slots) {
            return Err(FlashCacheError::OwnedRoom { user, suspects, slots, line: self.line });
        }
        Ok(Some(Owned::new(slots, most as u32, suspected as u32, hot.min(most) as u32)))
    }
}

impl FlashCacheEngine {
    /// Most slots that hold data which count as valid.
    pub(super) fn most_valid(&self) -> u32 {
        self.owned.as_ref().map_or(self.slots.limit(), |owned| owned.user)
    }

    /// How many more slots may hold data that count as valid.
    pub(super) fn room_for_valid(&self) -> u32 {
        let Some(owned) = &self.owned else { return u32::MAX };
        owned.user.saturating_sub(self.slots.taken() - owned.suspected)
    }

    /// `line` is in use, is so no longer, or is in another state.
    pub(super) fn touched(&mut self, line: u32) {
        if let Some(owned) = &mut self.owned {
            owned.touched.push(line);
        }
    }

    pub(super) fn is_suspect(&self, line: u32) -> bool {
        let slot = self.slots.of(line);
        self.owned.as_ref().zip(slot).is_some_and(|(owned, slot)| owned.slots[slot as usize].listed == Listed::Suspects)
    }

    /// The lines that are kept for their use may have to go all the same, or need not any more.
    pub(super) fn touch_hot(&mut self) {
        let Some(owned) = &mut self.owned else { return };
        let hot: Vec<u32> = owned.hot.iter(&owned.slots).collect();
        owned.touched.extend(hot.into_iter().filter_map(|slot| self.slots.line_in(slot)));
    }

    /// `line`, which is held, was used: its data stay until so many others were used since.
    pub(super) fn warm(&mut self, line: u32) {
        let slot = self.slots.of(line);
        let Some((owned, slot)) = self.owned.as_mut().filter(|owned| owned.hot_max > 0).zip(slot) else { return };
        owned.take_out(slot);
        owned.slots[slot as usize].listed = Listed::Hot;
        owned.hot.push_back(&mut owned.slots, slot);
        if let Some(cold) = owned.cool() {
            owned.touched.extend(self.slots.line_in(cold));
        }
    }

    /// Number of suspects.
    pub(super) fn suspects(&self) -> u32 {
        self.owned.as_ref().map_or(0, |owned| owned.suspects.len())
    }

    /// Whether `line`, which is clean, stays as a suspect now that the policy does not hold it.
    pub(super) fn suspect(&mut self, line: u32) -> bool {
        let (slot, recorded) = (self.slots.of(line), self.slots.recorded(line));
        let Some((owned, slot)) = self.owned.as_mut().zip(slot) else { return false };
        // The journal has it as dirty: until it says otherwise the data could not be given up.
        if recorded == Recorded::Dirty || owned.suspects_max == 0 || self.health.has_failed(FLASH) {
            return false;
        }
        owned.take_out(slot);
        owned.slots[slot as usize].listed = Listed::Suspects;
        owned.suspects.push_back(&mut owned.slots, slot);
        owned.touched.push(line);
        self.drop_excess_suspects();
        true
    }

    /// Has the suspects leave that there are too many of.
    pub(super) fn drop_excess_suspects(&mut self) {
        while let Some(slot) = self.owned.as_ref().and_then(|owned| owned.excess_suspect()) {
            let line = self.slots.line_in(slot).expect("a suspect is held");
            self.drop_line(line);
        }
    }

    /// `line` is going to leave, or is held by the policy again. Returns whether it was a suspect.
    pub(super) fn end_suspicion(&mut self, line: u32) -> bool {
        let slot = self.slots.of(line);
        self.owned.as_mut().zip(slot).is_some_and(|(owned, slot)| owned.take_out(slot))
    }

    /// `line` is about to be used: if it is suspected, its data have to stay from now on. If there is no room for
    /// that, it leaves.
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

    /// Slots are free.
    pub(super) fn slots_told(&mut self, slots: Range<u32>) {
        if let Some(owned) = &mut self.owned {
            slots.clone().for_each(|slot| owned.freed(slot));
        }
        self.slots.told(slots);
    }

    /// The journal is to hold, with `record`, that `line` is clean.
    pub(super) fn await_clean(&mut self, line: u32, record: RecordNumber) {
        if let Some(owned) = &mut self.owned {
            owned.clean.push_back((record, line));
            owned.awaited.insert(line, record);
        }
    }

    /// Records up to `through` are durable.
    pub(super) fn clean_durable(&mut self, through: RecordNumber) {
        let Some(owned) = &mut self.owned else { return };
        while let Some((record, line)) = owned.clean.pop_front_if(|(record, _)| *record <= through) {
            if owned.awaited.get(&line) == Some(&record) {
                owned.awaited.remove(&line);
                owned.touched.push(line);
            }
        }
    }

    /// Has the records that lines are clean made durable, so that those need not be kept.
    pub(super) fn harden_clean(&mut self) {
        let few = if self.is_short_of_room() { 1 } else { self.few().max(1) };
        if self.owned.as_ref().is_some_and(|owned| owned.clean.len() >= few) && !self.health.journal_failed() {
            self.durability.harden(&mut self.effects);
        }
    }

    /// The flash has dropped the data of slots. Lines in use are kept, and were told so before.
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
                false => self.counts.dropped += 1,
            }
            self.drop_line(line);
        }
    }

    /// How long the data of `line`, which is in `slot`, have to stay.
    fn retention(&self, owned: &Owned, line: u32, slot: u32) -> Retention {
        let is_in_use = self.locks.is_in_use(line);
        let is_awaited = self.slots.recorded(line) == Recorded::Dirty || owned.awaited.contains_key(&line);
        #[cfg(test)]
        let is_in_use = is_in_use && self.fault != Some(super::Fault::DropsInUse);
        #[cfg(test)]
        let is_awaited = is_awaited && self.fault != Some(super::Fault::DropsRecordedDirty);
        if self.slots.is_dirty(line) || is_in_use || is_awaited {
            Retention::Kept
        } else {
            match owned.slots[slot as usize].listed {
                Listed::Nowhere => Retention::Droppable,
                Listed::Suspects => Retention::Suspected,
                Listed::Hot if owned.wear.is_short() => Retention::Droppable,
                Listed::Hot => Retention::Kept,
            }
        }
    }

    /// Puts what the flash has to be told before the effects of an input.
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

    /// Those of `lines`, which were restored, that the policy is to hold: the dirty ones, and then as many clean ones
    /// as there is room for. The others leave. All of them count as valid until the flash is told otherwise, which is
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
