//! A cluster as one device: the host's requests go to the servers that hold its objects, and slices move between the
//! servers as a balancer wants it.
//!
//! The [`Router`] decides what happens on which server; this engine knows where objects lie on the servers' devices,
//! and performs the router's effects there. **What changes the map is durable before the router hears of it**: the
//! first write of an object, and a write or copy that moves one, are written through, recorded, and hardened. So the
//! router's map is never ahead of what a loss of power leaves, and neither flushes nor stale copies have to wait for
//! records.

mod background;
pub mod defaults;
mod dirty;
mod ending;
mod epochs;
mod members;
mod record;
mod recorded;
mod report;
mod requests;
mod restore;
mod settings;
mod store;
mod task;
#[cfg(test)]
mod tests;
mod trust;
mod work;

use std::collections::{BTreeMap, VecDeque};

use esker_core::{Bytes, DeviceState, Machine, Nanos, Ratio, Tag, TagSlab};
use esker_results::DeviceReport;
use esker_tier::parts::{Durability, Health, Hosts};
use esker_tier::{
    BackgroundReport, DeviceIndex, Effect, Engine, Input, LiveSettings, LiveSettingsError, Record, RecordNumber,
    Reshape, ReshapeError,
};

use crate::id::{ObjectId, ServerId, SliceId};
use crate::route::{self, EffectId, RequestTag, Router, RouterInput};

pub use record::{ClusterRecord, SlotPlace};
pub use restore::RestoreError;
pub use settings::{ClusterError, ClusterFlash, ClusterPace, ClusterServer, ClusterSettings};

use background::Background;
use dirty::DirtySlices;
use epochs::Epochs;
use recorded::RecordedMap;
use report::Counts;
use store::ServerStore;
use task::{Io, Piece, Task};

/// Balances the wear of its devices, which it takes for servers of a cluster.
#[derive(Debug)]
pub struct ClusterEngine {
    settings: ClusterSettings,
    router: Router,
    stores: Vec<ServerStore>,
    /// What the records issued so far say.
    recorded: RecordedMap,
    dirty: DirtySlices,
    health: Health,
    hosts: Hosts,
    durability: Durability<()>,
    /// Parts of the host's requests, one for each object.
    pieces: BTreeMap<RequestTag, Piece>,
    next_piece: u64,
    /// What the router wants done, under way.
    tasks: BTreeMap<EffectId, Task>,
    ios: TagSlab<Io>,
    /// Changes of the map that wait for their records.
    unhardened: VecDeque<(RecordNumber, EffectId)>,
    /// The last record that says that a replica misses something.
    last_missed: RecordNumber,
    /// By server, the last record that says that a replica has turned round which was leaving it, or on its way there.
    turned: BTreeMap<ServerId, RecordNumber>,
    /// Parts of the host's requests that are answered once a record is durable.
    held: VecDeque<(RecordNumber, Tag)>,
    /// Flushes of the host that failed on a server which others make up for.
    failed_flushes: Vec<Tag>,
    /// Whether an engine that was restored has had its first input ([`Self::begin_life`]).
    has_begun: bool,
    /// Work that waits for the end of other work on the same object of a server.
    queues: BTreeMap<(ServerId, ObjectId), VecDeque<EffectId>>,
    /// Work that waits for a free slot.
    without_slot: Vec<EffectId>,
    /// Slots that are to be free once their trims have ended.
    purges: BTreeMap<(ServerId, SliceId), EffectId>,
    /// Whether a slot has become free since work had to wait for one.
    has_freed_slots: bool,
    /// Work that need no longer wait for other work.
    released: VecDeque<EffectId>,
    /// Servers that are drained and not empty yet.
    draining: Vec<ServerId>,
    /// Whether servers may join and leave: where nothing is restored, or whoever restores it knows of them.
    may_change_members: bool,
    /// Whether nothing moves, because the cluster is only read.
    is_frozen: bool,
    background: Background,
    /// The time of the input that is being handled.
    now: Nanos,
    /// Numbers of buffers for copies.
    free_buffers: Vec<u32>,
    buffers: u32,
    /// What the router has yet to be told.
    inputs: VecDeque<RouterInput>,
    found: Vec<route::Effect>,
    epochs: Epochs,
    counts: Counts,
    /// A fault for tests: what moves is not written through.
    #[cfg(test)]
    forgets_to_write_through: bool,
    /// A fault for tests: work does not wait for trims of the same object.
    #[cfg(test)]
    ignores_trims: bool,
}

