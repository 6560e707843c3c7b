//! Which line is in which slot of the flash.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use super::former::Former;
use super::free::FreeSlots;
use super::modes::{Trimming, reserve};
use super::slot::{NONE, Slot};
pub(super) use super::slot::{Recorded, State};
use crate::engine::RecordNumber;

/// All slots. Takes 4 bytes for a line of the volume, and 28 for a slot.
#[derive(Debug)]
pub(super) struct Slots {
    lines: Vec<u32>,
    slots: Vec<Slot>,
    free: FreeSlots,
    /// Which slots that become free the flash is told of, before they are used again.
    trims: Trimming,
    /// Slots that are free once the flash has been told; those of them that are still to be sent.
    trimming: BTreeSet<u32>,
    untold: Vec<u32>,
    /// Records that a line has left, with the line and its slot, which is free once the record is durable.
    leaving: VecDeque<(RecordNumber, u32, u32)>,
    /// The last of those records, for each line.
    left: BTreeMap<u32, RecordNumber>,
    /// Slots of lines whose data have gone to another one since.
    former: Former,
    /// Slots from this one on are not used any more.
    limit: u32,
    /// Counts changes.
    clock: u64,
    /// Dirty lines, without those that cannot be read any more.
    dirty: BTreeSet<u32>,
    /// Dirty lines that cannot be read any more.
    lost: BTreeSet<u32>,
}

impl Slots {
    /// So many slots for lines of so many; all are free. With `log` they are used in their order; `trims` says
    /// when the flash is told of those that become free.
    pub(super) fn new(lines: u32, slots: u32, log: bool, trims: Trimming) -> Self {
        let empty = Slot { line: NONE, recorded: Recorded::No, dirty: false, mapped_at: 0, changed_at: 0 };
        Self {
            lines: vec![NONE; lines as usize],
            slots: vec![empty; slots as usize],
            free: FreeSlots::new(slots, log.then(|| reserve(slots))),
            trims,
            trimming: BTreeSet::new(),
            untold: Vec::new(),
            leaving: VecDeque::new(),
            left: BTreeMap::new(),
            former: Former::default(),
            limit: slots,
            clock: 0,
            dirty: BTreeSet::new(),
            lost: BTreeSet::new(),
        }
    }

    pub(super) fn lines(&self) -> u32 {
        self.lines.len() as u32
    }

    /// Number of slots in use.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// The slot of `line`.
    pub(super) fn of(&self, line: u32) -> Option<u32> {
        Some(self.lines[line as usize]).filter(|&slot| slot != NONE)
    }

    pub(super) fn is_dirty(&self, line: u32) -> bool {
        self.of(line).is_some_and(|slot| self.slots[slot as usize].dirty)
    }

    /// The line whose data are in `slot`.
    pub(super) fn line_in(&self, slot: u32) -> Option<u32> {
        Some(self.slots[slot as usize].line).filter(|&line| line != NONE)
    }

    /// What the journal has been told of `line` in its present slot.
    pub(super) fn recorded(&self, line: u32) -> Recorded {
        self.of(line).map_or(Recorded::No, |slot| self.slots[slot as usize].recorded)
    }

    /// Whether the journal names `line`, if in a former slot.
    pub(super) fn is_known(&self, line: u32) -> bool {
        self.recorded(line) != Recorded::No || self.former.named().contains_key(&line)
    }

    pub(super) fn set_recorded(&mut self, line: u32, recorded: Recorded) {
        let slot = self.lines[line as usize] as usize;
        self.slots[slot].recorded = recorded;
    }

    /// Takes a free slot. If slots are a log, the lines that it reaches are appended to `reached`: they have to leave.
    pub(super) fn take(&mut self, reached: &mut Vec<u32>) -> Option<u32> {
        let Self { free, slots, .. } = self;
        free.take(|slot| reached.extend(Some(slots[slot as usize].line).filter(|&line| line != NONE)))
    }

