//! An engine with its children as a simulated device: [`esker_tier::Engine`] under the virtual driver.

mod report;

use std::collections::VecDeque;

use esker_core::{
    Bytes, Change, ChangeError, Children, Completion, Control, Device, DeviceError, Hint, LatencyHistogram, Nanos,
    Precondition, Request, RequestKind, Tag, TagMap, Telemetry, Unsupported,
};
use esker_results::Reporting;
use esker_tier::{DeviceIndex, Effect, Engine, Input, IoId, RecordNumber, Reshape};

use super::Instance;

/// Called with the time of each effect, before it is performed.
pub type EffectLog = Box<dyn FnMut(Nanos, &Effect) + Send>;

/// An engine over devices. A journal is not modelled: records are durable as soon as the engine asks for it.
pub struct EngineDevice<E> {
    kind: &'static str,
    name: String,
    engine: E,
    children: Children<dyn Reporting, ChildIo>,
    names: Vec<String>,
    /// What the engine is to use of the last children, which have not joined yet.
    joining: VecDeque<Bytes>,
    /// For each child, times from sending a host's request until its end, including the wait for a free slot.
    responses: Vec<LatencyHistogram>,
    hosts: TagMap<Host>,
    /// Requests of the host, beside `hosts`, that the engine has let pass to a child.
    passing: usize,
    queue_depth: usize,
    effects: Vec<Effect>,
    ended: Vec<(ChildIo, Completion)>,
    /// Requests that the engine answered on arrival, due at `immediate_at`.
    immediate: Vec<(Tag, Result<(), DeviceError>)>,
    immediate_at: Nanos,
    /// Records that are durable, but not yet reported to the engine.
    hardened: VecDeque<RecordNumber>,
    wake_at: Nanos,
    /// When the engine next gets the telemetry of its devices.
    telemetry_at: Nanos,
    /// When each child was empty, if it was drained.
    drained_at: Vec<Option<Nanos>>,
    last_event: Nanos,
    requests: u64,
    /// The child that has the engine as its owner, if one has.
    owned: Option<usize>,
    log: Option<EffectLog>,
}

/// A request to a child, under way.
#[derive(Clone, Copy, Debug)]
struct ChildIo {
    whose: Whose,
    sent: Nanos,
}

#[derive(Clone, Copy, Debug)]
enum Whose {
    /// The engine's, which may serve a request of the host with it.
    Engine { io: IoId, host: Option<Tag> },
    /// The host's, which the engine has let pass.
    Host { tag: Tag, kind: RequestKind },
}

struct Host {
    submitted: Nanos,
    /// Start of the first request to a child; `NEVER` if it waited for flushes or needed no child.
    service_start: Nanos,
}

impl<E: Engine> EngineDevice<E> {
    /// `engine` over the children of `instance`, as a device of `kind` that takes `queue_depth` requests at a time (by
    /// default the sum of the children's).
    pub fn new(kind: &'static str, engine: E, instance: Instance, queue_depth: Option<u32>) -> Self {
        let (names, devices): (Vec<_>, Vec<_>) =
            instance.children.into_iter().map(|child| (child.name, child.device)).unzip();
        let children = Children::new(devices);
        let telemetry_at = engine.telemetry_period().unwrap_or(Nanos::NEVER);
        Self {
            kind,
            name: instance.name,
            engine,
            queue_depth: queue_depth.map_or(children.slots(), |depth| depth as usize),
            responses: names.iter().map(|_| LatencyHistogram::default()).collect(),
            children,
            names,
            joining: VecDeque::new(),
            hosts: TagMap::default(),
            passing: 0,
            effects: Vec::new(),
            ended: Vec::new(),
            immediate: Vec::new(),
            immediate_at: Nanos::NEVER,
            hardened: VecDeque::new(),
            wake_at: Nanos::NEVER,
            telemetry_at,
            drained_at: Vec::new(),
            last_event: Nanos::ZERO,
            requests: 0,
            owned: None,
            log: None,
        }
    }

    /// Leaves the last children out until they join: one for each entry of `joining`, which is the capacity that is
    /// used of it.
    pub(super) fn with_joining(mut self, joining: VecDeque<Bytes>) -> Self {
        self.joining = joining;
        self
    }

