//! YCSB's core workloads A to F by their definitions (Cooper et al., SoCC 2010, and the files `workloads/workload?` of
//! YCSB): their mixes of operations, scrambled Zipf's law with exponent 0.99, D's newest records first, and E's scans
//! of 1 to 100 records.
//!
//! Records are those of table 7.1's YCSB column, 44 KiB, five in an object of 256 KiB, instead of YCSB's 1 KB; four
//! fifths of the key space are loaded, the rest is for inserts. E, whose scans read a hundred times as much as an
//! operation of the others, has a twentieth of the operations.

use esker_core::Rng;
use esker_trace::{Permutation, Zipf};

use super::loads::{Access, OBJECT, RECORD, TABLE};

/// A core workload: percent of the operations, the rest are scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Core {
    pub(super) name: &'static str,
    reads: u64,
    updates: u64,
    inserts: u64,
    read_modify_writes: u64,
    /// Whether the newest records are the most popular ones.
    is_latest: bool,
}

const fn core(name: &'static str, mix: [u64; 4], is_latest: bool) -> Core {
    let [reads, updates, inserts, read_modify_writes] = mix;
    Core { name, reads, updates, inserts, read_modify_writes, is_latest }
}

/// A to F.
pub(super) const CORES: [Core; 6] = [
    core("ycsb-a", [50, 50, 0, 0], false),
    core("ycsb-b", [95, 5, 0, 0], false),
    core("ycsb-c", [100, 0, 0, 0], false),
    core("ycsb-d", [95, 0, 5, 0], true),
    core("ycsb-e", [0, 0, 5, 0], false),
    core("ycsb-f", [50, 0, 0, 50], false),
];

/// Exponent of Zipf's law, and the longest scan.
const EXPONENT: f64 = 0.99;
const SCAN_MOST: u64 = 100;
/// Records in an object.
const IN_OBJECT: u64 = OBJECT / RECORD;

/// First byte of a record's place.
const fn at(place: u64) -> u64 {
    place / IN_OBJECT * OBJECT + place % IN_OBJECT * RECORD
}

impl Core {
    /// Share of operations that write, percent.
    pub(super) const fn writes(&self) -> u64 {
        self.updates + self.inserts + self.read_modify_writes
    }

    /// The requests on `objects` objects, as many operations as table 7.1 has requests, divided.
    pub(super) fn accesses(&self, objects: u64, fewer: u32, seed: u64) -> Vec<Access> {
        let mut rng = Rng::derive(seed, self.name);
        let records = objects * IN_OBJECT;
        let (places, keys) = (Permutation::new(records, rng.next_u64()), Permutation::new(records, rng.next_u64()));
        let (mut loaded, mut all) = (records * 4 / 5, Vec::new());
        let zipf = Zipf::new(loaded, EXPONENT);
        let scans = self.reads == 0;
        let operations = TABLE[0].count(fewer) / if scans { 20 } else { 1 };
        for _ in 0..operations {
            let rank = zipf.draw(&mut rng);
            // Scrambled: popular keys lie anywhere among those that are loaded.
            let key = if self.is_latest { loaded - 1 - rank } else { keys.apply(rank) % loaded };
            let (draw, offset) = (rng.below(100), at(places.apply(key)));
            if draw < self.reads {
                all.push(Access::read(offset, RECORD));
            } else if draw < self.reads + self.updates {
                all.push(Access::write(offset, RECORD));
            } else if draw < self.reads + self.updates + self.inserts {
                all.push(Access::write(at(places.apply(loaded)), RECORD));
                // A key space that is full takes its last record again.
                loaded = (loaded + 1).min(records - 1);
            } else if draw < self.writes() + self.reads {
                all.extend([Access::read(offset, RECORD), Access::write(offset, RECORD)]);
            } else {
                let first = places.apply(key);
                let end = (first + 1 + rng.below(SCAN_MOST)).min(records);
                all.extend((first..end).map(|place| Access::read(at(place), RECORD)));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_trace::Operation;

    #[test]
    fn the_mixes_are_those_of_the_definitions() {
        for core in CORES {
            let all = core.accesses(1700, 1, 1);
            let writes = all.iter().filter(|access| access.operation == Operation::Write).count() as f64;
            let operations = (TABLE[0].count(1) / if core.reads == 0 { 20 } else { 1 }) as f64;
            assert!((writes / operations * 100.0 - core.writes() as f64).abs() < 1.5, "{}", core.name);
            let reads = all.len() as f64 - writes;
            let each = match core.name {
                "ycsb-e" => 0.95 * 50.5,
                "ycsb-f" => 1.0,
                _ => core.reads as f64 / 100.0,
            };
            assert!((reads / operations / each - 1.0).abs() < 0.06, "{}: {reads}", core.name);
            assert!(all.iter().all(|access| access.offset % OBJECT + access.length <= OBJECT));
        }
    }

    #[test]
    fn d_reads_what_was_inserted_last() {
        let all = CORES[3].accesses(1700, 1, 1);
        let inserted: std::collections::BTreeSet<u64> =
            all.iter().filter(|access| access.operation == Operation::Write).map(|access| access.offset).collect();
        let reads: Vec<&Access> = all.iter().filter(|access| access.operation == Operation::Read).collect();
        let new = reads.iter().filter(|access| inserted.contains(&access.offset)).count();
        assert!(new as f64 > 0.6 * reads.len() as f64, "{new} of {}", reads.len());
    }
}
