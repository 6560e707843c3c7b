//! The real driver: it runs an engine over stores.

mod world;

use std::collections::VecDeque;
use std::io;

use esker_core::{
    Bytes, DeviceError, DeviceState, DriveWear, EffectLog, MachineLoop, Nanos, Request, RequestKind, Tag,
};
use esker_results::DeviceReport;
use esker_tier::{
    BackgroundReport, DeviceIndex, Effect, Engine, Input, LiveSettings, LiveSettingsError, LogicalExtent, Reshape,
    ReshapeError,
};

use crate::clock::Clock;
use crate::journal::{CheckpointNeed, Journal};
use crate::memory::{Buffer, ReplyData};
use crate::store::Store;
use world::RealWorld;

/// A request of the host that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The tag with which it was submitted.
    pub tag: Tag,
    /// When it was answered.
    pub at: Nanos,
    /// Success, or the error.
    pub result: Result<(), DeviceError>,
    /// The data of a read that succeeded; for a write, the buffer that came with it.
    pub data: ReplyData,
}

/// A store that is being drained and holds only extents that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StuckDrain {
    /// Index of the store.
    pub store: usize,
    /// Number of these extents.
    pub extents: u32,
    /// The first of them.
    pub first: LogicalExtent,
}

/// How often the engine gets the health of stores while one of them refuses writes that it may take later.
const HEALTH_PERIOD: Nanos = Nanos::from_secs(5);

/// Runs an engine over stores, in one thread: [`submit`](Self::submit) takes requests, [`step`](Self::step) performs
/// what is due, and [`next_reply`](Self::next_reply) returns requests that have ended. No method blocks.
/// [`DeviceIo::wait`](crate::DeviceIo::wait) waits until it is time for another step.
///
/// Events are performed in the order of the times at which they were due, even if the driver wakes up late. Requests
/// that come between two steps arrive together, when the second one begins.
///
/// After a failed flush or durable write, the driver writes nothing more to that store, and the host's flushes fail.
/// After a failure of the journal this applies to all stores. What was durable is still read. To write again, drop the
/// driver, open the stores again, and restore the engine from the records that the journal has made durable.
pub struct RealDriver<E: Engine + ?Sized, C> {
    engine: MachineLoop<E>,
    world: RealWorld<C>,
    /// Requests that have arrived and have not been given to the engine.
    arrivals: VecDeque<(Tag, Request)>,
    now: Nanos,
    /// Whether the journal wants more of a checkpoint than one step may take.
    checkpoint_waits: bool,
}

/// Extents of a checkpoint that one step takes at most, and how many it takes at once.
const CHECKPOINT_STEP: [u32; 2] = [1 << 16, 1 << 12];

impl<E: Engine + ?Sized, C: Clock> RealDriver<E, C> {
    /// Creates a driver of `engine` over `stores`, which are the engine's devices in their order.
    pub fn new(engine: Box<E>, stores: Vec<Store>, journal: Box<dyn Journal>, clock: C) -> Self {
        let now = clock.now();
        let world = RealWorld::new(stores, journal, clock);
        Self { engine: MachineLoop::new(engine, now), world, arrivals: VecDeque::new(), now, checkpoint_waits: false }
    }

    /// Has `log` called with every effect, in the order in which they are performed.
    pub fn with_log(mut self, log: EffectLog<Effect>) -> Self {
        self.engine.set_log(log);
        self
    }

    /// Returns what the engine did since measuring started.
    pub fn report(&self) -> DeviceReport {
        let mut report = DeviceReport::default();
        self.engine.machine().report(&mut report);
        report
    }

    /// Returns how many bytes of each store hold data of the host.
    pub(crate) fn used(&self) -> Vec<Bytes> {
        self.engine.machine().used()
    }

    /// Returns true if no store holds data of the host. False for an engine that does not know.
    pub(crate) fn is_empty(&self) -> bool {
        let used = self.used();
        !used.is_empty() && used.iter().all(|&bytes| bytes == Bytes::ZERO)
    }

    /// Sets all counts of [`Self::report`] to zero.
    pub fn start_measuring(&mut self) {
        self.engine.machine_mut().start_measuring();
    }

    /// Returns the number of bytes that the host can address.
    pub fn capacity(&self) -> Bytes {
        self.engine.machine().capacity()
    }

    /// Returns the worst state of any store; `Failed` if the journal has failed.
    pub fn state(&self) -> DeviceState {
        self.engine.machine().state()
    }

    /// Returns the state of one store, by its index.
    pub fn store_state(&self, store: usize) -> DeviceState {
        self.engine
            .machine()
            .device_state(DeviceIndex(u16::try_from(store).expect("an engine has at most 65,536 devices")))
    }