impl ClusterEngine {
    /// A new cluster, in which nothing was written.
    ///
    /// # Errors
    /// The settings contradict each other, or name what there is not.
    pub fn new(settings: &ClusterSettings) -> Result<Self, ClusterError> {
        settings.check()?;
        let mut router = settings.router()?;
        let homes = restore::first_places(&router);
        settings.joined().into_iter().for_each(|spec| router.restore_joined(spec));
        let recorded = RecordedMap::new(*router.map().shape(), homes.clone(), settings.servers.len());
        let mut engine = Self::over(settings, router, recorded, RecordNumber(0))?;
        for (replica, place) in restore::replicas(engine.router.map().shape()).zip(homes) {
            engine.stores[place.server.index()].place(replica.slice, place.slot);
        }
        Ok(engine)
    }

    /// An engine whose stores hold nothing yet.
    fn over(
        settings: &ClusterSettings,
        router: Router,
        recorded: RecordedMap,
        through: RecordNumber,
    ) -> Result<Self, ClusterError> {
        let (shape, servers) = (*router.map().shape(), settings.servers.len());
        let stores = router.servers().iter().map(|(_, server)| ServerStore::new(shape, server.spec.room)).collect();
        Ok(Self {
            epochs: Epochs::new(settings, shape)?,
            settings: settings.clone(),
            router,
            stores,
            recorded,
            health: Health::new(servers),
            hosts: Hosts::default(),
            durability: Durability::new(servers, through),
            pieces: BTreeMap::new(),
            next_piece: 0,
            tasks: BTreeMap::new(),
            ios: TagSlab::default(),
            dirty: DirtySlices::default(),
            unhardened: VecDeque::new(),
            last_missed: RecordNumber(0),
            turned: BTreeMap::new(),
            held: VecDeque::new(),
            failed_flushes: Vec::new(),
            has_begun: true,
            queues: BTreeMap::new(),
            without_slot: Vec::new(),
            purges: BTreeMap::new(),
            has_freed_slots: false,
            released: VecDeque::new(),
            draining: Vec::new(),
            may_change_members: false,
            is_frozen: false,
            background: Background::default(),
            now: Nanos::ZERO,
            free_buffers: Vec::new(),
            buffers: 0,
            inputs: VecDeque::new(),
            found: Vec::new(),
            counts: Counts::new(servers),
            #[cfg(test)]
            forgets_to_write_through: false,
            #[cfg(test)]
            ignores_trims: false,
        })
    }

    /// Where slices are, and what the router did.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// Tells the router what has happened, and performs what it wants, until it wants nothing more.
    fn settle(&mut self, effects: &mut Vec<Effect>) {
        loop {
            if let Some(input) = self.inputs.pop_front() {
                self.tell_router(input, effects);
            } else if let Some(work) = self.released.pop_front() {
                self.begin(work, effects);
            } else if std::mem::take(&mut self.has_freed_slots) {
                for work in std::mem::take(&mut self.without_slot) {
                    self.begin(work, effects);
                }
            } else if !self.failed_flushes.is_empty() {
                self.answer_failed_flushes(effects);
            } else {
                return self.report_drained(effects);
            }
        }
    }

    fn tell_router(&mut self, input: RouterInput, effects: &mut Vec<Effect>) {
        if let RouterInput::Fail(server) = input {
            return self.server_fails(server, effects);
        }
        self.route(input, effects);
    }

