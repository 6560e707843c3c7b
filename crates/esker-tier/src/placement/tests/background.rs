//! Background work that is paused, limited, or cannot get on, over virtual time.

use std::collections::BTreeMap;

use esker_core::{DeviceState, Rng, Telemetry};

use super::restless::RestlessPolicy;
use super::*;
use crate::engine::{BackgroundReport, BackgroundSettings, HeldReason, LiveSettings, LiveSettingsError};

/// An engine over two devices that answer in a fixed time each, the second one far slower, and a host that reads
/// extents at random, some far more often than others.
pub(super) struct Load {
    pub(super) engine: PlacementEngine,
    rng: Rng,
    pub(super) now: Nanos,
    /// Requests to devices under way, by the time of their end.
    ends: BTreeMap<(Nanos, u64), (IoId, Result<(), DeviceError>)>,
    timer: Nanos,
    sent: u64,
    /// The host's requests that have ended.
    answered: u64,
    /// Reads and writes of copies: when each was sent, its kind and its length.
    pub(super) copies: Vec<(Nanos, RequestKind, Bytes)>,
    /// Whether devices refuse all writes of copies, as full file systems do, and say that they are well.
    refuses: bool,
}

const SERVICE: [Nanos; 2] = [Nanos::from_micros(100), Nanos::from_millis(2)];

/// Bytes of an extent.
pub(super) const WHOLE: u64 = EXTENT * 512;

/// Devices of `sizes` extents, of which the host is offered `offered`, all with data.
pub(super) fn loaded(sizes: [u64; 2], offered: u64, policy: &str) -> PlacementEngine {
    let policy = serde_json::from_str(policy).unwrap();
    let settings = PlacementSettings { policy, ..settings(&sizes.map(|size| size * EXTENT), "[1, 1]") };
    let mut engine = PlacementEngine::new(&settings).unwrap();
    engine.offer(Bytes(offered * WHOLE)).unwrap();
    engine.fill(Ratio::ONE);
    engine
}

impl Load {
    pub(super) fn new(engine: PlacementEngine) -> Self {
        let (ends, copies, timer) = (BTreeMap::new(), Vec::new(), Nanos::NEVER);
        let (rng, now) = (Rng::new(1), Nanos::from_secs(100));
        Self { engine, rng, now, ends, timer, sent: 0, answered: 0, copies, refuses: false }
    }

    pub(super) fn tell(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.engine.on(self.now, input, &mut effects);
        self.perform(effects);
    }

    pub(super) fn set(&mut self, settings: &LiveSettings) -> Result<(), LiveSettingsError> {
        let mut effects = Vec::new();
        let result = self.engine.set(self.now, settings, &mut effects);
        self.perform(effects);
        result
    }

    fn limit(&mut self, paused: bool, budget: Option<u64>) {
        let background = BackgroundSettings { paused, moved_bytes_per_day: budget.map(Bytes) };
        self.set(&LiveSettings { background: Some(background), ..LiveSettings::default() }).unwrap();
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        let mut durable = None;
        for effect in effects {
            match effect {
                Effect::Io { io, host, device, request, .. } => {
                    let is_copy = host.is_none() && request.kind.has_data();
                    if is_copy {
                        self.copies.push((self.now, request.kind, request.length));
                    }
                    let is_refused = is_copy && self.refuses && request.kind.is_write();
                    let result = if is_refused { Err(DeviceError::NoSpace) } else { Ok(()) };
                    self.sent += 1;
                    self.ends.insert((self.now + SERVICE[usize::from(device.0)], self.sent), (io, result));
                }
                Effect::Harden { through } => durable = Some(through),
                Effect::Reply { result, .. } => {
                    assert_eq!(result, Ok(()));
                    self.answered += 1;
                }
                Effect::WakeAt(at) => self.timer = self.timer.min(at),
                _ => {}
            }
        }
        if let Some(through) = durable {
            self.tell(Input::Durable { through });
        }
    }

    /// Performs everything that is due until `until`.
    pub(super) fn pass(&mut self, until: Nanos) {
        loop {
            let next = self.ends.first_key_value().map_or(Nanos::NEVER, |(&(at, _), _)| at);
            let at = next.min(self.timer);
            if at > until {
                break;
            }
            self.now = at;
            if next == at {
                let (_, (io, result)) = self.ends.pop_first().unwrap();
                self.tell(Input::Done { io, at, result });
            } else {
                self.timer = Nanos::NEVER;
                self.tell(Input::Timer);
            }
        }
        self.now = until;
    }

