//! What placement adds to the world of the tests.

use std::collections::BTreeSet;

use super::redirects::RedirectingPolicy;
use super::restless::RestlessPolicy;
use super::under_test::UnderTest;
use super::*;
use crate::placement::cache::MemoryCache;
use crate::testing::{self, Around, Device, Rules, Store};

pub(super) type World = testing::World<PlacementRules>;

/// How a placement engine is made, and what it promises.
#[derive(Debug)]
pub(super) struct PlacementRules {
    pub(super) settings: PlacementSettings,
    /// The capacity that is offered to the host, if it is not all of the devices.
    offered: Option<Bytes>,
    /// The seed of a [`RedirectingPolicy`], which replaces the policy of the settings.
    redirects: Option<u64>,
    /// Whether that policy redirects writes to parts of extents, too.
    merges: bool,
    /// The seed of a [`RestlessPolicy`], which replaces the policy of the settings.
    restless: Option<u64>,
    /// Limits of the devices.
    limits: Vec<MoveLimits>,
    /// Extents of a cache in front of the engine.
    cache: Option<u32>,
    /// Devices that were reported to be drained.
    pub(super) drained: BTreeSet<u16>,
    removed: BTreeSet<DeviceIndex>,
    /// The last step at which a device was removed that had failed: until then it made flushes fail.
    failed_removed_at: u64,
    /// Whether there may be no room for new data: a device was to be drained, or refused a write.
    is_short_of_room: bool,
}

impl PlacementRules {
    /// An engine with these settings.
    pub(super) fn new(settings: PlacementSettings) -> Self {
        Self {
            settings,
            offered: None,
            redirects: None,
            merges: false,
            restless: None,
            limits: Vec::new(),
            cache: None,
            drained: BTreeSet::new(),
            removed: BTreeSet::new(),
            failed_removed_at: 0,
            is_short_of_room: false,
        }
    }

    /// A policy redirects half of the writes.
    pub(super) fn redirecting(self, seed: u64) -> Self {
        Self { redirects: Some(seed), ..self }
    }

    /// A policy redirects half of the writes, those to parts of extents included.
    pub(super) fn merging(self, seed: u64) -> Self {
        Self { redirects: Some(seed), merges: true, ..self }
    }

    /// A policy asks for anything.
    pub(super) fn restless(self, seed: u64) -> Self {
        Self { restless: Some(seed), ..self }
    }

    /// Devices have these limits.
    pub(super) fn limited(self, limits: Vec<MoveLimits>) -> Self {
        Self { limits, ..self }
    }

    /// A cache of `extents` extents lies in front of the engine.
    pub(super) fn cached(self, extents: u32) -> Self {
        Self { cache: Some(extents), ..self }
    }

    pub(super) fn world(self, seed: u64) -> World {
        let stores: Vec<Store> = self.settings.devices.iter().map(|device| Store::new(device.0 / 512)).collect();
        World::of(self, stores, seed)
    }

    /// Number of sectors in an extent.
    fn extent(&self) -> u64 {
        self.settings.extent.0 / 512
    }
}

impl Rules for PlacementRules {
    type Engine = UnderTest;

    fn restore(&self, base: &Checkpoint, records: &[Record]) -> UnderTest {
        let engine = restore(&self.settings, base, &mut records.iter().copied()).unwrap();
        UnderTest::Plain(Box::new(engine))
    }

    fn prepare(&self, engine: UnderTest) -> UnderTest {
        let UnderTest::Plain(mut engine) = engine else { unreachable!("it was restored") };
        for &device in &self.removed {
            engine = Box::new(engine.with_removed(device).unwrap());
        }
        if let Some(capacity) = self.offered {
            engine.offer(capacity).unwrap();
        }
        if let Some(seed) = self.redirects {
            let policy = RedirectingPolicy::new(1, 2, seed);
            let policy = if self.merges { policy.merging() } else { policy };
            engine = Box::new(engine.with_policy(Box::new(policy)));
        }
        if let Some(seed) = self.restless {
            engine = Box::new(engine.with_policy(Box::new(RestlessPolicy::new(seed))));
        }
        engine = Box::new(engine.with_limits(self.limits.clone()));
        match self.cache {
            Some(extents) => UnderTest::Cached(Box::new(MemoryCache::new(*engine, extents))),
            None => UnderTest::Plain(engine),
        }
    }

    fn may_fail(around: &Around<Self>, request: &Request, sent: u64, error: DeviceError) -> bool {
        match request.kind {
            RequestKind::Read => {
                let lost = error == DeviceError::Failed && around.devices.iter().any(|device| device.store.failed);
                lost || around.devices.iter().any(|device| device.reads_failed)
            }
            _ if around.has_lost_data() || sent <= around.rules.failed_removed_at => true,
            RequestKind::Flush => false,
            _ => around.has_failed_writes() || (error == DeviceError::NoSpace && around.rules.is_short_of_room),
        }
    }

    /// Nothing is sent to a removed device, and nothing is written to a failed one.
    fn check_io(around: &Around<Self>, engine: &UnderTest, device: DeviceIndex, request: &Request) {
        let Device { store, told_failed, .. } = around.device(device);
        assert!(!store.live.is_empty(), "sent to a removed device: {device:?}, {request:?}");
        let is_write = !matches!(request.kind, RequestKind::Read | RequestKind::Trim);
        let failed = around.journal.failed || *told_failed;
        assert!(!(is_write && failed) || engine.health.forgives, "sent to a failed device: {device:?}, {request:?}");
    }

