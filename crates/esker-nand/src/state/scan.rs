//! The reads by which a translation layer recovers its map. There may be one for each page of a drive. So they are
//! stored as runs of consecutive pages per die, and handed out a few at a time.

use std::collections::VecDeque;

use esker_core::PhysicalPage;

use super::{Cause, FlashOp, FlashOpKind, OpModes};
use crate::{BlockIndex, Geometry};

/// Reads of recovery that are not tied to other operations, in the order in which they were emitted. Each read keeps
/// its index in that order.
#[derive(Clone, Debug)]
pub struct Scan {
    geometry: Geometry,
    /// Whether there is a list of reads per plane instead of per die.
    by_plane: bool,
    /// Reads per die, or per plane.
    lanes: Vec<VecDeque<ReadRun>>,
    /// Per die, the plane whose turn is next, if there is a list per plane.
    turns: Vec<u32>,
    emitted: u64,
    left: u64,
    /// Counts of reads so far.
    pub counts: ScanCounts,
    /// For each block, how many of its spare areas were read: 0, 1, or more.
    seen: Vec<u8>,
}

/// Reads of consecutive pages, emitted one after the other.
#[derive(Clone, Copy, Debug)]
struct ReadRun {
    first: u32,
    pages: u32,
    /// Index of the first read in the order of emission.
    number: u64,
    /// Whether whole pages are read, not only spare areas.
    whole: bool,
}

/// Counts of recovery reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanCounts {
    /// Spare areas read, without summaries.
    pub spare_areas: u64,
    /// Block summaries.
    pub summaries: u64,
    /// Pages of the map.
    pub map_pages: u64,
    /// Blocks with more than one spare area read.
    pub scanned_blocks: u64,
}

impl Scan {
    /// With `by_plane`, there is a list of reads per plane. That is for dies that may read several planes at once in
    /// any order, so that there is always another plane's read to combine with.
    pub fn new(geometry: &Geometry, by_plane: bool) -> Self {
        let lanes = if by_plane { geometry.planes() } else { geometry.dies() };
        Self {
            geometry: *geometry,
            by_plane,
            lanes: (0..lanes).map(|_| VecDeque::new()).collect(),
            turns: vec![0; geometry.dies() as usize],
            emitted: 0,
            left: 0,
            counts: ScanCounts::default(),
            seen: vec![0; geometry.blocks() as usize],
        }
    }

    /// Adds a read.
    pub(super) fn push(&mut self, kind: FlashOpKind) {
        let (page, whole) = match kind {
            FlashOpKind::Read { page } => (page, true),
            FlashOpKind::ReadSpare { page } => (page, false),
            _ => unreachable!("a scan only reads"),
        };
        let (block, offset) = self.geometry.split_page(page);
        self.count(block, offset, whole);
        let number = self.emitted;
        self.emitted += 1;
        self.left += 1;
        let lane = if self.by_plane { self.geometry.plane_of(block).0 } else { self.geometry.die_of(block).0 };
        let lane = &mut self.lanes[lane as usize];
        if let Some(last) = lane.back_mut()
            && last.whole == whole
            && last.first + last.pages == page.0
            && last.number + u64::from(last.pages) == number
        {
            last.pages += 1;
            return;
        }
        lane.push_back(ReadRun { first: page.0, pages: 1, number, whole });
    }

    fn count(&mut self, block: BlockIndex, offset: u32, whole: bool) {
        let counts = &mut self.counts;
        if whole {
            counts.map_pages += 1;
        } else if self.geometry.block_summary() && offset + 1 == self.geometry.pages_per_block() {
            counts.summaries += 1;
        } else {
            counts.spare_areas += 1;
            let seen = &mut self.seen[block.0 as usize];
            counts.scanned_blocks += u64::from(*seen == 1);
            *seen = (*seen + 1).min(2);
        }
    }

    /// Returns the number of reads that were not taken out yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the total number of reads emitted so far.
    pub fn emitted(&self) -> u64 {
        self.emitted
    }

    /// Returns true if reads are taken out of each die in the order of emission.
    pub fn keeps_order(&self) -> bool {
        !self.by_plane
    }

    /// Takes out up to `most` reads of `die` that are consecutive in the order of emission. Returns the index of the
    /// first one; `None` if nothing is left.
    pub fn take(&mut self, die: u32, most: u32, into: &mut Vec<FlashOp>) -> Option<u64> {
        into.clear();
        if !self.by_plane {
            return self.take_from(die as usize, most, into);
        }
        let planes = self.geometry.planes() / self.geometry.dies();
        let turn = std::mem::replace(&mut self.turns[die as usize], 0);
        let plane = (turn..turn + planes).map(|plane| plane % planes);
        let lane = |plane: &u32| (die * planes + plane) as usize;
        let plane = plane.into_iter().find(|plane| !self.lanes[lane(plane)].is_empty())?;
        self.turns[die as usize] = plane + 1;
        self.take_from(lane(&plane), 1, into)
    }

    fn take_from(&mut self, lane: usize, most: u32, into: &mut Vec<FlashOp>) -> Option<u64> {
        let run = self.lanes[lane].front_mut()?;
        let (first, number, whole) = (run.first, run.number, run.whole);
        let pages = run.pages.min(most);
        (run.first, run.pages, run.number) = (first + pages, run.pages - pages, number + u64::from(pages));
        if run.pages == 0 {
            self.lanes[lane].pop_front();
        }
        self.left -= u64::from(pages);
        into.extend((first..first + pages).map(|page| {
            let page = PhysicalPage(page);
            let kind = if whole { FlashOpKind::Read { page } } else { FlashOpKind::ReadSpare { page } };
            FlashOp { kind, cause: Cause::Recovery, after: None, awaited: false, modes: OpModes::default() }
        }));
        Some(number)
    }
}
