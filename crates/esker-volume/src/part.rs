//! Parts of a device: its data and its journal share one back end.
//!
//! A device has one flush or durable write under way at a time ([`OneSync`]), and after a failed one all others fail.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use esker_core::{Bytes, Nanos, RequestKind, Tag, TagSlab};
use esker_tier::{OneSync, SyncStep};

use crate::backend::{Backend, Ended, Operation, OperationData};

/// A part of a device, with addresses of its own.
pub struct Part {
    device: Arc<Mutex<Device>>,
    index: usize,
    start: u64,
    length: u64,
    is_immediate: bool,
}

/// A device whose parts are used separately.
struct Device {
    backend: Box<dyn Backend>,
    under_way: TagSlab<UnderWay>,
    /// What waits until all earlier writes of its part are durable.
    syncs: OneSync<Waiting>,
    /// The first error of a flush or of a durable write, or why the back end has failed as a whole.
    failed: Option<(io::ErrorKind, String)>,
    /// Whether nobody waits for the back end any more.
    is_abandoned: bool,
    /// What has ended, by part.
    ended: Vec<Vec<Ended>>,
    from_backend: Vec<Ended>,
}

/// An operation that the back end has.
enum UnderWay {
    /// An operation of a part, which ends when the back end says so; `sync` is its kind if it is a flush or a durable
    /// write.
    Operation { part: usize, id: u64, sync: Option<RequestKind> },
    /// A durable write of a part whose data a flush has to make durable.
    First { part: usize, id: u64 },
    /// A flush for all of these.
    Flush(Vec<Waiting>),
}

/// An operation of a part that waits for a flush, or for one of its own.
struct Waiting {
    part: usize,
    id: u64,
    /// The memory of a durable write whose bytes were written.
    data: OperationData,
}

/// Divides a back end into parts, each given by its first byte and its length.
pub fn divide(backend: Box<dyn Backend>, parts: &[(u64, u64)]) -> Vec<Part> {
    let is_immediate = backend.is_immediate();
    let device = Device {
        backend,
        under_way: TagSlab::default(),
        syncs: OneSync::default(),
        failed: None,
        is_abandoned: false,
        ended: parts.iter().map(|_| Vec::new()).collect(),
        from_backend: Vec::new(),
    };
    let device = Arc::new(Mutex::new(device));
    let part = |(index, &(start, length))| Part { device: Arc::clone(&device), index, start, length, is_immediate };
    parts.iter().enumerate().map(part).collect()
}

impl Part {
    /// Returns the first error of a flush or of a durable write of the device, or why it was abandoned or has failed.
    pub(crate) fn failure(&self) -> Option<String> {
        self.device().failed.as_ref().map(|(_, text)| text.clone())
    }

    fn device(&self) -> MutexGuard<'_, Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for Part {
    fn capacity(&self) -> Bytes {
        Bytes(self.length)
    }

    fn submit(&mut self, now: Nanos, id: u64, operation: Operation) {
        let operation = Operation { offset: self.start + operation.offset, ..operation };
        self.device().submit(now, self.index, id, operation);
    }

    fn send(&mut self) {
        self.device().backend.send();
    }

    fn is_immediate(&self) -> bool {
        self.is_immediate
    }

    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        let mut device = self.device();
        device.collect(Nanos::ZERO);
        ended.append(&mut device.ended[self.index]);
    }

    fn has_failed(&self) -> bool {
        self.device().failed.is_some()
    }

    /// At once if another part has collected what has ended of this one: the back end tells nobody of that again.
    fn next_event(&self) -> Nanos {
        let device = self.device();
        if device.ended[self.index].is_empty() { device.backend.next_event() } else { Nanos::ZERO }
    }

    fn advance(&mut self, now: Nanos) {
        let mut device = self.device();
        if device.ended[self.index].is_empty() {
            device.backend.advance(now);
            device.collect(now);
        }
    }

    fn abandon(&mut self) {
        self.device().abandon();
    }
}

impl Device {
    fn submit(&mut self, now: Nanos, part: usize, id: u64, operation: Operation) {
        let sync = Some(operation.kind).filter(|kind| *kind == RequestKind::Flush || kind.is_fua());
        if self.is_abandoned {
            return self.fail(part, id, operation.data);
        }
        if sync.is_some() && self.failed.is_some() {
            return self.fail(part, id, operation.data);
        }
        match self.syncs.begin(operation.kind) {
            SyncStep::Send | SyncStep::Sync => self.send(now, UnderWay::Operation { part, id, sync }, operation),
            SyncStep::Write(kind) => self.send(now, UnderWay::First { part, id }, Operation { kind, ..operation }),
            SyncStep::Wait => self.syncs.wait(Waiting { part, id, data: operation.data }),
        }
    }

