//! Copies of what no write has moved, within a budget that the caller grants.

use esker_core::Bytes;

use crate::id::{SliceId, SliceReplica};
use crate::map::ReplicaPlace;

use super::Router;
use super::requests::{ObjectWork, WorkKind};

/// How far copying has come, and what it may still copy.
#[derive(Clone, Debug)]
pub(super) struct CopyCursor {
    budget: u64,
    replica: SliceReplica,
    index: usize,
}

impl Default for CopyCursor {
    fn default() -> Self {
        Self { budget: 0, replica: SliceReplica { slice: SliceId(0), replica: 0 }, index: 0 }
    }
}

impl Router {
    /// Returns whether everything that was set in motion is complete, so that a balancing round may begin. What no
    /// server has any more, and what no server takes, does not count.
    pub fn is_settled(&self) -> bool {
        let open = |replica: SliceReplica| {
            self.map
                .not_moved(replica, 0)
                .any(|index| self.map.writer(replica, index).is_some() && self.is_known(replica, index))
        };
        !self.map.moving_from(self.copies.replica).any(open)
    }

    /// Lets `bytes` be copied, and begins copies as far as the budget goes. What is left of earlier grants counts up to
    /// one object, so that small grants add up and large ones do not pile up while there is nothing to copy.
    pub(super) fn grant(&mut self, bytes: Bytes) {
        let object = self.map.shape().object.0;
        self.copies.budget = self.copies.budget.min(object).saturating_add(bytes.0);
        // Rebuilds first. Within a grant, what was once looked through for them is not looked through again.
        let mut rebuilds = true;
        while self.copies.budget >= object {
            let rebuild = if rebuilds { self.next_copy(true) } else { None };
            rebuilds = rebuild.is_some();
            let Some((replica, index)) = rebuild.or_else(|| self.next_copy(false)) else { break };
            self.copies.budget -= object;
            (self.copies.replica, self.copies.index) = (replica, index + 1);
            let object = self.map.shape().object_of(replica.slice, index);
            self.enqueue(ObjectWork::new(object, WorkKind::Copy(replica)));
        }
    }

    /// Returns the next object to copy, going round from where the last one was: so one that keeps failing does not
    /// keep back the others. With `rebuild`, only of replicas that have lost their source.
    fn next_copy(&self, rebuild: bool) -> Option<(SliceReplica, usize)> {
        let CopyCursor { replica: at, index, .. } = self.copies;
        let of_replica = |replica: SliceReplica, from: usize| {
            let ReplicaPlace::Offloading { source, destination } = self.map.place(replica) else { return None };
            if destination.is_none() || rebuild != source.is_none() {
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
