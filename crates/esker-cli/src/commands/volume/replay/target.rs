//! Where requests go: a volume that this program opens, or an export of an NBD server.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use esker_core::{Bytes, Hint, Lba, Nanos, Request, RequestKind, Tag};
use esker_nbd_device::{ExportDevice, NbdUri};
use esker_results::DeviceReport;
use esker_volume::{
    Backend, Buffer, BufferPool, Clock, DeviceIo, Ended, Gather, OpenDevice, Operation, OperationData, Reply,
    ReplyData, SystemClock, device_error,
};
use serde_json::{Value, json};

use super::super::file::{Places, start_io};
use super::super::session::{Serving, Session, failed};
use crate::args::Common;
use crate::cancel;
use crate::failure::Failure;
use crate::values::DevicePlace;

/// Where requests go.
pub(super) enum Target {
    Volume(Box<Session>),
    Export(Box<Export>),
}

/// An export of an NBD server.
pub(super) struct Export {
    uri: NbdUri,
    backend: Box<dyn Backend>,
    io: DeviceIo,
    clock: SystemClock,
    buffers: BufferPool,
    ended: Vec<Ended>,
    replies: VecDeque<Reply>,
    /// The first error.
    error: Option<String>,
}

/// The longest wait, so that Ctrl-C is noticed.
const WAIT: Duration = Duration::from_millis(50);

impl Target {
    /// Opens what is at `place`: the file of a volume, or an export.
    pub(super) fn open(place: &DevicePlace, serving: Serving, common: &Common) -> Result<Self, Failure> {
        match place {
            DevicePlace::File(path) => {
                Ok(Self::Volume(Box::new(Session::open(&Places::read(path)?, serving, common)?)))
            }
            DevicePlace::Export(uri) => Ok(Self::Export(Box::new(Export::open(uri, serving)?))),
        }
    }

    pub(super) fn capacity(&self) -> Bytes {
        match self {
            Self::Volume(session) => session.volume.capacity(),
            Self::Export(export) => export.backend.capacity(),
        }
    }

    /// Refuses to go on if data may be lost. `hint` says what to do then.
    pub(super) fn refuse_to_overwrite(&self, place: &DevicePlace, hint: &str) -> Result<(), Failure> {
        match self {
            Self::Volume(session) => session.refuse_to_overwrite(Path::new(&place.to_string()), hint),
            Self::Export(_) => {
                Err(Failure::input(format!("{place} may hold data, which would be replaced")).with_hint(hint))
            }
        }
    }

    pub(super) fn now(&self) -> Nanos {
        match self {
            Self::Volume(session) => session.now(),
            Self::Export(export) => export.clock.now(),
        }
    }

    /// Memory for the data of a write.
    pub(super) fn buffer(&mut self, length: usize) -> Buffer {
        match self {
            Self::Volume(session) => session.volume.buffer(length),
            Self::Export(export) => export.buffers.take(length),
        }
    }

    pub(super) fn submit(&mut self, tag: Tag, request: Request, data: Buffer) {
        match self {
            Self::Volume(session) => session.volume.submit(tag, request, data),
            Self::Export(export) => export.submit(tag, request, data),
        }
    }

    /// Does what can be done without waiting.
    pub(super) fn step(&mut self) {
        match self {
            Self::Volume(session) => session.volume.step(),
            Self::Export(export) => export.step(),
        }
    }

    /// Waits for the next thing to do, until `limit` at most, and does it.
    pub(super) fn wait(&mut self, limit: Nanos) {
        match self {
            Self::Volume(session) => session.step(limit),
            Self::Export(export) => {
                let left = limit.saturating_sub(export.clock.now());
                if left > Nanos::ZERO {
                    export.io.wait(Some(Duration::from_nanos(left.0).min(WAIT)));
                }
                export.step();
            }
        }
    }

    pub(super) fn next_reply(&mut self) -> Option<Reply> {
        match self {
            Self::Volume(session) => session.volume.next_reply(),
            Self::Export(export) => export.replies.pop_front(),
        }
    }