    /// Makes the engine the owner of `child`: it hears of data that the child drops.
    pub(super) fn owning(mut self, child: usize) -> Self {
        self.owned = Some(child);
        self
    }

    /// Calls `log` for every effect, in the order in which they are performed.
    pub fn with_log(mut self, log: EffectLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Passes `input` to the engine and performs the effects. Replies go to `immediate`.
    #[inline]
    fn handle(&mut self, now: Nanos, input: Input) {
        self.engine.on(now, input, &mut self.effects);
        self.perform(now);
        if let Some(owned) = self.owned {
            self.tell_dropped(now, owned);
        }
    }

    /// Tells the engine what `child`, which it owns, has dropped, and if it has room for less.
    fn tell_dropped(&mut self, now: Nanos, child: usize) {
        let device = DeviceIndex(child as u16);
        loop {
            let owned = self.children.owned(child);
            let input = if let Some((start, length)) = owned.take_dropped() {
                Input::Dropped { device, start, length }
            } else if let Some(room) = owned.take_room() {
                Input::Room { device, room }
            } else {
                return;
            };
            self.engine.on(now, input, &mut self.effects);
            self.perform(now);
        }
    }

    /// Performs the effects.
    #[inline]
    fn perform(&mut self, now: Nanos) {
        // Effects are large: they are read where they are.
        for effect in &self.effects {
            if let Some(log) = &mut self.log {
                log(now, effect);
            }
            match *effect {
                Effect::Io { io, host, device, request, data: _ } => {
                    let io = ChildIo { whose: Whose::Engine { io, host }, sent: now };
                    self.children.submit(now, device.0 as usize, io, request);
                }
                Effect::Retain { device, start, length, retention } => {
                    self.children.owned(device.0 as usize).retain(start, length, retention);
                }
                Effect::Record { .. } | Effect::Buffer(_) => {}
                Effect::Harden { through } => self.hardened.push_back(through),
                Effect::Reply { tag, result } => self.immediate.push((tag, result)),
                Effect::WakeAt(at) => self.wake_at = self.wake_at.min(at),
                Effect::Drained(DeviceIndex(device)) => {
                    self.drained_at.resize(self.names.len(), None);
                    self.drained_at[usize::from(device)] = Some(now);
                }
                // Simulated devices read all that was written to them; what is not drained at the end has a remark.
                Effect::DrainStuck { .. } => {}
            }
        }
        self.effects.clear();
    }

    /// Reports everything durable to the engine, until there is nothing more.
    #[inline]
    fn settle(&mut self, now: Nanos) {
        while let Some(through) = self.hardened.pop_front() {
            self.handle(now, Input::Durable { through });
        }
    }

    /// Advances the child that is due first.
    #[inline]
    fn advance_child(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let child = self.children.advance(now, &mut self.ended);
        if let Some(owned) = self.owned {
            self.tell_dropped(now, owned);
        }
        let mut ended = std::mem::take(&mut self.ended);
        for (ChildIo { whose, sent }, completion) in ended.drain(..) {
            if completion.result.is_err() {
                self.tell_telemetry_of(now, child);
            }
            let (io, host) = match whose {
                Whose::Engine { io, host } => (io, host),
                Whose::Host { tag, kind } => {
                    self.responses[child].record(completion.at - sent);
                    let result = self.engine.passed(DeviceIndex(child as u16), kind, completion.result);
                    if !self.immediate.is_empty() {
                        // They have ended before it.
                        self.reply(now, done);
                    }
                    done.push(Completion { tag, result, ..completion });
                    self.requests += 1;
                    self.passing -= 1;
                    continue;
                }
            };
            if let Some(host) = host {
                let host = self.hosts.get_mut(host);
                host.service_start = host.service_start.min(completion.service_start);
                self.responses[child].record(completion.at - sent);
            }
            self.handle(now, Input::Done { io, at: completion.at, result: completion.result });
        }
        self.ended = ended;
    }

    /// Tells the engine the telemetry of all its devices.
    fn tell_telemetry(&mut self, now: Nanos) {
        self.telemetry_at = self.engine.telemetry_period().map_or(Nanos::NEVER, |period| now + period);
        for child in 0..self.names.len() - self.joining.len() {
            self.tell_telemetry_of(now, child);
        }
    }

    fn tell_telemetry_of(&mut self, now: Nanos, child: usize) {
        let (device, telemetry) = (DeviceIndex(child as u16), self.children.device(child).telemetry());
        self.handle(now, Input::Device { device, telemetry });
    }

    fn reply(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.immediate_at = Nanos::NEVER;
        self.requests += self.immediate.len() as u64;
        for (tag, result) in self.immediate.drain(..) {
            let Host { submitted, service_start } = self.hosts.remove(tag);
            let service_start = if service_start == Nanos::NEVER { submitted } else { service_start };
            done.push(Completion { tag, at: now, service_start, result });
        }
    }
}

impl<E: Engine> Device for EngineDevice<E> {
    fn capacity(&self) -> Bytes {
        self.engine.capacity()
    }

