//! A placement group as it is planned with.

use crate::advice::ceph::PgId;

/// A placement group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PgState {
    pub(super) id: PgId,
    /// Its OSDs, in the order of its shards.
    pub(super) homes: Vec<u64>,
    /// What one of them holds.
    pub(super) shard_bytes: u64,
    /// What clients write to one of them in a day.
    pub(super) shard_bytes_per_day: f64,
    /// The pairs of `pg-upmap-items`.
    pub(super) items: Vec<(u64, u64)>,
    pub(super) may_move: bool,
}
