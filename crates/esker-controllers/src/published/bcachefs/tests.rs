use std::collections::BTreeSet;

use esker_core::{Lba, Priority, Request};
use proptest::prelude::*;

use super::*;
use crate::published::testing::{self, Host};

/// A mistake of the model, which the comparison has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// What was promoted moves behind, too.
    MovesPromoted,
    /// Reads do not keep a promoted extent.
    DropsOldest,
    /// A pass that has found nothing is followed by another one at once.
    NeverWaits,
    /// Bytes in flight are not limited.
    IgnoresBytes,
    /// Each move begins with the lowest address.
    BeginsAnew,
}

/// The rules as simply as can be: sets and lists that are searched.
#[derive(Clone, Debug)]
struct Model {
    mistake: Option<Mistake>,
    on_fast: BTreeSet<u32>,
    written: BTreeSet<u32>,
    /// Promoted extents, oldest first.
    promoted: Vec<u32>,
    promoting: Vec<u32>,
    behind: Vec<u32>,
    /// Where the pass is, and whether it has moved anything; `None` while it waits.
    pass: Option<(u32, bool)>,
    waits_for: u64,
    bytes: u64,
    most: usize,
}

impl Model {
    fn new(most: usize, mistake: Option<Mistake>) -> Self {
        Self {
            mistake,
            on_fast: BTreeSet::new(),
            written: BTreeSet::new(),
            promoted: Vec::new(),
            promoting: Vec::new(),
            behind: Vec::new(),
            pass: Some((0, false)),
            waits_for: 0,
            bytes: 0,
            most: if mistake == Some(Mistake::IgnoresBytes) { 32 } else { most },
        }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn read(&mut self, extent: u32, host: &Host, moves: &mut Vec<(u32, u16)>) {
        if self.on_fast.contains(&extent) {
            if self.promoted.contains(&extent) && !self.is(Mistake::DropsOldest) {
                self.promoted.retain(|&other| other != extent);
                self.promoted.push(extent);
            }
        } else if self.promoting.len() < 16 {
            let (moved, to) = if host.free(0) > 0 {
                (extent, 0)
            } else if let Some(&oldest) = self.promoted.first().filter(|_| host.free(1) > 0) {
                self.promoted.rotate_left(1);
                (oldest, 1)
            } else {
                return;
            };
            if !self.promoting.contains(&moved) {
                self.promoting.push(moved);
                moves.push((moved, to));
            }
        }
    }

    fn write(&mut self, extent: u32) {
        if self.on_fast.contains(&extent) {
            self.written.insert(extent);
            self.promoted.retain(|&other| other != extent);
        }
    }

    fn move_behind(&mut self, host: &Host, moves: &mut Vec<(u32, u16)>) {
        while self.behind.len() < self.most && host.free(1) > 0 {
            let Some((next, moved)) = self.pass.or((self.bytes >= self.waits_for).then_some((0, false))) else {
                return;
            };
            let next = if self.is(Mistake::BeginsAnew) { 0 } else { next };
            let has_to = |extent: &u32| {
                self.written.contains(extent) || (self.is(Mistake::MovesPromoted) && self.promoted.contains(extent))
            };
            if let Some(extent) = (next..30).find(has_to) {
                self.pass = Some((extent + 1, moved));
                if self.behind.contains(&extent) {
                    return;
                }
                self.behind.push(extent);
                moves.push((extent, 1));
            } else if !self.behind.is_empty() {
                self.pass = Some((30, moved));
                return;
            } else if moved || self.is(Mistake::NeverWaits) {
                self.pass = Some((0, false));
                if !moved {
                    return;
                }
            } else {
                self.pass = None;
                let smallest = u64::from(host.sizes[0].min(host.sizes[1]));
                self.waits_for = self.bytes + smallest * testing::EXTENT / 64;
                return;
            }
        }
    }
}

impl testing::Model for Model {
    fn observe(&mut self, _: Nanos, event: &Event<'_>, host: &Host) -> Vec<(u32, u16)> {
        let mut moves = Vec::new();
        match *event {
            Event::Request { request, first, extents } => {
                for extent in first.0..first.0 + extents {
                    if request.kind.is_write() { self.write(extent) } else { self.read(extent, host, &mut moves) }
                }
                self.bytes += if request.kind.is_write() { request.length.0 } else { 0 };
                self.move_behind(host, &mut moves);
            }
            Event::Moved { extent, outcome } => {
                self.promoting.retain(|&other| other != extent.0);
                let was_behind = self.behind.contains(&extent.0);
                self.behind.retain(|&other| other != extent.0);
                if let Some((_, moved)) = self.pass.as_mut().filter(|_| was_behind) {
                    *moved |= outcome == MoveOutcome::Done;
                }
                self.move_behind(host, &mut moves);
            }
            _ => {}
        }
        moves
    }