    fn free_slots(&self) -> usize {
        self.queue_depth - self.hosts.len() - self.passing
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(now >= self.last_event && now <= self.next_event(), "an event was skipped");
        assert!(self.free_slots() > 0, "the queue is full");
        self.last_event = now;
        // A log is to show all that is asked of the children.
        if self.log.is_none()
            && let Some((DeviceIndex(child), start)) = self.engine.pass(&request)
        {
            self.passing += 1;
            let io = ChildIo { whose: Whose::Host { tag, kind: request.kind }, sent: now };
            return self.children.submit(now, usize::from(child), io, Request { start, ..request });
        }
        self.hosts.insert(tag, Host { submitted: now, service_start: Nanos::NEVER });
        self.handle(now, Input::Host { tag, request });
        self.settle(now);
        if !self.immediate.is_empty() {
            self.immediate_at = now;
        }
    }

    #[inline]
    fn next_event(&self) -> Nanos {
        self.children.next_event().min(self.immediate_at).min(self.wake_at).min(self.telemetry_at)
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert!(now == self.next_event(), "an event was skipped");
        self.last_event = now;
        if self.immediate_at == now {
            return self.reply(now, done);
        }
        if self.children.next_event() == now {
            self.advance_child(now, done);
        } else if self.wake_at == now {
            self.wake_at = Nanos::NEVER;
            self.handle(now, Input::Timer);
        } else {
            self.tell_telemetry(now);
        }
        self.settle(now);
        if !self.immediate.is_empty() {
            self.reply(now, done);
        }
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        match command {
            Control::StartMeasuring => {
                self.requests = 0;
                self.engine.start_measuring();
                self.responses.iter_mut().for_each(|responses| *responses = LatencyHistogram::default());
            }
            Control::Precondition(Precondition::Filled { utilisation } | Precondition::Steady { utilisation, .. }) => {
                self.engine.fill(utilisation);
            }
            Control::Precondition(Precondition::Empty)
            | Control::RecordTimeline(_)
            | Control::PauseWearLevelling(_) => {}
        }
        self.children.control(now, command)
    }

    fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        let Some(child) = self.names.iter().position(|name| name == device) else {
            return self.children.change(now, device, change);
        };
        let index = DeviceIndex(child as u16);
        let reshape = match change {
            Change::Join if child + self.joining.len() == self.names.len() => {
                Reshape::Join { capacity: self.joining.pop_front().expect("one is left") }
            }
            Change::Join => {
                let left = self.names.len() - self.joining.len();
                let next = self.names.get(left).map(|next| format!("`{next}` has to join before it"));
                return Err(ChangeError::new("children join in the order of `children`").with_hint(next));
            }
            Change::Drain => Reshape::Drain { device: index },
            Change::Shrink { capacity } => Reshape::Shrink { device: index, capacity },
            Change::Slow { .. } => return self.children.change(now, device, change),
        };
        let made = self.engine.reshape(now, reshape, &mut self.effects);
        made.map_err(|error| ChangeError::new(error.to_string()).with_hint(error.hint()))?;
        self.perform(now);
        self.settle(now);
        if !self.immediate.is_empty() {
            self.immediate_at = now;
        }
        Ok(true)
    }

    fn telemetry(&self) -> Telemetry {
        let children = self.children.telemetry();
        Telemetry {
            state: self.engine.state().max(children.state),
            queued: self.hosts.len() + self.passing,
            ..children
        }
    }
}
