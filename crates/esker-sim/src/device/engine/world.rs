//! The children of an engine as its world.

use std::collections::VecDeque;

use esker_core::{Children, DeviceError, LatencyHistogram, Nanos, Request, Tag, TagMap, World};
use esker_results::Reporting;
use esker_tier::{DeviceIndex, Effect, Engine, Input, RecordNumber};

use super::child_io::{ChildIo, EngineChildren, SyncPart, Whose};
use super::journal::ChildJournal;

/// Simulated devices, and a journal.
pub(super) struct ChildWorld {
    pub(super) children: EngineChildren,
    pub(super) names: Vec<String>,
    /// How many of the children the engine knows: the others have not joined yet.
    pub(super) joined: usize,
    /// The child that has the engine as its owner, if one has.
    pub(super) owned: Option<usize>,
    /// The requests of the host that the engine has taken.
    pub(super) hosts: TagMap<Host>,
    /// The engine's answers to them.
    pub(super) replies: Vec<(Tag, Result<(), DeviceError>)>,
    /// For each child, times from sending a host's request until its end, including the wait for a free slot.
    pub(super) responses: Vec<LatencyHistogram>,
    /// When each child was empty, if it was drained.
    pub(super) drained_at: Vec<Option<Nanos>>,
    /// What the children keep of the engine's records; `None` if these are durable as soon as the engine asks for it.
    pub(super) journal: Option<ChildJournal>,
    /// Records that are durable, but not yet reported to the engine.
    hardened: VecDeque<RecordNumber>,
    /// What children have answered to commands that they do not know.
    unsupported: Vec<Input>,
}

/// A request of the host.
pub(super) struct Host {
    pub(super) submitted: Nanos,
    /// Start of the first request to a child; `NEVER` if it waited for flushes or needed no child.
    pub(super) service_start: Nanos,
}

impl ChildWorld {
    pub(super) fn new(names: Vec<String>, devices: Vec<Box<dyn Reporting>>) -> Self {
        Self {
            children: Children::new(devices),
            joined: names.len(),
            owned: None,
            hosts: TagMap::default(),
            replies: Vec::new(),
            responses: names.iter().map(|_| LatencyHistogram::default()).collect(),
            drained_at: vec![None; names.len()],
            names,
            journal: None,
            hardened: VecDeque::new(),
            unsupported: Vec::new(),
        }
    }

    /// Sends a request to `child`.
    #[inline]
    pub(super) fn submit(&mut self, now: Nanos, child: usize, whose: Whose, request: Request) {
        match &mut self.journal {
            Some(journal) => journal.syncs.submit(&mut self.children, now, child, whose, request),
            None => self.children.submit(now, child, ChildIo { whose, sent: now, part: SyncPart::Nothing }, request),
        }
    }

    /// The input that tells the engine the telemetry of `child`.
    pub(super) fn telemetry_of(&self, child: usize) -> Input {
        Input::Device { device: DeviceIndex(child as u16), telemetry: self.children.device(child).telemetry() }
    }
}

impl<E: Engine + ?Sized> World<E> for ChildWorld {
    #[inline]
    fn perform(&mut self, now: Nanos, effect: &Effect, _: &E) {
        match *effect {
            Effect::Io { io, host, device, request, data: _ } => {
                self.submit(now, device.0 as usize, Whose::Engine { io, host }, request);
            }
            Effect::Retain { device, start, length, retention } => {
                self.children.owned(device.0 as usize).retain(start, length, retention);
            }
            Effect::Control { device, control } => {
                if self.children.control_one(now, device.0 as usize, control.into()).is_err() {
                    self.unsupported.push(Input::Unsupported { device, control });
                }
            }
            Effect::Harden { through } => match &mut self.journal {
                Some(journal) => journal.harden(&mut self.children, now),
                None => self.hardened.push_back(through),
            },
            Effect::Record { number, .. } => self.journal.iter_mut().for_each(|journal| journal.append(number)),
            Effect::Reply { tag, result } => self.replies.push((tag, result)),
            Effect::Drained(DeviceIndex(device)) => self.drained_at[usize::from(device)] = Some(now),
            Effect::Buffer(_) | Effect::WakeAt(_) => {}
            // Simulated devices read all that was written to them; what is not drained at the end has a remark.
            Effect::DrainStuck { .. } => {}
        }
    }

    /// What the owned child has dropped, and whether it has room for less.
    #[inline]
    fn urgent_input(&mut self) -> Option<Input> {
        let child = self.owned?;
        let (device, owned) = (DeviceIndex(child as u16), self.children.owned(child));
        if let Some((start, length)) = owned.take_dropped() {
            return Some(Input::Dropped { device, start, length });
        }
        owned.take_room().map(|room| Input::Room { device, room })
    }

    #[inline]
    fn next_input(&mut self, now: Nanos) -> Option<(Nanos, Input)> {
        let answer = match &mut self.journal {
            Some(journal) => journal.answers.pop_front(),
            None => self.hardened.pop_front().map(|through| Input::Durable { through }),
        };
        answer.or_else(|| self.unsupported.pop()).map(|answer| (now, answer))
    }

    fn look(&mut self, _: Nanos, inputs: &mut Vec<Input>) {
        inputs.extend((0..self.joined).map(|child| self.telemetry_of(child)));
    }
}
