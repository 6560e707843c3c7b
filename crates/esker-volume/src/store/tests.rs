use std::sync::{Arc, Mutex};

use esker_core::{Lba, Ratio};
use esker_tier::{BufferId, BufferStep};

use super::*;
use crate::backend::Operation;

/// A back end that ends what it is told to end.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<(Vec<u64>, Vec<Ended>)>>);

impl Backend for Told {
    fn capacity(&self) -> Bytes {
        Bytes::mib(1)
    }
    fn submit(&mut self, _: Nanos, id: u64, _: Operation) {
        self.0.lock().unwrap().0.push(id);
    }
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.0.lock().unwrap().1);
    }
}

impl Told {
    /// Ends the operation that it got first.
    fn end(&self) {
        self.end_with(Ok(()));
    }

    fn end_with(&self, result: io::Result<()>) {
        let mut lists = self.0.lock().unwrap();
        let id = lists.0.remove(0);
        lists.1.push(Ended { id, at: None, result, data: OperationData::None });
    }

    fn under_way(&self) -> usize {
        self.0.lock().unwrap().0.len()
    }
}

const TRIM: Request = Request::new(RequestKind::Trim, Lba(0), Bytes(512));

/// A store that does two operations at a time, with five requests.
fn busy() -> (Told, Store, Buffers) {
    let (told, mut buffers) = (Told::default(), Buffers::default());
    let limits = DeviceLimits { depth: 2, background: None };
    let mut store = Store::new(Box::new(told.clone())).with_limits(limits);
    (0..5).for_each(|number| store.submit(Nanos::ZERO, IoId(Tag::new(number, 0)), TRIM, None, &mut buffers));
    (told, store, buffers)
}

#[test]
fn a_store_does_as_much_at_a_time_as_its_limit_says() {
    let (told, mut store, mut buffers) = busy();
    let mut ends = Vec::new();
    assert_eq!((told.under_way(), store.telemetry(Nanos::ZERO).queued), (2, 5));
    for left in (0..5).rev() {
        told.end();
        store.take_ended(Nanos::ZERO, &mut buffers, &mut ends);
        assert_eq!((told.under_way(), store.is_busy()), (left.min(2), left > 0));
    }
    let order: Vec<u32> = ends.iter().map(|end| end.io.0.slot()).collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

#[test]
fn what_waits_for_its_turn_counts_as_unanswered_only_from_then_on() {
    let (told, mut store, mut buffers) = busy();
    let mut ends = Vec::new();
    // One answer every 10 s: the last request has its answer after 50 s, 20 s after the device has got it.
    for round in 1..=5 {
        let now = Nanos::from_secs(10 * round);
        while store.next_event() <= now {
            store.advance(store.next_event(), now, &mut buffers, &mut ends);
        }
        told.end();
        store.take_ended(now, &mut buffers, &mut ends);
    }
    assert!(ends.len() == 5 && ends.iter().all(|end| end.result.is_ok()));
    // All that waits ends with a device that has failed.
    let (_, mut store, mut buffers) = busy();
    let mut ends = Vec::new();
    for last_look in [true, false] {
        let next = store.next_event();
        assert_eq!(next < ANSWER_LIMIT, last_look);
        store.advance(next, next, &mut buffers, &mut ends);
    }
    assert_eq!((ends.len(), store.is_busy()), (5, false));
    assert!(ends.iter().all(|end| end.result == Err(DeviceError::Failed)));
}

#[test]
fn a_store_counts_what_wears_its_device() {
    let (mut store, mut buffers) = (Store::new(Box::new(Told::default())), Buffers::default());
    let data = DataRef::new(BufferId::Copy(0), Bytes::ZERO);
    buffers.step(BufferStep::Zero { into: data.place, length: Bytes::mib(1) });
    let mut life_after = |store: &mut Store, kind| {
        let request = Request::new(kind, Lba(0), Bytes::mib(1));
        let data = kind.has_data().then_some(data);
        store.submit(Nanos::ZERO, IoId(Tag::new(0, 0)), request, data, &mut buffers);
        store.telemetry(Nanos::ZERO).life_used
    };
    const WRITE: RequestKind = RequestKind::Write { fua: false };
    assert_eq!(life_after(&mut store, WRITE), Ratio::ZERO);
    // 2 MiB have worn it by a percent each time.
    store.learn_wear(&DriveWear { used_percent: 4, written: Some(Bytes::mib(9)), capacity: None });
    assert_eq!(life_after(&mut store, RequestKind::Read), Ratio::percent(4));
    assert_eq!(life_after(&mut store, RequestKind::Trim), Ratio::percent(4));
    assert_eq!(life_after(&mut store, RequestKind::WriteZeroes { fua: false }), Ratio::percent(4));
    assert_eq!(life_after(&mut store, WRITE), Ratio::parts_per_billion(45_000_000));
}

/// Room may have been made, or its file system mounted to be written again.
#[test]
fn a_store_that_has_refused_a_write_is_tried_again() {
    for error in [io::ErrorKind::StorageFull, io::ErrorKind::ReadOnlyFilesystem] {
        let (told, mut buffers, mut ends) = (Told::default(), Buffers::default(), Vec::new());
        let mut store = Store::new(Box::new(told.clone()));
        let request = Request::new(RequestKind::WriteZeroes { fua: false }, Lba(0), Bytes(512));
        store.submit(Nanos::ZERO, IoId(Tag::new(0, 0)), request, None, &mut buffers);
        told.end_with(Err(error.into()));
        store.take_ended(Nanos::ZERO, &mut buffers, &mut ends);
        let states = [Nanos(REFUSAL_LASTS.0 - 1), REFUSAL_LASTS].map(|now| {
            assert!(store.may_recover(), "{error}");
            store.telemetry(now).state
        });
        assert_eq!(states, [DeviceState::ReadOnly, DeviceState::Online], "{error}");
    }
}
