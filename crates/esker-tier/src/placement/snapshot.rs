//! Checkpoints of the map: complete ones, and ones that are taken in steps while the engine goes on serving.

use std::collections::BTreeMap;

use super::PlacementEngine;
use super::map::RecordedPlace;
use crate::engine::Checkpoint;
use crate::extent::{BlockRange, ExtentPlace, LogicalExtent};

/// What the journal knows about an extent: its place and its written blocks. An empty list means that all blocks are
/// written.
type RecordedExtent = (ExtentPlace, Vec<BlockRange>);

/// A checkpoint that is taken in steps. It shows the map as it was when the checkpoint began: if a record changes an
/// extent before the checkpoint has reached it, `kept` holds what the journal knew about it.
#[derive(Debug)]
pub(super) struct Snapshot {
    next: u32,
    end: u32,
    kept: BTreeMap<LogicalExtent, Option<RecordedExtent>>,
}

impl PlacementEngine {
    /// Returns what the journal knows about `extent`.
    fn recorded_extent(&self, extent: LogicalExtent) -> Option<RecordedExtent> {
        let place = match self.map.recorded(extent) {
            RecordedPlace::No => return None,
            RecordedPlace::Here => self.map.place(extent),
            RecordedPlace::Elsewhere => self.leaving.recorded_place(extent),
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

    /// Returns a complete checkpoint: the map as the journal knows it.
    pub(super) fn whole_checkpoint(&self) -> Checkpoint {
        let mut checkpoint = Checkpoint { through: self.durability.issued(), ..Checkpoint::default() };
        for extent in (0..self.map.len()).map(LogicalExtent) {
            Self::add_to_checkpoint(extent, self.recorded_extent(extent), &mut checkpoint);
        }
        checkpoint
    }

    /// Begins a checkpoint in steps, and discards one that was under way.
    pub(super) fn begin_snapshot(&mut self) -> Checkpoint {
        self.snapshot = Some(Snapshot { next: 0, end: self.map.len(), kept: BTreeMap::new() });
        Checkpoint { through: self.durability.issued(), ..Checkpoint::default() }
    }

    /// Adds up to `most` further extents to the checkpoint. Returns true if it is complete.
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

    /// Keeps what the journal knows about `extent` for the checkpoint under way, before a record changes it.
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