    fn send(&mut self, now: Nanos, what: UnderWay, operation: Operation) {
        let tag = self.under_way.insert(what);
        self.backend.submit(now, tag.to_bits(), operation);
    }

    /// Takes what the back end has ended.
    fn collect(&mut self, now: Nanos) {
        if self.is_abandoned {
            return;
        }
        let mut from_backend = std::mem::take(&mut self.from_backend);
        self.backend.take_ended(&mut from_backend);
        if self.backend.has_failed() {
            let text = from_backend.iter().find_map(|ended| ended.result.as_ref().err());
            let text = text.map_or("the device is lost".to_string(), ToString::to_string);
            self.failed.get_or_insert((io::ErrorKind::Other, text));
        }
        for Ended { id, at, result, data } in from_backend.drain(..) {
            match self.under_way.remove(Tag::from_bits(id)) {
                UnderWay::Operation { part, id, sync } => {
                    if let Some(kind) = sync {
                        self.synced(kind, &result);
                    }
                    self.ended[part].push(Ended { id, at, result, data });
                }
                UnderWay::First { part, id } if result.is_ok() => self.syncs.wait(Waiting { part, id, data }),
                UnderWay::First { part, id } => self.ended[part].push(Ended { id, at, result, data }),
                UnderWay::Flush(all) => {
                    self.synced(RequestKind::Flush, &result);
                    for Waiting { part, id, data } in all {
                        let result = result.as_ref().map_err(copy_of).copied();
                        self.ended[part].push(Ended { id, at, result, data });
                    }
                }
            }
        }
        self.from_backend = from_backend;
        self.go_on(now);
    }

    /// Notes the end of a flush or of a durable write, which is of this `kind`. A write that was refused has lost
    /// nothing.
    fn synced(&mut self, kind: RequestKind, result: &io::Result<()>) {
        self.syncs.ended();
        if let Err(error) = result
            && !(kind.is_write() && is_refusal(error))
        {
            self.failed.get_or_insert((error.kind(), error.to_string()));
        }
    }

    /// Ends an operation with the error after which nothing can be made durable any more.
    fn fail(&mut self, part: usize, id: u64, data: OperationData) {
        let (kind, text) = self.failed.clone().unwrap_or((io::ErrorKind::Other, "the device has failed".to_string()));
        self.ended[part].push(Ended { id, at: None, result: Err(io::Error::new(kind, text)), data });
    }

    /// Ends everything that is under way: nobody waits for the back end any more.
    fn abandon(&mut self) {
        self.backend.abandon();
        self.is_abandoned = true;
        self.failed.get_or_insert((io::ErrorKind::TimedOut, "the device has not answered in time".to_string()));
        let mut all = self.syncs.take_waiting();
        let mut add = |part, id| all.push(Waiting { part, id, data: OperationData::None });
        for under_way in std::mem::take(&mut self.under_way).iter() {
            match under_way {
                UnderWay::Operation { part, id, .. } | UnderWay::First { part, id } => add(*part, *id),
                UnderWay::Flush(waiting) => waiting.iter().for_each(|waiting| add(waiting.part, waiting.id)),
            }
        }
        all.into_iter().for_each(|Waiting { part, id, data }| self.fail(part, id, data));
    }

    /// Begins a flush for all that wait for one.
    fn go_on(&mut self, now: Nanos) {
        let Some(all) = self.syncs.next_flush() else { return };
        if self.failed.is_some() {
            self.syncs.ended();
            return all.into_iter().for_each(|Waiting { part, id, data }| self.fail(part, id, data));
        }
        let flush = Operation::new(RequestKind::Flush, 0, 0, OperationData::None);
        self.send(now, UnderWay::Flush(all), flush);
    }
}

/// Returns true if an error says that a write was refused, so that nothing was lost.
fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
}

