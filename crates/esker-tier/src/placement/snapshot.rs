//! Checkpoints of the map, taken in steps while the engine goes on serving.

use std::ops::Range;

use super::PlacementEngine;
use super::map::{PlacementRecord, RecordedPlace};
use crate::engine::{Record, RecordNumber, Snapshot};
use crate::extent::LogicalExtent;

/// Blocks that a [`PlacementRecord::Scattered`] describes.
const SCATTERED_BLOCKS: usize = 96;

impl PlacementEngine {
    /// Calls `visit` with the records that make what the journal knows about `extent`.
    fn visit_recorded(&self, extent: LogicalExtent, visit: &mut dyn FnMut(Record)) {
        let place = match self.map.recorded(extent) {
            RecordedPlace::No => return,
            RecordedPlace::Here => self.map.place(extent),
            RecordedPlace::Elsewhere => self.leaving.recorded_place(extent),
        };
        let Some(place) = place else { return };
        let all = self.map.blocks_of(extent);
        let Some(run) = self.map.blocks.next_recorded(all.clone()) else { return };
        visit(PlacementRecord::Mapped { extent, place, blocks: self.map.block_range(&run) }.into());
        let mut left = run.end..all.end;
        while let Some(run) = self.map.blocks.next_recorded(left.clone()) {
            let near = run.start..(run.start + SCATTERED_BLOCKS).min(all.end);
            let is_alone = self.map.blocks.next_recorded(run.end..near.end.max(run.end)).is_none();
            let (record, end) = match is_alone {
                true => (PlacementRecord::Written { extent, blocks: self.map.block_range(&run) }, run.end),
                false => (self.scattered(extent, near.clone()), near.end),
            };
            visit(record.into());
            left.start = end;
        }
    }

    /// Returns the record of the blocks in `range`, which are few enough for one.
    fn scattered(&self, extent: LogicalExtent, range: Range<usize>) -> PlacementRecord {
        let (mut bits, mut left) = (0u128, range.clone());
        while let Some(run) = self.map.blocks.next_recorded(left.clone()) {
            bits |= ((1 << run.len()) - 1) << (run.start - range.start);
            left.start = run.end;
        }
        let first = self.map.block_range(&range).first;
        PlacementRecord::Scattered { extent, first, blocks: [0, 32, 64].map(|shift| (bits >> shift) as u32) }
    }

    /// Begins a checkpoint in steps, and discards one that was under way. Returns the last record that it includes.
    pub(super) fn begin_snapshot(&mut self) -> RecordNumber {
        self.snapshot = Some(Snapshot::new(self.map.len()));
        self.durability.issued()
    }

    /// Calls `visit` with the records of up to `most` further extents. Returns true if the checkpoint is complete.
    pub(super) fn continue_snapshot(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        let Some(mut snapshot) = self.snapshot.take() else { return true };
        for extent in snapshot.advance(most) {
            match snapshot.take_kept(extent) {
                Some(kept) => kept.into_iter().for_each(&mut *visit),
                None => self.visit_recorded(LogicalExtent(extent), visit),
            }
        }
        let is_complete = snapshot.is_complete();
        self.snapshot = (!is_complete).then_some(snapshot);
        is_complete
    }

    /// Keeps what the journal knows about `extent` for the checkpoint under way, before a record changes it.
    pub(super) fn keep_for_snapshot(&mut self, extent: LogicalExtent) {
        if self.snapshot.as_ref().is_some_and(|snapshot| snapshot.needs(extent.0)) {
            let mut records = Vec::new();
            self.visit_recorded(extent, &mut |record| records.push(record));
            self.snapshot.as_mut().expect("one is under way").keep(extent.0, records);
        }
    }
}
