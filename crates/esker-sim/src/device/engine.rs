//! An engine with its children as a simulated device: [`esker_tier::Engine`] under the virtual driver.

mod child_io;
mod journal;
mod report;
mod syncs;
#[cfg(test)]
mod tests;
mod world;

use std::collections::VecDeque;

use esker_core::{
    Bytes, Change, ChangeError, Completion, Control, Device, DeviceState, EffectLog, Hint, LatencyHistogram,
    MachineLoop, Nanos, Precondition, Request, Tag, Telemetry, Unsupported,
};
use esker_tier::{DeviceIndex, Effect, Engine, Input, LiveSettings, Reshape};

use super::Instance;
use child_io::{ChildIo, Whose};
use journal::ChildJournal;
use world::{ChildWorld, Host};

/// An engine over devices. Its records are durable as soon as it asks for that, or a journal on the children takes
/// time.
pub struct EngineDevice<E: Engine> {
    kind: &'static str,
    name: String,
    engine: MachineLoop<E>,
    world: ChildWorld,
    /// What the engine is to use of the last children, which have not joined yet.
    joining: VecDeque<Bytes>,
    /// Requests of the host, beside those that the world knows, that the engine has let pass to a child.
    passing: usize,
    queue_depth: usize,
    ended: Vec<(ChildIo, Completion)>,
    /// When requests end that the engine has answered on arrival.
    immediate_at: Nanos,
    last_event: Nanos,
    requests: u64,
}

impl<E: Engine> EngineDevice<E> {
    /// `engine` over the children of `instance`, as a device of `kind` that takes `queue_depth` requests at a time (by
    /// default the sum of the children's).
    pub fn new(kind: &'static str, engine: E, instance: Instance, queue_depth: Option<u32>) -> Self {
        let (names, devices): (Vec<_>, Vec<_>) =
            instance.children.into_iter().map(|child| (child.name, child.device)).unzip();
        let world = ChildWorld::new(names, devices);
        Self {
            kind,
            name: instance.name,
            engine: MachineLoop::new(Box::new(engine), Nanos::ZERO),
            queue_depth: queue_depth.map_or(world.children.slots(), |depth| depth as usize),
            world,
            joining: VecDeque::new(),
            passing: 0,
            ended: Vec::new(),
            immediate_at: Nanos::NEVER,
            last_event: Nanos::ZERO,
            requests: 0,
        }
    }

    /// Leaves the last children out until they join: one for each entry of `joining`, which is the capacity that is
    /// used of it.
    pub(super) fn with_joining(mut self, joining: VecDeque<Bytes>) -> Self {
        self.world.joined = self.world.names.len() - joining.len();
        self.joining = joining;
        self
    }

    /// Has children keep the engine's records, which takes time: those of these names, or any if there are none.
    pub(super) fn with_journal(mut self, keepers: &[String]) -> Self {
        let may_keep = |name: &String| keepers.is_empty() || keepers.contains(name);
        let may_keep = self.world.names.iter().map(may_keep).collect();
        self.world.journal = Some(ChildJournal::new(may_keep, self.world.joined));
        self
    }

    /// Makes the engine the owner of `child`: it hears of data that the child drops.
    pub(super) fn owning(mut self, child: usize) -> Self {
        self.world.owned = Some(child);
        self
    }

    /// Calls `log` for every effect, in the order in which they are performed.
    pub fn with_log(mut self, log: EffectLog<Effect>) -> Self {
        self.engine.set_log(log);
        self
    }

