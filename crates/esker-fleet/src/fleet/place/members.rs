//! Servers that join, are drained, or fail: by the rules of `esker_cluster::Router`.

use std::collections::BTreeSet;

use esker_cluster::{PartitionId, Server, ServerId, ServerSpec, ServerState, SliceId, SliceReplica};

use super::{Placement, SpreadCount};
use crate::fleet::copies::Cause;

impl Placement {
    /// Returns a destination for a replica: the server of its partition, or the next one on the ring that may be.
    pub(super) fn destination(&self, replica: SliceReplica) -> Option<ServerId> {
        let partition = self.shape.partition_of(replica.slice);
        let home = self.partitions[self.partition_index(partition, replica.replica)];
        let mut servers = std::iter::once(home).chain(self.ring.walk(self.shape.point_of(partition)));
        servers.find(|server| self.may_go(replica, *server))
    }

    /// A server joins: partitions for which the ring now names it go there. Returns its number.
    pub(in crate::fleet) fn join(&mut self, spec: ServerSpec) -> ServerId {
        let joined = ServerId(self.servers.len() as u16);
        self.servers.push(Server { spec, state: ServerState::Up, used: 0 });
        self.loads.push(0.0);
        self.spreads.push(SpreadCount::default());
        self.ring.extend([(joined, spec.virtual_nodes)]);
        let mut leaving = Vec::new();
        for partition in self.partitions_near(joined) {
            let Some(replica) = self.taken_by(joined, partition) else { continue };
            let index = self.partition_index(partition, replica);
            let home = std::mem::replace(&mut self.partitions[index], joined);
            let slices = self.by_partition.of(partition).iter();
            let replicas = slices.map(|slice| SliceReplica { slice: SliceId(*slice), replica });
            let is_there = |replica: &SliceReplica| {
                replica.replica < self.replicas(replica.slice) && self.complete_home(*replica) == Some(home)
            };
            leaving.extend(replicas.filter(is_there));
        }
        leaving.sort_unstable();
        for replica in leaving {
            if self.may_go(replica, joined) {
                self.begin_move(replica, self.home(replica), joined, Cause::Member);
            }
        }
        self.may_be_placed = true;
        joined
    }

    /// Returns the partitions that the ring may give to a server: those before its points, as far back as it takes to
    /// pass the servers of all replicas.
    fn partitions_near(&self, joined: ServerId) -> BTreeSet<PartitionId> {
        let mut near = BTreeSet::new();
        let step = u128::from(self.shape.partitions);
        let partition_at = |point: u64| (u128::from(point) * step) >> 64;
        for point in self.ring.points_of(joined) {
            let mut domains = BTreeSet::new();
            let passed = self.ring.walk_back(point).find(|(_, server)| {
                let is_other = *server != joined;
                is_other && domains.insert(self.domain(*server)) && domains.len() > usize::from(self.shape.replicas)
            });
            let last = partition_at(point);
            match passed.map(|(first, _)| partition_at(first)) {
                Some(first) if first <= last => near.extend((first..=last).map(|at| PartitionId(at as u32))),
                // Round the circle's end.
                Some(first) => near.extend((0..=last).chain(first..step).map(|at| PartitionId(at as u32))),
                None => near.extend((0..step).map(|at| PartitionId(at as u32))),
            }
        }
        near
    }

    /// Returns which replica of a partition a server that joins takes, if any: that of the server which the ring no
    /// longer names.
    fn taken_by(&self, joined: ServerId, partition: PartitionId) -> Option<u8> {
        let first = self.partition_index(partition, 0);
        let now = &self.partitions[first..first + usize::from(self.shape.replicas)];
        let named = self.ring.homes(self.shape.point_of(partition), now.len(), |server| self.domain(server));
        if !named.contains(&joined) {
            return None;
        }
        let replaced = now.iter().position(|server| !named.contains(server))?;
        let mut others = now.iter().enumerate().filter(|(at, _)| *at != replaced).map(|(_, other)| *other);
        (!others.any(|other| self.domain(other) == self.domain(joined))).then_some(replaced as u8)
    }

