//! The real driver.

use std::collections::VecDeque;
use std::io;

use esker_core::{Bytes, Completion, Device, DeviceError, DeviceState, Nanos, Request, RequestKind, Tag, TagSlab};
use esker_tier::{DataRef, DeviceIndex, Effect, Engine, Input, IoId};

use crate::backend::Backend;
use crate::clock::Clock;
use crate::journal::Journal;

/// A device of a volume: where its bytes are and, where it should behave like another device, a model that
/// says how long everything takes.
pub struct Store {
    backend: Box<dyn Backend>,
    pace: Option<Pace>,
}

/// Completions wait until the model completes the same request.
struct Pace {
    model: Box<dyn Device>,
    under_way: TagSlab<ChildIo>,
    waiting: VecDeque<ChildIo>,
}

#[derive(Clone, Copy)]
struct ChildIo {
    io: IoId,
    request: Request,
    data: DataRef,
}

impl Store {
    /// As fast as the backend is.
    pub fn new(backend: Box<dyn Backend>) -> Self {
        Self { backend, pace: None }
    }

    /// As fast as `model` says.
    pub fn paced(backend: Box<dyn Backend>, model: Box<dyn Device>) -> Self {
        Self { backend, pace: Some(Pace { model, under_way: TagSlab::default(), waiting: VecDeque::new() }) }
    }

    fn next_event(&self) -> Nanos {
        self.pace.as_ref().map_or(Nanos::NEVER, |pace| pace.model.next_event())
    }
}

/// A request that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The tag that it was submitted with.
    pub tag: Tag,
    /// How it ended.
    pub result: Result<(), DeviceError>,
    /// What was read; of other requests, the buffer that came with them.
    pub data: Vec<u8>,
}

/// Called with the time of each effect, before it is performed.
pub type EffectLog = Box<dyn FnMut(Nanos, &Effect) + Send>;

/// Runs an engine over stores. Single-threaded: [`submit`](Self::submit) takes requests, [`step`](Self::step) does what
/// is due, [`next_reply`](Self::next_reply) hands back what ended.
///
/// Events are stepped through in the order of the times at which they were due, not at which the driver woke up: waking
/// up late never changes their order.
///
/// After a failed flush or durable write its store takes no more writes, and the host's flushes fail; after a failure
/// of the journal that holds for all stores. Reads go on. To go on writing, drop the driver, open the stores anew and
/// restore the engine from the records that the journal made durable.
pub struct RealDriver<C> {
    engine: Engine,
    stores: Vec<Store>,
    journal: Box<dyn Journal>,
    clock: C,
    /// Requests that have come but were not yet handed to the engine.
    arrivals: VecDeque<(Nanos, Tag, Request)>,
    inputs: VecDeque<Input>,
    effects: Vec<Effect>,
    /// By slot of the host's tag.
    buffers: Vec<Option<(Tag, Vec<u8>)>>,
    replies: VecDeque<Reply>,
    wake_at: Nanos,
    now: Nanos,
    done: Vec<Completion>,
    failure: Option<io::Error>,
    journal_failed: bool,
    log: Option<EffectLog>,
}

impl<C: Clock> RealDriver<C> {
    /// A driver of `engine`, whose devices are `stores`, in order.
    pub fn new(engine: Engine, stores: Vec<Store>, journal: Box<dyn Journal>, clock: C) -> Self {
        let now = clock.now();
        Self {
            engine,
            stores,
            journal,
            clock,
            arrivals: VecDeque::new(),
            inputs: VecDeque::new(),
            effects: Vec::new(),
            buffers: Vec::new(),
            replies: VecDeque::new(),
            wake_at: Nanos::NEVER,
            now,
            done: Vec::new(),
            failure: None,
            journal_failed: false,
            log: None,
        }
    }

