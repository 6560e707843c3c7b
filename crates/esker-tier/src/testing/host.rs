//! The host of a test's world, and what it may rely on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use esker_core::{Bytes, DeviceError, Request, RequestKind, Tag, TagSlab};

use super::buffers::Buffers;
use super::history::History;

/// A request under way, and the step at which it was sent.
#[derive(Debug)]
struct Pending {
    request: Request,
    sent: u64,
}

/// A host that writes another value with every write.
#[derive(Debug)]
pub struct Host {
    /// For each sector, what the host knows about its content.
    pub history: Vec<History>,
    /// For each sector, all values that the host has given it.
    pub values: Vec<BTreeSet<u64>>,
    /// For each sector, the value that was read since it was last written.
    seen: Vec<Option<u64>>,
    pending: BTreeMap<Tag, Pending>,
    pub buffers: Buffers,
    tags: TagSlab<()>,
    /// For each sector, the number of requests under way that cover it.
    busy: Vec<u32>,
    /// The host sends requests to sectors that other requests under way cover.
    pub overlaps: bool,
    /// Number of requests that ended with an error.
    pub failed_requests: u64,
    next_value: u64,
}

/// Returns the sectors that `request` covers.
pub(super) fn sectors(request: &Request) -> Range<usize> {
    request.start.0 as usize..(request.end_byte() / 512) as usize
}

impl Host {
    /// The host of a volume of `sectors` sectors, which all hold zeroes.
    pub fn new(sectors: usize, overlaps: bool) -> Self {
        let mut host = Self {
            history: Vec::new(),
            values: Vec::new(),
            seen: Vec::new(),
            pending: BTreeMap::new(),
            buffers: Buffers::default(),
            tags: TagSlab::default(),
            busy: Vec::new(),
            overlaps,
            failed_requests: 0,
            next_value: 1,
        };
        host.grow(sectors);
        host
    }

    /// The volume has grown to `sectors` sectors.
    pub fn grow(&mut self, sectors: usize) {
        self.history.resize(sectors, History::durable(0));
        self.values.resize(sectors, BTreeSet::from([0]));
        self.seen.resize(sectors, None);
        self.busy.resize(sectors, 0);
    }

    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns true if the host waits for the end of another request before it sends `request`.
    pub fn waits(&self, request: &Request) -> bool {
        !self.overlaps && self.busy[sectors(request)].iter().any(|&busy| busy > 0)
    }

    /// Sends `request` at `step`, and returns its tag.
    pub fn send(&mut self, request: Request, step: u64) -> Tag {
        let range = sectors(&request);
        self.busy[range.clone()].iter_mut().for_each(|busy| *busy += 1);
        let mut data = Vec::new();
        for sector in range {
            let value = match request.kind {
                RequestKind::Write { .. } => {
                    self.next_value += 1;
                    self.next_value
                }
                RequestKind::WriteZeroes { .. } | RequestKind::Trim => 0,
                RequestKind::Read | RequestKind::Flush => continue,
            };
            data.push(value);
            self.values[sector].insert(value);
            self.seen[sector] = None;
            self.history[sector].write(value, step);
        }
        let tag = self.tags.insert(());
        self.pending.insert(tag, Pending { request, sent: step });
        self.buffers.begin(tag, &request, data);
        tag
    }

    /// Takes the answer to a request at `step`. Returns the request, and the step at which it was sent. Checks what was
    /// read: a value that nothing has replaced, and the same one until the next write. If `may_be_old`, devices have
    /// lost unflushed data: then a read may also return what was promised before.
    pub fn answered(
        &mut self,
        tag: Tag,
        result: Result<(), DeviceError>,
        step: u64,
        may_be_old: bool,
    ) -> (Request, u64) {
        self.tags.remove(tag);
        let Pending { request, sent } = self.pending.remove(&tag).expect("a request is answered once");
        let buffer = self.buffers.end(tag);
        let range = sectors(&request);
        self.busy[range.clone()].iter_mut().for_each(|busy| *busy -= 1);
        self.failed_requests += u64::from(result.is_err());
        if let Err(DeviceError::Medium { at }) = result {
            assert!(at == Bytes::ZERO || at < request.length, "{request:?} cannot fail at {at}");
        }
        match request.kind {
            RequestKind::Read if result.is_ok() => {
                range.zip(buffer).for_each(|(sector, value)| self.read(sector, value, sent, may_be_old));
            }
            RequestKind::Flush if result.is_ok() => self.history.iter_mut().for_each(|history| history.flush(sent)),
            RequestKind::Read | RequestKind::Flush => {}
            kind => {
                let written = self.history[range].iter_mut();
                written.for_each(|history| history.end(sent, step, result.is_ok(), kind.is_fua()));
            }
        }
        (request, sent)
    }

    fn read(&mut self, sector: usize, value: u64, sent: u64, may_be_old: bool) {
        let history = &self.history[sector];
        let is_right = history.may_read(value, sent) || (may_be_old && history.may_survive(value));
        assert!(is_right, "sector {sector}: {value}, not in {history:?}");
        // The content that a failed write has left stays as it is, too.
        if history.is_quiet_since(sent) {
            let seen = self.seen[sector].replace(value);
            assert!(may_be_old || seen.is_none_or(|seen| seen == value), "sector {sector}: {value}, {seen:?} before");
        }
    }

    /// Forgets what was read.
    pub fn forget_seen(&mut self) {
        self.seen.fill(None);
    }

    /// Returns the values that were read since each sector was last written.
    pub fn seen(&self) -> &[Option<u64>] {
        &self.seen
    }

    /// Loses power: requests under way are gone.
    pub fn lose_power(&mut self) {
        self.pending.clear();
        (self.buffers, self.tags) = (Buffers::default(), TagSlab::default());
        self.busy.fill(0);
        self.forget_seen();
    }

    /// Takes any value for right from now on, and returns what the host knew before.
    pub fn forget_history(&mut self) -> Vec<History> {
        let any = self.values.iter().map(|values| History::any_of(values.iter().copied())).collect();
        std::mem::replace(&mut self.history, any)
    }

    /// Notes that `sector` holds `value` durably.
    pub fn is_now(&mut self, sector: usize, value: u64) {
        self.history[sector] = History::durable(value);
    }
}
