//! What a cluster did, for results.

use esker_core::Bytes;
use esker_results::{ClusterReport, ClusterServerReport, DeviceReport};

use super::ClusterEngine;
use super::epochs::ServerEpoch;
use crate::balance::WearSum;
use crate::id::ServerId;
use crate::route::RouterReport;

/// Counts since measuring started.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) servers: Vec<ServerCounts>,
    /// Rounds of balancing in which something was to move.
    pub(super) rounds: u64,
    /// What the router had done before.
    pub(super) since: RouterReport,
}

/// Bytes written to a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerCounts {
    host: Bytes,
    copies: Bytes,
}

impl Counts {
    pub(super) fn new(servers: usize) -> Self {
        Self { servers: vec![ServerCounts::default(); servers], rounds: 0, since: RouterReport::default() }
    }

    /// Counts a write to a server, for the host or for a copy.
    pub(super) fn written(&mut self, server: ServerId, length: Bytes, is_copy: bool) {
        let counts = &mut self.servers[server.index()];
        let bytes = if is_copy { &mut counts.copies } else { &mut counts.host };
        bytes.0 += length.0;
    }
}

impl ClusterEngine {
    pub(super) fn report_cluster(&self, into: &mut DeviceReport) {
        let (shape, now, before) = (self.router.map().shape(), self.router.report(), &self.counts.since);
        let erases = WearSum::of(self.epochs.servers.iter().map(ServerEpoch::erases));
        let servers = self.counts.servers.iter().zip(&self.epochs.servers).zip(self.router.servers().iter());
        let servers = servers.map(|((counts, known), (_, server))| ClusterServerReport {
            slices: server.used,
            written_bytes: counts.host.0,
            copied_bytes: counts.copies.0,
            erases: known.erases(),
        });
        into.cluster = Some(ClusterReport {
            slices: shape.slices,
            objects_per_slice: shape.objects_per_slice,
            object_bytes: shape.object.0,
            replicas: shape.replicas,
            rounds: self.counts.rounds,
            moves_begun: now.moves_begun - before.moves_begun,
            copies_lost: now.replicas_lost - before.replicas_lost,
            moves_done: now.moves_done - before.moves_done,
            moves_refused: now.moves_refused - before.moves_refused,
            objects_moved_by_requests: now.moved_by_requests - before.moved_by_requests,
            objects_copied: now.copies - before.copies,
            merges: now.merges - before.merges,
            map_bytes: self.router.map().offloading_bytes() as u64,
            erases_mean: erases.mean(),
            erases_sd: erases.deviation(),
            servers: servers.collect(),
            epochs: self.epochs.timeline.clone(),
        });
    }
}