/// Returns an error for another operation that has failed in the same way.
fn copy_of(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations that a back end has taken, and those that are to end.
    #[derive(Default)]
    struct Lists {
        taken: Vec<(u64, RequestKind)>,
        to_end: Vec<Ended>,
        is_lost: bool,
    }

    /// A back end that ends what it is told to end.
    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<Lists>>);

    impl Backend for Told {
        fn capacity(&self) -> Bytes {
            Bytes::mib(1)
        }
        fn submit(&mut self, _: Nanos, id: u64, operation: Operation) {
            self.0.lock().unwrap().taken.push((id, operation.kind));
        }
        fn take_ended(&mut self, ended: &mut Vec<Ended>) {
            ended.append(&mut self.0.lock().unwrap().to_end);
        }
        fn has_failed(&self) -> bool {
            self.0.lock().unwrap().is_lost
        }
    }

    const FLUSH: RequestKind = RequestKind::Flush;
    const DURABLE: RequestKind = RequestKind::WriteZeroes { fua: true };
    const PLAIN: RequestKind = RequestKind::WriteZeroes { fua: false };

    /// Two parts, what the back end has, and a way to end the first of it.
    fn parts() -> (Vec<Part>, Told) {
        let told = Told::default();
        (divide(Box::new(told.clone()), &[(0, 4096), (4096, 4096)]), told)
    }

    /// A connection is lost while nothing, or only a read, is under way: no flush tells of it.
    #[test]
    fn a_back_end_that_is_lost_fails_all_parts() {
        for reads in [false, true] {
            let (mut parts, told) = parts();
            if reads {
                let data = OperationData::Fill(crate::memory::Buffer::zeroed(512));
                parts[0].submit(Nanos::ZERO, 1, Operation::new(RequestKind::Read, 0, 512, data));
                let mut told = told.0.lock().unwrap();
                let (id, _) = told.taken.remove(0);
                told.to_end.push(Ended {
                    id,
                    at: None,
                    result: Err(io::Error::other("cut")),
                    data: OperationData::None,
                });
            }
            told.0.lock().unwrap().is_lost = true;
            let mut ended = Vec::new();
            parts[0].take_ended(&mut ended);
            assert_eq!((ended.len(), parts[0].has_failed(), parts[1].has_failed()), (usize::from(reads), true, true));
            assert_eq!(parts[1].failure().as_deref(), Some(if reads { "cut" } else { "the device is lost" }));
        }
    }

    #[test]
    fn one_sync_is_under_way_and_those_that_wait_share_the_next_one() {
        let (mut parts, told) = parts();
        let kinds = || told.0.lock().unwrap().taken.iter().map(|(_, kind)| *kind).collect::<Vec<_>>();
        let end = |result: io::Result<()>| {
            let mut told = told.0.lock().unwrap();
            let (id, _) = told.taken.remove(0);
            told.to_end.push(Ended { id, at: None, result, data: OperationData::None });
        };
        let mut submit = |part: usize, id, kind| {
            parts[part].submit(Nanos::ZERO, id, Operation::new(kind, 0, 512, OperationData::None));
        };
        submit(0, 1, FLUSH);
        submit(1, 2, FLUSH);
        submit(1, 3, DURABLE);
        submit(0, 4, FLUSH);
        // The bytes of the durable write go out at once; a flush makes them durable.
        assert_eq!(kinds(), [FLUSH, PLAIN]);
        let ended = |parts: &mut Vec<Part>, part: usize| {
            let mut ended = Vec::new();
            parts[part].take_ended(&mut ended);
            ended.iter().map(|ended| (ended.id, ended.result.is_ok())).collect::<Vec<_>>()
        };
        end(Ok(()));
        assert_eq!((ended(&mut parts, 0), ended(&mut parts, 1)), (vec![(1, true)], vec![]));
        assert_eq!(parts[1].next_event(), Nanos::NEVER);
        assert_eq!(kinds(), [PLAIN, FLUSH]);
        end(Ok(()));
        end(Ok(()));
        // The durable write joined after that flush had begun.
        assert_eq!(ended(&mut parts, 0), [(4, true)]);
        // Nothing else wakes the owner of the other part.
        assert_eq!((parts[0].next_event(), parts[1].next_event()), (Nanos::NEVER, Nanos::ZERO));
        assert_eq!(ended(&mut parts, 1), [(2, true)]);
        assert_eq!(parts[1].next_event(), Nanos::NEVER);
        assert_eq!(kinds(), [FLUSH]);
        end(Err(io::Error::other("lost")));
        assert_eq!(ended(&mut parts, 1), [(3, false)]);
        parts[0].submit(Nanos::ZERO, 5, Operation::new(FLUSH, 0, 0, OperationData::None));
        assert_eq!((ended(&mut parts, 0), parts[1].has_failed()), (vec![(5, false)], true));
    }
}
