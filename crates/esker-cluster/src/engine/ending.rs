//! How requests to servers' devices end, and what that makes of the map.

use esker_core::{DeviceError, DeviceState, RequestKind};
use esker_tier::parts::EngineRecord;
use esker_tier::{DeviceIndex, Effect, IoId, RecordNumber};

use super::ClusterEngine;
use super::record::ClusterRecord;
use super::task::{Io, MapChange, Task, object_of};
use crate::id::{ObjectId, ServerId};
use crate::route::{EffectId, RouterInput, ServerWork};
use crate::servers::ServerState;

impl ClusterEngine {
    /// Judges the end of a request to a server's device.
    pub(super) fn judge(
        &mut self,
        server: ServerId,
        kind: RequestKind,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let device = DeviceIndex(server.0);
        let result = self.health.judge(device, kind, result);
        self.heed_state(server);
        result
    }

    /// With replicas, a server whose device has failed leaves, and what was there is rebuilt from others. A server
    /// whose device takes no more writes is emptied: slices leave for others as they are written, or copied, and those
    /// on their way there turn round. Those that no other server takes go on once the device takes writes again.
    pub(super) fn heed_state(&mut self, server: ServerId) {
        let device = DeviceIndex(server.0);
        let (state, refuses) = (self.router.servers().get(server).state, self.router.refuses(server));
        if self.health.device(device) == DeviceState::Failed {
            if self.settings.replicas > 1 && state != ServerState::Failed {
                self.inputs.push_back(RouterInput::Fail(server));
            }
        } else if state != ServerState::Failed {
            match (self.health.device(device), refuses) {
                (DeviceState::ReadOnly, false) => self.inputs.push_back(RouterInput::Refuse(server)),
                (DeviceState::ReadOnly, true) => self.router.takes_again(server, false),
                (_, true) => self.router.takes_again(server, true),
                (_, false) => {}
            }
        }
    }

    pub(super) fn io_ended(&mut self, io: IoId, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        let (id, server, kind, before) = match self.ios.remove(io.0) {
            Io::Flush(device) => return self.flush_ended(io, device, result, effects),
            Io::Task { task, server, kind, before } => (task, server, kind, before),
        };
        let result = self.judge(server, kind, result);
        if kind.is_write() && !kind.is_fua() && result.is_ok() {
            self.durability.written(DeviceIndex(server.0));
            self.written_unflushed(id, server);
        }
        let Task { tag, work, change, .. } = self.tasks[&id];
        match (work, result) {
            (ServerWork::Trim { object, .. }, _) => self.trim_ended(id, server, object),
            // A trim is a hint: the record says that the object reads as zeroes.
            (ServerWork::Delete { .. }, _) => self.end(id, true),
            (_, Err(error)) => {
                if kind == RequestKind::Read {
                    self.fall_back(server, object_of(&work), effects);
                    if self.fetch_elsewhere(id, server, effects) {
                        return;
                    }
                }
                if let ServerWork::Copy { from, .. } = work {
                    let server = if kind == RequestKind::Read { from } else { server };
                    self.background.copy_failed(kind, DeviceIndex(server.0));
                }
                let piece = tag.map(|tag| self.pieces[&tag]);
                self.fail(id, piece.map_or(error, |piece| error.of_whole(piece.offset, piece.length(), before)));
            }
            // A device that has failed meanwhile may have answered with older data, which is all that is left of a
            // single copy.
            (ServerWork::Read { .. }, Ok(())) if self.has_failed(server) && self.settings.replicas > 1 => {
                self.fail(id, DeviceError::Failed);
            }
            (ServerWork::Merge { .. } | ServerWork::Copy { .. }, Ok(())) if kind == RequestKind::Read => {
                match self.has_failed(server) {
                    true => self.fail(id, DeviceError::Failed),
                    false => self.store_fetched(id, effects),
                }
            }
            (_, Ok(())) => match change {
                Some(change) => self.record(id, change, effects),
                None => self.end(id, true),
            },
        }
    }

    pub(super) fn has_failed(&self, server: ServerId) -> bool {
        self.health.device(DeviceIndex(server.0)) == DeviceState::Failed
    }

    fn trim_ended(&mut self, id: EffectId, server: ServerId, object: ObjectId) {
        let slice = self.router.map().slice_of(object).0;
        if self.stores[server.index()].trim_ends(slice)
            && let Some(purge) = self.purges.remove(&(server, slice))
        {
            // Meanwhile it may be on its way back.
            if !self.router.map().replicas_of(slice).any(|replica| self.router.map().involves(replica, server)) {
                self.release(server, slice);
            }
            self.end(purge, true);
        }
        self.end(id, true);
    }

