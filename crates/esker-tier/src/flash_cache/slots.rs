//! Tracks which line is in which slot of the flash.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use super::former_slots::FormerSlots;
use super::free_slots::FreeSlots;
use super::modes::{Trimming, reserve};
pub(super) use super::slot::{DataVersion, RecordedState};
use super::slot::{NONE, Slot};
use crate::engine::RecordNumber;

/// All slots of the flash. Takes 4 bytes per line of the volume, and 28 per slot.
#[derive(Debug)]
pub(super) struct Slots {
    lines: Vec<u32>,
    slots: Vec<Slot>,
    free: FreeSlots,
    /// Which slots are trimmed on the flash when they become free.
    trims: Trimming,
    /// Slots that become free once their trim has ended, and in `untold` the slots whose trim has not been sent yet.
    trimming: BTreeSet<u32>,
    untold: Vec<u32>,
    /// Records that a line has left its slot: record, line, and the slot, which is free once the record is durable.
    leaving: VecDeque<(RecordNumber, u32, u32)>,
    /// For each line, the last of those records.
    left: BTreeMap<u32, RecordNumber>,
    /// Former slots of lines whose data have moved to another slot.
    former: FormerSlots,
    /// Slots with this number and above are not used.
    limit: u32,
    /// The clock of changes: counts new mappings and changes of lines.
    clock: u64,
    /// Dirty lines that can be read.
    dirty: BTreeSet<u32>,
    /// Dirty lines that the flash could not read.
    lost: BTreeSet<u32>,
}

impl Slots {
    /// Creates `slots` free slots for a volume of `lines` lines. With `log`, slots are used in the order of their
    /// addresses. `trims` says which slots are trimmed when they become free.
    pub(super) fn new(lines: u32, slots: u32, log: bool, trims: Trimming) -> Self {
        let empty = Slot { line: NONE, recorded: RecordedState::No, dirty: false, mapped_at: 0, changed_at: 0 };
        Self {
            lines: vec![NONE; lines as usize],
            slots: vec![empty; slots as usize],
            free: FreeSlots::new(slots, log.then(|| reserve(slots))),
            trims,
            trimming: BTreeSet::new(),
            untold: Vec::new(),
            leaving: VecDeque::new(),
            left: BTreeMap::new(),
            former: FormerSlots::default(),
            limit: slots,
            clock: 0,
            dirty: BTreeSet::new(),
            lost: BTreeSet::new(),
        }
    }

    pub(super) fn lines(&self) -> u32 {
        self.lines.len() as u32
    }

    /// Number of slots that may be used.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Returns the slot that holds `line`.
    pub(super) fn of(&self, line: u32) -> Option<u32> {
        Some(self.lines[line as usize]).filter(|&slot| slot != NONE)
    }

    pub(super) fn is_dirty(&self, line: u32) -> bool {
        self.of(line).is_some_and(|slot| self.slots[slot as usize].dirty)
    }

    /// Returns the line that `slot` holds.
    pub(super) fn line_in(&self, slot: u32) -> Option<u32> {
        Some(self.slots[slot as usize].line).filter(|&line| line != NONE)
    }

    /// Returns what the journal's records say about `line` in its present slot.
    pub(super) fn recorded(&self, line: u32) -> RecordedState {
        self.of(line).map_or(RecordedState::No, |slot| self.slots[slot as usize].recorded)
    }

    /// Returns true if the journal names `line`, in its present slot or a former one.
    pub(super) fn is_known(&self, line: u32) -> bool {
        self.recorded(line) != RecordedState::No || self.former.named().contains_key(&line)
    }

    pub(super) fn set_recorded(&mut self, line: u32, recorded: RecordedState) {
        let slot = self.lines[line as usize] as usize;
        self.slots[slot].recorded = recorded;
    }

    /// Takes a free slot. In a log, appends the lines that it reaches to `reached`: they have to leave.
    pub(super) fn take(&mut self, reached: &mut Vec<u32>) -> Option<u32> {
        let Self { free, slots, .. } = self;
        free.take(|slot| reached.extend(Some(slots[slot as usize].line).filter(|&line| line != NONE)))
    }

