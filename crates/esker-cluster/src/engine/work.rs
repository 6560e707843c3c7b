//! What the router wants done on servers, as requests to their devices.

use std::collections::VecDeque;

use esker_core::{Bytes, DeviceError, Lba, Request, RequestKind};
use esker_tier::{BufferId, BufferPlace, BufferStep, DataRef, DeviceIndex, Effect, IoId};

use super::ClusterEngine;
use super::record::{ClusterRecord, SlotPlace};
use super::task::{Io, MapChange, Piece, Task};
use crate::id::{ObjectId, ServerId, SliceId, SliceReplica};
use crate::route::{self, EffectId, ObjectRange, ServerWork};

impl ClusterEngine {
    /// Begins what the router wants, or answers for it.
    pub(super) fn perform(&mut self, effect: route::Effect, effects: &mut Vec<Effect>) {
        match effect {
            route::Effect::Missed { replica, index } => self.missed(replica, index, effects),
            // What no record has in motion yet is recorded with its ends as they are then.
            route::Effect::Turned { replica } if self.recorded.motion(replica).is_some() => {
                let ends: Vec<ServerId> = self.recorded.places(replica).map(|place| place.server).collect();
                let turned = self.note(ClusterRecord::Turned { replica }, effects);
                self.turned.extend(ends.into_iter().map(|server| (server, turned)));
                self.durability.harden(effects);
            }
            route::Effect::Turned { .. } => {}
            route::Effect::Reply { tag, result } => self.replied(tag, result, effects),
            route::Effect::Work { id, tag, work, stamp: _ } => {
                self.tasks.insert(id, Task::new(tag, work));
                self.begin(id, effects);
            }
        }
    }

    pub(super) fn begin(&mut self, id: EffectId, effects: &mut Vec<Effect>) {
        match self.tasks[&id].work {
            ServerWork::Read { server, object, range } => self.read(id, server, object, range, effects),
            ServerWork::Write { server, object, .. }
            | ServerWork::Merge { to: server, object, .. }
            | ServerWork::Copy { to: server, object, .. }
            | ServerWork::Delete { server, object } => self.begin_change(id, server, object, effects),
            ServerWork::Trim { server, object } => self.trim_stale(id, server, object, effects),
            ServerWork::Purge { server, slice, keep } => self.purge(id, server, slice, keep),
        }
    }

    fn read(
        &mut self,
        id: EffectId,
        server: ServerId,
        object: ObjectId,
        range: ObjectRange,
        effects: &mut Vec<Effect>,
    ) {
        let piece = self.piece(id);
        // Other copies may be there.
        if self.health.is_absent(DeviceIndex(server.0)) {
            return self.fail(id, DeviceError::Failed);
        }
        if self.stores[server.index()].has(object) {
            let data = DataRef::new(piece.buffer(), piece.offset);
            return self.send(id, server, RequestKind::Read, (object, range), Some(data), effects);
        }
        let into = BufferPlace::new(piece.buffer(), piece.offset);
        effects.push(Effect::Buffer(BufferStep::Zero { into, length: piece.length() }));
        self.end(id, true);
    }

    /// The part of a host's request that a task serves.
    fn piece(&self, id: EffectId) -> Piece {
        self.pieces[&self.tasks[&id].tag.expect("it serves a request")]
    }