    pub(super) fn recycle(&mut self, data: ReplyData) {
        match self {
            Self::Volume(session) => session.volume.recycle(data),
            // Its memory goes with it.
            Self::Export(_) => drop(data),
        }
    }

    /// Ends the work; a volume is left with all devices alike.
    pub(super) fn end(self) {
        match self {
            Self::Volume(session) => session.end(),
            Self::Export(_) => {}
        }
    }

    /// Makes all that was written durable.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Self::Volume(session) => session.flush(),
            Self::Export(export) => export.flush(),
        }
    }

    /// Forgets what was measured so far.
    pub(super) fn start_measuring(&mut self) {
        match self {
            Self::Volume(session) => session.volume.start_measuring(),
            Self::Export(_) => {}
        }
    }

    /// Fails if nothing more comes from it.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Export(export) if export.backend.has_failed() => {
                Err(Failure::work(format!("{}: {}", export.uri, export.error.as_deref().unwrap_or("it has failed")))
                    .with_hint("look at what its server says"))
            }
            _ => Ok(()),
        }
    }

    /// Whether all devices are used past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        match self {
            Self::Volume(session) => session.is_direct(),
            Self::Export(_) => true,
        }
    }

    /// What it is, for the results.
    pub(super) fn config(&self) -> Value {
        match self {
            Self::Volume(session) => json!({
                "volume": session.volume.state().settings,
                "devices": { "io": session.io(), "direct": session.is_direct() },
            }),
            Self::Export(export) => json!({ "export": export.uri.to_string() }),
        }
    }

    /// What devices report.
    pub(super) fn report(&self) -> BTreeMap<String, DeviceReport> {
        match self {
            Self::Volume(session) => BTreeMap::from([("volume".to_string(), session.volume.report())]),
            Self::Export(_) => BTreeMap::new(),
        }
    }
}

impl Export {
    fn open(uri: &NbdUri, serving: Serving) -> Result<Self, Failure> {
        let (io, clock) = (start_io(serving.io)?, SystemClock::start());
        let device = ExportDevice::open("the export", uri, &io, serving.settings.limits).map_err(|error| {
            let failure = Failure::input(format!("{uri}: {error}"));
            failure.with_hint(error.hint().unwrap_or_default())
        })?;
        let backend = Box::new(device).into_backend();
        let (buffers, ended, replies) = (BufferPool::default(), Vec::new(), VecDeque::new());
        Ok(Self { uri: uri.clone(), backend, io, clock, buffers, ended, replies, error: None })
    }

    fn submit(&mut self, tag: Tag, request: Request, data: Buffer) {
        let (offset, length) = (request.start.byte_offset(), request.length.0);
        let data = match request.kind {
            RequestKind::Read => OperationData::Fill(self.buffers.take(length as usize)),
            RequestKind::Write { .. } => OperationData::Take(Gather::whole(data)),
            _ => OperationData::None,
        };
        self.backend.submit(self.clock.now(), tag.to_bits(), Operation::new(request.kind, offset, length, data));
    }

    fn step(&mut self) {
        self.backend.send();
        self.backend.take_ended(&mut self.ended);
        let now = self.clock.now();
        for ended in self.ended.drain(..) {
            if let OperationData::Fill(buffer) = ended.data {
                self.buffers.give(buffer);
            }
            if let (Err(error), None) = (&ended.result, &self.error) {
                self.error = Some(error.to_string());
            }
            let (tag, result) = (Tag::from_bits(ended.id), ended.result.map_err(|error| device_error(&error)));
            self.replies.push_back(Reply { tag, at: ended.at.unwrap_or(now), result, data: ReplyData::default() });
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
        self.submit(Tag::new(u32::MAX, 0), request, Buffer::default());
        loop {
            self.step();
            if let Some(reply) = self.replies.pop_front() {
                return reply.result.map_err(|error| failed(&request, error));
            }
            if cancel::requested() {
                return Err(Failure::cancelled());
            }
            self.io.wait(Some(WAIT));
        }
    }
}
