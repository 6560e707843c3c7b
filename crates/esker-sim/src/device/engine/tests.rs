//! What a journal on the children takes, on devices that take a millisecond for everything, one request at a time.

use esker_core::{
    Arrival, Bytes, Change, Completion, Lba, Nanos, Observer, ReplaySettings, Request, RequestKind, Verdict, replay,
};
use esker_results::Reporting;

use super::Instance;
use crate::device::{Child, Constant, ConstantSettings, DeviceSettings, HybridSettings};

const DURABLE: RequestKind = RequestKind::Write { fua: true };
const FLUSH: Request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);

/// A hybrid of two children in extents of 4 KiB, in turns, with these further keys.
fn hybrid(keys: &str) -> Box<dyn Reporting> {
    hybrid_of([1, 1], keys)
}

/// Children that take these milliseconds for everything.
fn children(millis: [u64; 2]) -> Vec<Child> {
    let (servers, capacity, queue_depth) = (1, Bytes::kib(64), Some(32));
    let child = |(name, millis): (&str, u64)| {
        let (service_time, service) = (Nanos::from_millis(millis), Default::default());
        let settings = ConstantSettings { service_time, service, servers, capacity, queue_depth };
        Child { name: name.to_string(), device: Box::new(Constant::new(name, &settings)) }
    };
    ["a", "b"].into_iter().zip(millis).map(child).collect()
}

fn hybrid_of(millis: [u64; 2], keys: &str) -> Box<dyn Reporting> {
    let table = format!("children = [\"a\", \"b\"]\nextent = \"4KiB\"\npolicy = {{ kind = \"static-split\" }}\n{keys}");
    let settings: HybridSettings = toml::from_str(&table).unwrap();
    settings.build(Instance::new("volume", children(millis))).unwrap()
}

#[derive(Default)]
struct Ends(Vec<(u64, Option<u64>)>);

impl<D: ?Sized> Observer<D> for Ends {
    fn completed(&mut self, _: Nanos, request: &Request, completion: &Completion) -> Verdict {
        let millis = completion.result.is_ok().then_some(completion.at.0 / 1_000_000);
        self.0.push((request.start.0 / 8, millis));
        Verdict::Continue
    }
}

/// Sends these requests at once. Returns the extent of each and the millisecond at which it ended, or nothing if it
/// failed.
fn ends(mut device: Box<dyn Reporting>, requests: &[Request]) -> Vec<(u64, Option<u64>)> {
    let mut ends = Ends::default();
    let arrivals = requests.iter().map(|&request| Arrival { at: Nanos::ZERO, request });
    replay(&mut *device, arrivals, &ReplaySettings::OPEN, &mut ends).unwrap();
    ends.0
}

fn durable(extent: u64) -> Request {
    Request::new(DURABLE, Lba(extent * 8), Bytes(4096))
}

#[test]
fn the_first_write_waits_for_a_batch_on_both_children_and_their_flushes() {
    let first = [durable(0)];
    assert_eq!(ends(hybrid("allocate = \"on-write\""), &first), [(0, Some(1))]);
    assert_eq!(ends(hybrid("allocate = \"on-write\"\njournal = true"), &first), [(0, Some(3))]);
}

#[test]
fn a_first_write_waits_only_for_children_that_keep_the_map() {
    let first = |keys: &str, extent| {
        let keys = format!("allocate = \"on-write\"\njournal = true\n{keys}");
        ends(hybrid_of([1, 10], &keys), &[durable(extent)])[0].1.unwrap()
    };
    // The write, the batch and its flush; the first extent is on the fast child.
    for (keys, [to_fast, to_slow]) in [
        ("", [1 + 10 + 10, 10 + 10 + 10]),
        ("keeps_map = [\"a\", \"b\"]", [1 + 10 + 10, 10 + 10 + 10]),
        ("keeps_map = [\"a\"]", [1 + 1 + 1, 10 + 1 + 1]),
        ("keeps_map = [\"b\"]", [1 + 10 + 10, 10 + 10 + 10]),
    ] {
        assert_eq!([first(keys, 0), first(keys, 1)], [to_fast, to_slow], "{keys}");
    }
}

#[test]
fn a_map_that_nobody_can_keep_is_refused() {
    let refused = |keys: &str| {
        let table = format!("children = [\"a\", \"b\"]\npolicy = {{ kind = \"static-split\" }}\n{keys}");
        let settings: HybridSettings = toml::from_str(&table).unwrap();
        settings.build(Instance::new("volume", children([1, 1]))).err().unwrap().message
    };
    assert!(refused("keeps_map = [\"a\"]").contains("there is none"));
    assert!(refused("journal = true\nkeeps_map = [\"a\", \"c\"]").contains("`c` is none of the children"));
}

/// The second write is sent as one that makes nothing durable, ends after two milliseconds, and waits for a flush
/// behind the third one; that one waits for the next flush.
#[test]
fn durable_writes_to_a_child_share_flushes() {
    let three = [0, 2, 4].map(durable);
    assert_eq!(ends(hybrid(""), &three), [(0, Some(1)), (2, Some(2)), (4, Some(3))]);
    assert_eq!(ends(hybrid("journal = true"), &three), [(0, Some(1)), (2, Some(4)), (4, Some(5))]);
    // Other writes wait for nothing, nor do those to the other child.
    let others = [0, 1, 2].map(|extent| Request { kind: RequestKind::Write { fua: extent == 1 }, ..durable(extent) });
    assert_eq!(ends(hybrid("journal = true"), &others), ends(hybrid(""), &others));
    assert_eq!(ends(hybrid("journal = true"), &[FLUSH]), ends(hybrid(""), &[FLUSH]));
}

/// A batch takes what has been recorded by then; what comes while it is under way waits for the next one.
#[test]
fn one_batch_is_under_way_at_a_time() {
    // Both extents are new, on different children. The batch of the first to end has both records.
    let two = [0, 1].map(durable);
    let found = ends(hybrid("allocate = \"on-write\"\njournal = true"), &two);
    assert_eq!(found, [(0, Some(3)), (1, Some(5))]);
}

#[test]
fn without_a_child_that_keeps_it_nothing_is_recorded() {
    let lose = |children: &[&str]| {
        let mut device = hybrid("allocate = \"on-write\"\njournal = true");
        children.iter().for_each(|child| assert!(device.change(Nanos::ZERO, child, Change::Fail).unwrap()));
        device
    };
    assert_eq!(ends(lose(&["b"]), &[durable(0)]), [(0, Some(3))]);
    assert_eq!(ends(lose(&["a", "b"]), &[durable(0)]), [(0, None)]);
}