    /// Begins what changes an object on a server, as soon as its slice has a slot there and nothing is in the way.
    fn begin_change(&mut self, id: EffectId, server: ServerId, object: ObjectId, effects: &mut Vec<Effect>) {
        let (slice, index) = self.router.map().slice_of(object);
        if self.health.has_failed(DeviceIndex(server.0)) {
            return self.fail(id, DeviceError::Failed);
        }
        if !self.may_change(id, slice, effects) {
            return;
        }
        if !self.stores[server.index()].make_room(slice) {
            return self.without_slot.push(id);
        }
        if let Some(queue) = self.queues.get_mut(&(server, object))
            && !self.tasks[&id].holds_queue
        {
            return queue.push_back(id);
        }
        let map = self.router.map();
        let moving = map.replicas_of(slice).find(|replica| map.writer(*replica, index) == Some((server, true)));
        // Work that was begun before a motion goes on at the source.
        let replica = moving.or_else(|| map.replicas_of(slice).find(|replica| map.involves(*replica, server)));
        // The server has failed meanwhile.
        let Some(replica) = replica else { return self.fail(id, DeviceError::Failed) };
        if moving.is_some() {
            self.record_motion(replica, server, effects);
        }
        if self.lacks_the_rest(id, moving.is_some()) {
            return self.fail(id, DeviceError::Failed);
        }
        let has = self.stores[server.index()].has(object);
        let change = MapChange { replica, moves: moving.is_some(), written: true };
        match self.tasks[&id].work {
            ServerWork::Write { range, .. } if has && moving.is_none() => {
                self.overwrite(id, server, object, range, effects)
            }
            ServerWork::Write { range, .. } => self.write_whole(id, change, server, (object, range), effects),
            ServerWork::Merge { from, range, .. } if !self.stores[from.index()].has(object) => {
                self.write_whole(id, change, server, (object, range), effects);
            }
            ServerWork::Copy { from, .. } if !self.stores[from.index()].has(object) => {
                self.hold(id, server, object);
                self.record(id, MapChange { written: false, ..change }, effects);
            }
            ServerWork::Copy { .. } if !self.background.takes_buffer(id) => {}
            ServerWork::Merge { from, .. } | ServerWork::Copy { from, .. } => {
                self.fetch(id, change, from, (server, object), effects);
            }
            // Nothing is there to discard.
            _ if !has && moving.is_none() => self.end(id, true),
            _ => {
                self.hold(id, server, object);
                self.record(id, MapChange { written: false, ..change }, effects);
            }
        }
    }

    /// Whether an object cannot be written because the rest of it is missing: its source has failed meanwhile, so that
    /// nothing there does not mean that nothing was written; or, while a part write waited, its replica has missed
    /// another change, so that only others have the rest.
    fn lacks_the_rest(&self, id: EffectId, moves: bool) -> bool {
        match self.tasks[&id].work {
            ServerWork::Write { range, .. } => moves && range != self.whole(),
            work => work.source().is_some_and(|from| self.health.has_failed(DeviceIndex(from.0))),
        }
    }

    /// Records that a replica is in motion to a server, where it has a slot, if that was not recorded yet.
    pub(super) fn record_motion(&mut self, replica: SliceReplica, server: ServerId, effects: &mut Vec<Effect>) {
        let (home, motion) = (self.recorded.home(replica), self.recorded.motion(replica));
        if motion.is_some() || home.is_some_and(|home| home.server == server) {
            return;
        }
        let slot = self.stores[server.index()].slot(replica.slice).expect("it has a slot");
        self.note(ClusterRecord::Begun { replica, place: SlotPlace { server, slot } }, effects);
    }

    /// Makes all other changes of an object on a server wait for this task.
    fn hold(&mut self, id: EffectId, server: ServerId, object: ObjectId) {
        let task = self.tasks.get_mut(&id).expect("it is under way");
        if !std::mem::replace(&mut task.holds_queue, true) {
            let earlier = self.queues.insert((server, object), VecDeque::new());
            assert!(earlier.is_none(), "others would have to wait");
        }
    }

    /// All bytes of an object.
    fn whole(&self) -> ObjectRange {
        ObjectRange { begin: 0, end: self.router.map().shape().object.0 as u32 }
    }

    /// Overwrites bytes of an object that is on the server.
    fn overwrite(
        &mut self,
        id: EffectId,
        server: ServerId,
        object: ObjectId,
        range: ObjectRange,
        effects: &mut Vec<Effect>,
    ) {
        let piece = self.piece(id);
        let (kind, data) = match piece.request.kind {
            RequestKind::Trim => (RequestKind::WriteZeroes { fua: false }, None),
            kind if piece.is_zeroes() => (kind, None),
            kind => (kind, Some(DataRef::new(piece.buffer(), piece.offset))),
        };
        self.send(id, server, kind, (object, range), data, effects);
    }