    /// Number of slots that can be taken now.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Number of slots that lines have, or had until a record that is not durable yet.
    pub(super) fn used(&self) -> u32 {
        self.limit.saturating_sub((self.free.len() + self.trimming.len()) as u32)
    }

    /// Number of slots that are not free.
    pub(super) fn taken(&self) -> u32 {
        self.limit - self.free.len() as u32
    }

    /// Number of slots that can be taken before a log has to pass over one that is not free.
    pub(super) fn free_in_order(&self) -> usize {
        self.free.run()
    }

    /// Gives back a slot that was taken, or that a line has left. Where slots are scarce it is used again at once: to
    /// write to it tells the flash as much as a trim does.
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

    /// Takes the slots that the flash is to be told of, neighbours as one range.
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

    /// The flash was told of these slots: they are free.
    pub(super) fn told(&mut self, slots: Range<u32>) {
        for slot in slots {
            if self.trimming.remove(&slot) {
                self.make_free(slot);
            }
        }
    }

    /// `line` has its data in `slot`, which was taken.
    pub(super) fn map(&mut self, line: u32, slot: u32, dirty: bool) {
        self.clock += 1;
        self.lines[line as usize] = slot;
        self.slots[slot as usize] =
            Slot { line, recorded: Recorded::No, dirty: false, mapped_at: self.clock, changed_at: self.clock };
        self.set_dirty(line, dirty);
    }

    /// `line` has no slot any more. Its slot is free at once, or once `record` is durable.
    pub(super) fn unmap(&mut self, line: u32, record: Option<RecordNumber>) {
        let slot = std::mem::replace(&mut self.lines[line as usize], NONE);
        self.slots[slot as usize].line = NONE;
        self.dirty.remove(&line);
        self.lost.remove(&line);
        self.leave(line, slot, record);
        self.former_leave(line, record);
        self.left.extend(record.map(|record| (line, record)));
    }

    /// The data of `line`, which is dirty, have gone to `slot`, which was taken. The one before stays until this one is
    /// recorded if the journal names it, or if the flash `is_flushing`: somebody may wait for what it holds.
    pub(super) fn remap(&mut self, line: u32, slot: u32, is_flushing: bool) {
        let before = self.lines[line as usize];
        let Slot { recorded, mapped_at, .. } = self.slots[before as usize];
        self.slots[before as usize].line = NONE;
        match recorded {
            Recorded::No if is_flushing => self.former.promise(line, before, mapped_at),
            Recorded::No => self.put_back(before),
            Recorded::Clean | Recorded::Dirty => {
                let other = self.former.name(line, before);
                assert_eq!(other, None, "the journal names two slots of a line");
            }
        }
        self.map(line, slot, true);
    }

    /// What `state` was of is durable, and its line has left. Returns the slot that holds it, if it was kept.
    pub(super) fn keep_promise(&mut self, state: State) -> Option<u32> {
        let (slot, earlier) = self.former.keep_promise(state)?;
        earlier.into_iter().for_each(|slot| self.put_back(slot));
        Some(slot)
    }

    /// The journal names `slot`, which was kept, once `record` is durable. Then the one that it names now is free.
    pub(super) fn name_former(&mut self, line: u32, slot: u32, record: RecordNumber) {
        let before = self.former.name(line, slot);
        before.into_iter().for_each(|before| self.leave(line, before, Some(record)));
    }

    /// No flush can be for what former slots hold.
    pub(super) fn forget_promises(&mut self) {
        self.former.forget_promises().into_iter().for_each(|slot| self.put_back(slot));
    }

    /// The former slots of `line` are free at once, or once `record` is durable.
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

    /// The former slots that the journal names, by line.
    pub(super) fn former_named(&self) -> &BTreeMap<u32, u32> {
        self.former.named()
    }

    /// Records up to `through` are durable: slots become free.
    pub(super) fn durable(&mut self, through: RecordNumber) {
        while let Some((record, line, slot)) = self.leaving.pop_front_if(|(record, ..)| *record <= through) {
            self.put_back(slot);
            if self.left.get(&line) == Some(&record) {
                self.left.remove(&line);
            }
        }
    }

