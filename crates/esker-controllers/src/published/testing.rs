//! Drives a policy of two devices beside a plain model of it, with random requests and moves, and compares what they
//! want to move.

use std::collections::VecDeque;

use esker_core::{Bytes, DeviceState, Lba, Nanos, Request, RequestKind};
use esker_tier::{
    Completed, DeviceIndex, DeviceView, Event, LogicalExtent, MoveOutcome, Placement, PolicySettings, TwoCopies,
    WishedMove, Wishes,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::PUBLISHED_PLACEMENTS;

/// Bytes of an extent.
pub(super) const EXTENT: u64 = 64 << 10;

/// A policy, written a second time for reading.
pub(super) trait Model {
    /// Takes an event, and returns the extents to move with their devices.
    fn observe(&mut self, now: Nanos, event: &Event<'_>, host: &Host) -> Vec<(u32, u16)>;

    /// Returns which extents should lose their second copy, and which should get one and where, since the last event.
    fn mirrors(&mut self) -> (Vec<u32>, Vec<(u32, u16)>) {
        (Vec::new(), Vec::new())
    }

    /// Returns true if the next request of an extent with two copies goes to the slow device.
    fn offloads(&mut self) -> bool {
        false
    }

    /// Learns where an extent is now.
    fn placed(&mut self, extent: u32, device: Option<u16>);

    /// Learns whether an extent has a second copy now.
    fn mirrored(&mut self, extent: u32, home: u16, device: Option<u16>) {
        let _ = (extent, home, device);
    }
}

/// Makes a policy from its table.
pub(super) fn policy(table: &str) -> Box<dyn Placement> {
    let settings: PolicySettings = serde_json::from_str(table).unwrap();
    settings.build(PUBLISHED_PLACEMENTS, 2).unwrap()
}

/// Returns the error of a policy with these options.
pub(super) fn error(kind: &str, options: &str) -> String {
    let settings = PolicySettings::new(kind, serde_json::from_str(options).unwrap());
    settings.build(PUBLISHED_PLACEMENTS, 2).unwrap_err().to_string()
}

/// Two devices, and the extents on them.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// Numbers of extents that the devices hold.
    pub(super) sizes: [u32; 2],
    /// The devices of the extents.
    places: Vec<u16>,
    /// The devices of second copies.
    mirrors: Vec<Option<u16>>,
    /// Copies under way, and whether the extent stays where it is, too.
    moving: Vec<(WishedMove, bool)>,
}

impl Host {
    /// Returns the number of free extents of a device.
    pub(super) fn free(&self, device: u16) -> u32 {
        let held = self.places.iter().filter(|&&place| place == device).count();
        let seconds = self.mirrors.iter().filter(|&&place| place == Some(device)).count();
        let coming = self.moving.iter().filter(|(wished, _)| wished.to.0 == device).count();
        self.sizes[usize::from(device)] - (held + seconds + coming) as u32
    }

    fn views(&self) -> [DeviceView; 2] {
        let [fast, slow] = views([0, 1].map(|device| self.free(device)));
        [DeviceView { extents: self.sizes[0], ..fast }, DeviceView { extents: self.sizes[1], ..slow }]
    }
}

/// Two devices with these numbers of free extents.
pub(super) fn views(free: [u32; 2]) -> [DeviceView; 2] {
    free.map(|free_extents| DeviceView {
        extents: 10,
        free_extents,
        state: DeviceState::Online,
        drained: false,
        is_held: false,
        under_way: 0,
    })
}

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The host reads or writes some extents.
    Request { first: u32, extents: u32, is_write: bool },
    /// The oldest request of the host ends.
    End,
    /// A move ends, or cannot begin.
    MoveEnds { index: usize, done: bool },
    /// Time passes.
    Wait { millis: u64 },
}

/// Draws devices, and extents on them.
pub(super) fn hosts() -> impl Strategy<Value = Host> {
    let slow = prop_oneof![3 => 30u32..40, 1 => Just(2100u32)];
    (4u32..10, slow, prop::collection::vec(any::<bool>(), 12..30)).prop_map(|(fast, slow, wanted)| {
        let mut on_fast = 0;
        let place = |wants: bool| {
            let takes = wants && on_fast < fast;
            on_fast += u32::from(takes);
            u16::from(!takes)
        };
        let places: Vec<u16> = wanted.into_iter().map(place).collect();
        Host { sizes: [fast, slow], mirrors: vec![None; places.len()], places, moving: Vec::new() }
    })
}

