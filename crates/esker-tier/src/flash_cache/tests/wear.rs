//! Owned flash that wears out: it has less and less room, and refuses writes now and then.

use esker_core::OwnedRoom;

use super::owned_flash::{owned, read};
use super::world::{FlashCacheRules, World};
use crate::testing::Around;
use esker_results::CacheShrink;

use super::*;

impl World {
    /// Reduces the flash's room to this many lines, if it had more.
    pub(super) fn wear(&mut self, lines: u64) {
        let Some(owned) = self.rules.owned.as_mut().filter(|owned| owned.user > lines as usize) else { return };
        owned.user = lines as usize;
        self.tell_room();
    }

    /// Reports the room to the cache.
    pub(super) fn tell_room(&mut self) {
        let Some(owned) = &self.rules.owned else { return };
        let [user, suspects] = owned.at_first;
        let bytes = |lines: usize| Bytes(lines as u64 * owned.line);
        let room = OwnedRoom {
            user: bytes(owned.user),
            suspects: bytes(suspects * owned.user / user),
            unit: Bytes(owned.line),
        };
        self.tell(Input::Room { device: FLASH, room });
    }
}

impl Around<FlashCacheRules> {
    /// Returns true if the worn flash refuses this request: one in three writes, or all of them once it is used up.
    /// Some of the slots that are written may then hold a part of the data.
    pub(super) fn has_no_room(&mut self, request: &Request) -> bool {
        let writes = matches!(request.kind, RequestKind::Write { .. } | RequestKind::WriteZeroes { .. });
        let Some(owned) = self.rules.owned.as_mut().filter(|owned| writes && owned.user < owned.at_first[0]) else {
            return false;
        };
        let refuses = owned.user < 2 || self.rng.chance(1, 3);
        if refuses {
            let slots = owned.slots(request);
            slots.for_each(|slot| owned.has_data[slot as usize] = true);
        }
        refuses
    }

    /// Checks, when everything has ended, that the cache holds no more than there is room for, unless something has
    /// failed.
    pub(super) fn check_room(&mut self) {
        if self.has_lost_data() || self.has_failed_writes() || self.devices.iter().any(|device| device.reads_failed) {
            return;
        }
        if let Some(owned) = &mut self.rules.owned {
            let (valid, room) = (owned.valid(), owned.user);
            assert!(valid <= room, "{valid} slots are valid, and there is room for {room}");
            owned.bound = room;
        }
    }
}

/// No line is copied back before nine are dirty.
fn cleans_late(world: &mut World) {
    let engine = world.engine_mut();
    (engine.dirty_low, engine.dirty_high) = (9, 9);
}

fn write(world: &mut World, line: u64) {
    world.submit(Request::write(Lba(line * LINE), Bytes(LINE * 512)));
}

/// Of three dirty lines, two leave when there is room for one and the reserve; they are copied back first. When no room
/// is left, all requests go around.
#[test]
fn lines_leave_until_the_rest_fits() {
    let mut world = World::new(owned(CacheRole::Unified, WriteHandling::WriteBack), 1);
    cleans_late(&mut world);
    world.engine_mut().dirty_marks = [Ratio::ONE; 2];
    world.rules.owned.as_mut().unwrap().drops_data = false;
    (0..3).for_each(|line| write(&mut world, line));
    world.drain();
    let counts = world.engine().report_now();
    assert_eq!((counts.slots, counts.held_lines, counts.dirty_lines, counts.copied_back_bytes), (4, 3, 3, 0));
    world.step = 70;
    world.wear(2);
    world.drain();
    let counts = world.engine().report_now();
    assert_eq!((counts.slots, counts.held_lines, counts.dirty_evictions, counts.beyond_lines), (2, 1, 2, 0));
    assert_eq!(counts.copied_back_bytes, 2 * LINE * 512);
    world.wear(1);
    world.drain();
    let counts = world.engine().report_now();
    assert_eq!((counts.slots, counts.held_lines, counts.suspected_lines, counts.dirty_lines), (0, 0, 0, 0));
    let room = counts.room.unwrap();
    assert_eq!((room.slots_at_first, room.shrank.len()), (4, 2));
    assert_eq!((room.shrank[0], room.shrank[1].slots), (CacheShrink { at_s: 70e-9, slots: 2 }, 0));
    let written = counts.flash_written_bytes;
    (0..3).for_each(|line| read(&mut world, line));
    write(&mut world, 5);
    world.drain();
    let counts = world.engine().report_now();
    assert_eq!((counts.read_hits, counts.flash_written_bytes), (0, written));
}

/// Excess suspects leave at once, and so do lines that were kept because they were used recently.
#[test]
fn suspects_and_lines_in_use_go_with_the_room() {
    let line = Bytes(LINE * 512);
    let room = OwnedFlash { user: Bytes(4 * line.0), suspects: Bytes(4 * line.0), hot: Bytes(2 * line.0) };
    let settings = FlashCacheSettings { owned: Some(room), ..owned(CacheRole::Read, WriteHandling::WriteAround) };
    let mut world = World::new(settings, 1);
    world.rules.owned.as_mut().unwrap().drops_data = false;
    (0..8).for_each(|line| read(&mut world, line));
    assert_eq!(world.engine().report_now().suspected_lines, 4);
    world.wear(2);
    world.drain();
    let counts = world.engine().report_now();
    assert_eq!((counts.slots, counts.held_lines, counts.suspected_lines), (2, 1, 2));
}

/// A refused change of a dirty line: the backing device has both the old data and the change, and the line has left.
#[test]
fn a_refused_change_goes_around() {
    for seed in 0..20 {
        let mut world = World::new(owned(CacheRole::Unified, WriteHandling::WriteBack), seed);
        cleans_late(&mut world);
        world.rules.owned.as_mut().unwrap().drops_data = false;
        write(&mut world, 3);
        world.drain();
        world.rules.owned.as_mut().unwrap().user = 1;
        world.submit(Request::write(Lba(3 * LINE + 1), Bytes(512)));
        world.drain();
        world.rules.owned.as_mut().unwrap().user = 4;
        let counts = world.engine().report_now();
        assert_eq!((counts.refused_writes, counts.held_lines, counts.lost), (1, 0, 0));
        read(&mut world, 3);
        world.check_survivors().unwrap();
    }
}

/// A write-back cache whose flash has refused a write copies all dirty lines back, however few they are.
#[test]
fn a_cache_that_is_short_of_room_has_nothing_dirty() {
    let mut world = World::new(owned(CacheRole::Unified, WriteHandling::WriteBack), 1);
    cleans_late(&mut world);
    world.rules.owned.as_mut().unwrap().drops_data = false;
    (0..2).for_each(|line| write(&mut world, line));
    world.drain();
    assert_eq!(world.engine().report_now().dirty_lines, 2);
    world.rules.owned.as_mut().unwrap().user = 1;
    write(&mut world, 2);
    world.rules.owned.as_mut().unwrap().bound = 4;
    while world.perform_one() {}
    let counts = world.engine().report_now();
    assert_eq!((counts.refused_writes, counts.dirty_lines, counts.cleaned), (1, 0, 2));
    let kept = world.engine().slots.held().map(|(line, ..)| line).collect::<Vec<_>>();
    assert!(!kept.contains(&2), "{kept:?}");
}
