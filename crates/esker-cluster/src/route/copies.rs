//! Copies of what no write has moved, within a budget that the caller grants.

use esker_core::Bytes;

use crate::id::{ServerId, SliceId, SliceReplica};
use crate::map::{MapEpoch, ReplicaPlace};

use super::Router;
use super::requests::{ObjectWork, WorkKind};

/// Why an object is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// Its replica has lost its source.
    Rebuild,
    /// It leaves its source.
    Move,
}

/// How far copying has come, and what it may still copy.
#[derive(Clone, Debug)]
pub(super) struct CopyCursor {
    budget: u64,
    /// The object after the last one that was copied, for each aim.
    at: [(SliceReplica, usize); 2],
    /// Whether any of the rebuilds that have ended since the last grant has succeeded.
    has_rebuilt: Option<bool>,
    /// Whether all rebuilds have failed that ended last: then they take turns with other copies.
    rebuilds_in_vain: bool,
    /// Why the last object was copied.
    last: Aim,
    /// When nothing in motion had an aim, by the epoch of the map: then nothing has to be looked through.
    without: [Option<MapEpoch>; 2],
}

impl Default for CopyCursor {
    fn default() -> Self {
        let first = (SliceReplica { slice: SliceId(0), replica: 0 }, 0);
        Self {
            budget: 0,
            at: [first; 2],
            has_rebuilt: None,
            rebuilds_in_vain: false,
            last: Aim::Move,
            without: [None; 2],
        }
    }
}

impl CopyCursor {
    /// Notes that a rebuild has ended.
    pub(super) fn rebuild_ended(&mut self, ok: bool) {
        self.has_rebuilt = Some(ok || self.has_rebuilt == Some(true));
    }

    fn begin_grant(&mut self) {
        if let Some(has_rebuilt) = self.has_rebuilt.take() {
            self.rebuilds_in_vain = !has_rebuilt;
        }
    }

    /// What the next object is copied for, if there is any. Rebuilds come first, unless that leads nowhere.
    fn order(&self) -> [Aim; 2] {
        match self.rebuilds_in_vain && self.last == Aim::Rebuild {
            true => [Aim::Move, Aim::Rebuild],
            false => [Aim::Rebuild, Aim::Move],
        }
    }
}

impl Router {
    /// Returns whether everything that was set in motion is complete, so that a balancing round may begin. What no
    /// server has any more, and what no server takes, does not count.
    pub fn is_settled(&self) -> bool {
        let open = |replica: SliceReplica| {
            self.takes_copies(replica) && self.map.not_moved(replica, 0).any(|index| self.is_known(replica, index))
        };
        !self.map.moving_from(self.copies.at[0].0).any(open)
    }

    /// Whether a replica in motion has a destination that takes it.
    fn takes_copies(&self, replica: SliceReplica) -> bool {
        let ReplicaPlace::Offloading { destination, .. } = self.map.place(replica) else { return false };
        destination.is_some_and(|to| self.may_copy(replica, to))
    }

    /// Returns a server that something is on its way to, and that takes no writes, if there is nothing else to copy.
    pub(crate) fn waits_for(&self) -> Option<ServerId> {
        if self.refusing.is_empty() || !self.is_settled() {
            return None;
        }
        self.map.moving_from(self.copies.at[0].0).find_map(|replica| match self.map.place(replica) {
            ReplicaPlace::Offloading { destination, .. } => destination.filter(|to| !self.may_copy(replica, *to)),
            ReplicaPlace::Complete(_) => None,
        })
    }

    /// Lets `bytes` be copied, and begins copies as far as the budget goes. What is left of earlier grants counts up to
    /// one object, so that small grants add up and large ones do not pile up while there is nothing to copy.
    pub(super) fn grant(&mut self, bytes: Bytes) {
        let object = self.map.shape().object.0;
        self.copies.budget = self.copies.budget.min(object).saturating_add(bytes.0);
        self.copies.begin_grant();
        // Within a grant, what was once looked through in vain is not looked through again.
        let mut has_more = [true; 2];
        while self.copies.budget >= object {
            let next = self.copies.order().into_iter().find_map(|aim| {
                let next = if has_more[aim as usize] { self.look_for(aim) } else { None };
                has_more[aim as usize] = next.is_some();
                next.map(|next| (aim, next))
            });
            let Some((aim, (replica, index))) = next else { break };
            self.copies.budget -= object;
            (self.copies.at[aim as usize], self.copies.last) = ((replica, index + 1), aim);
            let object = self.map.shape().object_of(replica.slice, index);
            self.enqueue(ObjectWork::new(object, WorkKind::Copy(replica)));
        }
    }

    /// Returns the next object to copy, and remembers if there is no replica to look at.
    fn look_for(&mut self, aim: Aim) -> Option<(SliceReplica, usize)> {
        if self.copies.without[aim as usize] == Some(self.map.epoch()) {
            return None;
        }
        let next = self.next_copy(aim);
        if next.is_none() {
            let has_aim = |replica| self.aim_of(replica) == Some(aim);
            let is_without = !self.map.moving_from(self.copies.at[0].0).any(has_aim);
            self.copies.without[aim as usize] = is_without.then(|| self.map.epoch());
        }
        next
    }

    /// Returns why a replica is in motion.
    fn aim_of(&self, replica: SliceReplica) -> Option<Aim> {
        match self.map.place(replica) {
            ReplicaPlace::Complete(_) => None,
            ReplicaPlace::Offloading { source: None, .. } => Some(Aim::Rebuild),
            ReplicaPlace::Offloading { source: Some(_), .. } => Some(Aim::Move),
        }
    }

    /// Returns the next object to copy, going round from where the last one was: so one that keeps failing does not
    /// keep back the others.
    fn next_copy(&self, aim: Aim) -> Option<(SliceReplica, usize)> {
        let (at, index) = self.copies.at[aim as usize];
        let of_replica = |replica: SliceReplica, from: usize| {
            if self.aim_of(replica) != Some(aim) || !self.takes_copies(replica) {
                return None;
            }
            let is_free = |index: &usize| {
                self.queues.is_idle(self.map.shape().object_of(replica.slice, *index)) && self.is_known(replica, *index)
            };
            self.map.not_moved(replica, from).find(is_free).map(|index| (replica, index))
        };
        let mut round = self.map.moving_from(at);
        let next = round.find_map(|replica| of_replica(replica, if replica == at { index } else { 0 }));
        next.or_else(|| of_replica(at, 0))
    }
}
