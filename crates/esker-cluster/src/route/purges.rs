//! Fencing: what a server may forget about a slice, and what it has to refuse from then on.

use crate::id::{ServerId, SliceId};
use crate::map::{MapEpoch, ReplicaPlace};

use super::{Effect, Router, ServerWork, Stamp, UnderWay};

impl Router {
    /// Wants a server to refuse work of epochs before `epoch` on a slice. If nothing works on the slice, the purge
    /// waits for the next end of an epoch.
    pub(super) fn want_purge(&mut self, slice: SliceId, server: ServerId, epoch: MapEpoch) {
        let wanted = self.purges.entry((slice, server)).or_insert(epoch);
        *wanted = epoch.max(*wanted);
    }

    /// Issues the purges of a slice that no work of an older epoch keeps back.
    pub(super) fn purge_if_quiet(&mut self, slice: SliceId, effects: &mut Vec<Effect>) {
        let of_slice = (slice, ServerId(0))..=(slice, ServerId(u16::MAX));
        if self.purges.range(of_slice.clone()).next().is_none() {
            return;
        }
        let running = self.queues.running(self.map.shape().objects_of(slice));
        let oldest = running.map(|work| self.works[&work].epoch).min();
        let due: Vec<_> = self.purges.range(of_slice).map(|((_, server), epoch)| (*server, *epoch)).collect();
        for (server, epoch) in due.into_iter().filter(|(_, epoch)| oldest.is_none_or(|oldest| oldest >= *epoch)) {
            self.purges.remove(&(slice, server));
            // A server at either end of a motion gets its purge when that is complete.
            if !self.servers.serves(server) || self.is_end_of_motion(slice, server) {
                continue;
            }
            let mut replicas = self.map.replicas_of(slice);
            let keep = replicas.any(|replica| self.map.place(replica) == ReplicaPlace::Complete(server));
            let stamp = Stamp { epoch, version: self.next_version() };
            let under_way = UnderWay::Purge(slice, server, epoch);
            self.issue(ServerWork::Purge { server, slice, keep }, None, stamp, under_way, effects);
        }
    }

    fn is_end_of_motion(&self, slice: SliceId, server: ServerId) -> bool {
        self.map.replicas_of(slice).any(|replica| match self.map.place(replica) {
            ReplicaPlace::Complete(_) => false,
            ReplicaPlace::Offloading { source, destination } => source == Some(server) || destination == Some(server),
        })
    }

    /// Ends a balancing epoch.
    pub(super) fn end_epoch(&mut self, effects: &mut Vec<Effect>) {
        self.retry_placing();
        self.begin_turns(effects);
        let slices = std::mem::take(&mut self.with_tombstones);
        if !slices.is_empty() {
            let epoch = self.map.raise_epoch();
            let replicas: Vec<_> = slices.into_iter().flat_map(|slice| self.map.replicas_of(slice)).collect();
            for replica in replicas {
                // Replicas in motion keep their tombstones until the source is purged.
                if let Some(home) = self.home(replica) {
                    self.want_purge(replica.slice, home, epoch);
                }
            }
        }
        let mut waiting: Vec<SliceId> = self.purges.keys().map(|(slice, _)| *slice).collect();
        waiting.dedup();
        waiting.into_iter().for_each(|slice| self.purge_if_quiet(slice, effects));
    }
}
