//! Tests of a divided cache.

use std::collections::BTreeSet;

use esker_cache::{Access, AccessKind, NEVER, ObjectId, Replacement};
use esker_core::{Ratio, Rng};

use super::*;

const SIZES: CacheSizes = CacheSizes { line: Bytes(4096), slots: 104, most: 104, room: 100, seed: 1 };

fn access(line: u32, volume: u16, is_write: bool) -> LineAccess {
    LineAccess { line, volume, is_write, is_zeroes: false, is_whole: true, is_held: false, is_dirty: false }
}

fn fixed(by: PartitionBy, percents: &[u64]) -> Partition {
    let shares = percents.iter().map(|&percent| Ratio::percent(percent)).collect();
    let settings = PartitionSettings { shares: Some(shares), ..PartitionSettings::by(by) };
    Partition::new(&settings, &SIZES)
}

/// With all lines in the sample, the miniature of a split counts what a cache with that split does.
#[test]
fn miniatures_count_what_caches_with_their_split_do() {
    const ROOM: u32 = 200;
    const LINES: u32 = 1000;
    let (mut splits, mut rng) = (Splits::new(ROOM, 1), Rng::new(9));
    let accesses: Vec<LineAccess> = (0..20_000)
        .map(|_| {
            let line = (rng.unit().powi(2) * f64::from(LINES)) as u32;
            LineAccess { is_whole: rng.chance(3, 4), ..access(line, 0, rng.chance(1, 3)) }
        })
        .collect();
    accesses.iter().for_each(|access| splits.access(access));
    for expected in splits.expected() {
        let written = (expected.written * 100.0).round() as u32;
        let mut cache = Partitioned::new(ROOM, LINES, &[100 - written, written]);
        let mut dirty = BTreeSet::new();
        let (mut reads, mut writes) = (0, 0);
        for &LineAccess { line, is_write, is_whole, .. } in &accesses {
            let object = Access { object: ObjectId(line), bytes: 0, kind: AccessKind::Read, next_use: NEVER };
            cache.assign(object.object, u16::from(is_write || dirty.contains(&line)));
            if !cache.hit(&object) {
                reads += u32::from(!is_write || !is_whole);
                cache.insert(&object).into_iter().for_each(|left| _ = dirty.remove(&left.0));
            }
            writes += u32::from(is_write && dirty.insert(line));
        }
        let found = [expected.reads, expected.writes].map(|each| (each * accesses.len() as f64).round() as u32);
        assert_eq!(found, [reads, writes], "{written} %");
    }
}

/// A small gain over the present split is no reason to change, and each part keeps the least share that was asked for.
#[test]
fn splits_stay_unless_another_one_gains() {
    let expected = |written: f64, reads| SplitEstimate { written, reads, writes: 0.1 };
    let all = [expected(0.1, 0.100), expected(0.5, 0.101), expected(0.9, 0.2)];
    assert_eq!(split(&all, 0.5, 0.05, [1.0, 1.0]), Some(0.5));
    assert_eq!(split(&all, 0.9, 0.05, [1.0, 1.0]), Some(0.1));
    assert_eq!(split(&all, 0.9, 0.3, [1.0, 1.0]), Some(0.5));
    assert_eq!(split(&all, 0.9, 0.05, [0.0, 1.0]), Some(0.9), "reads that cost nothing");
    assert_eq!(split(&[], 0.5, 0.05, [1.0, 1.0]), None);
}

/// A written line goes to the dirty part, and stays there when it is read while it is dirty.
#[test]
fn dirty_lines_are_a_part_of_their_own() {
    let partition = fixed(PartitionBy::Access, &[40, 60]);
    let read = access(1, 0, false);
    let parts = [read, LineAccess { is_dirty: true, ..read }, access(1, 0, true)].map(|one| partition.part_of(&one));
    assert_eq!(parts, [0, 1, 1]);
    assert_eq!([false, true].map(|is_dirty| partition.part_of_restored(is_dirty)), [0, 1]);
}

/// With fixed shares, the last part takes all volumes with higher numbers.
#[test]
fn volumes_beyond_the_last_share_have_that_one() {
    let mut partition = fixed(PartitionBy::Volume, &[40, 60]);
    let parts = [0, 1, 2, 900].map(|volume| partition.part_of(&access(1, volume, false)));
    assert_eq!(parts, [0, 1, 1, 1]);
    assert!(!partition.count(Nanos::ZERO, &access(1, 900, false)));
    assert_eq!(partition.uses[1].misses, 1);
}

/// A volume gets room when it is first used, whatever its number. Volumes that are never used get none, and those
/// beyond the last part share it.
#[test]
fn volumes_join_with_the_mean_share() {
    let mut partition = Partition::new(&PartitionSettings::by(PartitionBy::Volume), &SIZES);
    let mut join = |volume| {
        let changed = partition.count(Nanos::ZERO, &access(u32::from(volume), volume, false));
        (changed, partition.weights.clone())
    };
    assert_eq!(join(2), (true, vec![0, 0, 1]));
    assert_eq!(join(2), (false, vec![0, 0, 1]));
    assert_eq!(join(0), (true, vec![1, 0, 1]));
    partition.start_measuring();
    let mut join = |volume| {
        partition.count(Nanos::ZERO, &access(u32::from(volume), volume, false));
        partition.weights.clone()
    };
    assert_eq!(join(1), [1; 3], "what was counted before does not matter");
    assert_eq!(join(60_000).len(), 256);
    assert_eq!(partition.part_of(&access(7, 60_001, false)), 255);
}
