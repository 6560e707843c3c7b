//! The real driver: it runs an engine over stores.

use std::collections::VecDeque;
use std::io;

use esker_core::{Bytes, DeviceError, DeviceState, Nanos, Request, RequestKind, Tag};
use esker_tier::{DeviceIndex, Effect, Engine, Input, LogicalExtent, Reshape, ReshapeError};

use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::journal::Journal;
use crate::memory::Buffer;
use crate::store::{Store, StoreEnd};

/// A request of the host that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The tag with which it was submitted.
    pub tag: Tag,
    /// Success, or the error.
    pub result: Result<(), DeviceError>,
    /// The data of a read that succeeded; for a write, the buffer that came with it.
    pub data: Buffer,
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

/// Called with the time of each effect, before it is performed.
pub type EffectLog = Box<dyn FnMut(Nanos, &Effect) + Send>;

/// Runs an engine over stores, in one thread: [`submit`](Self::submit) takes requests, [`step`](Self::step) performs
/// what is due, and [`next_reply`](Self::next_reply) returns requests that have ended. No method blocks. Stores with
/// their own threads give a [`Signal`](crate::Signal) when it is time for another step.
///
/// Events are performed in the order of the times at which they were due, even if the driver wakes up late.
///
/// After a failed flush or durable write, the driver writes nothing more to that store, and the host's flushes fail.
/// After a failure of the journal this applies to all stores. Reads go on. To write again, drop the driver, open the
/// stores again, and restore the engine from the records that the journal has made durable.
pub struct RealDriver<E: ?Sized, C> {
    engine: Box<E>,
    stores: Vec<Store>,
    journal: Box<dyn Journal>,
    clock: C,
    /// Requests that have arrived and have not been given to the engine.
    arrivals: VecDeque<(Nanos, Tag, Request)>,
    inputs: VecDeque<Input>,
    effects: Vec<Effect>,
    buffers: Buffers,
    replies: VecDeque<Reply>,
    wake_at: Nanos,
    telemetry_at: Nanos,
    drained: Vec<usize>,
    stuck: Vec<StuckDrain>,
    now: Nanos,
    ends: Vec<StoreEnd>,
    hardened: Vec<io::Result<esker_tier::RecordNumber>>,
    /// Number of hardenings that the journal has not answered yet.
    hardening: u32,
    failure: Option<io::Error>,
    journal_failed: bool,
    log: Option<EffectLog>,
}

impl<E: Engine + ?Sized, C: Clock> RealDriver<E, C> {
    /// Creates a driver of `engine` over `stores`, which are the engine's devices in their order.
    pub fn new(engine: Box<E>, stores: Vec<Store>, journal: Box<dyn Journal>, clock: C) -> Self {
        let now = clock.now();
        let telemetry_at = engine.telemetry_period().map_or(Nanos::NEVER, |period| now + period);
        Self {
            engine,
            stores,
            journal,
            clock,
            arrivals: VecDeque::new(),
            inputs: VecDeque::new(),
            effects: Vec::new(),
            buffers: Buffers::default(),
            replies: VecDeque::new(),
            wake_at: Nanos::NEVER,
            telemetry_at,
            drained: Vec::new(),
            stuck: Vec::new(),
            now,
            ends: Vec::new(),
            hardened: Vec::new(),
            hardening: 0,
            failure: None,
            journal_failed: false,
            log: None,
        }
    }

