//! Requests of clients as requests to what is served.

use esker_core::{Bytes, DeviceError, Lba, Nanos, Request, RequestKind, Tag, TagSlab};
use esker_nbd::{Command, ErrorNumber, Extent, Outcome};
use esker_volume::{Buffer, Reply, ReplyData};

use crate::memory::{Payload, SECTOR};
use crate::observer::Observer;
use crate::served::Served;
use crate::status::RequestCounts;

/// Trims and zeroes go on in parts of this many bytes, one after the other.
const PART: u64 = 32 << 20;

/// Zeroes that have to be written go in parts of this many bytes.
const ZEROES: u64 = 1 << 20;

/// The most extents of an answer.
const EXTENTS: usize = 256;

/// Requests to one export that are under way.
pub(crate) struct Requests {
    /// The index of the export.
    export: usize,
    under_way: TagSlab<UnderWay>,
    pub(crate) counts: RequestCounts,
}

/// Who is told of requests, if anybody is.
pub(crate) type ToldTo<'a> = Option<&'a mut (dyn Observer + 'static)>;

/// A request of a client.
#[derive(Clone, Copy)]
struct UnderWay {
    connection: u32,
    id: Tag,
    command: Command,
    /// What is under way, and what is left after that.
    part: u64,
    next: u64,
    end: u64,
    /// Whether a flush has to follow.
    flush: bool,
    /// What the observer calls it.
    observed: Option<u64>,
}

/// A request that has ended: whose it is, and how.
pub(crate) struct Ended {
    pub(crate) connection: u32,
    pub(crate) id: Tag,
    pub(crate) outcome: Result<(), Failure>,
    pub(crate) data: Option<ReplyData>,
}

/// Why a request failed.
#[derive(Clone, Copy)]
pub(crate) struct Failure {
    error: ErrorNumber,
    /// The byte of the export at which, if that is known.
    at: Option<u64>,
}

impl Ended {
    pub(crate) fn outcome(&self) -> Outcome<'static> {
        match self.outcome {
            Ok(()) => Outcome::Done,
            Err(Failure { error, at: Some(at) }) => Outcome::FailedAt(error, at),
            Err(Failure { error, at: None }) => Outcome::Failed(error),
        }
    }
}

/// What is done with a request.
pub(crate) enum Begun {
    /// It is under way.
    UnderWay,
    /// It is answered at once.
    Done,
    /// These are the extents that were asked for.
    Extents(Vec<Extent>),
    Failed(ErrorNumber),
}

impl Requests {
    pub(crate) fn new(export: usize) -> Self {
        Self { export, under_way: TagSlab::default(), counts: RequestCounts::default() }
    }

    /// Begins the request `id` of a connection at `now`.
    pub(crate) fn begin(
        &mut self,
        served: &mut impl Served,
        observer: ToldTo<'_>,
        (connection, now): (u32, Nanos),
        (id, command, payload): (Tag, Command, Option<Payload>),
    ) -> Begun {
        self.counts.count(command);
        let (offset, length) = command.range();
        let length = u64::from(length);
        let mut new = UnderWay {
            connection,
            id,
            command,
            part: offset,
            next: offset + length,
            end: offset + length,
            flush: false,
            observed: None,
        };
        let request = |kind| Request::new(kind, Lba(offset / SECTOR.0), Bytes(length));
        let (request, data) = match command {
            Command::Cache { .. } => return Begun::Done,
            Command::BlockStatus { .. } => return Begun::Extents(extents(served, offset, length)),
            Command::Flush => (request(RequestKind::Flush), Buffer::default()),
            _ if length == 0 => return Begun::Done,
            Command::Read { .. } => (request(RequestKind::Read), Buffer::default()),
            Command::Write { durable, .. } => {
                let data = payload.map(|Payload(data)| data).unwrap_or_default();
                (request(RequestKind::Write { fua: durable }), data)
            }
            Command::Trim { durable, .. } => {
                (new.next, new.flush) = (offset, durable);
                new.observed = self.observe(observer, now, command);
                return self.submit_next(served, new);
            }
            Command::WriteZeroes { only_if_fast, no_hole, durable, .. } => {
                // What was written has to be overwritten on some devices.
                if only_if_fast
                    && (no_hole || served.written_run(Bytes(offset), Bytes(length)) != (Bytes(length), false))
                {
                    return Begun::Failed(ErrorNumber::NotSupported);
                }
                (new.next, new.flush) = (offset, durable);
                new.observed = self.observe(observer, now, command);
                return self.submit_next(served, new);
            }
        };
        new.observed = self.observe(observer, now, command);
        let tag = self.under_way.insert(new);
        served.submit(tag, request, data);
        Begun::UnderWay
    }

