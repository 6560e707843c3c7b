//! Stores: the devices of a volume.

mod line;
mod patience;
mod wear;

use std::io;

use esker_core::{
    Bytes, Children, Completion, Device, DeviceError, DeviceState, DriveWear, Nanos, Request, RequestKind, Tag,
    TagSlab, Telemetry,
};
use esker_tier::{DataRef, IoId};

use crate::backend::{Backend, DeviceLimits, Direct, Ended, MemoryBackend, OperationData, PlacedError};
use crate::buffers::Buffers;
use line::StoreLine;
pub(crate) use patience::Patience;
use wear::WearMeter;

/// Time after which a store that has not answered counts as failed, by default. Linux uses the same limit for SCSI
/// disks and NVMe drives.
pub(crate) const ANSWER_LIMIT: Nanos = Nanos::from_secs(30);

/// Time after which a store that has refused a write, for want of space or because it was read-only, may take writes
/// again: somebody may have made room, or mounted its file system anew.
const REFUSAL_LASTS: Nanos = Nanos::from_secs(10);

/// A device of a volume: a back end that holds the bytes, and optionally a model of another device that makes the store
/// as slow as that device.
///
/// A store that does not answer an operation in time has failed: all its operations end with an error, and later
/// answers of its back end are ignored.
pub struct Store {
    backend: Box<dyn Backend>,
    pace: Option<Children<dyn Device, StoreIo>>,
    /// Requests that the back end has not got yet, because it has enough to do.
    line: StoreLine,
    /// Operations of the back end that are under way, by identifier.
    under_way: TagSlab<StoreIo>,
    from_model: Vec<(StoreIo, Completion)>,
    from_backend: Vec<Ended>,
    patience: Patience,
    /// Time to look for operations without an answer; never if none is under way.
    look_at: Nanos,
    health: StoreHealth,
    wear: WearMeter,
    /// Whether it has failed and no end of a request tells the engine so.
    has_news: bool,
    /// Ends of requests that the store fails itself, because it does not answer or was removed.
    too_late: Vec<StoreEnd>,
}

/// The health of a store, learned from its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreHealth {
    Well,
    /// It has refused a write.
    Refuses {
        since: Nanos,
    },
    /// A flush or durable write has failed.
    Failed,
    /// It has not answered in time, or is not there.
    Silent,
}

/// A request of the engine to a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreIo {
    pub(crate) io: IoId,
    pub(crate) request: Request,
    pub(crate) data: Option<DataRef>,
    /// When the model ended it, if there is a model.
    at: Option<Nanos>,
    /// When the back end got it.
    since: Nanos,
}

/// A request that a store has ended.
pub(crate) struct StoreEnd {
    pub(crate) io: IoId,
    pub(crate) at: Nanos,
    pub(crate) result: Result<(), DeviceError>,
    /// The operating system's error, if it means that data may be lost.
    pub(crate) failure: Option<io::Error>,
}

impl Store {
    /// Creates a store that is as fast as its back end.
    pub fn new(backend: Box<dyn Backend>) -> Self {
        Self {
            backend,
            pace: None,
            line: StoreLine::default(),
            under_way: TagSlab::default(),
            from_model: Vec::new(),
            from_backend: Vec::new(),
            patience: Patience::new(ANSWER_LIMIT),
            look_at: Nanos::NEVER,
            health: StoreHealth::Well,
            wear: WearMeter::default(),
            has_news: false,
            too_late: Vec::new(),
        }
    }

    /// Creates a store that is as fast as `model`, or slower if the back end is.
    pub fn paced(backend: Box<dyn Backend>, model: Box<dyn Device>) -> Self {
        Self { pace: Some(Children::new(vec![model])), ..Self::new(backend) }
    }

    /// Creates a store that stands for a missing device: it fails all requests. An engine that knows that the device is
    /// missing sends nothing to it ([`PlacementEngine::without`](esker_tier::PlacementEngine::without)).
    pub fn missing() -> Self {
        Self { health: StoreHealth::Silent, ..Self::new(nothing()) }
    }

    /// Sets the time within which the back end has to answer an operation; otherwise it has failed. The default is 30
    /// s. With [`Nanos::NEVER`] it may take forever.
    pub fn with_answer_limit(self, limit: Nanos) -> Self {
        Self { patience: Patience::new(limit), ..self }
    }

    /// Limits what the back end has to do at a time.
    pub fn with_limits(self, limits: DeviceLimits) -> Self {
        Self { line: StoreLine::new(limits), ..self }
    }

    /// Returns the time of the next event of the model or the back end, the time to look for operations without an
    /// answer, or the time at which a request may go on that waits.
    pub(crate) fn next_event(&self) -> Nanos {
        let model = self.pace.as_ref().map_or(Nanos::NEVER, Children::next_event);
        model.min(self.backend.next_event()).min(self.look_at).min(self.line.next_event())
    }

