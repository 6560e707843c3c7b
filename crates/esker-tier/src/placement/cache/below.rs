//! Requests to the engine below the cache: its effects, with the buffers that the cache has for them.

use esker_core::{Bytes, DeviceError, Machine, Nanos, Request, Tag};

use super::MemoryCache;
use crate::engine::{BufferId, BufferPlace, BufferStep, Effect, Input};

/// A request to the engine below.
#[derive(Clone, Copy, Debug)]
pub(super) enum SubRequest {
    /// A request of the host, unchanged.
    Whole { host: Tag, request: Request },
    /// A part of a host's read, past the cache.
    Part { host: Tag, offset: u64, length: u64 },
    /// A read of a whole extent into a buffer.
    Fetch { slot: u32, request: Request },
    /// The write `narrow` of the host, widened to all data of its extent. The data begin at offset `at` of the buffer.
    Widened { host: Tag, slot: u32, at: u64, request: Request, narrow: Request },
}

impl MemoryCache {
    /// Sends `request` to the engine below.
    pub(super) fn send(&mut self, now: Nanos, below: SubRequest, request: Request, effects: &mut Vec<Effect>) {
        match below {
            SubRequest::Whole { host, .. } | SubRequest::Widened { host, .. } => self.hosts.wait(host),
            SubRequest::Fetch { .. } => self.counts.fetched_bytes += request.length.0,
            SubRequest::Part { .. } => {}
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
                    let into = self.outer(into);
                    effects.push(Effect::Buffer(BufferStep::Zero { into, length }));
                }
                Effect::Buffer(BufferStep::Copy { from, into, length }) => {
                    let (from, into) = (self.outer(from), self.outer(into));
                    effects.push(Effect::Buffer(BufferStep::Copy { from, into, length }));
                }
                Effect::Reply { tag, result } => self.sub_request_ended(now, tag, result, effects),
                effect => effects.push(effect),
            }
        }
    }

    fn sub_request_ended(&mut self, now: Nanos, tag: Tag, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        match self.requests.remove(tag) {
            SubRequest::Whole { host, request } => {
                self.end_writes(&request, result.is_ok());
                self.part_ended(host, 0, result, effects);
            }
            SubRequest::Part { host, offset, length } => {
                let whole = |error: DeviceError| error.of_whole(Bytes(offset), Bytes(length), Bytes::ZERO);
                self.part_ended(host, offset, result.map_err(whole), effects);
            }
            SubRequest::Widened { host, slot, request, narrow, .. } => {
                self.slots.give_back(slot);
                self.end_writes(&request, result.is_ok());
                let is_refused = matches!(result, Err(DeviceError::NoSpace | DeviceError::ReadOnly));
                // The extent stays where it is, and so does the host's write.
                if is_refused {
                    self.write(now, host, narrow, effects);
                }
                let before = narrow.start.byte_offset() - request.start.byte_offset();
                let own = |error: DeviceError| error.of_whole(Bytes::ZERO, narrow.length, Bytes(before));
                self.part_ended(host, 0, if is_refused { Ok(()) } else { result.map_err(own) }, effects);
            }
            SubRequest::Fetch { slot, request } => {
                let mut waiting = std::mem::take(&mut self.waiting);
                self.slots.fetched(slot, result.is_ok(), &mut waiting);
                for part in waiting.drain(..) {
                    if result.is_ok() {
                        effects.push(Self::serve(slot, &part));
                        self.part_ended(part.host, part.offset, result, effects);
                    } else {
                        // The unreadable data may lie elsewhere in the extent.
                        self.read_part(now, &part, &request, effects);
                    }
                }
                self.waiting = waiting;
            }
        }
    }

    /// The host's request that `tag` of the engine below is for.
    fn host_of(&mut self, tag: Tag) -> Tag {
        match *self.requests.get_mut(tag) {
            SubRequest::Whole { host, .. } | SubRequest::Part { host, .. } | SubRequest::Widened { host, .. } => host,
            SubRequest::Fetch { slot, .. } => self.slots.fetches_for(slot),
        }
    }

    /// Where a place in a buffer of the engine below is.
    fn outer(&mut self, place: BufferPlace) -> BufferPlace {
        let begin = self.place_of(place.buffer);
        BufferPlace::new(begin.buffer, begin.offset + place.offset)
    }

    /// Where the buffer of a request to the engine below begins; other buffers are the engine's own.
    fn place_of(&mut self, buffer: BufferId) -> BufferPlace {
        let BufferId::Host(tag) = buffer else { return BufferPlace::new(buffer, Bytes::ZERO) };
        match *self.requests.get_mut(tag) {
            SubRequest::Whole { host, .. } => BufferPlace::new(BufferId::Host(host), Bytes::ZERO),
            SubRequest::Part { host, offset, .. } => BufferPlace::new(BufferId::Host(host), Bytes(offset)),
            SubRequest::Fetch { slot, .. } => BufferPlace::new(BufferId::Cache(slot), Bytes::ZERO),
            SubRequest::Widened { slot, at, .. } => BufferPlace::new(BufferId::Cache(slot), Bytes(at)),
        }
    }
}
