//! Flash that a cache owns: at every write it may drop data that it need not keep, and it promises room for a limited
//! number of slots.

use std::collections::BTreeSet;

use esker_core::Retention;

use super::world::{FlashCacheRules, World};
use super::*;
use crate::testing::Around;

/// What the flash knows about its slots.
#[derive(Debug)]
pub(super) struct OwnedStore {
    retained: Vec<Retention>,
    pub(super) has_data: Vec<bool>,
    /// Slots whose data were dropped and that have not been written since.
    dropped: BTreeSet<u64>,
    pub(super) user: usize,
    pub(super) line: u64,
    /// How much room it had at first: lines, and suspects.
    pub(super) at_first: [usize; 2],
    /// Most slots that may be valid now. This exceeds the room while lines that no longer fit have yet to leave.
    pub(super) bound: usize,
    /// Whether it drops anything, and how many lines and suspects it has dropped.
    pub(super) drops_data: bool,
    pub(super) drops: [u64; 2],
}

impl OwnedStore {
    pub(super) fn new(settings: &FlashCacheSettings, owned: OwnedFlash) -> Self {
        let slots = (settings.flash.0 / settings.line.0) as usize;
        let at_first = [owned.user, owned.suspects].map(|bytes| (bytes.0 / settings.line.0) as usize);
        Self {
            retained: vec![Retention::Kept; slots],
            has_data: vec![false; slots],
            dropped: BTreeSet::new(),
            user: at_first[0],
            line: settings.line.0,
            at_first,
            bound: at_first[0],
            drops_data: true,
            drops: [0; 2],
        }
    }

    /// Restarts the flash: dropped data stay dropped. Of the rest it has the data that the records name, and keeps them
    /// until the cache says otherwise.
    pub(super) fn after_loss_of_power(mut self, records: &Checkpoint) -> Self {
        let slot = |record: &Record| match FlashCacheRecord::try_from(*record) {
            Ok(FlashCacheRecord::Cached { slot, .. }) => slot.0 as usize,
            other => panic!("a checkpoint says which lines are held: {other:?}"),
        };
        let named: BTreeSet<usize> = records.records.iter().map(slot).collect();
        (0..self.has_data.len()).for_each(|slot| self.has_data[slot] &= named.contains(&slot));
        self.retained.fill(Retention::Kept);
        self.bound = self.at_first[0];
        self
    }

    pub(super) fn retain(&mut self, start: Lba, retention: Retention) {
        let slot = start.byte_offset() / self.line;
        assert_eq!(start.byte_offset() % self.line, 0, "part of a slot");
        // A cache that was restored from its records may ask to keep data that are gone.
        self.retained[slot as usize] = retention;
    }

    /// Returns the number of slots whose data count as valid.
    pub(super) fn valid(&self) -> usize {
        let counts = |slot: &usize| self.has_data[*slot] && self.retained[*slot] != Retention::Suspected;
        (0..self.has_data.len()).filter(counts).count()
    }

    pub(super) fn slots(&self, request: &Request) -> std::ops::Range<u64> {
        request.start.byte_offset() / self.line..request.end_byte().div_ceil(self.line)
    }

    /// Drops one of the slots that may be dropped, chosen by `choice`.
    fn drop_one(&mut self, choice: u64) -> Option<u64> {
        let may_go = |&slot: &usize| self.drops_data && self.has_data[slot] && self.retained[slot] != Retention::Kept;
        let all: Vec<usize> = (0..self.retained.len()).filter(may_go).collect();
        let slot = *all.get(choice as usize % all.len().max(1))?;
        self.drops[usize::from(self.retained[slot] == Retention::Suspected)] += 1;
        self.has_data[slot] = false;
        self.dropped.insert(slot as u64);
        Some(slot as u64)
    }
}

/// The content of a slot whose data were dropped, if only a part of it is written.
const GARBAGE: u64 = u64::MAX;

impl World {
    /// After a restart the flash reports which of the slots that the records name it has dropped.
    pub(super) fn tell_dropped(&mut self) {
        let Some(owned) = &self.rules.owned else { return };
        let line = owned.line;
        for slot in owned.dropped.clone() {
            let (start, length) = (Lba::containing(slot * line), Bytes(line));
            self.tell(Input::Dropped { device: FLASH, start, length });
        }
    }
}