    /// Takes what the device of a store says of its wear.
    pub(crate) fn learn_wear(&mut self, store: usize, wear: &DriveWear) {
        if let Some(store) = self.world.stores.get_mut(store) {
            store.learn_wear(wear);
        }
    }

    /// Returns the time of its clock.
    pub(crate) fn time(&self) -> Nanos {
        self.world.clock.now()
    }

    /// Returns the first error of a failed flush, durable write or journal operation, or of a store that did not answer
    /// in time.
    pub fn failure(&self) -> Option<&io::Error> {
        self.world.failure.as_ref()
    }

    /// Gives a buffer of `length` bytes for the data of a write. The bytes in it are any bytes.
    pub fn buffer(&mut self, length: usize) -> Buffer {
        self.world.buffers.pool.take(length)
    }

    /// Takes the memory of a reply back, so that later requests need no new memory.
    pub fn recycle(&mut self, data: ReplyData) {
        self.world.buffers.recycle(data);
    }

    /// Returns the bytes of a reply in one buffer: those that stores have filled elsewhere are copied.
    pub(crate) fn gathered(&mut self, data: ReplyData) -> Buffer {
        self.world.buffers.gathered(data)
    }

    /// Takes a request, which arrives with the next step. `data` is the data of a write, as long as the request
    /// (asserted). A read may bring memory that is as long as the request; otherwise the driver takes some. The tag
    /// stays in use until the reply.
    pub fn submit(&mut self, tag: Tag, request: Request, data: impl Into<Buffer>) {
        self.begin(tag, &request, data.into());
        self.arrivals.push_back((tag, request));
    }

    /// Gives the engine a request at `now`, before anything that is due then; see [`Self::submit`].
    pub(crate) fn accept(&mut self, now: Nanos, tag: Tag, request: Request, data: Buffer) {
        self.now = self.now.max(now);
        self.world.journal_is_due = true;
        self.begin(tag, &request, data);
        self.engine.tell(self.now, Input::Host { tag, request }, &mut self.world);
        self.settle();
    }

    /// Keeps the memory of a new request.
    fn begin(&mut self, tag: Tag, request: &Request, data: Buffer) {
        let buffer = match request.kind {
            RequestKind::Read if data.len() as u64 == request.length.0 => data,
            RequestKind::Read if request.end_byte() <= self.capacity().0 => {
                self.world.buffers.pool.take(request.length.0 as usize)
            }
            RequestKind::Write { .. } => {
                assert_eq!(data.len() as u64, request.length.0, "a write brings its data");
                data
            }
            _ => Buffer::default(),
        };
        self.world.buffers.begin(tag, buffer, request.kind == RequestKind::Read);
    }

    /// Performs everything that is due by now, in the order in which it was due.
    pub fn step(&mut self) {
        let wall = self.world.clock.now();
        self.world.journal_is_due = true;
        self.advance_to(wall);
        if !self.arrivals.is_empty() {
            self.arrive(wall);
            self.advance_to(wall);
        }
        // What has ended may be what the journal waited for.
        self.continue_checkpoint();
        // A file in the page cache is read while the system takes the operation.
        if self.send() {
            self.settle();
            self.send();
        }
    }

    /// Performs what is due by `wall`, except for arrivals.
    fn advance_to(&mut self, wall: Nanos) {
        loop {
            self.settle();
            let next = self.next_due();
            if next > wall || next == Nanos::NEVER {
                return;
            }
            self.advance(next);
        }
    }

    /// Gives the engine the requests that have arrived. Nothing comes between them, not even what the first one causes
    /// at once.
    fn arrive(&mut self, wall: Nanos) {
        self.now = self.now.max(wall);
        while let Some((tag, request)) = self.arrivals.pop_front() {
            self.engine.tell(self.now, Input::Host { tag, request }, &mut self.world);
            if self.world.may_have_ended() {
                self.settle();
            }
        }
    }

    /// Gives the journal what it needs of a checkpoint.
    fn continue_checkpoint(&mut self) {
        let [step, piece] = CHECKPOINT_STEP;
        let mut left = step;
        self.checkpoint_waits = false;
        loop {
            let journal = &mut self.world.journal;
            match journal.checkpoint_need() {
                CheckpointNeed::Nothing => return,
                CheckpointNeed::Begin => journal.begin_checkpoint(self.engine.machine_mut().begin_checkpoint()),
                CheckpointNeed::More if left == 0 => {
                    self.checkpoint_waits = true;
                    return;
                }
                CheckpointNeed::More => {
                    left -= piece;
                    let add = &mut |record| journal.add_to_checkpoint(0, record);
                    if self.engine.machine_mut().continue_checkpoint(piece, add) {
                        journal.end_checkpoint();
                    }
                }
            }
        }
    }

