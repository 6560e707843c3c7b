//! The state machine beside a plain model of it, while a host reads, writes and pauses.

mod model;

use std::collections::VecDeque;

use esker_core::Lba;
use esker_tier::Completed;
use proptest::prelude::*;

use model::{Mistake, Model};

use super::*;
use crate::published::testing::{self, EXTENT, views};

/// Extents of the volume.
const EXTENTS: u32 = 24;
const IDLE: Nanos = Nanos::from_millis(20);
const SMALL: u64 = 16 << 10;

/// Something that happens.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The host wants something of `block` and those behind it. A write may begin where an earlier one ended, and takes
    /// some of its extents to another device.
    Request { kind: RequestKind, block: u64, blocks: u64, follows: Option<usize>, redirects: bool },
    /// The oldest request ends.
    End,
    /// The move ends.
    MoveEnds(MoveOutcome),
    /// Time passes.
    Wait { millis: u64 },
    /// A timer of somebody else.
    Timer,
    /// The flash fails, or works again.
    Fail(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = RequestKind::Write { fua: false };
    let kind = prop_oneof![9 => Just(write), 4 => Just(RequestKind::Read), 1 => Just(RequestKind::Trim)];
    let block = prop_oneof![2 => 0..u64::from(EXTENTS) * 16, 2 => 0..64u64];
    let blocks = prop_oneof![6 => 1u64..4, 1 => 4u64..6, 2 => 6u64..40];
    let follows = prop::option::weighted(0.25, 0usize..30);
    let request = (kind, block, blocks, follows, prop::bool::weighted(0.3));
    let request = request.prop_map(|(kind, block, blocks, follows, redirects)| Step::Request {
        kind,
        block,
        blocks,
        follows,
        redirects,
    });
    let flush = Step::Request { kind: RequestKind::Flush, block: 0, blocks: 0, follows: None, redirects: false };
    let outcome = prop_oneof![
        20 => Just(MoveOutcome::Done),
        1 => Just(MoveOutcome::NothingToDo),
        1 => Just(MoveOutcome::Failed),
        1 => Just(MoveOutcome::NoRoom),
        1 => Just(MoveOutcome::Held),
    ];
    let wait = prop_oneof![1 => 0u64..20, 1 => 15u64..60].prop_map(|millis| Step::Wait { millis });
    let step = prop_oneof![
        40 => request,
        1 => Just(flush),
        80 => Just(Step::End),
        60 => outcome.prop_map(Step::MoveEnds),
        25 => wait,
        4 => Just(Step::Timer),
        1 => prop::bool::weighted(0.2).prop_map(Step::Fail),
    ];
    prop::collection::vec(step, 1..500)
}

/// Both, and the devices: flash and a disk, which has room for `room` extents.
struct Pair {
    busting: Busting,
    model: Model,
    room: u32,
    flash: DeviceState,
    now: Nanos,
    timer: Option<Nanos>,
    requests: VecDeque<Completed>,
    written: Vec<u64>,
    without_room: u64,
}

impl Pair {
    fn views(&self) -> [DeviceView; 2] {
        let on_disk = self.model.extents.iter().filter(|extent| extent.device == Some(1)).count() as u32;
        let [mut flash, mut disk] = views([9, self.room.saturating_sub(on_disk)]);
        (flash.state, disk.under_way) = (self.flash, self.requests.len() as u32);
        [flash, disk]
    }

    fn place(&mut self, extent: u32, device: Option<u16>) {
        self.busting.placed(LogicalExtent(extent), device.map(DeviceIndex));
        self.model.placed(extent, device);
    }

    /// Tells the state machine, and returns the extent that it moves.
    fn tell(&mut self, event: &Event<'_>) -> Option<u32> {
        let mut wishes = Wishes::default();
        self.busting.observe(self.now, event, &self.views(), &mut wishes);
        self.busting.pieces.check(&self.busting.extents);
        self.timer = self.timer.into_iter().chain(wishes.wake_at).min();
        self.without_room += wishes.without_room;
        assert!(wishes.moves.len() <= 1 && wishes.moves.iter().all(|wished| wished.to == DeviceIndex(1)));
        let background = |wished: &WishedMove| *wished == WishedMove::in_background(wished.extent, wished.to);
        assert!(wishes.moves.iter().all(background));
        wishes.moves.first().map(|wished| wished.extent.0)
    }