impl Around<FlashCacheRules> {
    /// Returns true if a read asks for data that the flash has dropped.
    pub(super) fn has_dropped(&self, request: &Request) -> bool {
        let owned = self.rules.owned.as_ref();
        owned.is_some_and(|owned| owned.slots(request).any(|slot| owned.dropped.contains(&slot)))
    }

    /// Handles a request that the flash has served. A write may make it drop data that need not stay.
    pub(super) fn clean_flash(&mut self, request: &Request) {
        let choice = self.rng.below(64);
        let Some(owned) = &mut self.rules.owned else { return };
        for slot in owned.slots(request) {
            match request.kind {
                RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } => {
                    owned.has_data[slot as usize] = true;
                    owned.dropped.remove(&slot);
                    owned.retained[slot as usize] = Retention::Kept;
                }
                RequestKind::Trim => {
                    owned.has_data[slot as usize] = false;
                    owned.retained[slot as usize] = Retention::Kept;
                }
                RequestKind::Read | RequestKind::Flush => return,
            }
        }
        let valid = owned.valid();
        assert!(valid <= owned.bound, "{valid} slots are valid, and {} were promised", owned.bound);
        if choice < 32
            && let Some(slot) = owned.drop_one(choice)
        {
            let sectors = owned.line / 512;
            let (start, length) = (Lba(slot * sectors), Bytes(owned.line));
            let store = &mut self.devices[0].store;
            (slot * sectors..(slot + 1) * sectors).for_each(|sector| store.write(sector as usize, GARBAGE, true));
            self.inputs.push_back(Input::Dropped { device: FLASH, start, length });
        }
    }
}

/// Settings of a cache of four lines and four suspects.
pub(super) fn owned(role: CacheRole, write: WriteHandling) -> FlashCacheSettings {
    let line = Bytes(LINE * 512);
    let owned = Some(OwnedFlash { user: Bytes(4 * line.0), suspects: Bytes(4 * line.0), hot: Bytes::ZERO });
    FlashCacheSettings { owned, ..settings(9, 32, role, write) }
}

pub(super) fn read(world: &mut World, line: u64) {
    world.submit(Request::read(Lba(line * LINE), Bytes(LINE * 512)));
    world.drain();
}

/// Three lines are cached, and one slot is in reserve. A line that has left comes back without a read of the backing
/// device, until four more have left after it.
#[test]
fn lines_that_have_left_come_back_for_nothing() {
    let mut world = World::new(owned(CacheRole::Read, WriteHandling::WriteAround), 1);
    world.rules.owned.as_mut().unwrap().drops_data = false;
    (0..8).for_each(|line| read(&mut world, line));
    let counts = world.engine().report_now();
    assert_eq!((counts.held_lines, counts.suspected_lines, counts.read_misses), (3, 4, 8));
    let suspects: Vec<u32> = (0..8).filter(|&line| world.engine().is_suspect(line)).collect();
    assert_eq!(suspects, [1, 2, 3, 4]);
    // A line that comes back takes the place of another, which becomes a suspect.
    [1, 2, 5, 3].into_iter().for_each(|line| read(&mut world, line));
    let counts = world.engine().report_now();
    assert_eq!((counts.read_hits, counts.revived_suspects, counts.read_misses), (4, 4, 8), "{counts:?}");
    read(&mut world, 0);
    assert_eq!(world.engine().report_now().read_misses, 9);
}

/// Of three clean lines, the flash has to keep the two that were used most recently.
#[test]
fn lines_that_were_used_last_are_kept() {
    let line = Bytes(LINE * 512);
    let room = OwnedFlash { user: Bytes(4 * line.0), suspects: Bytes(4 * line.0), hot: Bytes(2 * line.0) };
    let settings = FlashCacheSettings { owned: Some(room), ..owned(CacheRole::Read, WriteHandling::WriteAround) };
    let mut world = World::new(settings, 1);
    world.rules.owned.as_mut().unwrap().drops_data = false;
    [0, 1, 2, 0].into_iter().for_each(|line| read(&mut world, line));
    let retained = |line: u32| {
        let slot = world.engine().slots.of(line).unwrap();
        world.rules.owned.as_ref().unwrap().retained[slot as usize]
    };
    assert_eq!([0, 1, 2].map(retained), [Retention::Kept, Retention::Droppable, Retention::Kept]);
}

