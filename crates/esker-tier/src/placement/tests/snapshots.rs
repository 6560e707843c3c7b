//! What a checkpoint says of an extent whose blocks were written with gaps between them.

use proptest::prelude::*;

use super::*;
use crate::extent::{BlockRange, PhysicalExtent};

/// Blocks of an extent of 1 MiB.
const BLOCKS: usize = 256;

/// Returns the written blocks of the second of two extents.
fn written(engine: &PlacementEngine) -> Vec<bool> {
    let blocks = engine.map.blocks_of(LogicalExtent(1));
    blocks.map(|block| engine.map.blocks.all_written(block..block + 1)).collect()
}

proptest! {
    /// The checkpoint makes the same map, and has few records however the blocks lie.
    #[test]
    fn scattered_blocks_take_few_records(
        dense in prop::collection::vec(prop::bool::weighted(0.5), BLOCKS),
        sparse in prop::collection::vec(prop::bool::weighted(0.02), BLOCKS),
        choice in 0..3,
    ) {
        let wanted: Vec<bool> = (0..BLOCKS).map(|block| match choice {
            0 => dense[block],
            1 => sparse[block],
            // Long runs, which the others do not have.
            _ => dense[block / 16] || sparse[block],
        }).collect();
        prop_assume!(wanted.contains(&true));
        let settings = settings_of(2048, &[2048 * 4], "[1]");
        let (extent, place) = (LogicalExtent(1), ExtentPlace { device: DeviceIndex(0), extent: PhysicalExtent(2) });
        let one = |first| BlockRange { first: first as u32, count: 1 };
        let mut blocks = (0..BLOCKS).filter(|&block| wanted[block]).map(one);
        let mapped = PlacementRecord::Mapped { extent, place, blocks: blocks.next().unwrap() };
        let rest = blocks.map(|blocks| PlacementRecord::Written { extent, blocks });
        let mut journal = std::iter::once(mapped).chain(rest).map(Record::from);
        let mut engine = restore(&settings, &Checkpoint::default(), &mut journal).unwrap();
        prop_assert_eq!(&written(&engine), &wanted);
        let checkpoint = Checkpoint::of(&mut engine);
        prop_assert!(checkpoint.records.len() <= 1 + BLOCKS.div_ceil(96), "{:?}", checkpoint.records);
        let again = restore(&settings, &checkpoint, &mut std::iter::empty()).unwrap();
        prop_assert_eq!(written(&again), wanted);
    }
}
