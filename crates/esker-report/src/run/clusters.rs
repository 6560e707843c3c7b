//! The clusters of a run, as tables show them.

use esker_results::{ClusterReport, ClusterServerReport, RunResults};

use super::children::ordered;

/// A cluster and its servers.
pub(crate) struct Cluster<'a> {
    pub(crate) name: &'a str,
    pub(crate) report: &'a ClusterReport,
    /// The servers by name, in their order.
    pub(crate) servers: Vec<(&'a str, &'a ClusterServerReport)>,
}

impl Cluster<'_> {
    /// Bytes that were copied to all servers.
    pub(crate) fn copied_bytes(&self) -> u64 {
        self.report.servers.iter().map(|server| server.copied_bytes).sum()
    }

    /// Copied bytes for each byte that was written for the host.
    pub(crate) fn extra_writes(&self) -> f64 {
        let written: u64 = self.report.servers.iter().map(|server| server.written_bytes).sum();
        self.copied_bytes() as f64 / written.max(1) as f64
    }
}

/// All clusters of a run.
pub(crate) fn clusters(results: &RunResults) -> Vec<Cluster<'_>> {
    let all = results.devices.iter().filter_map(|(name, device)| {
        let report = device.cluster.as_ref()?;
        let servers = ordered(results, &device.children).into_iter().zip(&report.servers).collect();
        Some(Cluster { name, report, servers })
    });
    all.collect()
}
