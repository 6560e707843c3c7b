//! Which replicas count: what is recorded of failures, and what follows from records after a restart.

use esker_core::{DeviceError, Tag};
use esker_tier::{DeviceIndex, Effect};

use super::ClusterEngine;
use super::record::ClusterRecord;
use crate::id::{ServerId, SliceId, SliceReplica};
use crate::route::RouterInput;

impl ClusterEngine {
    /// With the first input, replicas that may differ since power was lost get what the first of them has, and what was
    /// on devices that are gone is rebuilt. While a device is missing, nothing is written: then it is only decided
    /// which replica is read.
    pub(super) fn begin_life(&mut self, effects: &mut Vec<Effect>) {
        if std::mem::replace(&mut self.has_begun, true) || self.settings.replicas == 1 {
            return;
        }
        if self.is_frozen {
            self.inputs.clear();
            let is_there = |server: ServerId| !self.health.is_absent(DeviceIndex(server.0));
            let doubtful = self.recorded.doubtful(is_there);
            return doubtful.into_iter().for_each(|(replica, index)| self.router.distrust(replica, index as usize));
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

    /// Servers had failed before the engine was restored.
    pub(super) fn had_failed(&mut self, servers: &[ServerId]) {
        for &server in servers {
            self.health.miss(DeviceIndex(server.0));
            self.router.on(RouterInput::Fail(server), &mut Vec::new());
        }
        // What is on no server gets another one.
        self.router.on(RouterInput::EpochEnds, &mut Vec::new());
    }

    /// A server has failed: nothing that is there counts any more, also after a restart.
    pub(super) fn server_fails(&mut self, server: ServerId, effects: &mut Vec<Effect>) {
        self.stores[server.index()].release_all();
        let slices = self.recorded.slices_at(server);
        let is_removed = self.health.is_removed(DeviceIndex(server.0));
        if self.settings.replicas == 1 || self.recorded.has_failed(server) || (is_removed && slices.is_empty()) {
            return self.route(RouterInput::Fail(server), effects);
        }
        let is_unsure = |&(replica, index): &(SliceReplica, usize)| {
            self.recorded.reader(replica, index).is_none() && !self.recorded.has_missed(replica, index)
        };
        let were_unsure: Vec<_> = self.objects_of(&slices).into_iter().filter(is_unsure).collect();
        self.last_missed = self.note(ClusterRecord::Failed { server }, effects);
        self.durability.harden(effects);
        self.route(RouterInput::Fail(server), effects);
        for (replica, index) in were_unsure {
            if let Some(reader) = self.recorded.reader(replica, index) {
                self.router.trust(replica, index, reader);
            }
        }
        self.correct_records(&slices, effects);
    }

    /// All objects of all replicas of slices.
    fn objects_of(&self, slices: &[SliceId]) -> Vec<(SliceReplica, usize)> {
        let (map, objects) = (self.router.map(), self.router.map().shape().objects_per_slice as usize);
        let replicas = slices.iter().flat_map(|slice| map.replicas_of(*slice));
        replicas.flat_map(|replica| (0..objects).map(move |index| (replica, index))).collect()
    }

    /// Records are ahead of the router: of an object that had just moved, they took the destination for the only place,
    /// and the router still has it at the source. If it was the last one, records have even forgotten the source.
    fn correct_records(&mut self, slices: &[SliceId], effects: &mut Vec<Effect>) {
        for (replica, index) in self.objects_of(slices) {
            if let Some(server) = self.router.map().reader(replica, index)
                && self.recorded.reader(replica, index).is_none()
            {
                let object = self.router.map().shape().object_of(replica.slice, index);
                let written = self.stores[server.index()].has(object);
                if self.recorded.home(replica).is_none() {
                    self.record_motion(replica, server, effects);
                }
                self.note(ClusterRecord::Moved { replica, first: index as u32, count: 1, written }, effects);
            }
        }
    }

    /// A replica of an object misses a change that others have. It is durable before the host is answered.
    pub(super) fn missed(&mut self, replica: SliceReplica, index: usize, effects: &mut Vec<Effect>) {
        if self.settings.replicas > 1 && !self.recorded.has_missed(replica, index) {
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