    /// Writes an object as a whole, with the host's bytes in it and zeroes around them.
    fn write_whole(
        &mut self,
        id: EffectId,
        change: MapChange,
        server: ServerId,
        (object, range): (ObjectId, ObjectRange),
        effects: &mut Vec<Effect>,
    ) {
        let (piece, size) = (self.piece(id), self.router.map().shape().object.0);
        self.change(id, change, server, object);
        let whole = self.whole();
        let (head, tail) = (Bytes(range.begin.into()), Bytes(size - u64::from(range.end)));
        let data = DataRef { head, tail, ..DataRef::new(piece.buffer(), piece.offset) };
        let fua = self.writes_through();
        let (kind, data) = match piece.is_zeroes() {
            true => (RequestKind::WriteZeroes { fua }, None),
            false => (RequestKind::Write { fua }, Some(data)),
        };
        self.send(id, server, kind, (object, whole), data, effects);
    }

    /// Notes what a task makes of the map; others wait for it.
    fn change(&mut self, id: EffectId, change: MapChange, server: ServerId, object: ObjectId) {
        self.hold(id, server, object);
        self.tasks.get_mut(&id).expect("it is under way").change = Some(change);
    }

    fn writes_through(&self) -> bool {
        #[cfg(test)]
        if self.forgets_to_write_through {
            return false;
        }
        true
    }

    /// Reads an object at another server, to write it at its destination.
    fn fetch(
        &mut self,
        id: EffectId,
        change: MapChange,
        from: ServerId,
        (to, object): (ServerId, ObjectId),
        effects: &mut Vec<Effect>,
    ) {
        self.change(id, change, to, object);
        let buffer = self.free_buffers.pop().unwrap_or_else(|| {
            self.buffers += 1;
            self.buffers - 1
        });
        self.tasks.get_mut(&id).expect("it is under way").buffer = Some(buffer);
        self.read_into_buffer(id, from, object, effects);
    }

    fn read_into_buffer(&mut self, id: EffectId, from: ServerId, object: ObjectId, effects: &mut Vec<Effect>) {
        let buffer = self.tasks[&id].buffer.expect("it was taken before");
        let (whole, data) = (self.whole(), DataRef::new(BufferId::Copy(buffer), Bytes::ZERO));
        self.send(id, from, RequestKind::Read, (object, whole), Some(data), effects);
    }

    /// An object that was to be fetched cannot be read at `from`. Fetches it where another replica counts that was not
    /// asked before: nothing else changes the object meanwhile. Returns false if there is none.
    pub(super) fn fetch_elsewhere(&mut self, id: EffectId, from: ServerId, effects: &mut Vec<Effect>) -> bool {
        let Task { work, unreadable, .. } = self.tasks[&id];
        let (ServerWork::Merge { to, object, .. } | ServerWork::Copy { to, object, .. }) = work else { return false };
        let map = self.router.map();
        let (slice, index) = map.slice_of(object);
        let is_at = |replica: &SliceReplica| map.reader(*replica, index) == Some(from);
        let asked = map.replicas_of(slice).filter(is_at).fold(unreadable, |all, replica| all | 1 << replica.replica);
        let has = |server: &ServerId| {
            let is_well = !self.health.has_failed(DeviceIndex(server.0));
            is_well && ![from, to].contains(server) && self.stores[server.index()].has(object)
        };
        let mut others = map.replicas_of(slice).filter(|replica| asked & 1 << replica.replica == 0);
        let next = others.find_map(|replica| map.reader(replica, index).filter(has));
        self.tasks.get_mut(&id).expect("it is under way").unreadable = asked;
        if let Some(next) = next {
            self.read_into_buffer(id, next, object, effects);
        }
        next.is_some()
    }

