//! Scripts of `ceph osd pg-upmap-items`: one that moves, one that takes back.

use std::fmt::Write;

use super::state::ClusterState;
use crate::advice::ceph::PgId;
use esker_core::words;

/// Two shell scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpmapScripts {
    /// Makes the moves.
    pub apply: String,
    /// Restores the map as it was before.
    pub undo: String,
}

/// Writes the scripts that lead from one state to another, and back.
pub(super) fn write(before: &ClusterState, after: &ClusterState) -> UpmapScripts {
    let moved: Vec<_> =
        before.pgs.iter().zip(&after.pgs).filter(|(before, after)| before.homes != after.homes).collect();
    let moves = after.moves_since(before);
    let copied = moves.iter().map(|one| one.copied_bytes).fold(0, u64::saturating_add);
    let mut apply = head(before, &format!("{} moves, {} to copy", moves.len(), words::bytes(copied as f64)));
    let mut undo = head(before, &format!("the {} moves taken back", moves.len()));
    for (then, now) in &moved {
        let places = then.homes.iter().zip(&now.homes).filter(|(from, to)| from != to).count() as u64;
        let bytes = words::bytes((now.shard_bytes.saturating_mul(places)) as f64);
        let _ = writeln!(apply, "{}  # {bytes}", command(now.id, &now.items));
    }
    for (then, _) in moved.iter().rev() {
        let _ = writeln!(undo, "{}", command(then.id, &then.items));
    }
    UpmapScripts { apply, undo }
}

/// Refuses to run on another cluster. Ceph's own balancer would take the pairs away again.
fn head(before: &ClusterState, what: &str) -> String {
    let (fsid, epoch) = (&before.map.fsid, before.map.epoch);
    format!(
        "#!/bin/sh\n\
         # Written by `esker cluster advise` for epoch {epoch} of the map: {what}.\n\
         # Ceph's balancer, if it is on in mode upmap, takes such pairs away again: `ceph balancer off`.\n\
         set -eu\n\
         if [ \"$(ceph fsid)\" != {fsid} ]; then echo 'this is not cluster {fsid}' >&2; exit 1; fi\n"
    )
}

fn command(pg: PgId, items: &[(u64, u64)]) -> String {
    if items.is_empty() {
        return format!("ceph osd rm-pg-upmap-items {pg}");
    }
    let pairs: Vec<String> = items.iter().map(|(from, to)| format!("{from} {to}")).collect();
    format!("ceph osd pg-upmap-items {pg} {}", pairs.join(" "))
}
