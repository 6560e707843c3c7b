//! What is on its way to a server that takes no more writes.

use crate::id::{ServerId, SliceId, SliceReplica};
use crate::map::ReplicaPlace;

use super::{Effect, Router};

impl Router {
    /// A server takes no more writes. It is emptied, and what is on its way there turns round, because no write and no
    /// copy could ever complete that.
    pub(super) fn refuse(&mut self, server: ServerId, effects: &mut Vec<Effect>) {
        if !self.servers.serves(server) {
            return;
        }
        self.refusing.insert(server);
        self.take_again.remove(&server);
        self.drain(server);
        self.begin_turns(effects);
    }

    /// Returns whether a server takes no writes.
    pub(crate) fn refuses(&self, server: ServerId) -> bool {
        self.refusing.contains(&server)
    }

    /// Notes whether the device of a server that has refused writes takes them again. It is emptied all the same, but
    /// what can go nowhere else is copied there.
    pub(crate) fn takes_again(&mut self, server: ServerId, takes: bool) {
        match takes {
            true => _ = self.take_again.insert(server),
            false => _ = self.take_again.remove(&server),
        }
    }

    /// Whether a replica that is on its way to a server may complete there.
    pub(super) fn may_copy(&self, replica: SliceReplica, to: ServerId) -> bool {
        !self.refuses(to) || self.take_again.contains(&to) && !self.must_turn(replica)
    }

    /// Turns round what can no longer get to its destination, once the work under way on its slice has ended: that work
    /// still uses the old source and destination.
    pub(super) fn begin_turns(&mut self, effects: &mut Vec<Effect>) {
        let first = SliceReplica { slice: SliceId(0), replica: 0 };
        let mut slices: Vec<SliceId> =
            self.map.moving_from(first).filter(|it| self.must_turn(*it)).map(|it| it.slice).collect();
        slices.dedup();
        for slice in slices {
            self.turning.insert(slice);
            self.turn_if_quiet(slice, effects);
        }
    }

    /// Whether a replica is on its way to a server that takes no writes, and may go elsewhere: to its source unless
    /// that takes no writes either, or else away from both, which needs all of it in one place.
    fn must_turn(&self, replica: SliceReplica) -> bool {
        let ReplicaPlace::Offloading { source, destination: Some(to) } = self.map.place(replica) else { return false };
        self.refuses(to)
            && match source {
                Some(source) => !self.refuses(source) || self.map.is_all_at_source(replica),
                None => self.destination(replica).is_some(),
            }
    }

    /// Turns round what has to on a slice, if no work is under way there, and lets work begin again.
    pub(super) fn turn_if_quiet(&mut self, slice: SliceId, effects: &mut Vec<Effect>) {
        let objects = self.map.shape().objects_of(slice);
        if self.queues.running(objects.clone()).next().is_some() || !self.turning.remove(&slice) {
            return;
        }
        for replica in self.map.replicas_of(slice) {
            if self.must_turn(replica) {
                self.turn(replica, effects);
            }
        }
        self.released.extend(self.queues.busy(objects));
    }

    fn turn(&mut self, replica: SliceReplica, effects: &mut Vec<Effect>) {
        let ReplicaPlace::Offloading { source, destination: Some(from) } = self.map.place(replica) else { return };
        if let Some(source) = source {
            self.map.turn_back(replica, Some(from), source);
            effects.push(Effect::Turned { replica });
            self.complete_if_moved(replica);
        } else if let Some(to) = self.destination(replica) {
            self.map.go_on(replica, from, to);
            self.servers.get_mut(to).used += 1;
            self.report.moves_begun += 1;
        }
    }
}