    fn route(&mut self, input: RouterInput, effects: &mut Vec<Effect>) {
        let mut found = std::mem::take(&mut self.found);
        self.router.on(input, &mut found);
        for effect in found.drain(..) {
            self.perform(effect, effects);
        }
        self.found = found;
    }

    /// Lets servers join and leave. Whoever restores the engine has to name all that ever joined
    /// (`founders` of the settings) and that have left ([`Self::with_removed`]).
    pub fn with_changing_members(self) -> Self {
        Self { may_change_members: true, ..self }
    }
}

impl Machine for ClusterEngine {
    type Input = Input;
    type Effect = Effect;

    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        self.now = now;
        self.begin_life(effects);
        match input {
            Input::Host { tag, request } => self.host(now, tag, request, effects),
            Input::Done { io, at: _, result } => self.io_ended(io, result, effects),
            Input::Durable { through } => self.records_durable(through, effects),
            Input::JournalFailed => self.journal_failed(effects),
            Input::Device { device, telemetry } => {
                self.health.learn(device, telemetry.state);
                self.epochs.heard(device, &telemetry);
                self.heed_state(ServerId(device.0));
                self.wake_if_moving(now, effects);
            }
            Input::Timer => self.woken(now, effects),
            // Servers own their flash themselves, and get no commands.
            Input::Dropped { .. } | Input::Room { .. } | Input::Unsupported { .. } => {}
        }
        self.settle(effects);
    }

    /// Wear is looked at some times in each epoch, so that the policy is not asked about the epoch before. After a
    /// restart there is something to do at once.
    fn look_period(&self) -> Option<Nanos> {
        Some(if self.has_begun { self.settings.pace.look_period() } else { Nanos(1) })
    }
}

impl Engine for ClusterEngine {
    fn capacity(&self) -> Bytes {
        let shape = self.router.map().shape();
        Bytes(shape.objects() * shape.object.0)
    }

    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.health.device(device)
    }

    fn state(&self) -> DeviceState {
        self.health.worst()
    }

    fn begin_checkpoint(&mut self) -> RecordNumber {
        self.recorded.begin_checkpoint(self.durability.issued())
    }

    fn continue_checkpoint(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        self.recorded.continue_checkpoint(most, visit)
    }

    fn check_reshape(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        self.check_members(reshape)
    }

    fn reshape(&mut self, now: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        self.now = now;
        self.check_members(reshape)?;
        self.begin_life(effects);
        self.change_members(reshape);
        self.settle(effects);
        if let Reshape::Join { .. } = reshape {
            self.record_motions_to_last(effects);
        }
        self.wake_if_moving(now, effects);
        Ok(())
    }

    fn check_set(&self, settings: &LiveSettings) -> Result<(), LiveSettingsError> {
        self.check_live(settings)
    }

    fn set(&mut self, now: Nanos, settings: &LiveSettings, effects: &mut Vec<Effect>) -> Result<(), LiveSettingsError> {
        self.check_live(settings)?;
        self.begin_life(effects);
        self.set_live(now, settings, effects);
        Ok(())
    }

    fn background(&self, now: Nanos) -> Option<BackgroundReport> {
        Some(self.background_now(now))
    }

    fn used(&self) -> Vec<Bytes> {
        self.stores.iter().map(ServerStore::written_bytes).collect()
    }

    fn written_run(&self, start: Bytes, length: Bytes) -> (Bytes, bool) {
        self.run_of_objects(start, length)
    }

    fn fill(&mut self, share: Ratio) {
        self.fill_objects(share);
    }

    fn start_measuring(&mut self) {
        self.counts = Counts::new(self.stores.len());
        self.counts.since = *self.router.report();
    }

    fn report(&self, into: &mut DeviceReport) {
        self.report_cluster(into);
    }

    fn check(&self) {
        self.durability.check();
        self.check_stores();
    }
}