    /// Returns what the engine and its policy may know about the store at `now`.
    pub(crate) fn telemetry(&mut self, now: Nanos) -> Telemetry {
        if let StoreHealth::Refuses { since } = self.health
            && now >= since + REFUSAL_LASTS
        {
            self.health = StoreHealth::Well;
        }
        let queued = self.under_way.len() + self.line.len();
        let telemetry = match &self.pace {
            Some(model) => Telemetry { queued, ..model.device(0).telemetry() },
            None => Telemetry { queued, life_used: self.wear.life_used(), ..Telemetry::default() },
        };
        let own = match self.health {
            StoreHealth::Well => DeviceState::Online,
            StoreHealth::Refuses { .. } => DeviceState::ReadOnly,
            StoreHealth::Failed | StoreHealth::Silent => DeviceState::Failed,
        };
        Telemetry { state: own.max(telemetry.state), ..telemetry }
    }

    /// Takes what the device says of its wear.
    pub(crate) fn learn_wear(&mut self, wear: &DriveWear) {
        self.wear.learn(wear, self.backend.capacity());
    }

    /// Returns true, once, if it has failed and no end of a request tells the engine so.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Removes the store at `now`: its back end is dropped, and all of its requests fail.
    pub(crate) fn remove(&mut self, now: Nanos) {
        let ended = std::mem::take(&mut self.under_way);
        let failed = |io: &StoreIo| StoreEnd { io: io.io, at: now, result: Err(DeviceError::Failed), failure: None };
        self.too_late.extend(ended.iter().map(failed));
        self.too_late.extend(self.line.drain().map(|io| failed(&io)));
        (self.backend, self.health, self.look_at) = (nothing(), StoreHealth::Silent, Nanos::NEVER);
    }

    /// Returns true if it refuses writes, which it may take later.
    pub(crate) fn may_recover(&self) -> bool {
        matches!(self.health, StoreHealth::Refuses { .. })
    }

    /// Has the store take writes again, because its owner says that it can.
    pub(crate) fn try_again(&mut self) {
        if let StoreHealth::Refuses { .. } = self.health {
            self.health = StoreHealth::Well;
        }
    }

    /// Returns true if a request may have ended while it was submitted.
    pub(crate) fn is_immediate(&self) -> bool {
        self.backend.is_immediate() || !self.too_late.is_empty()
    }

    /// Returns true if the back end has operations under way, or has to get some.
    pub(crate) fn is_busy(&self) -> bool {
        !self.under_way.is_empty() || !self.line.is_empty()
    }

    /// Takes a request.
    pub(crate) fn submit(
        &mut self,
        now: Nanos,
        io: IoId,
        request: Request,
        data: Option<DataRef>,
        buffers: &mut Buffers,
    ) {
        if self.health == StoreHealth::Silent {
            self.too_late.push(StoreEnd { io, at: now, result: Err(DeviceError::Failed), failure: None });
            return;
        }
        let io = StoreIo { io, request, data, at: None, since: now };
        match &mut self.pace {
            Some(model) => model.submit(now, 0, io, request),
            None => self.enter(now, io, buffers),
        }
    }

    /// Hands what the back end has got to its device.
    pub(crate) fn send(&mut self) {
        self.backend.send();
    }

    /// Performs one step, at `now == next_event()`; the clock may show a later time, `wall`. A request that the model
    /// fails never reaches the back end.
    pub(crate) fn advance(&mut self, now: Nanos, wall: Nanos, buffers: &mut Buffers, ends: &mut Vec<StoreEnd>) {
        if self.look_at == now {
            return self.look_for_answers(wall, ends);
        }
        if self.backend.next_event() == now {
            return self.backend.advance(now);
        }
        if self.line.next_event() == now {
            return self.begin_waiting(now, buffers);
        }
        let model = self.pace.as_mut().expect("only models and back ends have other events");
        let mut completed = std::mem::take(&mut self.from_model);
        model.advance(now, &mut completed);
        for (io, Completion { at, result, .. }) in completed.drain(..) {
            match result {
                Ok(()) if self.health == StoreHealth::Silent => {
                    ends.push(StoreEnd { io: io.io, at, result: Err(DeviceError::Failed), failure: None });
                }
                Ok(()) => self.enter(now, StoreIo { at: Some(at), ..io }, buffers),
                Err(_) => ends.push(StoreEnd { io: io.io, at, result, failure: None }),
            }
        }
        self.from_model = completed;
    }