    /// Advances the child that is due first.
    #[inline]
    fn advance_child(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let child = self.world.children.advance(now, &mut self.ended);
        self.engine.tell_urgent(now, &mut self.world);
        let mut ended = std::mem::take(&mut self.ended);
        if let Some(journal) = &mut self.world.journal {
            journal.syncs.ended(&mut self.world.children, now, child, &mut ended);
        }
        for (ChildIo { whose, sent, .. }, completion) in ended.drain(..) {
            if completion.result.is_err() {
                let telemetry = self.world.telemetry_of(child);
                self.engine.tell(now, telemetry, &mut self.world);
            }
            let (io, host) = match whose {
                Whose::Engine { io, host } => (io, host),
                Whose::SharedFlush => unreachable!("others have taken its place"),
                Whose::Journal => {
                    let journal = self.world.journal.as_mut().expect("it has sent this");
                    journal.ended(&mut self.world.children, now, child, completion.result);
                    continue;
                }
                Whose::Host { tag, kind } => {
                    self.world.responses[child].record(completion.at - sent);
                    let result = self.engine.machine_mut().passed(DeviceIndex(child as u16), kind, completion.result);
                    if !self.world.replies.is_empty() {
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
                let host = self.world.hosts.get_mut(host);
                host.service_start = host.service_start.min(completion.service_start);
                self.world.responses[child].record(completion.at - sent);
            }
            let input = Input::Done { io, at: completion.at, result: completion.result };
            self.engine.tell(now, input, &mut self.world);
        }
        self.ended = ended;
    }

    /// Changes the limits of background work.
    fn set_background(&mut self, now: Nanos, change: Change) -> Result<bool, ChangeError> {
        let mut background = self.engine.machine().background(now).map(|now| now.settings).unwrap_or_default();
        match change {
            Change::Pause { paused } => background.paused = paused,
            Change::MoveBudget { moved_bytes_per_day } => background.moved_bytes_per_day = Some(moved_bytes_per_day),
            _ => return Ok(false),
        }
        let settings = LiveSettings { background: Some(background), ..LiveSettings::default() };
        let act = |engine: &mut E, effects: &mut Vec<Effect>| engine.set(now, &settings, effects);
        let made = self.engine.act(now, &mut self.world, act);
        made.map_err(|error| ChangeError::new(error.to_string()).with_hint(error.hint()))?;
        self.settle_at(now);
        Ok(true)
    }

    fn reply(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.immediate_at = Nanos::NEVER;
        self.requests += self.world.replies.len() as u64;
        for (tag, result) in self.world.replies.drain(..) {
            let Host { submitted, service_start } = self.world.hosts.remove(tag);
            let service_start = if service_start == Nanos::NEVER { submitted } else { service_start };
            done.push(Completion { tag, at: now, service_start, result });
        }
    }

    /// Has everything done that follows at once from what happened at `now`, which is not an event of its own.
    fn settle_at(&mut self, now: Nanos) {
        self.engine.settle(now, &mut self.world);
        if !self.world.replies.is_empty() {
            self.immediate_at = now;
        }
    }
}

impl<E: Engine> Device for EngineDevice<E> {
    fn capacity(&self) -> Bytes {
        self.engine.machine().capacity()
    }

    fn free_slots(&self) -> usize {
        self.queue_depth - self.world.hosts.len() - self.passing
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(now >= self.last_event && now <= self.next_event(), "an event was skipped");
        assert!(self.free_slots() > 0, "the queue is full");
        self.last_event = now;
        // A log is to show all that is asked of the children.
        if !self.engine.is_logged()
            && let Some((DeviceIndex(child), start)) = self.engine.machine().pass(&request)
        {
            self.passing += 1;
            let whose = Whose::Host { tag, kind: request.kind };
            return self.world.submit(now, usize::from(child), whose, Request { start, ..request });
        }
        self.world.hosts.insert(tag, Host { submitted: now, service_start: Nanos::NEVER });
        self.engine.tell(now, Input::Host { tag, request }, &mut self.world);
        self.settle_at(now);
    }

    #[inline]
    fn next_event(&self) -> Nanos {
        self.world.children.next_event().min(self.immediate_at).min(self.engine.next_event())
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert!(now == self.next_event(), "an event was skipped");
        self.last_event = now;
        if self.immediate_at == now {
            return self.reply(now, done);
        }
        if self.world.children.next_event() == now {
            self.advance_child(now, done);
        } else {
            self.engine.advance(now, None, &mut self.world);
        }
        self.engine.settle(now, &mut self.world);
        if !self.world.replies.is_empty() {
            self.reply(now, done);
        }
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        match command {
            Control::StartMeasuring => {
                self.requests = 0;
                self.engine.machine_mut().start_measuring();
                self.world.responses.iter_mut().for_each(|responses| *responses = LatencyHistogram::default());
            }
            Control::Precondition(Precondition::Filled { utilisation } | Precondition::Steady { utilisation, .. }) => {
                self.engine.machine_mut().fill(utilisation);
            }
            Control::Precondition(Precondition::Empty)
            | Control::RecordTimeline(_)
            | Control::PauseWearLevelling(_) => {}
        }
        self.world.children.control(now, command)
    }

    fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        if device == self.name && matches!(change, Change::Pause { .. } | Change::MoveBudget { .. }) {
            return self.set_background(now, change);
        }
        let names = &self.world.names;
        let Some(child) = names.iter().position(|name| name == device) else {
            return self.world.children.change(now, device, change);
        };
        let index = DeviceIndex(child as u16);
        let reshape = match change {
            Change::Fail => {
                if let Some(journal) = &mut self.world.journal {
                    journal.set_present(child, false);
                }
                let telemetry =
                    Telemetry { state: DeviceState::Failed, ..self.world.children.device(child).telemetry() };
                self.engine.tell(now, Input::Device { device: index, telemetry }, &mut self.world);
                self.settle_at(now);
                return Ok(true);
            }
            Change::Join if child == self.world.joined => {
                let capacity = self.joining.pop_front().expect("one is left");
                self.world.joined += 1;
                if let Some(journal) = &mut self.world.journal {
                    journal.set_present(child, true);
                }
                Reshape::Join { capacity }
            }
            Change::Join => {
                let next = names.get(self.world.joined).map(|next| format!("`{next}` has to join before it"));
                return Err(ChangeError::new("children join in the order of `children`").with_hint(next));
            }
            Change::Drain => Reshape::Drain { device: index },
            Change::Shrink { capacity } => Reshape::Shrink { device: index, capacity },
            Change::Slow { .. } | Change::Pause { .. } | Change::MoveBudget { .. } => {
                return self.world.children.change(now, device, change);
            }
        };
        let act = |engine: &mut E, effects: &mut Vec<Effect>| engine.reshape(now, reshape, effects);
        let made = self.engine.act(now, &mut self.world, act);
        made.map_err(|error| ChangeError::new(error.to_string()).with_hint(error.hint()))?;
        self.settle_at(now);
        Ok(true)
    }

    fn telemetry(&self) -> Telemetry {
        let children = self.world.children.telemetry();
        Telemetry {
            state: self.engine.machine().state().max(children.state),
            queued: self.world.hosts.len() + self.passing,
            ..children
        }
    }
}
