//! What a flash cache adds to the world of the tests.

use super::owned_flash::OwnedStore;
use super::*;
use crate::engine::DataRef;
use crate::testing::{self, Around, Rules, Store};

pub(super) type World = testing::World<FlashCacheRules>;

/// How a cache is made, and what it promises.
#[derive(Debug)]
pub(super) struct FlashCacheRules {
    pub(super) settings: FlashCacheSettings,
    /// The flash, if the cache owns it.
    pub(super) owned: Option<OwnedStore>,
}

impl Rules for FlashCacheRules {
    type Engine = FlashCacheEngine;

    fn restore(&self, base: &Checkpoint, records: &[Record]) -> FlashCacheEngine {
        restore(&self.settings, base, &mut records.iter().copied()).unwrap()
    }

    fn may_fail(around: &Around<Self>, request: &Request, _: u64, _: DeviceError) -> bool {
        let write_back = around.rules.settings.write == WriteHandling::WriteBack;
        let flash = around.device(FLASH);
        // Only data that the flash alone had may be lost with it.
        let reads = ((flash.reads_failed || flash.writes_failed) && write_back) || around.device(BACKING).reads_failed;
        let writes = around.journal.failed || around.has_failed_writes();
        reads || (writes && request.kind != RequestKind::Read)
    }

    /// Checks that the line is the same in the flash and below it, whatever survives, unless the record calls it dirty.
    fn check_record(around: &Around<Self>, _: &FlashCacheEngine, record: Record) {
        let record = record.try_into().expect("a record of a flash cache");
        let FlashCacheRecord::Cached { line, slot, dirty } = record else { return };
        for sector in 0..LINE as usize {
            let (there, here) = (line.0 as usize * LINE as usize + sector, slot.0 as usize * LINE as usize + sector);
            let flash = &around.device(FLASH).store.survivors[here];
            let backing = &around.device(BACKING).store.survivors[there];
            let known = &around.host.values[there];
            assert!(flash.iter().all(|value| known.contains(value)), "data that may be lost: {record:?}");
            let same = flash.iter().chain(backing).all(|value| *value == flash[0]);
            assert!(dirty || same, "not clean: {record:?}: {flash:?} and {backing:?}");
        }
    }

    fn perform(around: &mut Around<Self>, effect: &Effect, _: &FlashCacheEngine) {
        let Effect::Retain { start, retention, .. } = *effect else { panic!("unexpected: {effect:?}") };
        around.rules.owned.as_mut().expect("the cache owns its flash").retain(start, retention);
    }

    /// Owned flash has no room for some writes, of which it performs a part, and does not read what it has dropped.
    fn refuse(
        around: &mut Around<Self>,
        device: DeviceIndex,
        request: &Request,
        data: Option<DataRef>,
    ) -> Option<DeviceError> {
        if device != FLASH {
            return None;
        }
        if around.has_no_room(request) {
            let length = Bytes(512 * around.rng.below(request.length.0 / 512 + 1));
            let part = Request { length, ..*request };
            around.host.buffers.perform(&mut around.devices[0].store, &part, data);
            return Some(DeviceError::NoSpace);
        }
        (request.kind == RequestKind::Read && around.has_dropped(request)).then_some(DeviceError::MEDIUM)
    }

    fn performed(around: &mut Around<Self>, device: DeviceIndex, request: &Request) {
        if device == FLASH {
            around.clean_flash(request);
        }
    }

    fn check_at_rest(around: &mut Around<Self>) {
        around.check_room();
    }

    /// Owned flash says what it has dropped, and how much room it has.
    fn restarted(world: &mut World) {
        let owned = world.rules.owned.take();
        world.rules.owned = owned.map(|owned| owned.after_loss_of_power(&world.journal.base));
        world.tell_dropped();
        world.tell_room();
    }
}

impl World {
    /// A world with these settings, in which nothing fails.
    pub(super) fn new(settings: FlashCacheSettings, seed: u64) -> Self {
        let mut backing = Store::new(settings.backing.0 / 512);
        (0..backing.live.len()).for_each(|sector| backing.write(sector, 0, true));
        let stores = [Store::new(settings.flash.0 / 512), backing];
        let owned = settings.owned.map(|owned| OwnedStore::new(&settings, owned));
        World::of(FlashCacheRules { settings, owned }, stores, seed)
    }

    /// Uses only the first slots of the flash. Owned flash then has room for some fewer.
    pub(super) fn shrink(&mut self, slots: u64) {
        if self.rules.owned.is_some() {
            return self.wear(slots.saturating_sub(3));
        }
        let capacity = Bytes(slots * self.rules.settings.line.0);
        let (now, shrink) = (self.now(), Reshape::Shrink { device: FLASH, capacity });
        // A cache that is smaller already stays as it is.
        let _ = self.act(|engine, effects| engine.reshape(now, shrink, effects));
    }

    /// Evicts everything that can leave the cache. Reads return the same values as before.
    pub(super) fn empty_out(&mut self) {
        self.shrink(2);
        self.drain();
        self.read_everything();
    }
}
