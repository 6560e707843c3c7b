//! A device of a volume.

use std::io;

use esker_core::{Children, Completion, Device, DeviceError, Nanos, Request, RequestKind, Tag, TagSlab, Telemetry};
use esker_tier::{DataRef, IoId};

use crate::backend::{Backend, Ended};
use crate::buffers::Buffers;

/// A device of a volume: a back end with the bytes and, if it should be as slow as another device, a model of that
/// device.
pub struct Store {
    backend: Box<dyn Backend>,
    pace: Option<Children<Box<dyn Device>, StoreIo>>,
    /// Operations of the back end that are under way, by their numbers there.
    under_way: TagSlab<StoreIo>,
    from_model: Vec<(StoreIo, Completion)>,
    from_backend: Vec<Ended>,
}

/// A request of the engine to a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreIo {
    pub(crate) io: IoId,
    pub(crate) request: Request,
    pub(crate) data: DataRef,
    /// When the model ended it, if there is a model.
    at: Option<Nanos>,
}

/// A request that a store has ended.
pub(crate) struct StoreEnd {
    pub(crate) io: IoId,
    pub(crate) at: Nanos,
    pub(crate) result: Result<(), DeviceError>,
    /// The error of the system, if data may be lost because of it.
    pub(crate) failure: Option<io::Error>,
}

impl Store {
    /// A store as fast as its back end.
    pub fn new(backend: Box<dyn Backend>) -> Self {
        let (from_model, from_backend) = (Vec::new(), Vec::new());
        Self { backend, pace: None, under_way: TagSlab::default(), from_model, from_backend }
    }

    /// A store as fast as `model`, or slower if the back end is.
    pub fn paced(backend: Box<dyn Backend>, model: Box<dyn Device>) -> Self {
        Self { pace: Some(Children::new(vec![model])), ..Self::new(backend) }
    }

    /// The next event of the model.
    pub(crate) fn next_event(&self) -> Nanos {
        self.pace.as_ref().map_or(Nanos::NEVER, Children::next_event)
    }

    /// What a policy may know of it.
    pub(crate) fn telemetry(&self) -> Telemetry {
        let queued = self.under_way.len();
        match &self.pace {
            Some(model) => Telemetry { queued, ..model.device(0).telemetry() },
            None => Telemetry { queued, ..Telemetry::default() },
        }
    }

    /// Whether the back end has operations under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Takes a request.
    pub(crate) fn submit(&mut self, now: Nanos, io: IoId, request: Request, data: DataRef, buffers: &mut Buffers) {
        let io = StoreIo { io, request, data, at: None };
        match &mut self.pace {
            Some(model) => model.submit(now, 0, io, request),
            None => self.begin(io, buffers),
        }
    }

    /// One step of the model, at `now == next_event()`. A request that the model fails never gets to the back end.
    pub(crate) fn advance(&mut self, now: Nanos, buffers: &mut Buffers, ends: &mut Vec<StoreEnd>) {
        let model = self.pace.as_mut().expect("only models have events");
        let mut completed = std::mem::take(&mut self.from_model);
        model.advance(now, &mut completed);
        for (io, Completion { at, result, .. }) in completed.drain(..) {
            match result {
                Ok(()) => self.begin(StoreIo { at: Some(at), ..io }, buffers),
                Err(_) => ends.push(StoreEnd { io: io.io, at, result, failure: None }),
            }
        }
        self.from_model = completed;
    }

    fn begin(&mut self, io: StoreIo, buffers: &mut Buffers) {
        let Request { kind, start, length, .. } = io.request;
        let operation = buffers.operation(kind, start.byte_offset(), length, io.data);
        let tag = self.under_way.insert(io);
        self.backend.submit(tag.to_bits(), operation);
    }

    /// Appends the requests that the back end has ended. `now` gives the time of the end, unless a model has given it.
    pub(crate) fn take_ended(&mut self, now: impl Fn() -> Nanos, buffers: &mut Buffers, ends: &mut Vec<StoreEnd>) {
        self.backend.take_ended(&mut self.from_backend);
        for Ended { id, result, data } in self.from_backend.drain(..) {
            let StoreIo { io, request, data: place, at } = self.under_way.remove(Tag::from_bits(id));
            if request.kind == RequestKind::Read && result.is_ok() {
                buffers.read(data, place);
            }
            let device_error = result.as_ref().err().map(device_error);
            let loses = request.kind == RequestKind::Flush || request.kind.is_fua();
            ends.push(StoreEnd {
                io,
                at: at.unwrap_or_else(&now),
                result: device_error.map_or(Ok(()), Err),
                failure: result.err().filter(|_| loses),
            });
        }
    }
}

fn device_error(error: &io::Error) -> DeviceError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DeviceError::NoSpace,
        io::ErrorKind::ReadOnlyFilesystem => DeviceError::ReadOnly,
        _ => DeviceError::Medium,
    }
}