    /// Number of slots that can be taken now.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Number of slots that hold a line, or wait for the record that their line has left.
    pub(super) fn used(&self) -> u32 {
        self.limit - (self.free.count() + self.trimming.range(..self.limit).count()) as u32
    }

    /// Number of slots that cannot be taken now.
    pub(super) fn taken(&self) -> u32 {
        self.limit - self.free.len() as u32
    }

    /// Number of slots that can be taken before a log has to skip a slot that is not free.
    pub(super) fn free_in_order(&self) -> usize {
        self.free.run()
    }

    /// Gives back a slot that was taken, or whose line has left. While slots are scarce, the slot is reused at once
    /// instead of being trimmed: writing to it tells the flash as much as a trim would.
    pub(super) fn put_back(&mut self, slot: u32) {
        let is_scarce = slot < self.limit && self.free.len() < reserve(self.limit) as usize / 2;
        if self.trims == Trimming::Always || (self.trims == Trimming::IfPlenty && !is_scarce) {
            self.trimming.insert(slot);
            self.untold.push(slot);
        } else {
            self.make_free(slot);
        }
    }

    fn make_free(&mut self, slot: u32) {
        if slot < self.limit {
            self.free.put_back(slot);
        }
    }

    /// Takes the slots to trim, adjacent ones as one range.
    pub(super) fn take_untold(&mut self) -> Vec<Range<u32>> {
        self.untold.sort_unstable();
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for slot in self.untold.drain(..) {
            match ranges.last_mut() {
                Some(range) if range.end == slot => range.end += 1,
                _ => ranges.push(slot..slot + 1),
            }
        }
        ranges
    }

    /// Notes that the trim of `slots` has ended: they are free.
    pub(super) fn told(&mut self, slots: Range<u32>) {
        for slot in slots {
            if self.trimming.remove(&slot) {
                self.make_free(slot);
            }
        }
    }

    /// Puts `line` into `slot`, which was taken before.
    pub(super) fn map(&mut self, line: u32, slot: u32, dirty: bool) {
        self.clock += 1;
        self.lines[line as usize] = slot;
        self.slots[slot as usize] =
            Slot { line, recorded: RecordedState::No, dirty: false, mapped_at: self.clock, changed_at: self.clock };
        self.set_dirty(line, dirty);
    }

    /// Takes `line` out of its slot. The slot is free at once, or once `record` is durable.
    pub(super) fn unmap(&mut self, line: u32, record: Option<RecordNumber>) {
        let slot = std::mem::replace(&mut self.lines[line as usize], NONE);
        self.slots[slot as usize].line = NONE;
        self.dirty.remove(&line);
        self.lost.remove(&line);
        self.leave(line, slot, record);
        self.former_leave(line, record);
        self.left.extend(record.map(|record| (line, record)));
    }

    /// Moves the dirty `line` to `slot`, which was taken before. The old slot is kept until a record names the new one
    /// if the journal names the old slot, or if the flash `is_flushing`: a host may wait for the data in the old slot.
    pub(super) fn remap(&mut self, line: u32, slot: u32, is_flushing: bool) {
        let before = self.lines[line as usize];
        let Slot { recorded, mapped_at, .. } = self.slots[before as usize];
        self.slots[before as usize].line = NONE;
        match recorded {
            RecordedState::No if is_flushing => self.former.promise(line, before, mapped_at),
            RecordedState::No => self.put_back(before),
            RecordedState::Clean | RecordedState::Dirty => {
                let other = self.former.name(line, before);
                assert_eq!(other, None, "the journal names two slots of a line");
            }
        }
        self.map(line, slot, true);
    }

    /// Notes that the data of `version` are durable, although their line has moved to another slot. Returns the former
    /// slot that holds them, if it was kept.
    pub(super) fn keep_promise(&mut self, version: DataVersion) -> Option<u32> {
        let (slot, earlier) = self.former.keep_promise(version)?;
        earlier.into_iter().for_each(|slot| self.put_back(slot));
        Some(slot)
    }