    fn observe(&self, observer: ToldTo<'_>, now: Nanos, command: Command) -> Option<u64> {
        Some(observer?.begins(now, self.export, command))
    }

    /// Submits the next part of a trim or of zeroes.
    fn submit_next(&mut self, served: &mut impl Served, mut request: UnderWay) -> Begun {
        let (kind, most) = match request.command {
            Command::Trim { .. } => (RequestKind::Trim, PART),
            Command::WriteZeroes { no_hole: true, .. } => (RequestKind::Write { fua: false }, ZEROES),
            _ => (RequestKind::WriteZeroes { fua: false }, PART),
        };
        let length = (request.end - request.next).min(most);
        let new = Request::new(kind, Lba(request.next / SECTOR.0), Bytes(length));
        let data = if kind.has_data() { zeroes(served, length) } else { Buffer::default() };
        (request.part, request.next) = (request.next, request.next + length);
        let tag = self.under_way.insert(request);
        served.submit(tag, new, data);
        Begun::UnderWay
    }

    /// Takes a reply of the served. Returns the request that it ends.
    pub(crate) fn take(&mut self, served: &mut impl Served, observer: ToldTo<'_>, reply: Reply) -> Option<Ended> {
        let request = self.under_way.remove(reply.tag);
        let UnderWay { connection, id, command, .. } = request;
        if reply.result.is_ok() && request.next < request.end {
            served.recycle(reply.data);
            self.submit_next(served, request);
            return None;
        }
        if reply.result.is_ok() && request.flush {
            served.recycle(reply.data);
            let tag = self.under_way.insert(UnderWay { flush: false, ..request });
            served.submit(tag, Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO), Buffer::default());
            return None;
        }
        if let (Some(observer), Some(number)) = (observer, request.observed) {
            observer.ends(number, reply.at);
        }
        let outcome = reply.result.map_err(|error| failure(error, &request));
        self.counts.failed += u64::from(outcome.is_err());
        let is_read = matches!(command, Command::Read { .. });
        let data = if is_read && outcome.is_ok() {
            Some(reply.data)
        } else {
            served.recycle(reply.data);
            None
        };
        Some(Ended { connection, id, outcome, data })
    }

    /// Number of requests under way.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.len()
    }
}

/// What a client is told of an error.
fn failure(error: DeviceError, request: &UnderWay) -> Failure {
    let (error, at) = match error {
        DeviceError::OutOfRange { .. } => (ErrorNumber::Invalid, None),
        DeviceError::ReadOnly => (ErrorNumber::NotPermitted, None),
        DeviceError::NoSpace => (ErrorNumber::NoSpace, None),
        DeviceError::Unsupported => (ErrorNumber::NotSupported, None),
        DeviceError::Medium { at } => (ErrorNumber::Io, Some(request.part + at.0).filter(|at| *at < request.end)),
        _ => (ErrorNumber::Io, None),
    };
    Failure { error, at }
}

fn zeroes(served: &mut impl Served, length: u64) -> Buffer {
    let mut buffer = served.buffer(length as usize);
    buffer.get_mut().expect("a new buffer has one owner").fill(0);
    buffer
}

/// Which bytes may have been written.
fn extents(served: &impl Served, offset: u64, length: u64) -> Vec<Extent> {
    let (mut at, end, mut all) = (offset, offset + length, Vec::new());
    while at < end && all.len() < EXTENTS {
        let (length, is_written) = served.written_run(Bytes(at), Bytes(end - at));
        let length = length.0.max(1);
        all.push(Extent { length: length as u32, is_hole: !is_written, is_zero: !is_written });
        at += length;
    }
    all
}