    /// Has `log` called with every effect, in the order in which they are performed.
    pub fn with_log(mut self, log: EffectLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Returns the number of bytes that the host can address.
    pub fn capacity(&self) -> Bytes {
        self.engine.capacity()
    }

    /// Returns the worst state of any store; `Failed` if the journal has failed.
    pub fn state(&self) -> DeviceState {
        self.engine.state()
    }

    /// Returns the state of one store, by its index.
    pub fn store_state(&self, store: usize) -> DeviceState {
        self.engine.device_state(DeviceIndex(u16::try_from(store).expect("an engine has at most 65,536 devices")))
    }

    /// Returns the first error of a failed flush, durable write or journal operation, or of a store that did not answer
    /// in time.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Gives a buffer of `length` bytes for the data of a write. The bytes in it are any bytes.
    pub fn buffer(&mut self, length: usize) -> Buffer {
        self.buffers.pool.take(length)
    }

    /// Takes the buffer of a reply back, so that later requests need no new memory.
    pub fn recycle(&mut self, buffer: Buffer) {
        self.buffers.pool.give(buffer);
    }

    /// Takes a request that arrives now. `data` is the data of a write, as long as the request (asserted), and empty
    /// for all others. The tag stays in use until the reply.
    pub fn submit(&mut self, tag: Tag, request: Request, data: impl Into<Buffer>) {
        let data = data.into();
        let buffer = match request.kind {
            RequestKind::Read if request.end_byte() <= self.capacity().0 => {
                self.buffers.pool.take(request.length.0 as usize)
            }
            RequestKind::Write { .. } => {
                assert_eq!(data.len() as u64, request.length.0, "a write brings its data");
                data
            }
            _ => Buffer::default(),
        };
        self.buffers.begin(tag, buffer, request.kind == RequestKind::Read);
        self.arrivals.push_back((self.clock.now(), tag, request));
    }

    /// Performs everything that is due by now, in the order in which it was due.
    pub fn step(&mut self) {
        let wall = self.clock.now();
        loop {
            self.take_ended();
            self.settle();
            let event = self.stores.iter().map(Store::next_event).min().unwrap_or(Nanos::NEVER);
            let arrival = self.arrivals.front().map_or(Nanos::NEVER, |(at, ..)| *at);
            let next = event.min(self.wake_at).min(self.telemetry_at).min(arrival);
            if next > wall || next == Nanos::NEVER {
                return;
            }
            self.now = self.now.max(next);
            if event == next {
                let due = self.stores.iter_mut().find(|store| store.next_event() == next).expect("one is due");
                due.advance(next, &mut self.buffers, &mut self.ends);
            } else if self.wake_at == next {
                self.wake_at = Nanos::NEVER;
                self.inputs.push_back(Input::Timer);
            } else if self.telemetry_at == next {
                self.tell_telemetry();
            } else {
                let (_, tag, request) = self.arrivals.pop_front().expect("it was looked at");
                self.inputs.push_back(Input::Host { tag, request });
            }
            self.settle();
        }
    }

    /// Returns when [`step`](Self::step) has to be called next, at the latest. [`Nanos::NEVER`] if only a new request,
    /// or the end of an operation of a store or of the journal, can bring work.
    pub fn next_event(&self) -> Nanos {
        let event = self.stores.iter().map(Store::next_event).min().unwrap_or(Nanos::NEVER);
        event.min(self.wake_at).min(self.telemetry_at).min(self.arrivals.front().map_or(Nanos::NEVER, |(at, ..)| *at))
    }

    /// Returns true while a store or the journal is working: when that ends, another step may be needed.
    pub fn is_busy(&self) -> bool {
        (self.hardening > 0 && !self.journal_failed) || self.stores.iter().any(Store::is_busy)
    }

    /// Changes the devices or the capacity while requests are served. [`Reshape::Join`] comes with the new store
    /// (asserted). The settings from which the engine would be restored have to be changed first.
    ///
    /// # Errors
    /// If the engine refuses the change. Then nothing has changed.
    pub fn reshape(&mut self, reshape: Reshape, store: Option<Store>) -> Result<(), ReshapeError> {
        assert_eq!(store.is_some(), matches!(reshape, Reshape::Join { .. }), "a device that joins has a store");
        self.now = self.now.max(self.clock.now());
        self.engine.reshape(self.now, reshape, &mut self.effects)?;
        self.stores.extend(store);
        match reshape {
            Reshape::Keep { device } | Reshape::Grow { device, .. } => {
                let store = usize::from(device.0);
                self.stores[store].try_again();
                if matches!(reshape, Reshape::Keep { .. }) {
                    self.drained.retain(|&drained| drained != store);
                    self.stuck.retain(|stuck| stuck.store != store);
                }
            }
            // This closes the store's files.
            Reshape::Remove { device } => self.stores[usize::from(device.0)].remove(self.now),
            _ => {}
        }
        self.perform_effects();
        self.settle();
        Ok(())
    }

    /// Returns the stores that were drained and hold no data any more, in the order in which they became empty.
    pub fn drained(&self) -> &[usize] {
        &self.drained
    }

    /// Returns the stores that are being drained and hold only extents that cannot be read.
    pub fn stuck(&self) -> &[StuckDrain] {
        &self.stuck
    }

    /// Takes the reply of the next request that has ended.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// Turns operations that the stores and the journal have ended into inputs of the engine.
    fn take_ended(&mut self) {
        let clock = &self.clock;
        for store in &mut self.stores {
            store.take_ended(|| clock.now(), &mut self.buffers, &mut self.ends);
        }
        self.journal.take_ended(&mut self.hardened);
        for StoreEnd { io, at, result, failure } in self.ends.drain(..) {
            if let Some(failure) = failure {
                self.failure.get_or_insert(failure);
            }
            if result == Err(DeviceError::NoSpace) {
                self.telemetry_at = self.telemetry_at.min(self.now + HEALTH_PERIOD);
            }
            self.inputs.push_back(Input::Done { io, at, result });
        }
        for hardened in self.hardened.drain(..) {
            if self.journal_failed {
                break;
            }
            self.hardening = self.hardening.saturating_sub(1);
            self.inputs.push_back(match hardened {
                Ok(through) => Input::Durable { through },
                Err(error) => {
                    self.journal_failed = true;
                    self.failure.get_or_insert(error);
                    Input::JournalFailed
                }
            });
        }
    }

    /// Gives the waiting inputs to the engine and performs its effects, until there are no more inputs.
    fn settle(&mut self) {
        loop {
            self.take_ended();
            let Some(input) = self.inputs.pop_front() else { return };
            // A completion is later than everything that was due when the driver woke up. Completions of a model are
            // the exception: they are due events themselves.
            if let Input::Done { at, .. } = input {
                self.now = self.now.max(at);
            }
            self.engine.on(self.now, input, &mut self.effects);
            self.perform_effects();
        }
    }

    fn tell_telemetry(&mut self) {
        let recovers = self.stores.iter().any(|store| store.may_recover());
        let period = self.engine.telemetry_period().or(recovers.then_some(HEALTH_PERIOD));
        self.telemetry_at = period.map_or(Nanos::NEVER, |period| self.now + period);
        for (index, store) in self.stores.iter_mut().enumerate() {
            let (device, telemetry) = (DeviceIndex(index as u16), store.telemetry(self.now));
            self.inputs.push_back(Input::Device { device, telemetry });
        }
    }

    fn perform_effects(&mut self) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            if let Some(log) = &mut self.log {
                log(self.now, &effect);
            }
            self.perform_effect(effect);
        }
        self.effects = effects;
    }

    fn reply(&mut self, tag: Tag, result: Result<(), DeviceError>) {
        let (buffer, is_read) = self.buffers.end(tag);
        // The memory of a read that failed may hold data of other requests.
        let data = match (is_read, result) {
            (true, Err(_)) => {
                self.buffers.pool.give(buffer);
                Buffer::default()
            }
            _ => buffer,
        };
        self.replies.push_back(Reply { tag, result, data });
    }

    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Io { io, host: _, device: DeviceIndex(device), request, data } => {
                self.stores[device as usize].submit(self.now, io, request, data, &mut self.buffers);
            }
            Effect::Buffer(step) => self.buffers.step(step),
            // Stores keep all that they hold.
            Effect::Retain { .. } => {}
            Effect::Record { number, record } => self.journal.append(number, record),
            Effect::Harden { through } => {
                self.hardening += 1;
                self.journal.harden(through);
            }
            Effect::Reply { tag, result } => self.reply(tag, result),
            Effect::WakeAt(at) => self.wake_at = self.wake_at.min(at),
            Effect::Drained(DeviceIndex(device)) => {
                self.stuck.retain(|stuck| stuck.store != usize::from(device));
                self.drained.push(device.into());
            }
            Effect::DrainStuck { device, extents, first } => {
                let store = usize::from(device.0);
                self.stuck.retain(|stuck| stuck.store != store);
                self.stuck.push(StuckDrain { store, extents, first });
            }
        }
    }
}