    /// After a crash, only values that the host has written are read at the place that the record names.
    fn check_record(around: &Around<Self>, engine: &UnderTest, record: Record) {
        let extent = PlacementRecord::try_from(record).expect("a record of placement").extent();
        let Some(place) = engine.map.place(extent) else { return };
        let blocks = engine.map.blocks.recorded(engine.map.blocks_of(extent));
        let store = &around.device(place.device).store;
        let sectors = around.rules.extent() as usize;
        let (from, to) = (extent.0 as usize * sectors, place.extent.0 as usize * sectors);
        let sectors_of = |run: Range<usize>| {
            let bytes = engine.map.blocks.size.bytes_of(&run);
            (bytes.start / 512) as usize..(bytes.end / 512) as usize
        };
        let mut sectors = blocks.into_iter().flat_map(sectors_of);
        let is_durable = sectors.all(|sector| {
            let known = &around.host.values[sector];
            store.survivors[to + sector - from].iter().all(|value| known.contains(value))
        });
        assert!(is_durable || engine.health.forgives, "a record speaks of what may be lost: {record:?}");
    }

    fn perform(around: &mut Around<Self>, effect: &Effect, engine: &UnderTest) {
        match *effect {
            Effect::Drained(device) => {
                assert_eq!(engine.map.mapped(device.0.into()), 0);
                let hardened = around.journal.issued_through(around.journal.hardened);
                let after_crash = around.rules.restore(&around.journal.base, hardened);
                assert_eq!(after_crash.map.mapped(device.0.into()), 0, "a crash would bring data back");
                assert!(around.rules.drained.insert(device.0), "told twice");
            }
            Effect::DrainStuck { device, .. } => {
                let Device { store, reads_failed, .. } = around.device(device);
                assert!(*reads_failed || store.failed, "{device:?} reads everything");
            }
            _ => panic!("unexpected: {effect:?}"),
        }
    }

    /// A restored engine knows of no drains.
    fn restarted(world: &mut World) {
        world.rules.drained.clear();
    }
}

impl World {
    /// A world with these settings.
    pub(super) fn new(settings: PlacementSettings, seed: u64) -> Self {
        PlacementRules::new(settings).world(seed)
    }

    /// Asks for an extent to be moved to a device, as a policy would.
    pub(super) fn wish(&mut self, extent: u64, device: u64) {
        let extent = LogicalExtent((extent % u64::from(self.engine().map.len())) as u32);
        let device = DeviceIndex((device % self.devices.len() as u64) as u16);
        self.engine_mut().wishes.moves.push(WishedMove::in_background(extent, device));
        self.tell(Input::Timer);
    }

    /// Changes the devices or the capacity, as far as the engine allows it.
    pub(super) fn reshape(&mut self, reshape: Reshape) -> Result<(), ReshapeError> {
        let now = self.now();
        // The world knows of a change before the engine asks anything of the changed device.
        let mut effects = Vec::new();
        self.act(|engine, _| engine.reshape(now, reshape, &mut effects))
            .inspect_err(|_| assert!(effects.is_empty()))?;
        match reshape {
            Reshape::Join { capacity } => {
                self.rules.settings.devices.push(capacity);
                let seed = self.rng.below(u64::MAX);
                let plan = self.devices[0].plan;
                self.devices.push(Device::new(Store::new(capacity.0 / 512), seed));
                self.devices.last_mut().unwrap().set_plan(plan);
                self.rules.settings.policy = serde_json::from_str(r#"{"kind":"static-split"}"#).unwrap();
            }
            Reshape::Grow { device, capacity } => {
                self.rules.settings.devices[usize::from(device.0)] = capacity;
                self.devices[usize::from(device.0)].store.grow(capacity.0 / 512);
                self.devices[usize::from(device.0)].make_room();
            }
            Reshape::Offer { capacity } => self.host.grow(capacity.0 as usize / 512),
            Reshape::Drain { .. } => self.rules.is_short_of_room = true,
            Reshape::Keep { device } => {
                self.rules.drained.remove(&device.0);
                self.devices[usize::from(device.0)].make_room();
            }
            Reshape::Remove { device } => {
                assert!(self.rules.drained.contains(&device.0), "only what was told to be empty is removed");
                self.rules.removed.insert(device);
                if self.device(device).store.failed {
                    self.rules.failed_removed_at = self.step;
                }
                self.devices[usize::from(device.0)].store.remove();
            }
            Reshape::Shrink { .. } => unreachable!("placement does not shrink"),
        }
        self.rules.offered = Some(self.engine().capacity());
        self.act(|_, out| out.append(&mut effects));
        Ok(())
    }

    /// Changes the devices or the capacity as an administrator would; `kind` says how. A change that is refused changes
    /// nothing.
    pub(super) fn reshape_by(&mut self, kind: u64, device: u64) {
        let index = DeviceIndex((device % self.devices.len() as u64) as u16);
        let capacity = self.rules.settings.devices[usize::from(index.0)];
        let extent = self.rules.settings.extent.0;
        let reshape = match kind % 6 {
            0 if self.devices.len() < 5 => Reshape::Join { capacity: Bytes(extent * (1 + device % 4)) },
            1 if capacity.0 < 200 * 512 => Reshape::Grow { device: index, capacity: Bytes(capacity.0 + 20 * 512) },
            2 => Reshape::Offer { capacity: Bytes(self.engine().capacity().0 + extent) },
            3 => Reshape::Drain { device: index },
            4 => Reshape::Remove { device: index },
            _ => Reshape::Keep { device: index },
        };
        let _ = self.reshape(reshape);
    }
}
