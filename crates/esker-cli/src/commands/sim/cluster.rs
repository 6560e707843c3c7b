//! How evenly the servers of a cluster have worn, and what moved for it, in words.

use esker_core::words;
use esker_results::ClusterReport;

/// One line for erases, and one for what was moved, if anything was.
pub(super) fn describe(cluster: &ClusterReport) -> String {
    let erases = |count: f64| words::count(count.round() as u64);
    let most = cluster.servers.iter().map(|server| server.erases).fold(0.0, f64::max);
    let mut text = format!(
        "\n  erases of a server: mean {}, standard deviation {}, most {}",
        erases(cluster.erases_mean),
        erases(cluster.erases_sd),
        erases(most)
    );
    let begun = cluster.moves_begun + cluster.copies_lost;
    if begun > 0 {
        let copied: u64 = cluster.servers.iter().map(|server| server.copied_bytes).sum();
        text += &format!(
            "\n  {} of {} moves and rebuilds of slices complete: {} objects by requests, {} copied ({})",
            words::count(cluster.moves_done),
            words::count(begun),
            words::count(cluster.objects_moved_by_requests),
            words::count(cluster.objects_copied),
            words::bytes(copied as f64),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_results::ClusterServerReport;

    #[test]
    fn wear_and_moves_are_told() {
        let server = |erases, copied_bytes| ClusterServerReport { erases, copied_bytes, ..Default::default() };
        let mut cluster = ClusterReport {
            erases_mean: 1500.0,
            erases_sd: 499.6,
            servers: vec![server(1000.0, 0), server(2000.0, 3 << 20)],
            ..Default::default()
        };
        let wear = "\n  erases of a server: mean 1 500, standard deviation 500, most 2 000";
        assert_eq!(describe(&cluster), wear);
        (cluster.moves_begun, cluster.moves_done) = (5, 4);
        (cluster.objects_moved_by_requests, cluster.objects_copied) = (60, 12);
        let moved = "\n  4 of 5 moves and rebuilds of slices complete: 60 objects by requests, 12 copied (3 MiB)";
        assert_eq!(describe(&cluster), format!("{wear}{moved}"));
    }
}
