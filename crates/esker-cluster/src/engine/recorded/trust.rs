//! Which replicas of an object count, after failures and losses of power.

use std::collections::BTreeSet;
use std::ops::Range;

use esker_core::bits;

use super::RecordedMap;
use crate::id::{ServerId, SliceId, SliceReplica};

impl RecordedMap {
    /// Returns whether a server has failed.
    pub(in crate::engine) fn has_failed(&self, server: ServerId) -> bool {
        self.failed.contains(&server)
    }

    /// The servers that have failed.
    pub(in crate::engine) fn failed_servers(&self) -> impl Iterator<Item = ServerId> + '_ {
        self.failed.iter().copied()
    }

    /// The slices whose replicas may differ.
    pub(in crate::engine) fn dirty_slices(&self) -> impl Iterator<Item = SliceId> + '_ {
        self.dirty.iter().copied()
    }

    /// Returns whether the home of a replica misses something, or may.
    pub(in crate::engine) fn misses_some(&self, replica: SliceReplica) -> bool {
        let number = self.index(replica);
        self.stale.has_any(number) || self.unsure.has_any(number)
    }

    /// Returns the server where an object of a replica is, if it counts unless it is unsure.
    pub(in crate::engine) fn holder(&self, replica: SliceReplica, index: usize) -> Option<ServerId> {
        let number = self.index(replica);
        if let Some(motion) = self.motions.get(&number).filter(|motion| bits::is_set(&motion.moved, index)) {
            return Some(motion.to.server);
        }
        self.homes[number].filter(|_| !self.stale.has(number, index)).map(|home| home.server)
    }

    /// Returns the server that has the newest version of an object in a replica; `None` if none does.
    pub(in crate::engine) fn reader(&self, replica: SliceReplica, index: usize) -> Option<ServerId> {
        self.holder(replica, index).filter(|_| !self.unsure.has(self.index(replica), index))
    }

    /// A replica misses changes of objects: neither its home nor its destination has them.
    pub(super) fn miss(&mut self, replica: SliceReplica, objects: Range<u32>) {
        let number = self.index(replica);
        if let Some(motion) = self.motions.get_mut(&number) {
            bits::clear_all(&mut motion.moved, objects.start as usize..objects.end as usize);
        }
        self.unsure.clear(number, objects.clone());
        self.stale.set(number, objects);
    }

    /// A replica may miss changes of objects.
    pub(super) fn doubt(&mut self, replica: SliceReplica, objects: Range<u32>) {
        self.unsure.set(self.index(replica), objects);
    }

    /// Objects of a replica that is unsure count.
    pub(super) fn trust(&mut self, replica: SliceReplica, objects: Range<u32>) {
        self.unsure.clear(self.index(replica), objects);
    }

    /// Slices of which a replica is on a server, or on its way there.
    pub(in crate::engine) fn slices_at(&self, server: ServerId) -> Vec<SliceId> {
        let is_there = |number: &usize| {
            let to = self.motions.get(number).map(|motion| motion.to);
            [self.homes[*number], to].into_iter().flatten().any(|place| place.server == server)
        };
        let replicas = (0..self.homes.len()).filter(is_there);
        let mut slices: Vec<SliceId> =
            replicas.map(|number| SliceId((number / usize::from(self.shape.replicas)) as u32)).collect();
        slices.dedup();
        slices
    }

    /// A server has failed. What was on its way there is at its home if it had not moved; what was leaving is at its
    /// destination if it had.
    pub(super) fn fail(&mut self, server: ServerId) {
        let slices = self.slices_at(server);
        self.failed.insert(server);
        for slice in slices {
            self.forget_older(slice);
            self.shape.replicas_of(slice).for_each(|replica| self.fail_at(server, replica));
            self.forget_older(slice);
            let left = if self.is_unsure(slice) { self.last_resorts(slice, |_| true) } else { Vec::new() };
            for (replica, index) in left {
                self.unsure.clear(self.index(replica), index..index + 1);
            }
        }
    }

    fn fail_at(&mut self, server: ServerId, replica: SliceReplica) {
        let (number, objects) = (self.index(replica), 0..self.shape.objects_per_slice);
        let is_home = self.homes[number].is_some_and(|home| home.server == server);
        let is_destination = self.motions.get(&number).is_some_and(|motion| motion.to.server == server);
        if !is_home && !is_destination {
            return;
        }
        let motion = self.motions.remove(&number);
        if is_home {
            self.stale.clear_replica(number);
            self.homes[number] = motion.as_ref().map(|motion| motion.to);
        }
        let Some(motion) = motion else {
            // Whether an object that no replica has any more was written decides whether it is lost.
            return self.unsure.clear_replica(number);
        };
        for object in objects.filter(|object| bits::is_set(&motion.moved, *object as usize) != is_home) {
            self.miss(replica, object..object + 1);
        }
    }

    /// Forgets whether objects of a slice were written where a replica does not have them, and another one does: there
    /// they may have been discarded.
    fn forget_older(&mut self, slice: SliceId) {
        let has_all = |map: &Self, replica| map.home(replica).is_some() && !map.stale.has_any(map.index(replica));
        let is_complete = self.shape.replicas_of(slice).any(|replica| has_all(self, replica));
        for replica in self.shape.replicas_of(slice) {
            let objects = 0..self.shape.objects_per_slice;
            if is_complete && self.home(replica).is_none() {
                self.set_written(replica, objects, false);
            } else if !has_all(self, replica) {
                let is_older = |object: &u32| {
                    let has = |replica| self.holder(replica, *object as usize).is_some();
                    !has(replica) && self.shape.replicas_of(slice).any(has)
                };
                let older: Vec<u32> = objects.filter(is_older).collect();
                older.into_iter().for_each(|object| self.set_written(replica, object..object + 1, false));
            }
        }
    }

    /// The replica of an object that counts on a server, if it is the only one, and an unsure one with its server.
    pub(in crate::engine) fn only_and_unsure(
        &self,
        (slice, index): (SliceId, usize),
        server: ServerId,
    ) -> Option<(SliceReplica, SliceReplica, ServerId)> {
        let reads = |replica: &SliceReplica| self.reader(*replica, index).is_some();
        let only = self.shape.replicas_of(slice).find(|replica| self.reader(*replica, index) == Some(server))?;
        let others = || self.shape.replicas_of(slice).filter(|replica| *replica != only);
        if others().any(|replica| reads(&replica)) {
            return None;
        }
        others().find_map(|replica| self.holder(replica, index).map(|server| (only, replica, server)))
    }

    fn is_unsure(&self, slice: SliceId) -> bool {
        self.shape.replicas_of(slice).any(|replica| self.unsure.has_any(self.index(replica)))
    }

    /// The objects of a slice of which a replica is unsure.
    pub(in crate::engine) fn unsure_of(&self, slice: SliceId) -> impl Iterator<Item = usize> {
        let objects = 0..if self.is_unsure(slice) { self.shape.objects_per_slice as usize } else { 0 };
        let is_unsure = move |index: &usize| {
            self.shape.replicas_of(slice).any(|replica| self.unsure.has(self.index(replica), *index))
        };
        objects.filter(is_unsure)
    }

    /// Objects of a slice that no replica has for sure that `is_there`, each with the first of those that are unsure.
    fn last_resorts(&self, slice: SliceId, is_there: impl Fn(ServerId) -> bool) -> Vec<(SliceReplica, u32)> {
        let resort = |index: u32| {
            let object = index as usize;
            let mut replicas = self.shape.replicas_of(slice);
            let is_lost = !replicas.any(|replica| self.reader(replica, object).is_some_and(&is_there));
            let has = |replica: &SliceReplica| self.holder(*replica, object).is_some_and(&is_there);
            self.shape.replicas_of(slice).find(has).filter(|_| is_lost).map(|replica| (replica, index))
        };
        (0..self.shape.objects_per_slice).filter_map(resort).collect()
    }

    /// Objects that only unsure replicas have, because all others are on servers that are not there.
    pub(in crate::engine) fn left_unsure(&self, is_there: impl Fn(ServerId) -> bool) -> Vec<(SliceReplica, u32)> {
        let slices = self.unsure.replicas().map(|number| (number / usize::from(self.shape.replicas)) as u32);
        let slices: BTreeSet<u32> = slices.collect();
        slices.into_iter().flat_map(|slice| self.last_resorts(SliceId(slice), &is_there)).collect()
    }

    /// Objects of dirty slices that do not count after a restart, because an earlier replica that `is_there` has them.
    pub(in crate::engine) fn doubtful(&self, is_there: impl Fn(ServerId) -> bool) -> Vec<(SliceReplica, u32)> {
        let mut doubtful = Vec::new();
        for &slice in &self.dirty {
            for index in 0..self.shape.objects_per_slice {
                let object = index as usize;
                let counts = |replica: &SliceReplica| self.reader(*replica, object).is_some_and(&is_there);
                let mut replicas = self.shape.replicas_of(slice).filter(counts);
                // What nobody has written reads as zeroes everywhere.
                let was_written = self.shape.replicas_of(slice).any(|replica| self.is_written(replica, object));
                if was_written && replicas.next().is_some() {
                    doubtful.extend(replicas.map(|replica| (replica, index)));
                }
            }
        }
        doubtful
    }

    /// After a restart, of each object of a dirty slice the first replica counts.
    pub(super) fn resync(&mut self) {
        for (replica, index) in self.doubtful(|_| true) {
            self.doubt(replica, index..index + 1);
        }
    }
}