    /// Has a change of the map recorded. It is made once it is durable.
    pub(super) fn record(&mut self, id: EffectId, change: MapChange, effects: &mut Vec<Effect>) {
        self.tasks.get_mut(&id).expect("it is under way").change = Some(change);
        if self.health.journal_failed() {
            return self.fail(id, DeviceError::Failed);
        }
        let MapChange { replica, moves, written } = change;
        let (_, index) = self.router.map().slice_of(object_of(&self.tasks[&id].work));
        let index = index as u32;
        // What counts again meanwhile, because no other replica was left, has nowhere to move.
        let moves = moves && (self.recorded.motion(replica).is_some() || self.recorded.misses_some(replica));
        let record = match (moves, written) {
            (true, _) => ClusterRecord::Moved { replica, first: index, count: 1, written },
            (false, true) => ClusterRecord::Written { replica, first: index, count: 1 },
            (false, false) => ClusterRecord::Discarded { replica, index },
        };
        let number = self.note(record, effects);
        self.unhardened.push_back((number, id));
        self.durability.harden(effects);
    }

    /// Notes a change of the map, and issues its record.
    pub(super) fn note(&mut self, record: ClusterRecord, effects: &mut Vec<Effect>) -> RecordNumber {
        self.recorded.apply(record);
        let number = self.durability.issue();
        effects.push(Effect::Record { number, record: record.record() });
        number
    }

    pub(super) fn records_durable(&mut self, through: RecordNumber, effects: &mut Vec<Effect>) {
        // Only tasks, and what is held, wait for records.
        self.durability.durable(through, effects);
        self.released.extend(self.dirty.durable(through));
        while let Some((_, host)) = self.held.pop_front_if(|(number, _)| *number <= through) {
            self.host_part_ended(host, 0, Ok(()), effects);
        }
        let mut unwritten = 0;
        while let Some((_, id)) = self.unhardened.pop_front_if(|(number, _)| *number <= through) {
            let Task { tag, change, .. } = self.tasks[&id];
            unwritten += u64::from(tag.is_none() && change.is_some_and(|change| !change.written));
            self.changed(id, effects);
        }
        self.copies_wrote_nothing(unwritten);
    }

    pub(super) fn journal_failed(&mut self, effects: &mut Vec<Effect>) {
        self.health.fail_journal();
        for id in self.dirty.give_up() {
            self.fail(id, DeviceError::Failed);
        }
        while let Some((_, host)) = self.held.pop_front() {
            self.host_part_ended(host, 0, Err(DeviceError::Failed), effects);
        }
        while let Some((_, id)) = self.unhardened.pop_front() {
            self.fail(id, DeviceError::Failed);
        }
    }

    /// A change of the map is durable.
    fn changed(&mut self, id: EffectId, effects: &mut Vec<Effect>) {
        let Task { work, change, .. } = self.tasks[&id];
        let written = change.is_some_and(|change| change.written);
        let (server, object) = (work.server(), object_of(&work));
        let store = &mut self.stores[server.index()];
        let had = store.has(object);
        store.set(object, written);
        if !written
            && had
            && !self.health.has_failed(DeviceIndex(server.0))
            && matches!(work, ServerWork::Delete { .. })
        {
            return self.send_trim(id, server, object, effects);
        }
        self.end(id, true);
    }

    /// Ends a task with an error.
    pub(super) fn fail(&mut self, id: EffectId, error: DeviceError) {
        if let Some(tag) = self.tasks[&id].tag
            && let Some(piece) = self.pieces.get_mut(&tag)
        {
            piece.error.get_or_insert(error);
        }
        self.end(id, false);
    }

    /// Ends a task, and begins what waited for it.
    pub(super) fn end(&mut self, id: EffectId, ok: bool) {
        let task = self.tasks.remove(&id).expect("a task ends once");
        self.free_buffers.extend(task.buffer);
        let is_copy = matches!(task.work, ServerWork::Copy { .. }) && task.buffer.is_some();
        self.released.extend(self.background.ended(is_copy));
        if task.makes_dirty {
            self.dirty.change_ended(self.router.map().slice_of(object_of(&task.work)).0);
        }
        if task.holds_queue {
            let key = (task.work.server(), object_of(&task.work));
            let waiting = self.queues.remove(&key).expect("it holds the queue");
            self.released.extend(waiting);
        }
        self.inputs.push_back(RouterInput::Done { effect: id, ok });
    }
}