    /// Gives the partitions of a server that has left the ring to others. Where no server may have one, it stays.
    fn replace_in_partitions(&mut self, left: ServerId) {
        let replicas = usize::from(self.shape.replicas);
        for at in 0..self.partitions.len() {
            if self.partitions[at] != left {
                continue;
            }
            let first = at - at % replicas;
            let others = self.partitions[first..first + replicas].iter().filter(|home| **home != left);
            let point = self.shape.point_of(PartitionId((at / replicas) as u32));
            let shares = |server: ServerId| others.clone().any(|other| self.domain(*other) == self.domain(server));
            if let Some(server) = self.ring.walk(point).find(|server| !shares(*server)) {
                self.partitions[at] = server;
            }
        }
    }

    /// A server is to be emptied: what is there leaves for others, as far as they have room.
    pub(in crate::fleet) fn drain(&mut self, server: ServerId) {
        if self.servers[server.index()].state != ServerState::Up {
            return;
        }
        self.servers[server.index()].state = ServerState::Draining;
        self.ring.remove(server);
        let here = self.complete_on(|home| home == server);
        self.replace_in_partitions(server);
        here.into_iter().for_each(|replica| self.leave_if_draining(replica, server));
    }

    /// The replicas that are complete on servers that `is_meant` selects, in the order of slices.
    fn complete_on(&self, is_meant: impl Fn(ServerId) -> bool) -> Vec<SliceReplica> {
        let mut found = Vec::new();
        for slice in self.all_slices() {
            let is_there =
                |replica: &SliceReplica| is_meant(self.home(*replica)) && self.complete_home(*replica).is_some();
            found.extend(self.replicas_of(slice).filter(is_there));
        }
        found
    }

    /// A server is gone. Replicas that were there are rebuilt from others; those that were on their way there turn
    /// back; those that were leaving go on with what other replicas have.
    pub(in crate::fleet) fn fail(&mut self, server: ServerId) {
        if self.servers[server.index()].state == ServerState::Failed {
            return;
        }
        let failed = &mut self.servers[server.index()];
        (failed.state, failed.used) = (ServerState::Failed, 0);
        self.ring.remove(server);
        let mut touched = self.complete_on(|home| home == server);
        let ends = |motion: &super::Motion| [motion.source, motion.destination];
        let moving = self.motions.iter().filter(|(_, motion)| ends(motion).contains(&Some(server)));
        touched.extend(moving.map(|(key, _)| self.replica_of(*key)));
        touched.sort_unstable();
        self.replace_in_partitions(server);
        for replica in touched {
            if !self.turn(replica, server) {
                self.begin_rebuild(replica);
            }
            self.count_losses(replica.slice);
            self.complete_if_moved(replica);
        }
    }

    /// Places replicas that found no server before, and empties servers that are drained further.
    pub(in crate::fleet) fn retry_placing(&mut self) {
        if !std::mem::take(&mut self.may_be_placed) || !self.is_stuck {
            return;
        }
        self.is_stuck = false;
        let homeless = self.motions.iter().filter(|(_, motion)| motion.destination.is_none());
        let homeless: Vec<u32> = homeless.map(|(key, _)| *key).collect();
        for key in homeless {
            let replica = self.replica_of(key);
            match self.destination(replica) {
                Some(to) => {
                    self.motions.get_mut(&key).expect("it is in motion").destination = Some(to);
                    self.servers[to.index()].used += 1;
                    self.set_home(replica, to);
                }
                None => self.is_stuck = true,
            }
        }
        let draining: Vec<bool> = self.servers.iter().map(|server| server.state == ServerState::Draining).collect();
        for replica in self.complete_on(|home| draining[home.index()]) {
            self.leave_if_draining(replica, self.home(replica));
        }
    }
}