    /// Fails if both do not begin to move the same extent.
    fn same(&self, found: Option<(Nanos, u32)>, wanted: Option<(Nanos, u32)>) -> Result<(), String> {
        if found != wanted || self.without_room != self.model.without_room {
            return Err(format!("{:?}: {found:?} instead of {wanted:?}", self.now));
        }
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        let (mut found, mut wanted) = (None, None);
        match step {
            Step::Request { kind, block, blocks, follows, redirects } => {
                let end = u64::from(EXTENTS) * EXTENT;
                let follows =
                    follows.and_then(|back| self.written.iter().rev().nth(back)).filter(|start| **start < end);
                let start = follows.copied().unwrap_or(block * 4096);
                let request = Request::new(kind, Lba::containing(start), Bytes((blocks * 4096).min(end - start)));
                found = self.request(&request, redirects);
            }
            Step::End => {
                let Some(done) = self.requests.front().copied() else { return Ok(()) };
                self.model.ended(self.now);
                found = self.tell(&Event::Completed(Completed { at: self.now, ..done }));
                self.requests.pop_front();
            }
            Step::MoveEnds(outcome) => {
                let Some(extent) = self.model.moving else { return Ok(()) };
                if outcome == MoveOutcome::Done {
                    self.place(extent, Some(1));
                }
                found = self.tell(&Event::Moved { extent: LogicalExtent(extent), outcome });
                wanted = self.model.moved(outcome, &self.views());
            }
            Step::Wait { millis } => return self.wait(self.now + Nanos::from_millis(millis)),
            Step::Timer => found = self.tell(&Event::Timer),
            Step::Fail(fails) => self.flash = if fails { DeviceState::Failed } else { DeviceState::Online },
        }
        self.same(found.map(|extent| (self.now, extent)), wanted.map(|extent| (self.now, extent)))
    }

    fn request(&mut self, request: &Request, redirects: bool) -> Option<u32> {
        let (start, length) = (request.start.byte_offset(), request.length);
        let first = (start / EXTENT) as u32;
        let extents = first..if length == Bytes::ZERO { first } else { request.end_byte().div_ceil(EXTENT) as u32 };
        let (first, count) = (LogicalExtent(first), extents.len() as u32);
        self.model.requested(self.now, request, extents.clone());
        let found = self.tell(&Event::Request { request, first, extents: count });
        for extent in extents {
            let place = self.model.of(extent).device;
            match request.kind {
                RequestKind::Trim => self.place(extent, None),
                RequestKind::Write { .. } if place.is_none() || redirects => {
                    self.place(extent, Some(place.map_or(u16::from(redirects), |device| 1 - device)));
                }
                _ => {}
            }
        }
        if matches!(request.kind, RequestKind::Write { .. }) {
            self.written.push(request.end_byte());
        }
        let (sent, at, kind) = (self.now, self.now, request.kind);
        let (device, for_host, ok) = (DeviceIndex(0), true, true);
        self.requests.push_back(Completed { device, first, extents: count, kind, length, sent, at, for_host, ok });
        found
    }

    fn wait(&mut self, until: Nanos) -> Result<(), String> {
        let mut found = None;
        while let Some(due) = self.timer.filter(|&due| due <= until) {
            (self.timer, self.now) = (None, due);
            let moves = self.tell(&Event::Timer).map(|extent| (due, extent));
            found = found.or(moves);
        }
        self.now = until;
        let wanted = self.model.wait(until, &self.views());
        self.same(found, wanted)
    }
}

fn compare((percent, room, steps): (u64, u32, Vec<Step>), mistake: Option<Mistake>) -> Result<(), String> {
    let settings = BustingSettings { share: Ratio::percent(percent), idle: IDLE, small: Bytes(SMALL) };
    let mut pair = Pair {
        busting: Busting::new(settings, 0),
        model: Model::new(percent, mistake),
        room,
        flash: DeviceState::Online,
        now: Nanos(1),
        timer: None,
        requests: VecDeque::new(),
        written: Vec::new(),
        without_room: 0,
    };
    // Some data are there before the first request.
    (0..EXTENTS / 3).for_each(|extent| pair.place(extent, Some((extent % 3 == 0).into())));
    steps.into_iter().try_for_each(|step| pair.step(step))
}

/// The share, room on the disk, and what happens.
fn runs() -> impl Strategy<Value = (u64, u32, Vec<Step>)> {
    (prop_oneof![Just(25u64), Just(100), 1u64..100], prop_oneof![3 => Just(EXTENTS), 1 => 3u32..20], steps())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300 * esker_testkit::soak()))]

    #[test]
    fn it_moves_what_the_plain_model_moves(run in runs()) {
        prop_assert_eq!(compare(run, None), Ok(()));
    }
}

/// The comparison finds each mistake.
#[test]
fn wrong_twins_are_found_out() {
    use Mistake::{
        CountsRedirected, GoesOn, IgnoresEnds, IgnoresReads, IgnoresRoom, IgnoresWhatIsLeft, KeepsRewritten, MovesAll,
        RemembersAllStreams, TakesLarge, TakesSequential,
    };
    for mistake in [
        CountsRedirected,
        GoesOn,
        IgnoresEnds,
        IgnoresReads,
        IgnoresRoom,
        IgnoresWhatIsLeft,
        KeepsRewritten,
        MovesAll,
        RemembersAllStreams,
        TakesLarge,
        TakesSequential,
    ] {
        let found = testing::found_in(runs(), 150, |run| compare(run, Some(mistake)));
        assert!(found >= 3, "{mistake:?} is found in {found} of 150 runs");
    }
}