    /// The record that `line` has left a slot, if it is not durable yet.
    pub(super) fn leaves_with(&self, line: u32) -> Option<RecordNumber> {
        self.left.get(&line).copied()
    }

    /// Whether slots wait for a record.
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

    /// The dirty `line` cannot be read: the cleaner leaves it alone.
    pub(super) fn lose(&mut self, line: u32) {
        self.dirty.remove(&line);
        self.lost.insert(line);
    }

    /// The data of `line` change.
    pub(super) fn change(&mut self, line: u32) {
        self.clock += 1;
        let slot = self.lines[line as usize] as usize;
        self.slots[slot].changed_at = self.clock;
    }

    /// The state of the data of `line` now.
    pub(super) fn state(&self, line: u32) -> State {
        State { line, at: self.slots[self.lines[line as usize] as usize].changed_at }
    }

    /// Whether `state` is one of the present data of its line, in the slot where they are. They may have changed.
    pub(super) fn is_here(&self, state: State) -> bool {
        self.of(state.line).is_some_and(|slot| self.slots[slot as usize].mapped_at <= state.at)
    }

    /// Whether the data of a line are still as they were in `state`.
    pub(super) fn is_unchanged(&self, state: State) -> bool {
        self.is_here(state) && self.state(state.line) == state
    }

    /// Number of dirty lines that can be copied back.
    pub(super) fn dirty(&self) -> u32 {
        self.dirty.len() as u32
    }

    /// Whether any line is dirty, lost ones included.
    pub(super) fn any_dirty(&self) -> bool {
        !self.dirty.is_empty() || !self.lost.is_empty()
    }

    /// The next dirty line from `line` on, in rounds.
    pub(super) fn next_dirty(&self, line: u32) -> Option<u32> {
        self.dirty.range(line..).next().or_else(|| self.dirty.first()).copied()
    }

    /// Sets the number of slots that are used. Returns the lines in the others, which have to leave.
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

    /// The lines that have to leave, because of where they are.
    pub(super) fn to_leave(&self) -> Vec<u32> {
        self.held().map(|(line, ..)| line).filter(|&line| self.has_to_leave(line)).collect()
    }

    /// Whether the slot of `line` is not to be used any more, or the log has reached it.
    pub(super) fn has_to_leave(&self, line: u32) -> bool {
        self.of(line).is_some_and(|slot| slot >= self.limit || self.free.is_reached(slot))
    }

    /// The lines that may stay: of a log the oldest first, else in rising order.
    pub(super) fn to_stay(&self) -> Vec<u32> {
        let mut held: Vec<(Option<u32>, u32)> =
            self.held().map(|(line, slot, ..)| (self.free.age(slot), line)).collect();
        held.sort_unstable();
        held.into_iter().map(|(_, line)| line).filter(|&line| !self.has_to_leave(line)).collect()
    }

    /// The lines that are held, in no order: line, slot, what is recorded, whether it is dirty.
    pub(super) fn held(&self) -> impl Iterator<Item = (u32, u32, Recorded, bool)> {
        let slots = (0..).zip(&self.slots).filter(|(_, slot)| slot.line != NONE);
        slots.map(|(number, slot)| (slot.line, number, slot.recorded, slot.dirty))
    }

    /// Takes `slot` for `line`, as a record says; it leaves the one that it has. Returns false if that is not free.
    pub(super) fn restore(&mut self, line: u32, slot: u32, dirty: bool) -> bool {
        let is_free = self.slots[slot as usize].line == NONE;
        if is_free {
            if self.of(line).is_some() {
                self.unmap(line, None);
            }
            self.map(line, slot, dirty);
            self.set_recorded(line, if dirty { Recorded::Dirty } else { Recorded::Clean });
        }
        is_free
    }

    /// Finds the free slots after records have been applied. The flash is not told of them: which ones it was told of
    /// before is not recorded.
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