    fn placed(&mut self, extent: u32, device: Option<u16>) {
        if device != Some(0) {
            self.on_fast.remove(&extent);
            self.written.remove(&extent);
            self.promoted.retain(|&other| other != extent);
        } else if self.on_fast.insert(extent) {
            if self.promoting.contains(&extent) {
                self.promoted.push(extent);
            } else {
                self.written.insert(extent);
            }
        }
    }
}

/// A drawn host, the most moves in flight, and what the host does.
fn runs() -> impl Strategy<Value = (Host, u64, Vec<testing::Step>)> {
    (testing::hosts(), 1u64..4, testing::steps())
}

fn compare((host, most, steps): (Host, u64, Vec<testing::Step>), mistake: Option<Mistake>) -> Result<(), String> {
    let kib = most * testing::EXTENT / 1024;
    let table = format!(r#"{{"kind":"bcachefs","move_bytes_in_flight":"{kib}KiB"}}"#);
    testing::compare(testing::policy(&table), Model::new(most as usize, mistake), host, &steps)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200 * esker_testkit::soak()))]

    #[test]
    fn it_moves_what_the_plain_model_moves(run in runs()) {
        prop_assert_eq!(compare(run, None), Ok(()));
    }
}

/// The comparison finds each mistake.
#[test]
fn wrong_twins_are_found_out() {
    use Mistake::{BeginsAnew, DropsOldest, IgnoresBytes, MovesPromoted, NeverWaits};
    for mistake in [MovesPromoted, DropsOldest, NeverWaits, IgnoresBytes, BeginsAnew] {
        let found = testing::found_in(runs(), 100, |run| compare(run, Some(mistake)));
        assert!(found >= 3, "{mistake:?} is found in {found} of 100 runs");
    }
}

/// Writes go to the fast device, and then behind the host's requests to the slow one; promotions go among them.
#[test]
fn what_is_written_moves_behind_the_requests() {
    let mut policy = testing::policy(r#"{"kind":"bcachefs"}"#);
    let devices = testing::views([2, 5]);
    let write = Request::write(Lba(0), Bytes(4096));
    let new = |write| NewExtent { extent: LogicalExtent(0), start: Bytes(0), write };
    assert_eq!([new(Some(&write)), new(None)].map(|new| policy.place(&new, &devices).0), [0, 1]);
    let rewrite =
        |from| Rewrite { extent: LogicalExtent(1), from: DeviceIndex(from), write: &write, rest: Bytes::ZERO };
    assert_eq!([0, 1].map(|from| policy.redirect(&rewrite(from), &devices)), [None, Some(DeviceIndex(0))]);
    policy.placed(LogicalExtent(0), Bytes(0), Some(DeviceIndex(0)));
    policy.placed(LogicalExtent(1), Bytes(testing::EXTENT), Some(DeviceIndex(1)));
    let mut wishes = Wishes::default();
    let read = Request::read(Lba(testing::EXTENT / 512), Bytes(4096));
    let event = Event::Request { request: &read, first: LogicalExtent(1), extents: 1 };
    policy.observe(Nanos::ZERO, &event, &devices, &mut wishes);
    let found: Vec<_> = wishes.moves.iter().map(|wished| (wished.extent.0, wished.to.0, wished.priority)).collect();
    assert_eq!(found, [(1, 0, Priority::USER), (0, 1, Priority::BACKGROUND)]);
}

#[test]
fn settings_are_checked() {
    let error = |options| testing::error("bcachefs", options);
    assert_eq!(
        error(r#"{"move_ios_in_flight":0}"#),
        "move_ios_in_flight: `move_ios_in_flight` is 0; it has to be 1 to 1024"
    );
    assert_eq!(
        error(r#"{"move_bytes_in_flight":"1B"}"#),
        "move_bytes_in_flight: `move_bytes_in_flight` is 1B; it has to be 1KiB to 4GiB"
    );
    assert_eq!(error(r#"{"fast":2}"#), "fast: there is no device 2; 2 devices count from 0");
}