    /// Has the host read one extent every `gap`, for `time`; devices report every five seconds.
    pub(super) fn run(&mut self, time: Nanos, gap: Nanos) {
        let end = self.now + time;
        let mut reported = self.now;
        while self.now < end {
            let extents = u64::from(self.engine.map.len());
            let hot = self.rng.below(extents / 8 + 1);
            let extent = if self.rng.chance(3, 4) { hot } else { self.rng.below(extents) };
            let slot = (self.answered % 1000) as u32;
            self.tell(host(slot, Request::read(Lba(extent * EXTENT), Bytes(512))));
            self.pass(self.now + gap);
            if self.now >= reported + Nanos::from_secs(5) {
                reported = self.now;
                for device in [0, 1].map(DeviceIndex) {
                    let telemetry = Telemetry { state: DeviceState::Online, ..Telemetry::default() };
                    self.tell(Input::Device { device, telemetry });
                }
            }
        }
    }

    pub(super) fn background(&self) -> BackgroundReport {
        self.engine.background(self.now).unwrap()
    }

    fn held(&self) -> Option<HeldReason> {
        self.background().held
    }

    /// Bytes that copies have written in a span of time.
    fn written(&self, from: Nanos, to: Nanos) -> u64 {
        let writes = self.copies.iter().filter(|(_, kind, _)| kind.is_write());
        writes.filter(|(at, ..)| (from..to).contains(at)).map(|(.., length)| length.0).sum()
    }
}

const DAY: Nanos = Nanos::from_secs(86_400);
const GAP: Nanos = Nanos::from_millis(3);

/// Policies that move extents, each with what it needs to want that under this load.
const MOVING: [&str; 4] = [
    r#"{"kind":"wardrop"}"#,
    r#"{"kind":"throughput"}"#,
    r#"{"kind":"migration","delta":"10%"}"#,
    r#"{"kind":"fast-first","make_room":{"below":"20%","until":"30%","idle":"100us"}}"#,
];

#[test]
fn policies_move_extents_under_this_load() {
    for policy in MOVING {
        let mut load = Load::new(loaded([64, 96], 100, policy));
        load.run(Nanos::from_secs(20), GAP);
        assert!(load.written(Nanos::ZERO, Nanos::NEVER) > 4 * WHOLE, "{policy}");
    }
}