/// Draws what happens: some extents are used much more often than others.
pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let extent = prop_oneof![2 => 0u32..30, 1 => 0u32..3, 2 => 9u32..14];
    let request = (extent, 1u32..3, prop::bool::weighted(0.3));
    let request = request.prop_map(|(first, extents, is_write)| Step::Request { first, extents, is_write });
    let move_ends =
        (any::<usize>(), prop::bool::weighted(0.9)).prop_map(|(index, done)| Step::MoveEnds { index, done });
    let wait = prop_oneof![8 => 0u64..30, 1 => 500u64..12_000].prop_map(|millis| Step::Wait { millis });
    prop::collection::vec(prop_oneof![6 => request, 5 => Just(Step::End), 2 => move_ends, 3 => wait], 1..500)
}

/// Returns in how many of `runs` drawn cases `compare` finds a difference.
pub(super) fn found_in<T>(
    cases: impl Strategy<Value = T>,
    runs: u32,
    compare: impl Fn(T) -> Result<(), String>,
) -> usize {
    let mut runner = TestRunner::deterministic();
    (0..runs).filter(|_| compare(cases.new_tree(&mut runner).unwrap().current()).is_err()).count()
}

/// A policy and its model, and the host of both.
struct Pair<M> {
    policy: Box<dyn Placement>,
    model: M,
    host: Host,
    now: Nanos,
    timer: Option<Nanos>,
    /// Requests of the host under way.
    requests: VecDeque<Completed>,
}

/// Runs both, and returns the first difference.
pub(super) fn compare(policy: Box<dyn Placement>, model: impl Model, host: Host, steps: &[Step]) -> Result<(), String> {
    let mut pair = Pair { policy, model, host, now: Nanos(1), timer: None, requests: VecDeque::new() };
    // The last extent comes first: the first one tells nothing about the size of an extent.
    (0..pair.host.places.len() as u32).rev().for_each(|extent| pair.place(extent));
    steps.iter().try_for_each(|&step| pair.step(step))
}

impl<M: Model> Pair<M> {
    fn place(&mut self, extent: u32) {
        let device = self.host.places[extent as usize];
        let start = Bytes(u64::from(extent) * EXTENT);
        self.policy.placed(LogicalExtent(extent), start, Some(DeviceIndex(device)));
        self.model.placed(extent, Some(device));
    }

    fn move_to(&mut self, extent: u32, to: u16) {
        if self.host.mirrors[extent as usize].is_some() {
            self.mirror(extent, None);
        }
        self.host.places[extent as usize] = to;
        self.place(extent);
    }