    /// Writes what was fetched, with the host's bytes in it.
    pub(super) fn store_fetched(&mut self, id: EffectId, effects: &mut Vec<Effect>) {
        let Task { work, buffer, .. } = self.tasks[&id];
        let buffer = BufferId::Copy(buffer.expect("it was read into one"));
        let (to, object) = match work {
            ServerWork::Merge { to, object, range, .. } => {
                let piece = self.piece(id);
                let (into, length) = (BufferPlace::new(buffer, Bytes(range.begin.into())), piece.length());
                effects.push(Effect::Buffer(match piece.is_zeroes() {
                    true => BufferStep::Zero { into, length },
                    false => BufferStep::Copy { from: BufferPlace::new(piece.buffer(), piece.offset), into, length },
                }));
                (to, object)
            }
            ServerWork::Copy { to, object, .. } => (to, object),
            other => unreachable!("{other:?} fetches nothing"),
        };
        if self.health.has_failed(DeviceIndex(to.0)) {
            return self.fail(id, DeviceError::Failed);
        }
        let whole = self.whole();
        let kind = RequestKind::Write { fua: self.writes_through() };
        self.send(id, to, kind, (object, whole), Some(DataRef::new(buffer, Bytes::ZERO)), effects);
    }

    /// Trims what a server has of an object that is on another one now.
    fn trim_stale(&mut self, id: EffectId, server: ServerId, object: ObjectId, effects: &mut Vec<Effect>) {
        let store = &mut self.stores[server.index()];
        if !store.has(object) || self.health.has_failed(DeviceIndex(server.0)) {
            store.set(object, false);
            return self.end(id, true);
        }
        store.set(object, false);
        store.trim_begins(self.router.map().slice_of(object).0);
        if !self.forgets_trims() {
            self.hold(id, server, object);
        }
        self.send_trim(id, server, object, effects);
    }

    fn forgets_trims(&self) -> bool {
        #[cfg(test)]
        return self.ignores_trims;
        #[cfg(not(test))]
        false
    }

    pub(super) fn send_trim(&mut self, id: EffectId, server: ServerId, object: ObjectId, effects: &mut Vec<Effect>) {
        let whole = self.whole();
        self.send(id, server, RequestKind::Trim, (object, whole), None, effects);
    }

    /// A slice has left a server, or has come to stay.
    fn purge(&mut self, id: EffectId, server: ServerId, slice: SliceId, keep: bool) {
        if keep {
            return self.end(id, true);
        }
        if self.stores[server.index()].is_trimming(slice) {
            self.purges.insert((server, slice), id);
            return;
        }
        self.release(server, slice);
        self.end(id, true);
    }

    /// Frees the slot of a slice, for which others may have waited.
    pub(super) fn release(&mut self, server: ServerId, slice: SliceId) {
        self.stores[server.index()].release(slice);
        self.has_freed_slots = true;
    }

    /// Sends a request about bytes of an object to a server's device.
    fn send(
        &mut self,
        id: EffectId,
        server: ServerId,
        kind: RequestKind,
        (object, range): (ObjectId, ObjectRange),
        data: Option<DataRef>,
        effects: &mut Vec<Effect>,
    ) {
        let piece = self.tasks[&id].tag.map(|tag| self.pieces[&tag]);
        let before =
            piece.map_or(Bytes::ZERO, |piece| Bytes(u64::from(piece.range.begin - range.begin.min(piece.range.begin))));
        let io = IoId(self.ios.insert(Io::Task { task: id, server, kind, before }));
        let start = self.stores[server.index()].start(object).byte_offset() + u64::from(range.begin);
        let length = Bytes(u64::from(range.end - range.begin));
        let like = piece.map_or(Request::new(kind, Lba(0), length), |piece| piece.request);
        let request = Request { kind, start: Lba::containing(start), length, ..like };
        if matches!(kind, RequestKind::Write { .. }) {
            self.epochs.server_written(server, length);
            self.counts.written(server, length, piece.is_none());
            if piece.is_none() {
                self.background.copied(self.now, length);
            }
        }
        effects.push(Effect::Io {
            io,
            host: piece.map(|piece| piece.host),
            device: DeviceIndex(server.0),
            request,
            data,
        });
    }
}