    /// Tells `log` of every effect, in the order in which they are performed.
    pub fn with_log(mut self, log: EffectLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Bytes that the host can address.
    pub fn capacity(&self) -> Bytes {
        self.engine.capacity()
    }

    /// The worst state of a store; failed, too, once the journal has.
    pub fn state(&self) -> DeviceState {
        self.engine.state()
    }

    /// The state of one store, by its place in the list.
    pub fn store_state(&self, store: usize) -> DeviceState {
        self.engine.device_state(DeviceIndex(u16::try_from(store).expect("an engine has at most 1024 devices")))
    }

    /// The first failure of a flush, a durable write or the journal, in the system's words.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Takes a request, which arrives now. `data` is what a write writes, as long as the request (asserted), and empty
    /// otherwise. The tag stays in use until its reply.
    pub fn submit(&mut self, tag: Tag, request: Request, data: Vec<u8>) {
        let buffer = match request.kind {
            // Parts that no device fills were never written.
            RequestKind::Read if request.end_byte() <= self.capacity().0 => vec![0; request.length.0 as usize],
            RequestKind::Write { .. } => {
                assert_eq!(data.len() as u64, request.length.0, "a write brings its data");
                data
            }
            _ => Vec::new(),
        };
        let slot = tag.slot as usize;
        if self.buffers.len() <= slot {
            self.buffers.resize_with(slot + 1, || None);
        }
        assert!(self.buffers[slot].is_none(), "the tag is in use");
        self.buffers[slot] = Some((tag, buffer));
        self.arrivals.push_back((self.clock.now(), tag, request));
    }

    /// Does all that is due by now, in the order in which it was due.
    pub fn step(&mut self) {
        let wall = self.clock.now();
        loop {
            let event = self.stores.iter().map(Store::next_event).min().unwrap_or(Nanos::NEVER);
            let arrival = self.arrivals.front().map_or(Nanos::NEVER, |(at, ..)| *at);
            let next = event.min(self.wake_at).min(arrival);
            if next > wall || next == Nanos::NEVER {
                return;
            }
            self.now = next;
            if event == next {
                self.advance_store();
            } else if self.wake_at == next {
                self.wake_at = Nanos::NEVER;
                self.inputs.push_back(Input::Timer);
            } else {
                let (_, tag, request) = self.arrivals.pop_front().expect("it was looked at");
                self.inputs.push_back(Input::Host { tag, request });
            }
            self.settle();
        }
    }

    /// When [`step`](Self::step) has to be called next, at the latest; never, while only a request can bring work.
    pub fn next_event(&self) -> Nanos {
        let event = self.stores.iter().map(Store::next_event).min().unwrap_or(Nanos::NEVER);
        event.min(self.wake_at).min(self.arrivals.front().map_or(Nanos::NEVER, |(at, ..)| *at))
    }

    /// The next request that ended.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// One step of the first model that is due.
    fn advance_store(&mut self) {
        let due = self.stores.iter().position(|store| store.next_event() == self.now).expect("one is due");
        let pace = self.stores[due].pace.as_mut().expect("only models have events");
        let mut done = std::mem::take(&mut self.done);
        pace.model.advance(self.now, &mut done);
        for completion in done.drain(..) {
            let pace = self.stores[due].pace.as_mut().expect("it has just advanced");
            let child = pace.under_way.remove(completion.tag);
            let result = completion.result.and_then(|()| self.perform(due, child));
            self.inputs.push_back(Input::Done { io: child.io, result });
        }
        self.done = done;
        let pace = self.stores[due].pace.as_mut().expect("it has just advanced");
        while pace.model.free_slots() > 0
            && let Some(child) = pace.waiting.pop_front()
        {
            let tag = pace.under_way.insert(child);
            pace.model.submit(self.now, tag, child.request);
        }
    }

    /// Hands the waiting inputs to the engine and performs what it asks for, until it asks for nothing more.
    fn settle(&mut self) {
        while let Some(input) = self.inputs.pop_front() {
            self.engine.on(self.now, input, &mut self.effects);
            let mut effects = std::mem::take(&mut self.effects);
            for effect in effects.drain(..) {
                if let Some(log) = &mut self.log {
                    log(self.now, &effect);
                }
                self.perform_effect(effect);
            }
            self.effects = effects;
        }
    }

    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Io { io, device: DeviceIndex(device), request, data } => {
                let child = ChildIo { io, request, data };
                let store = device as usize;
                match &mut self.stores[store].pace {
                    Some(pace) if pace.waiting.is_empty() && pace.model.free_slots() > 0 => {
                        let tag = pace.under_way.insert(child);
                        pace.model.submit(self.now, tag, request);
                    }
                    Some(pace) => pace.waiting.push_back(child),
                    None => {
                        let result = self.perform(store, child);
                        self.inputs.push_back(Input::Done { io, result });
                    }
                }
            }
            Effect::Record { .. } | Effect::Harden { .. } if self.journal_failed => {}
            Effect::Record { number, record } => {
                if let Err(error) = self.journal.append(number, record) {
                    self.journal_failed(error);
                }
            }
            Effect::Harden { through } => match self.journal.harden(through) {
                Ok(()) => self.inputs.push_back(Input::Durable { through }),
                Err(error) => self.journal_failed(error),
            },
            Effect::Reply { tag, result } => self.reply(tag, result),
            Effect::WakeAt(at) => self.wake_at = self.wake_at.min(at),
        }
    }

    /// Nothing may follow a record that is missing.
    fn journal_failed(&mut self, error: io::Error) {
        self.journal_failed = true;
        self.failure.get_or_insert(error);
        self.inputs.push_back(Input::JournalFailed);
    }

    /// Moves the bytes.
    fn perform(&mut self, store: usize, child: ChildIo) -> Result<(), DeviceError> {
        let backend = &mut self.stores[store].backend;
        let Request { kind, start, length, .. } = child.request;
        let (offset, length) = (start.byte_offset(), length.0);
        let result = match (kind, child.data) {
            (RequestKind::Flush, _) => backend.flush(),
            (RequestKind::Trim, _) => backend.trim(offset, length),
            (RequestKind::WriteZeroes { fua }, _) => backend.write_zeroes(offset, length, fua),
            (RequestKind::Read | RequestKind::Write { .. }, DataRef::Host { tag, offset: from }) => {
                let (_, buffer) = self.buffers[tag.slot as usize].as_mut().expect("the request is under way");
                let part = &mut buffer[from.0 as usize..(from.0 + length) as usize];
                match kind {
                    RequestKind::Write { fua } => backend.write(offset, part, fua),
                    _ => backend.read(offset, part),
                }
            }
            (_, data) => unreachable!("the engine moves data without a buffer: {data:?}"),
        };
        result.map_err(|error| {
            let device_error = match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DeviceError::NoSpace,
                io::ErrorKind::ReadOnlyFilesystem => DeviceError::ReadOnly,
                _ => DeviceError::Medium,
            };
            if kind == RequestKind::Flush || kind.is_fua() {
                self.failure.get_or_insert(error);
            }
            device_error
        })
    }

    fn reply(&mut self, tag: Tag, result: Result<(), DeviceError>) {
        let (owner, data) = self.buffers[tag.slot as usize].take().expect("a request is answered once");
        assert_eq!(owner, tag, "a request is answered once");
        self.replies.push_back(Reply { tag, result, data });
    }
}
