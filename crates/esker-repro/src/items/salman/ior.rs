//! The HPC load in the shape of IOR: ranks write a shared file, each its own block of it, by transfers in turn, and
//! read a part of it back; then they write it again.
//!
//! Transfers are of 4 KiB, the mean size in table 7.1. Not in the thesis, and assumed: 16 ranks with blocks of 16 MiB,
//! one segment.

use super::loads::{Access, HPC, PAGE, TABLE};

/// What the claims were measured on.
pub(super) const STAND_IN: &str = "IOR's shape with the count and the share of writes of table 7.1 divided by 8: 16 \
                                   ranks write a file of 256 MiB in transfers of 4 KiB, again and again";

const RANKS: u64 = 16;
const BLOCK: u64 = 16 << 20;

/// The requests, as many as table 7.1 has, divided. The file lies at the beginning of the cluster.
pub(super) fn accesses(fewer: u32) -> Vec<Access> {
    let transfers = BLOCK / PAGE;
    let load = TABLE[HPC];
    // As many are read back as give the table's share of writes.
    let back = (transfers as f64 * (100.0 - load.writes) / load.writes).round() as u64;
    let turn = |transfer: u64| (0..RANKS).map(move |rank| rank * BLOCK + transfer * PAGE);
    let writes = (0..transfers).flat_map(turn).map(|offset| Access::write(offset, PAGE));
    let reads = (0..back).flat_map(turn).map(|offset| Access::read(offset, PAGE));
    writes.chain(reads).cycle().take(load.count(fewer) as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_trace::Operation;

    #[test]
    fn ranks_write_their_blocks_in_turn_again_and_again() {
        let all = accesses(1);
        assert_eq!(all.len() as u64, TABLE[HPC].count(1));
        assert_eq!(all[1].offset - all[0].offset, BLOCK);
        assert_eq!(all[RANKS as usize].offset, PAGE);
        let writes = all.iter().filter(|access| access.operation == Operation::Write).count() as f64;
        assert!((writes / all.len() as f64 * 100.0 - TABLE[HPC].writes).abs() < 0.7);
        assert_eq!(all.iter().map(|access| access.offset).max(), Some(RANKS * BLOCK - PAGE));
        let first = all.iter().filter(|access| access.offset == 0).count() as u64;
        assert!(first > 10, "{first}");
    }
}
