//! Requests to the engine below the cache: its effects, with the buffers that the cache has for them.

use esker_core::{Bytes, Nanos, Request, Tag};

use super::MemoryCache;
use crate::engine::{BufferId, BufferPlace, BufferStep, Effect, Engine, Input};

/// A request to the engine below.
#[derive(Clone, Copy, Debug)]
pub(super) enum Below {
    /// A request of the host, as it came.
    Whole { host: Tag, request: Request },
    /// Part of a host's read, past the cache.
    Part { host: Tag, offset: u64 },
    /// A read of a whole extent into a buffer.
    Fetch { slot: u32, request: Request },
    /// A host's write, as a write of all that its extent holds. Its data begin at `at` of the buffer.
    Widened { host: Tag, slot: u32, at: u64, request: Request },
}

impl MemoryCache {
    /// Sends `request` to the engine below.
    pub(super) fn send(&mut self, now: Nanos, below: Below, request: Request, effects: &mut Vec<Effect>) {
        match below {
            Below::Whole { host, .. } | Below::Widened { host, .. } => self.hosts.wait(host),
            Below::Fetch { .. } => self.counts.fetched_bytes += request.length.0,
            Below::Part { .. } => {}
        }
        let tag = self.requests.insert(below);
        self.tell(now, Input::Host { tag, request }, effects);
    }

    /// Hands `input` to the engine below, and passes on its effects.
    pub(super) fn tell(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        let mut own = std::mem::take(&mut self.effects);
        self.engine.on(now, input, &mut own);
        self.pass_on(now, &mut own, effects);
        self.effects = own;
    }

    pub(super) fn pass_on(&mut self, now: Nanos, own: &mut Vec<Effect>, effects: &mut Vec<Effect>) {
        for effect in own.drain(..) {
            match effect {
                Effect::Io { io, host: Some(tag), device, request, data } => {
                    let host = Some(self.host_of(tag));
                    let data = data.map(|data| {
                        let place = self.place_of(data.place.buffer);
                        data.moved(place.buffer, place.offset)
                    });
                    effects.push(Effect::Io { io, host, device, request, data });
                }
                Effect::Buffer(BufferStep::Zero { into, length }) => {
                    let place = self.place_of(into.buffer);
                    let into = BufferPlace::new(place.buffer, place.offset + into.offset);
                    effects.push(Effect::Buffer(BufferStep::Zero { into, length }));
                }
                Effect::Reply { tag, result } => {
                    let below = self.requests.remove(tag);
                    let ok = result.is_ok();
                    match below {
                        Below::Whole { host, request } => {
                            self.end_writes(&request, ok);
                            self.part_ended(host, 0, result, effects);
                        }
                        Below::Part { host, offset } => self.part_ended(host, offset, result, effects),
                        Below::Widened { host, slot, request, .. } => {
                            self.slots.give_back(slot);
                            self.end_writes(&request, ok);
                            self.part_ended(host, 0, result, effects);
                        }
                        Below::Fetch { slot, request } => {
                            let mut waiting = std::mem::take(&mut self.waiting);
                            self.slots.fetched(slot, ok, &mut waiting);
                            for part in waiting.drain(..) {
                                if ok {
                                    effects.push(Self::serve(slot, &part));
                                    self.part_ended(part.host, part.offset, result, effects);
                                } else {
                                    // What cannot be read may lie elsewhere in the extent.
                                    self.read_part(now, &part, &request, effects);
                                }
                            }
                            self.waiting = waiting;
                        }
                    }
                }
                effect => effects.push(effect),
            }
        }
    }

    /// The host's request that `tag` of the engine below is for.
    fn host_of(&mut self, tag: Tag) -> Tag {
        match *self.requests.get_mut(tag) {
            Below::Whole { host, .. } | Below::Part { host, .. } | Below::Widened { host, .. } => host,
            Below::Fetch { slot, .. } => self.slots.fetches_for(slot),
        }
    }

    /// Where the buffer of a request to the engine below begins; other buffers are the engine's own.
    fn place_of(&mut self, buffer: BufferId) -> BufferPlace {
        let BufferId::Host(tag) = buffer else { return BufferPlace::new(buffer, Bytes::ZERO) };
        match *self.requests.get_mut(tag) {
            Below::Whole { host, .. } => BufferPlace::new(BufferId::Host(host), Bytes::ZERO),
            Below::Part { host, offset } => BufferPlace::new(BufferId::Host(host), Bytes(offset)),
            Below::Fetch { slot, .. } => BufferPlace::new(BufferId::Cache(slot), Bytes::ZERO),
            Below::Widened { slot, at, .. } => BufferPlace::new(BufferId::Cache(slot), Bytes(at)),
        }
    }
}
