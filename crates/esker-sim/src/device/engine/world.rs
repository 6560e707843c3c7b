//! The children of an engine as its world.

use std::collections::VecDeque;

use esker_core::{Children, DeviceError, LatencyHistogram, Nanos, RequestKind, Tag, TagMap, World};
use esker_results::Reporting;
use esker_tier::{DeviceIndex, Effect, Engine, Input, IoId, RecordNumber};

/// Simulated devices, and a journal whose records are durable at once.
pub(super) struct ChildWorld {
    pub(super) children: Children<dyn Reporting, ChildIo>,
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
    /// Records that are durable, but not yet reported to the engine.
    hardened: VecDeque<RecordNumber>,
}

/// A request to a child, under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildIo {
    pub(super) whose: Whose,
    pub(super) sent: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Whose {
    /// The engine's, which may serve a request of the host with it.
    Engine { io: IoId, host: Option<Tag> },
    /// The host's, which the engine has let pass.
    Host { tag: Tag, kind: RequestKind },
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
            hardened: VecDeque::new(),
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
                let io = ChildIo { whose: Whose::Engine { io, host }, sent: now };
                self.children.submit(now, device.0 as usize, io, request);
            }
            Effect::Retain { device, start, length, retention } => {
                self.children.owned(device.0 as usize).retain(start, length, retention);
            }
            Effect::Harden { through } => self.hardened.push_back(through),
            Effect::Reply { tag, result } => self.replies.push((tag, result)),
            Effect::Drained(DeviceIndex(device)) => self.drained_at[usize::from(device)] = Some(now),
            Effect::Record { .. } | Effect::Buffer(_) | Effect::WakeAt(_) => {}
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
        self.hardened.pop_front().map(|through| (now, Input::Durable { through }))
    }

    fn look(&mut self, _: Nanos, inputs: &mut Vec<Input>) {
        inputs.extend((0..self.joined).map(|child| self.telemetry_of(child)));
    }
}