    fn mirror(&mut self, extent: u32, device: Option<u16>) {
        self.host.mirrors[extent as usize] = device;
        let home = self.host.places[extent as usize];
        self.policy.mirrored(LogicalExtent(extent), DeviceIndex(home), device.map(DeviceIndex));
        self.model.mirrored(extent, home, device);
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Request { first, extents, is_write } => self.request(first, extents, is_write),
            Step::End => match self.requests.pop_front() {
                Some(done) => self.tell(&Event::Completed(Completed { at: self.now, ..done })),
                None => Ok(()),
            },
            Step::MoveEnds { .. } if self.host.moving.is_empty() => Ok(()),
            Step::MoveEnds { index, done } => {
                let (WishedMove { extent, to, .. }, stays) = self.host.moving.remove(index % self.host.moving.len());
                if done && stays {
                    self.mirror(extent.0, Some(to.0));
                } else if done {
                    self.move_to(extent.0, to.0);
                }
                let outcome = if done { MoveOutcome::Done } else { MoveOutcome::Failed };
                self.tell(&Event::Moved { extent, outcome })
            }
            Step::Wait { millis } => {
                let until = self.now + Nanos::from_millis(millis);
                while let Some(due) = self.timer.filter(|&due| due <= until) {
                    self.timer = None;
                    self.now = due;
                    self.tell(&Event::Timer)?;
                }
                self.now = until;
                Ok(())
            }
        }
    }

    fn request(&mut self, first: u32, extents: u32, is_write: bool) -> Result<(), String> {
        let first = first % self.host.places.len() as u32;
        let extents = extents.min(self.host.places.len() as u32 - first);
        let kind = if is_write { RequestKind::Write { fua: false } } else { RequestKind::Read };
        let length = Bytes(4096 * u64::from(extents));
        let request = Request::new(kind, Lba(u64::from(first) * EXTENT / 512), length);
        let home = DeviceIndex(self.host.places[first as usize]);
        let device = match self.host.mirrors[first as usize].map(DeviceIndex) {
            Some(mirror) => self.one_of(TwoCopies { extent: LogicalExtent(first), home, mirror, request: &request })?,
            None => home,
        };
        let first = LogicalExtent(first);
        let (sent, for_host, ok) = (self.now, true, true);
        self.requests.push_back(Completed { device, first, extents, kind, length, sent, at: sent, for_host, ok });
        self.tell(&Event::Request { request: &request, first, extents })
    }

    /// Asks both where a request of an extent with two copies goes. Those of a write change places.
    fn one_of(&mut self, copies: TwoCopies<'_>) -> Result<DeviceIndex, String> {
        let TwoCopies { extent: LogicalExtent(extent), home, mirror, request } = copies;
        let views = self.host.views();
        let is_read = request.kind == RequestKind::Read;
        let device =
            if is_read { self.policy.reads_from(&copies, &views) } else { self.policy.writes_to(&copies, &views) };
        if device.0 != u16::from(self.model.offloads()) {
            return Err(format!("{:?}: a request of extent {extent} goes to {device:?}", self.now));
        }
        if !is_read && device == mirror {
            self.move_to(extent, mirror.0);
            self.mirror(extent, Some(home.0));
        }
        Ok(device)
    }

    /// Tells both of an event, and begins the moves that they want.
    fn tell(&mut self, event: &Event<'_>) -> Result<(), String> {
        let mut wishes = Wishes::default();
        self.policy.observe(self.now, event, &self.host.views(), &mut wishes);
        let wanted = self.model.observe(self.now, event, &self.host);
        let found: Vec<_> = wishes.moves.iter().map(|wished| (wished.extent.0, wished.to.0)).collect();
        if found != wanted {
            return Err(format!("{:?}, {event:?}: {found:?} instead of {wanted:?}", self.now));
        }
        let found: Vec<_> = wishes.mirrors.iter().map(|wished| (wished.extent.0, wished.to.0)).collect();
        let found = (wishes.drop_mirrors.iter().map(|extent| extent.0).collect::<Vec<_>>(), found);
        let wanted = self.model.mirrors();
        if found != wanted {
            return Err(format!("{:?}, {event:?}: second copies {found:?} instead of {wanted:?}", self.now));
        }
        self.timer = self.timer.into_iter().chain(wishes.wake_at).min();
        wishes.moves.into_iter().try_for_each(|wished| self.begin(wished, false))?;
        wishes.drop_mirrors.into_iter().for_each(|extent| self.mirror(extent.0, None));
        wishes.mirrors.into_iter().try_for_each(|wished| self.begin(wished, true))
    }

    /// Begins a move, or the copy for a second place if the extent `stays`.
    fn begin(&mut self, wished: WishedMove, stays: bool) -> Result<(), String> {
        let WishedMove { extent, to, .. } = wished;
        let mirror = self.host.mirrors[extent.0 as usize];
        let is_moving = self.host.moving.iter().any(|(other, _)| other.extent == extent);
        let has_copy = self.host.places[extent.0 as usize] == to.0 || mirror == Some(to.0);
        let outcome = if !is_moving && !stays && mirror.is_some() && has_copy {
            self.move_to(extent.0, to.0);
            MoveOutcome::Done
        } else if is_moving || has_copy || (stays && mirror.is_some()) {
            MoveOutcome::NothingToDo
        } else if self.host.free(to.0) == 0 {
            MoveOutcome::NoRoom
        } else {
            self.host.moving.push((wished, stays));
            return Ok(());
        };
        self.tell(&Event::Moved { extent, outcome })
    }
}