/// Lines that the flash erases or drops are fetched again.
#[test]
fn what_is_dropped_is_fetched_again() {
    let mut world = World::new(owned(CacheRole::Read, WriteHandling::WriteAround), 1);
    world.rules.owned.as_mut().unwrap().drops_data = false;
    (0..4).for_each(|line| read(&mut world, line));
    for line in [0, 3] {
        let slot = u64::from(world.engine().slots.of(line).unwrap());
        world.tell(Input::Dropped { device: FLASH, start: Lba(slot * LINE), length: Bytes(LINE * 512) });
    }
    let counts = world.engine().report_now();
    assert_eq!((counts.erased_suspects, counts.dropped_lines), (1, 1));
    [0, 3, 2].into_iter().for_each(|line| read(&mut world, line));
    let counts = world.engine().report_now();
    assert_eq!((counts.read_hits, counts.read_misses), (1, 6));
}

/// Two lines are about to enter, so there is no room for a suspect. A write to the suspect goes around it, once the
/// record that it has left is durable. Returns true if the write waits for that record.
fn waits_for_the_record(fault: Option<Fault>) -> bool {
    let line = Bytes(LINE * 512);
    let room = OwnedFlash { user: Bytes(2 * line.0), suspects: Bytes(4 * line.0), hot: Bytes::ZERO };
    let settings = FlashCacheSettings { owned: Some(room), ..owned(CacheRole::Read, WriteHandling::WriteAround) };
    let mut world = World::new(settings, 1);
    world.rules.owned.as_mut().unwrap().drops_data = false;
    (0..4).for_each(|line| read(&mut world, line));
    world.submit(FLUSH);
    world.drain();
    world.engine_mut().fault = fault;
    let suspect = (0..4).find(|&line| world.engine().is_suspect(line)).unwrap();
    assert_eq!(world.engine().slots.recorded(suspect), slots::RecordedState::Clean);
    for line in [9, 10] {
        world.submit(Request::read(Lba(line * LINE), line_bytes()));
    }
    assert_eq!(world.engine().room_for_valid(), 0);
    world.submit(Request::write(Lba(u64::from(suspect) * LINE), line_bytes()));
    assert!(world.engine().slots.of(suspect).is_none());
    let is_write = |effect: &Effect| matches!(effect, Effect::Io { request, .. } if request.kind.is_write());
    let waits = !world.effects.iter().any(is_write);
    world.drain();
    waits
}

const fn line_bytes() -> Bytes {
    Bytes(LINE * 512)
}

#[test]
fn a_suspect_without_room_leaves_before_it_is_written() {
    assert!(waits_for_the_record(None));
    assert!(!waits_for_the_record(Some(Fault::ForgetsLeaving)), "the fault is found");
}

/// Settings that do not go with owned flash are refused.
#[test]
fn what_does_not_go_with_owned_flash_is_refused() {
    let settings = owned(CacheRole::Unified, WriteHandling::WriteBack);
    let log = FlashCacheSettings { slots: SlotOrder::Log, policy: Choice::named("fifo"), ..settings.clone() };
    assert!(matches!(FlashCacheEngine::new(&log), Err(FlashCacheError::OwnedLog)));
    let too_much = OwnedFlash { user: settings.flash, suspects: settings.line, hot: Bytes::ZERO };
    let full = FlashCacheSettings { owned: Some(too_much), ..settings };
    assert!(matches!(FlashCacheEngine::new(&full), Err(FlashCacheError::OwnedRoom { .. })));
}

/// In random runs, both cached lines and suspects are dropped, and some suspects come back.
#[test]
fn owned_flash_drops_lines_and_suspects() {
    let mut counts = FlashCacheReport::default();
    for seed in 0..50 {
        let mut world = World::new(owned(CacheRole::Unified, WriteHandling::WriteBack), seed);
        for _ in 0..60 {
            let (line, is_read) = (world.rng.below(12), world.rng.chance(1, 2));
            let length = Bytes(LINE * 512);
            let request = Request::read(Lba(line * LINE), length);
            world.submit(if is_read { request } else { Request::write(request.start, length) });
            world.drain();
            world.engine().check();
        }
        let now = world.engine().report_now();
        counts.dropped_lines += now.dropped_lines;
        counts.erased_suspects += now.erased_suspects;
        counts.revived_suspects += now.revived_suspects;
        counts.dirty_evictions += now.dirty_evictions;
    }
    let FlashCacheReport { dropped_lines: dropped, erased_suspects, revived_suspects, dirty_evictions, .. } = counts;
    assert!(dropped.min(erased_suspects).min(revived_suspects).min(dirty_evictions) > 50, "{counts:?}");
}