    /// Notes that the journal will name the former `slot` once `record` is durable. The former slot that it has named
    /// until now is free then.
    pub(super) fn name_former(&mut self, line: u32, slot: u32, record: RecordNumber) {
        let before = self.former.name(line, slot);
        before.into_iter().for_each(|before| self.leave(line, before, Some(record)));
    }

    /// Frees the former slots that were kept only for a flush: no flush is under way.
    pub(super) fn forget_promises(&mut self) {
        self.former.forget_promises().into_iter().for_each(|slot| self.put_back(slot));
    }

    /// Frees the former slots of `line`: at once, or those that the journal names once `record` is durable.
    pub(super) fn former_leave(&mut self, line: u32, record: Option<RecordNumber>) {
        let (named, promised) = self.former.forget(line);
        promised.into_iter().for_each(|slot| self.put_back(slot));
        named.into_iter().for_each(|slot| self.leave(line, slot, record));
    }

    fn leave(&mut self, line: u32, slot: u32, record: Option<RecordNumber>) {
        match record {
            Some(record) => self.leaving.push_back((record, line, slot)),
            None => self.put_back(slot),
        }
    }

    /// Returns the former slots that the journal names, by line.
    pub(super) fn former_named(&self) -> &BTreeMap<u32, u32> {
        self.former.named()
    }

    /// Notes that records up to `through` are durable, and frees the slots that waited for them.
    pub(super) fn durable(&mut self, through: RecordNumber) {
        while let Some((record, line, slot)) = self.leaving.pop_front_if(|(record, ..)| *record <= through) {
            self.put_back(slot);
            if self.left.get(&line) == Some(&record) {
                self.left.remove(&line);
            }
        }
    }

    /// Returns the record that `line` has left a slot, if that record is not durable yet.
    pub(super) fn leaves_with(&self, line: u32) -> Option<RecordNumber> {
        self.left.get(&line).copied()
    }

