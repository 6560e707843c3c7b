//! Checkpoints of the map: in one piece, and in steps while the engine goes on serving.

use std::collections::BTreeMap;

use super::PlacementEngine;
use super::map::Recorded;
use crate::engine::Checkpoint;
use crate::extent::{BlockRange, ExtentPlace, LogicalExtent};

/// What the journal knows of an extent: its place, and the blocks that were written; none for all of them.
type RecordedExtent = (ExtentPlace, Vec<BlockRange>);

/// A checkpoint that is taken in steps. It shows the map of the moment at which it began: what a record changes before
/// the checkpoint has come there is kept as it was.
#[derive(Debug)]
pub(super) struct Snapshot {
    next: u32,
    end: u32,
    kept: BTreeMap<LogicalExtent, Option<RecordedExtent>>,
}

impl PlacementEngine {
    /// What the journal knows of `extent`.
    fn recorded_extent(&self, extent: LogicalExtent) -> Option<RecordedExtent> {
        let place = match self.map.recorded(extent) {
            Recorded::No => return None,
            Recorded::Here => self.map.place(extent),
            Recorded::Elsewhere => self.leaving.recorded_place(extent),
        }?;
        let blocks = self.map.blocks_of(extent);
        if self.map.blocks.all_recorded(blocks.clone()) {
            return Some((place, Vec::new()));
        }
        let runs = self.map.blocks.recorded(blocks);
        Some((place, runs.iter().map(|run| self.map.block_range(run)).collect()))
    }

    fn add_to_checkpoint(extent: LogicalExtent, recorded: Option<RecordedExtent>, into: &mut Checkpoint) {
        let Some((place, runs)) = recorded else { return };
        into.extents.push((extent, place));
        into.partly_written.extend(runs.into_iter().map(|run| (extent, run)));
    }

    /// The map as the journal knows it, in one piece.
    pub(super) fn whole_checkpoint(&self) -> Checkpoint {
        let mut checkpoint = Checkpoint { through: self.durability.issued(), ..Checkpoint::default() };
        for extent in (0..self.map.len()).map(LogicalExtent) {
            Self::add_to_checkpoint(extent, self.recorded_extent(extent), &mut checkpoint);
        }
        checkpoint
    }

    /// Begins a checkpoint in steps, and forgets one that was under way.
    pub(super) fn begin_snapshot(&mut self) -> Checkpoint {
        self.snapshot = Some(Snapshot { next: 0, end: self.map.len(), kept: BTreeMap::new() });
        Checkpoint { through: self.durability.issued(), ..Checkpoint::default() }
    }

    /// Adds the next `most` extents to the checkpoint that was begun. Returns whether it is complete.
    pub(super) fn continue_snapshot(&mut self, most: u32, into: &mut Checkpoint) -> bool {
        let Some(mut snapshot) = self.snapshot.take() else { return true };
        let end = snapshot.next.saturating_add(most).min(snapshot.end);
        for extent in (snapshot.next..end).map(LogicalExtent) {
            let recorded = snapshot.kept.remove(&extent).unwrap_or_else(|| self.recorded_extent(extent));
            Self::add_to_checkpoint(extent, recorded, into);
        }
        snapshot.next = end;
        let complete = end == snapshot.end;
        self.snapshot = (!complete).then_some(snapshot);
        complete
    }

    /// Keeps what the journal knows of `extent` for the checkpoint under way, before a record changes it.
    pub(super) fn keep_for_snapshot(&mut self, extent: LogicalExtent) {
        let concerns = |snapshot: &Snapshot| {
            (snapshot.next..snapshot.end).contains(&extent.0) && !snapshot.kept.contains_key(&extent)
        };
        if self.snapshot.as_ref().is_some_and(concerns) {
            let recorded = self.recorded_extent(extent);
            self.snapshot.as_mut().expect("one is under way").kept.insert(extent, recorded);
        }
    }
}
