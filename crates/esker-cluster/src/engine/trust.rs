//! Which replicas count: what is recorded of failures, and what follows from records after a restart.

use std::collections::BTreeSet;

use esker_core::{DeviceError, Tag};
use esker_tier::{DeviceIndex, Effect};

use super::ClusterEngine;
use super::record::ClusterRecord;
use crate::id::{ObjectId, ServerId, SliceId, SliceReplica};
use crate::route::RouterInput;

impl ClusterEngine {
    /// With the first input after a restart, what was in motion goes on, replicas that may differ since power was lost
    /// get what the first of them has, and what was on devices that are gone is rebuilt. While a device is missing,
    /// nothing is written: then it is only decided which replica is read.
    pub(super) fn begin_life(&mut self, effects: &mut Vec<Effect>) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        if self.is_frozen {
            self.inputs.clear();
            return self.choose_what_is_read();
        }
        while let Some(input) = self.inputs.pop_front() {
            self.tell_router(input, effects);
        }
        let dirty: Vec<SliceId> = self.recorded.dirty_slices().collect();
        if !dirty.is_empty() {
            let doubtful = self.recorded.doubtful(|_| true);
            self.note(ClusterRecord::Resync, effects);
            doubtful.into_iter().for_each(|(replica, index)| self.router.distrust(replica, index as usize));
            dirty.into_iter().for_each(|slice| self.dirty.add_recorded(slice));
        }
        self.wake_if_moving(self.now, effects);
    }

    /// While a device is missing, one replica that is there is read of each object that may differ.
    fn choose_what_is_read(&mut self) {
        let is_there = |server: ServerId| !self.health.is_absent(DeviceIndex(server.0));
        let (doubtful, left) = (self.recorded.doubtful(is_there), self.recorded.left_unsure(is_there));
        doubtful.into_iter().for_each(|(replica, index)| self.router.distrust(replica, index as usize));
        for (replica, index) in left {
            let server = self.recorded.holder(replica, index as usize).expect("it is there");
            self.router.trust(replica, index as usize, server);
        }
    }

    /// Servers had failed before the engine was restored.
    pub(super) fn had_failed(&mut self, servers: &[ServerId]) {
        for &server in servers {
            self.health.miss(DeviceIndex(server.0));
            self.router.on(RouterInput::Fail(server), &mut Vec::new());
        }
        self.router.find_all_lost();
        self.know_unwritten();
        // What is on no server gets another one.
        self.router.on(RouterInput::EpochEnds, &mut Vec::new());
    }

    /// A slice with an object of which no copy is left without a server that was removed and has not failed before.
    pub(super) fn last_copy_on(&self, server: ServerId) -> Option<SliceId> {
        let (recorded, map) = (&self.recorded, self.router.map());
        let is_gone = |server: ServerId| self.health.is_removed(DeviceIndex(server.0));
        let objects = map.shape().objects_per_slice as usize;
        let is_last = |slice: &SliceId| {
            (0..objects).any(|index| {
                let mut holders = map.replicas_of(*slice).filter_map(|replica| recorded.holder(replica, index));
                recorded.is_written_somewhere(*slice, index) && holders.all(is_gone)
            })
        };
        recorded.slices_at(server).into_iter().find(is_last)
    }

    /// A server has failed: nothing that is there counts any more, also after a restart.
    pub(super) fn server_fails(&mut self, server: ServerId, effects: &mut Vec<Effect>) {
        self.stores[server.index()].release_all();
        // Work that waits for a slot there waits in vain.
        self.has_freed_slots = true;
        let slices = self.recorded.slices_at(server);
        let is_removed = self.health.is_removed(DeviceIndex(server.0));
        if self.settings.replicas == 1 || self.recorded.has_failed(server) || (is_removed && slices.is_empty()) {
            return self.route(RouterInput::Fail(server), effects);
        }
        let objects = self.may_disagree(&slices);
        self.last_missed = self.note(ClusterRecord::Failed { server }, effects);
        self.durability.harden(effects);
        self.draining.retain(|drained| *drained != server);
        self.route(RouterInput::Fail(server), effects);
        self.agree_on(objects, effects);
        self.know_unwritten();
    }

    /// Has the router know which of the objects that no server has were never written: these are not lost.
    fn know_unwritten(&mut self) {
        let (recorded, shape) = (&self.recorded, *self.router.map().shape());
        self.router.keep_lost(|object| {
            let (slice, index) = shape.slice_of(object);
            recorded.is_written_somewhere(slice, index)
        });
    }

    /// Objects of slices of which the router and the records may disagree: work on them is under way, or replicas are
    /// unsure.
    fn may_disagree(&self, slices: &[SliceId]) -> BTreeSet<(SliceId, usize)> {
        let map = self.router.map();
        let under_way = self.router.objects_under_way().map(|object| map.slice_of(object));
        let under_way = under_way.filter(|(slice, _)| slices.binary_search(slice).is_ok());
        let unsure = slices.iter().flat_map(|slice| self.recorded.unsure_of(*slice).map(move |index| (*slice, index)));
        under_way.chain(unsure).collect()
    }

    /// After a failure, what the router knows and what was recorded are the same again. Records are ahead of the router
    /// where an object has just moved. If it is at a destination that is left, it counts there. If it was at one that
    /// has failed, it counts at the source, where the router still has it; if it was the last object of its slice,
    /// records have even forgotten the source. Besides, an unsure object counts if no other one is left.
    fn agree_on(&mut self, objects: BTreeSet<(SliceId, usize)>, effects: &mut Vec<Effect>) {
        let map = self.router.map();
        let of_object = |(slice, index)| map.replicas_of(slice).map(move |replica| (replica, index));
        let all: Vec<(SliceReplica, usize)> = objects.into_iter().flat_map(of_object).collect();
        for (replica, index) in all {
            let object = self.router.map().shape().object_of(replica.slice, index);
            match (self.router.map().reader(replica, index), self.recorded.reader(replica, index)) {
                (None, Some(server)) => {
                    let written = self.recorded.is_written(replica, index);
                    self.stores[server.index()].set(object, written);
                    self.router.trust(replica, index, server);
                }
                (Some(server), None) => {
                    let written = self.stores[server.index()].has(object);
                    if self.recorded.home(replica).is_none() {
                        self.record_motion(replica, server, effects);
                    }
                    self.note(ClusterRecord::Moved { replica, first: index as u32, count: 1, written }, effects);
                }
                _ => {}
            }
        }
    }

    /// The only copy of an object that counts cannot be read: then an unsure one does.
    pub(super) fn fall_back(&mut self, server: ServerId, object: ObjectId, effects: &mut Vec<Effect>) {
        let (slice, index) = self.router.map().slice_of(object);
        if self.settings.replicas == 1 || self.is_frozen || self.has_failed(server) {
            return;
        }
        let Some((only, unsure, holder)) = self.recorded.only_and_unsure((slice, index), server) else { return };
        if self.router.map().reader(only, index) != Some(server) {
            return;
        }
        let first = index as u32;
        self.note(ClusterRecord::Sure { replica: unsure, first, count: 1 }, effects);
        self.last_missed = self.note(ClusterRecord::Missed { replica: only, first, count: 1 }, effects);
        self.durability.harden(effects);
        self.router.fall_back(object, only, unsure, holder);
    }

    /// A replica of an object misses a change that others have. It is durable before the host is answered.
    pub(super) fn missed(&mut self, replica: SliceReplica, index: usize, effects: &mut Vec<Effect>) {
        if self.settings.replicas > 1 && self.recorded.holder(replica, index).is_some() {
            let record = ClusterRecord::Missed { replica, first: index as u32, count: 1 };
            self.last_missed = self.note(record, effects);
            self.durability.harden(effects);
        }
    }

    /// Returns whether a request of the host has to wait until it is durable that replicas have missed something.
    pub(super) fn holds_back(&mut self, host: Tag, effects: &mut Vec<Effect>) -> bool {
        if self.durability.is_recorded(self.last_missed) {
            return false;
        }
        if self.health.journal_failed() {
            self.hosts.note(host, 0, DeviceError::Failed);
            return false;
        }
        self.durability.harden(effects);
        self.held.push_back((self.last_missed, host));
        true
    }

    /// Answers flushes that failed on a server, if other servers have all that was there.
    pub(super) fn answer_failed_flushes(&mut self, effects: &mut Vec<Effect>) {
        for host in std::mem::take(&mut self.failed_flushes) {
            if self.router.has_lost_objects() {
                self.host_part_ended(host, 0, Err(DeviceError::Failed), effects);
            } else if !self.holds_back(host, effects) {
                self.host_part_ended(host, 0, Ok(()), effects);
            }
        }
    }
}