    /// Returns true if slots wait for a record.
    pub(super) fn are_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }

    pub(super) fn set_dirty(&mut self, line: u32, dirty: bool) {
        let slot = self.lines[line as usize] as usize;
        self.slots[slot].dirty = dirty;
        if dirty {
            self.dirty.insert(line);
        } else {
            self.dirty.remove(&line);
        }
        self.lost.remove(&line);
    }

    /// Notes that the dirty `line` cannot be read: the cleaner skips it.
    pub(super) fn lose(&mut self, line: u32) {
        self.dirty.remove(&line);
        self.lost.insert(line);
    }

    /// Notes a change of the data of `line`.
    pub(super) fn change(&mut self, line: u32) {
        self.clock += 1;
        let slot = self.lines[line as usize] as usize;
        self.slots[slot].changed_at = self.clock;
    }

    /// Returns the present version of the data of `line`.
    pub(super) fn version(&self, line: u32) -> DataVersion {
        DataVersion { line, at: self.slots[self.lines[line as usize] as usize].changed_at }
    }

    /// Returns true if the line is still in the slot in which it was at `version`. Its data may have changed since.
    pub(super) fn is_here(&self, version: DataVersion) -> bool {
        self.of(version.line).is_some_and(|slot| self.slots[slot as usize].mapped_at <= version.at)
    }

    /// Returns true if the line's data are still those of `version`.
    pub(super) fn is_unchanged(&self, version: DataVersion) -> bool {
        self.is_here(version) && self.version(version.line) == version
    }

    /// Number of dirty lines that can be copied back.
    pub(super) fn dirty(&self) -> u32 {
        self.dirty.len() as u32
    }

    /// Returns true if any line is dirty, including dirty lines that cannot be read.
    pub(super) fn any_dirty(&self) -> bool {
        !self.dirty.is_empty() || !self.lost.is_empty()
    }

    /// Returns the first dirty line at or after `line`, or the first of all if there is none.
    pub(super) fn next_dirty(&self, line: u32) -> Option<u32> {
        self.dirty.range(line..).next().or_else(|| self.dirty.first()).copied()
    }

    /// Limits the slots to the first `limit`. Returns the lines that have to leave.
    pub(super) fn shrink(&mut self, limit: u32) -> Vec<u32> {
        self.limit = limit;
        if self.trims != Trimming::Never {
            let beyond: Vec<u32> = self.free.all().into_iter().filter(|&slot| slot >= limit).collect();
            self.trimming.extend(&beyond);
            self.untold.extend(beyond);
        }
        self.free.shrink(limit, reserve(limit));
        self.to_leave()
    }

    /// Returns the lines that have to leave because of the slots that they are in.
    pub(super) fn to_leave(&self) -> Vec<u32> {
        self.held().map(|(line, ..)| line).filter(|&line| self.has_to_leave(line)).collect()
    }

    /// Returns true if the slot of `line` may not be used any more, or if the log has reached it.
    pub(super) fn has_to_leave(&self, line: u32) -> bool {
        self.of(line).is_some_and(|slot| slot >= self.limit || self.free.is_reached(slot))
    }

    /// Returns the lines that may stay: in a log oldest first, otherwise by rising number.
    pub(super) fn to_stay(&self) -> Vec<u32> {
        let mut held: Vec<(Option<u32>, u32)> =
            self.held().map(|(line, slot, ..)| (self.free.age(slot), line)).collect();
        held.sort_unstable();
        held.into_iter().map(|(_, line)| line).filter(|&line| !self.has_to_leave(line)).collect()
    }

    /// Returns the cached lines, in the order of their slots: line, slot, what the journal says, and whether the line
    /// is dirty.
    pub(super) fn held(&self) -> impl Iterator<Item = (u32, u32, RecordedState, bool)> {
        let slots = (0..).zip(&self.slots).filter(|(_, slot)| slot.line != NONE);
        slots.map(|(number, slot)| (slot.line, number, slot.recorded, slot.dirty))
    }

    /// Returns true if the journal says of any line that it is dirty: after a crash it would be again. A line that has
    /// left waits for the record of that.
    pub(super) fn any_recorded_dirty(&self) -> bool {
        !self.former.named().is_empty() || self.held().any(|(.., recorded, _)| recorded == RecordedState::Dirty)
    }

    /// Puts `line` into `slot`, as a record says, and takes it out of the slot that it is in. Returns false if `slot`
    /// holds a line already.
    pub(super) fn restore(&mut self, line: u32, slot: u32, dirty: bool) -> bool {
        let is_free = self.slots[slot as usize].line == NONE;
        if is_free {
            if self.of(line).is_some() {
                self.unmap(line, None);
            }
            self.map(line, slot, dirty);
            self.set_recorded(line, if dirty { RecordedState::Dirty } else { RecordedState::Clean });
        }
        is_free
    }

    /// Finds the free slots after all records have been applied. None of them is trimmed again: the journal does not
    /// say which ones were trimmed already.
    pub(super) fn restored(&mut self) {
        self.trimming.clear();
        self.untold.clear();
        let Self { free, slots, limit, .. } = self;
        free.restore(*limit, |slot| slots[slot as usize].line == NONE);
    }

    pub(super) fn check(&self) {
        for (line, slot, _, dirty) in self.held() {
            assert_eq!(self.of(line), Some(slot));
            assert_eq!(dirty, self.dirty.contains(&line) || self.lost.contains(&line));
        }
        self.free.check();
        let mut unused = self.free.all();
        unused
            .extend(self.leaving.iter().map(|(.., slot)| slot).chain(&self.trimming).copied().chain(self.former.all()));
        let all = unused.len();
        unused.sort_unstable();
        unused.dedup();
        assert_eq!(unused.len(), all, "a slot is free twice");
        assert!(unused.iter().all(|&slot| self.slots[slot as usize].line == NONE), "a free slot holds a line");
        assert!(self.lines.iter().filter(|&&slot| slot != NONE).count() == self.held().count());
    }
}
