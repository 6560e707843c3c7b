//! Servers that join, are drained, or fail; moves of plans.

use crate::id::{ObjectId, PartitionId, ServerId, SliceId, SliceReplica};
use crate::map::ReplicaPlace;
use crate::plan::Plan;
use crate::servers::ServerState;
use crate::shape::ServerSpec;

use super::{Effect, Router};

impl Router {
    /// Returns the server that a replica is complete on.
    pub(super) fn home(&self, replica: SliceReplica) -> Option<ServerId> {
        match self.map.place(replica) {
            ReplicaPlace::Complete(home) => Some(home),
            ReplicaPlace::Offloading { .. } => None,
        }
    }

    /// Returns whether there are objects that no server has any more.
    pub(crate) fn has_lost_objects(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Finds the objects of a slice that no server has any more.
    fn find_lost(&mut self, slice: SliceId) {
        if self.map.replicas_of(slice).any(|replica| self.home(replica).is_some()) {
            return;
        }
        let first = SliceReplica { slice, replica: 0 };
        for index in 0..self.map.shape().objects_per_slice as usize {
            let object = self.map.shape().object_of(slice, index);
            if self.holder(first, index).is_none() && !self.unwritten.contains(&object) {
                self.lost.insert(object);
            }
        }
    }

    /// Of the objects that no server has, only those are lost that were written: the others are zeroes.
    pub(crate) fn keep_lost(&mut self, was_written: impl Fn(ObjectId) -> bool) {
        self.unwritten.extend(self.lost.extract_if(.., |object| !was_written(*object)));
    }

    /// A server has an object again.
    pub(super) fn is_found(&mut self, object: ObjectId) {
        self.lost.remove(&object);
        self.unwritten.remove(&object);
    }

    /// Finds the objects that no server had any more when the map was recorded.
    pub(crate) fn find_all_lost(&mut self) {
        let first = SliceReplica { slice: SliceId(0), replica: 0 };
        let mut slices: Vec<SliceId> = self.map.moving_from(first).map(|replica| replica.slice).collect();
        slices.dedup();
        slices.into_iter().for_each(|slice| self.find_lost(slice));
    }

    /// Returns whether a replica may go to a server: it has room, and no other replica of the slice is there, on its
    /// way there or leaving there, or shares its failure domain.
    fn may_go(&self, replica: SliceReplica, to: ServerId) -> bool {
        let shares = |other: ServerId| self.servers.domain(other) == self.servers.domain(to);
        self.servers.takes_more(to)
            && self.map.replicas_of(replica.slice).all(|other| {
                let (one, two) = match self.map.place(other) {
                    ReplicaPlace::Complete(home) => (Some(home), None),
                    ReplicaPlace::Offloading { source, destination } => (source, destination),
                };
                let mut ends = one.into_iter().chain(two);
                if other == replica { ends.all(|end| end != to) } else { !ends.any(shares) }
            })
    }

    /// Returns a destination for a replica: the server of its partition, or the next one on the ring that may be.
    pub(super) fn destination(&self, replica: SliceReplica) -> Option<ServerId> {
        let shape = self.map.shape();
        let partition = shape.partition_of(replica.slice);
        let home = self.map.partition_home(partition, replica.replica);
        let mut servers = std::iter::once(home).chain(self.ring.walk(shape.point_of(partition)));
        servers.find(|server| self.may_go(replica, *server))
    }

    /// Sets a replica in motion. Its home is still to be unpinned.
    fn begin_move(&mut self, replica: SliceReplica, from: ServerId, to: ServerId) {
        self.map.begin_pinned(replica, Some(from), Some(to));
        self.servers.get_mut(to).used += 1;
        self.report.moves_begun += 1;
    }

    /// Sets a replica in motion of which no server is left. Its home is still to be unpinned.
    fn begin_rebuild(&mut self, replica: SliceReplica) {
        let to = self.destination(replica);
        self.map.begin_pinned(replica, None, to);
        if let Some(server) = to {
            self.servers.get_mut(server).used += 1;
        }
        self.report.replicas_lost += 1;
    }

    /// Begins the moves of a plan, unless those of the round before are still under way.
    pub(super) fn begin_plan(&mut self, plan: &Plan) {
        let may_begin = self.is_settled();
        for wanted in &plan.moves {
            let (slices, to) = (self.map.shape().slices, wanted.to);
            let is_known = wanted.slice.0 < slices && self.servers.serves(to);
            let mut replicas = self.map.replicas_of(wanted.slice);
            let found = replicas.find(|replica| is_known && self.home(*replica) == Some(wanted.from));
            match found.filter(|replica| may_begin && self.may_go(*replica, to)) {
                Some(replica) => {
                    self.begin_move(replica, wanted.from, to);
                    self.map.unpin(replica);
                }
                None => self.report.moves_refused += 1,
            }
        }
    }

    /// A server joins: partitions for which the ring now names it go there, and what has found no server that takes it.
    pub(super) fn join(&mut self, spec: ServerSpec, effects: &mut Vec<Effect>) {
        let joined = self.servers.add(spec);
        self.ring.add(joined, spec.virtual_nodes);
        let taken: Vec<Option<u8>> =
            (0..self.map.shape().partitions).map(|at| self.taken_by(joined, PartitionId(at))).collect();
        let mut leaving = Vec::new();
        for replica in self.map.replicas() {
            let partition = self.map.shape().partition_of(replica.slice);
            let home = self.map.partition_home(partition, replica.replica);
            if taken[partition.0 as usize] == Some(replica.replica) && self.home(replica) == Some(home) {
                leaving.push((replica, home));
            }
        }
        self.map.pin_all(&leaving);
        for (at, replica) in taken.iter().enumerate().filter_map(|(at, taken)| taken.map(|replica| (at, replica))) {
            self.map.set_partition_home(PartitionId(at as u32), replica, joined);
        }
        for (replica, home) in leaving {
            if self.may_go(replica, joined) {
                self.begin_move(replica, home, joined);
            }
        }
        self.map.unpin_moving();
        self.retry_placing();
        self.begin_turns(effects);
    }

    /// Returns which replica of a partition a server that joins takes, if any: that of the server which the ring no
    /// longer names.
    fn taken_by(&self, joined: ServerId, partition: PartitionId) -> Option<u8> {
        let domain = |server| self.servers.domain(server);
        let now = self.map.partition_homes(partition);
        let named = self.ring.homes(self.map.shape().point_of(partition), now.len(), domain);
        if !named.contains(&joined) {
            return None;
        }
        let replaced = now.iter().position(|server| !named.contains(server))?;
        let others = now.iter().enumerate().filter(|(at, _)| *at != replaced);
        let shares = others.map(|(_, other)| domain(*other)).any(|other| other == domain(joined));
        (!shares).then_some(replaced as u8)
    }

    /// Gives the partitions of a server that has left the ring to others. Where no server may have one, it stays: its
    /// slices have places of their own.
    fn replace_in_partitions(&mut self, left: ServerId) {
        for partition in (0..self.map.shape().partitions).map(PartitionId) {
            let homes = self.map.partition_homes(partition);
            let Some(at) = homes.iter().position(|home| *home == left) else { continue };
            let others: Vec<ServerId> = homes.iter().copied().filter(|home| *home != left).collect();
            let shares = |server: ServerId| {
                others.iter().any(|other| self.servers.domain(*other) == self.servers.domain(server))
            };
            let next = self.ring.walk(self.map.shape().point_of(partition)).find(|server| !shares(*server));
            if let Some(server) = next {
                self.map.set_partition_home(partition, at as u8, server);
            }
        }
    }

    /// A server is to be emptied: what is there leaves for others, as far as they have room.
    pub(super) fn drain(&mut self, server: ServerId) {
        if !self.servers.serves(server) || self.servers.get(server).state == ServerState::Draining {
            return;
        }
        self.servers.get_mut(server).state = ServerState::Draining;
        self.ring.remove(server);
        let here = self.map.replicas().filter(|replica| self.home(*replica) == Some(server));
        let here: Vec<_> = here.map(|replica| (replica, server)).collect();
        self.map.pin_all(&here);
        self.replace_in_partitions(server);
        self.leave_drained(&here);
    }

    /// A server that is being drained is used again. What is on its way to others goes on.
    pub(super) fn keep(&mut self, server: ServerId) {
        if self.servers.serves(server) && self.servers.get(server).state == ServerState::Draining {
            self.refusing.remove(&server);
            self.take_again.remove(&server);
            let kept = self.servers.get_mut(server);
            kept.state = ServerState::Up;
            let virtual_nodes = kept.spec.virtual_nodes;
            self.ring.add(server, virtual_nodes);
        }
    }

    /// Sets a complete replica in motion if its server is being drained.
    pub(super) fn leave_if_draining(&mut self, replica: SliceReplica, home: ServerId) {
        self.begin_leaving(replica, home);
        self.map.unpin(replica);
    }

    /// Sets complete replicas in motion whose servers are being drained.
    fn leave_drained(&mut self, replicas: &[(SliceReplica, ServerId)]) {
        replicas.iter().for_each(|(replica, home)| self.begin_leaving(*replica, *home));
        self.map.unpin_moving();
    }

    fn begin_leaving(&mut self, replica: SliceReplica, home: ServerId) {
        if self.servers.get(home).state == ServerState::Draining
            && let Some(to) = self.destination(replica)
        {
            self.begin_move(replica, home, to);
        }
    }

    /// A server is gone. Replicas that were there are rebuilt from others; those that were on their way there turn
    /// back; those that were leaving go on with what other replicas have.
    pub(super) fn fail(&mut self, server: ServerId) {
        if !self.servers.serves(server) {
            return;
        }
        self.works.values_mut().for_each(|work| work.saw_failure = true);
        let failed = self.servers.get_mut(server);
        (failed.state, failed.used) = (ServerState::Failed, 0);
        self.ring.remove(server);
        let places = self.map.replicas().map(|replica| (replica, self.map.place(replica)));
        let touched: Vec<_> = places
            .filter(|(_, place)| match *place {
                ReplicaPlace::Complete(home) => home == server,
                ReplicaPlace::Offloading { source, destination } => {
                    source == Some(server) || destination == Some(server)
                }
            })
            .collect();
        let complete = touched.iter().filter(|(_, place)| matches!(place, ReplicaPlace::Complete(_)));
        let complete: Vec<_> = complete.map(|(replica, _)| (*replica, server)).collect();
        self.map.pin_all(&complete);
        self.replace_in_partitions(server);
        let slices: Vec<SliceId> = touched.iter().map(|(replica, _)| replica.slice).collect();
        for (replica, place) in touched {
            match place {
                ReplicaPlace::Offloading { source: Some(source), destination } if source == server => {
                    self.map.set_ends(replica, None, destination);
                }
                ReplicaPlace::Offloading { source: Some(source), .. } => {
                    self.map.turn_back(replica, None, source);
                    self.complete_if_moved(replica);
                }
                ReplicaPlace::Complete(_) | ReplicaPlace::Offloading { source: None, .. } => {
                    self.begin_rebuild(replica);
                }
            }
        }
        self.map.unpin_moving();
        self.purges.retain(|(_, other), _| *other != server);
        slices.into_iter().for_each(|slice| self.find_lost(slice));
    }

    /// Places replicas that found no server before, and empties servers that are drained further.
    pub(super) fn retry_placing(&mut self) {
        let homeless = |replica: &SliceReplica| {
            matches!(self.map.place(*replica), ReplicaPlace::Offloading { destination: None, .. })
        };
        let first = SliceReplica { slice: SliceId(0), replica: 0 };
        let waiting: Vec<_> = self.map.moving_from(first).filter(homeless).collect();
        for replica in waiting {
            let ReplicaPlace::Offloading { source, .. } = self.map.place(replica) else { continue };
            if let Some(to) = self.destination(replica) {
                self.map.set_ends(replica, source, Some(to));
                self.servers.get_mut(to).used += 1;
            }
        }
        let is_drained = |(_, server): &(ServerId, &crate::servers::Server)| {
            server.state == ServerState::Draining && server.used > 0
        };
        if self.servers.iter().any(|server| is_drained(&server)) {
            let here: Vec<_> =
                self.map.replicas().filter_map(|replica| self.home(replica).map(|home| (replica, home))).collect();
            self.leave_drained(&here);
        }
    }
}