    /// Performs what is due first, at `next == next_event()`, and everything that follows from it at once. Not for
    /// drivers with requests that wait for a step.
    pub(crate) fn advance(&mut self, next: Nanos) {
        self.now = self.now.max(next);
        self.world.journal_is_due = true;
        if self.world.next_event() == next {
            self.world.advance(next);
        } else {
            let recovers = self.world.stores.iter().any(Store::may_recover);
            self.engine.advance(self.now, recovers.then_some(HEALTH_PERIOD), &mut self.world);
        }
        self.settle();
    }

    /// Returns when [`step`](Self::step) has to be called next, at the latest. [`Nanos::NEVER`] if only a new request,
    /// or the end of an operation of a store or of the journal, can bring work.
    pub fn next_event(&self) -> Nanos {
        if self.checkpoint_waits || !self.arrivals.is_empty() { self.now } else { self.next_due() }
    }

    /// Returns the time of the next event, except for arrivals.
    fn next_due(&self) -> Nanos {
        self.world.next_event().min(self.engine.next_event())
    }

    /// Returns true while a store or the journal is working: when that ends, another step may be needed.
    pub fn is_busy(&self) -> bool {
        self.world.is_busy()
    }

    /// Returns true while the journal, a checkpoint or superblocks are being written.
    pub(crate) fn is_writing_structures(&self) -> bool {
        self.world.is_writing_structures()
    }

    /// Returns an error if the engine would refuse this change.
    pub(crate) fn check_reshape(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        self.engine.machine().check_reshape(reshape)
    }

    /// Returns an error if the engine would refuse these settings.
    pub(crate) fn check_set(&self, settings: &LiveSettings) -> Result<(), LiveSettingsError> {
        self.engine.machine().check_set(settings)
    }

    /// Returns what the engine does in the background; `None` if it moves nothing.
    pub fn background(&self) -> Option<BackgroundReport> {
        self.engine.machine().background(self.now.max(self.world.clock.now()))
    }

    /// Gives the engine new settings while requests are served. The settings from which it would be restored have to
    /// be changed first.
    ///
    /// # Errors
    /// If the engine refuses them. Then nothing has changed.
    pub fn set(&mut self, settings: &LiveSettings) -> Result<(), LiveSettingsError> {
        self.now = self.now.max(self.world.clock.now());
        let now = self.now;
        let result = self.engine.act(now, &mut self.world, |engine, effects| engine.set(now, settings, effects));
        self.settle();
        self.send();
        result
    }

    /// Returns how many bytes from `start` on are alike, and whether they may have been written.
    pub(crate) fn written_run(&self, start: Bytes, length: Bytes) -> (Bytes, bool) {
        self.engine.machine().written_run(start, length)
    }

    /// Returns the largest capacity that could be offered to the host.
    pub(crate) fn capacity_max(&self) -> Bytes {
        self.engine.machine().capacity_max()
    }

    /// Changes the devices or the capacity while requests are served. [`Reshape::Join`] comes with the new store
    /// (asserted). The settings from which the engine would be restored have to be changed first.
    ///
    /// # Errors
    /// If the engine refuses the change. Then nothing has changed.
    pub fn reshape(&mut self, reshape: Reshape, store: Option<Store>) -> Result<(), ReshapeError> {
        assert_eq!(store.is_some(), matches!(reshape, Reshape::Join { .. }), "a device that joins has a store");
        self.now = self.now.max(self.world.clock.now());
        let now = self.now;
        let mut effects = Vec::new();
        self.engine.machine_mut().reshape(now, reshape, &mut effects)?;
        self.world.reshaped(now, reshape, store);
        self.engine.act(now, &mut self.world, |_, own| own.append(&mut effects));
        self.settle();
        self.send();
        Ok(())
    }

    /// Hands what was submitted to stores and journal to their devices. Returns true if a store got something.
    pub(crate) fn send(&mut self) -> bool {
        self.world.send()
    }

    /// Returns the stores that were drained and hold no data any more, in the order in which they became empty.
    pub fn drained(&self) -> &[usize] {
        &self.world.drained
    }

    /// Returns the stores that are being drained and hold only extents that cannot be read.
    pub fn stuck(&self) -> &[StuckDrain] {
        &self.world.stuck
    }

    /// Returns true if a request has ended and its reply was not taken.
    pub(crate) fn has_reply(&self) -> bool {
        !self.world.replies.is_empty()
    }

    /// Takes the reply of the next request that has ended.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.world.replies.pop_front()
    }

    /// Hands the engine all inputs that wait, and has its effects performed, until there are no more inputs.
    pub(crate) fn settle(&mut self) {
        self.now = self.engine.settle(self.now, &mut self.world);
        if self.world.was_refused {
            self.world.was_refused = false;
            self.engine.look_by(self.now + HEALTH_PERIOD);
        }
    }
}