    /// Takes a request that goes to the back end as soon as the limits allow it.
    fn enter(&mut self, now: Nanos, io: StoreIo, buffers: &mut Buffers) {
        self.line.push(now, io);
        self.begin_waiting(now, buffers);
    }

    fn begin_waiting(&mut self, now: Nanos, buffers: &mut Buffers) {
        while let Some(io) = self.line.pop(now, self.under_way.len()) {
            self.begin(now, io, buffers);
        }
    }

    fn begin(&mut self, now: Nanos, io: StoreIo, buffers: &mut Buffers) {
        let io = StoreIo { since: now, ..io };
        self.look_at = self.look_at.min(self.patience.look_at(now));
        if let RequestKind::Write { .. } = io.request.kind {
            self.wear.write(io.request.length);
        }
        let operation = buffers.operation(&io.request, io.data);
        let tag = self.under_way.insert(io);
        self.backend.submit(now, tag.to_bits(), operation);
    }

    /// Fails the store if an operation has waited too long for its answer. By now, which may be later than what was
    /// due, answers may have come that were not taken yet.
    fn look_for_answers(&mut self, now: Nanos, ends: &mut Vec<StoreEnd>) {
        let oldest = self.under_way.iter().map(|io| io.since).min();
        if !oldest.is_some_and(|since| self.patience.is_over(since, now)) {
            self.look_at = oldest.map_or(Nanos::NEVER, |since| self.patience.look_at(since));
            return;
        }
        self.look_at = Nanos::NEVER;
        self.health = StoreHealth::Silent;
        self.backend.abandon();
        let limit = self.patience.limit();
        let under_way = std::mem::take(&mut self.under_way);
        for io in under_way.iter().copied().chain(self.line.drain()) {
            let failure = io::Error::new(io::ErrorKind::TimedOut, format!("a store has not answered within {limit}"));
            ends.push(StoreEnd { io: io.io, at: now, result: Err(DeviceError::Failed), failure: Some(failure) });
        }
    }

    /// Appends to `ends` the requests that the back end has ended. `now` is the time of an end, unless a model has
    /// decided it.
    pub(crate) fn take_ended(&mut self, now: Nanos, buffers: &mut Buffers, ends: &mut Vec<StoreEnd>) {
        ends.append(&mut self.too_late);
        self.backend.take_ended(&mut self.from_backend);
        if self.backend.has_failed() && !matches!(self.health, StoreHealth::Failed | StoreHealth::Silent) {
            (self.health, self.has_news) = (StoreHealth::Failed, true);
        }
        if self.health == StoreHealth::Silent {
            self.from_backend.clear();
            return;
        }
        let mut ended = std::mem::take(&mut self.from_backend);
        for Ended { id, at: ended_at, result, data } in ended.drain(..) {
            let StoreIo { io, request, data: place, at, .. } = self.under_way.remove(Tag::from_bits(id));
            if let (OperationData::Fill(buffer), Some(place)) = (data, place) {
                match result.is_ok() {
                    true => buffers.filled(buffer, place),
                    false => buffers.not_filled(buffer, place),
                }
            }
            let at = at.or(ended_at).unwrap_or(now);
            let device_error = result.as_ref().err().map(device_error);
            let is_lost = self.learn(at, request.kind, device_error);
            ends.push(StoreEnd {
                io,
                at,
                result: device_error.map_or(Ok(()), Err),
                failure: result.err().filter(|_| is_lost),
            });
        }
        self.from_backend = ended;
        if !self.line.is_empty() {
            self.begin_waiting(now, buffers);
        }
        if self.under_way.is_empty() {
            self.look_at = Nanos::NEVER;
        }
    }

    /// Updates the store's health after an operation. Returns true if data may be lost.
    fn learn(&mut self, at: Nanos, kind: RequestKind, error: Option<DeviceError>) -> bool {
        let Some(error) = error else { return false };
        let is_refusal = matches!(error, DeviceError::NoSpace | DeviceError::ReadOnly) && kind.is_write();
        let is_lost = !is_refusal && (kind == RequestKind::Flush || kind.is_fua());
        if is_lost {
            self.health = StoreHealth::Failed;
        } else if is_refusal && self.health != StoreHealth::Failed {
            self.health = StoreHealth::Refuses { since: at };
        }
        is_lost
    }
}

/// Creates a back end that holds no bytes.
fn nothing() -> Box<dyn Backend> {
    Box::new(Direct::new(MemoryBackend::new(Bytes::ZERO)))
}

/// What an error of a store means for the requests of a device.
pub fn device_error(error: &io::Error) -> DeviceError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DeviceError::NoSpace,
        io::ErrorKind::ReadOnlyFilesystem => DeviceError::ReadOnly,
        _ => DeviceError::Medium { at: PlacedError::place_of(error) },
    }
}

#[cfg(test)]
mod tests;