/// Nothing is free anywhere: every policy that there is stops, and the host is served.
#[test]
fn where_every_device_is_full_nothing_is_copied() {
    for policy in PLACEMENTS.iter().map(|entry| format!(r#"{{"kind":"{}"}}"#, entry.name)) {
        let mut load = Load::new(loaded([64, 96], 160, &policy));
        load.run(Nanos::from_secs(40), GAP);
        let (last, answered) = (load.copies.last().map(|(at, ..)| *at), load.answered);
        assert!(last.is_none_or(|last| last < Nanos::from_secs(110)) && answered > 10_000, "{policy}: {last:?}");
    }
    let mut load = Load::new(loaded([64, 96], 160, MOVING[0]));
    load.run(Nanos::from_secs(20), GAP);
    assert_eq!(load.held(), Some(HeldReason::NoRoom(vec![DeviceIndex(0), DeviceIndex(1)])));
}

/// Devices that refuse writes and then say that they are well again are not tried again and again.
#[test]
fn what_refuses_copies_is_left_alone_for_long_and_until_it_takes_data() {
    for policy in MOVING {
        let mut load = Load::new(loaded([64, 96], 100, policy));
        load.refuses = true;
        load.run(Nanos::from_secs(60), GAP);
        let last = load.copies.last().map(|(at, ..)| *at).expect("it was tried");
        assert!(last < Nanos::from_secs(110), "{policy}: still copied at {last:?}");
        assert!(matches!(load.held(), Some(HeldReason::Refused(_))), "{policy}: {:?}", load.held());
        // One that has grown is tried at once, and takes what it is given now.
        load.refuses = false;
        let devices = [64, 96].map(|size| Bytes(size * WHOLE)).into_iter();
        for (index, capacity) in (0..).zip(devices) {
            let mut effects = Vec::new();
            let grows = Reshape::Grow { device: DeviceIndex(index), capacity };
            load.engine.reshape(load.now, grows, &mut effects).unwrap();
            load.perform(effects);
        }
        let before = load.now;
        load.run(Nanos::from_secs(20), GAP);
        assert!(load.written(before, load.now) > 0, "{policy}");
    }
}

#[test]
fn a_drain_that_is_refused_waits_and_goes_on_by_itself_later() {
    let mut load = Load::new(loaded([64, 96], 60, r#"{"kind":"fast-first"}"#));
    load.refuses = true;
    let mut effects = Vec::new();
    load.engine.reshape(load.now, Reshape::Drain { device: DeviceIndex(0) }, &mut effects).unwrap();
    load.perform(effects);
    load.pass(load.now + Nanos::from_secs(60));
    let sent = load.copies.len();
    assert!(sent <= 8, "{sent} reads and writes in vain");
    assert_eq!(load.held(), Some(HeldReason::Refused(DeviceIndex(1))));
    load.refuses = false;
    load.tell(Input::Device {
        device: DeviceIndex(1),
        telemetry: Telemetry { state: DeviceState::Online, ..Telemetry::default() },
    });
    load.pass(load.now + Nanos::from_secs(700));
    assert_eq!(load.engine.map.mapped(0), 0, "the host was idle, and yet the drain went on");
}

/// A pause ends what is under way within a second, holds drains, and lasts until it is taken back.
#[test]
fn a_pause_holds_policies_and_drains() {
    for policy in MOVING {
        let mut load = Load::new(loaded([64, 96], 60, policy));
        load.run(Nanos::from_secs(1), GAP);
        load.limit(true, None);
        let paused = load.now;
        let mut effects = Vec::new();
        load.engine.reshape(load.now, Reshape::Drain { device: DeviceIndex(1) }, &mut effects).unwrap();
        load.perform(effects);
        load.run(Nanos::from_secs(10), GAP);
        let late = load.copies.iter().filter(|(at, ..)| *at > paused).count();
        assert_eq!((late, load.held()), (0, Some(HeldReason::Paused)), "{policy}");
        assert_eq!(load.background().copies, 0);
        load.limit(false, None);
        load.run(Nanos::from_secs(20), GAP);
        assert_eq!((load.engine.map.mapped(1), load.held()), (0, None), "{policy}");
        load.engine.check();
    }
}

/// A copy that is being read when the pause begins writes nothing.
#[test]
fn a_pause_gives_up_copies_that_are_being_read() {
    let mut load = Load::new(loaded([64, 96], 60, MOVING[0]));
    let mut effects = Vec::new();
    load.engine.reshape(load.now, Reshape::Drain { device: DeviceIndex(1) }, &mut effects).unwrap();
    load.perform(effects);
    let reads = load.copies.len();
    load.limit(true, None);
    load.pass(load.now + Nanos::from_secs(10));
    assert!(reads > 0, "no copy was under way");
    assert_eq!((load.copies.len(), load.background().copies), (reads, 0));
    load.engine.check();
}

#[test]
fn a_pause_does_not_hold_the_drain_of_an_empty_device() {
    let mut load = Load::new(PlacementEngine::new(&settings(&[64 * EXTENT, 96 * EXTENT], "[1, 1]")).unwrap());
    load.limit(true, None);
    let mut effects = Vec::new();
    let empty = DeviceIndex(1);
    load.engine.reshape(load.now, Reshape::Drain { device: empty }, &mut effects).unwrap();
    assert_eq!(effects, [Effect::Drained(empty)]);
    effects.clear();
    load.engine.reshape(load.now, Reshape::Remove { device: empty }, &mut effects).unwrap();
    load.engine.check();
}

/// A policy that wants more than the budget gets all of it within a hundredth, in no 24 hours more, and no burst.
#[test]
fn a_budget_is_kept_within_a_hundredth_over_days() {
    const BUDGET: u64 = 2000 * WHOLE;
    let engine = loaded([64, 64], 100, r#"{"kind":"static-split"}"#).with_policy(Box::new(RestlessPolicy::new(3)));
    let background = BackgroundSettings { paused: false, moved_bytes_per_day: Some(Bytes(BUDGET)) };
    let mut load = Load::new(engine.with_background(background).unwrap());
    let began = load.now;
    load.run(Nanos(3 * DAY.0), Nanos::from_secs(5));
    let total = load.written(began, load.now);
    assert!((2970..=3000).contains(&(total * 1000 / BUDGET)), "{total} of {}", 3 * BUDGET);
    for hour in 0..48 {
        let from = began + Nanos::from_secs(3600 * hour);
        let day = load.written(from, from + DAY);
        assert!(day <= BUDGET, "{day} bytes in the day from hour {hour} on");
    }
    let BackgroundReport { moved, moved_in_day, .. } = load.background();
    assert!(moved == Bytes(total) && moved_in_day <= Bytes(BUDGET));
}

#[test]
fn a_drain_is_not_held_by_a_budget_and_counts() {
    let mut load = Load::new(loaded([64, 96], 60, MOVING[0]));
    load.limit(false, Some(WHOLE));
    let drained = load.engine.map.mapped(1);
    let mut effects = Vec::new();
    load.engine.reshape(load.now, Reshape::Drain { device: DeviceIndex(1) }, &mut effects).unwrap();
    load.perform(effects);
    load.pass(load.now + Nanos::from_secs(10));
    assert_eq!((drained > 10, load.engine.map.mapped(1)), (true, 0));
    assert_eq!(load.background().moved_in_day, Bytes(u64::from(drained) * WHOLE));
    assert_eq!(load.held(), Some(HeldReason::Budget));
}

#[test]
fn a_budget_that_was_not_used_is_not_spent() {
    let mut load = Load::new(loaded([64, 96], 60, MOVING[0]));
    load.limit(false, Some(100 * WHOLE));
    assert_eq!(load.held(), Some(HeldReason::BudgetGrows));
    load.pass(load.now + DAY);
    assert_eq!(load.held(), None);
}

/// Another policy takes over the map as it is, while moves of the one before are under way.
#[test]
fn a_policy_is_exchanged_while_extents_move() {
    let kinds = || PLACEMENTS.iter().map(|entry| format!(r#"{{"kind":"{}"}}"#, entry.name));
    for (before, after) in kinds().flat_map(|before| kinds().map(move |after| (before.clone(), after))) {
        let mut load = Load::new(loaded([64, 96], 100, &before));
        load.run(Nanos::from_secs(1), GAP);
        let policy = Some(serde_json::from_str(&after).unwrap());
        load.set(&LiveSettings { policy, ..LiveSettings::default() }).unwrap();
        let places =
            |engine: &PlacementEngine| (0..100).filter(|&e| engine.map.place(LogicalExtent(e)).is_some()).count();
        assert_eq!(places(&load.engine), 100);
        load.run(Nanos::from_secs(1), GAP);
        load.engine.check();
        assert_eq!(places(&load.engine), 100, "{before} {after}");
    }
    let mut load = Load::new(loaded([64, 96], 100, r#"{"kind":"static-split"}"#));
    load.run(Nanos::from_secs(5), GAP);
    assert_eq!(load.copies.len(), 0);
    load.set(&LiveSettings { policy: serde_json::from_str(MOVING[0]).ok(), ..LiveSettings::default() }).unwrap();
    load.run(Nanos::from_secs(20), GAP);
    assert!(!load.copies.is_empty(), "the new policy moves what the one before has placed");
}

#[test]
fn settings_that_make_no_sense_change_nothing() {
    let mut load = Load::new(loaded([64, 96], 100, MOVING[0]));
    let small = BackgroundSettings { paused: true, moved_bytes_per_day: Some(Bytes(WHOLE - 1)) };
    let error = load.set(&LiveSettings { background: Some(small), ..LiveSettings::default() }).unwrap_err();
    assert_eq!(error.to_string(), "8191B a day are less than one extent of 8KiB, so nothing could move");
    let policy = serde_json::from_str(r#"{"kind":"wardrob"}"#).ok();
    let error = load
        .set(&LiveSettings { policy, background: Some(BackgroundSettings::default()), ..LiveSettings::default() })
        .unwrap_err();
    assert!(error.to_string().contains("wardrob"), "{error}");
    assert_eq!(load.background().settings, BackgroundSettings::default());
}
