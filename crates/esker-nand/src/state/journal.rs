//! The state of the cells after a power failure.
//!
//! When a drive loses power, each die has performed a prefix of the operations it was given. To be able to compute the
//! resulting state, [`FlashState`] can keep a journal: sequence numbers in the spare areas, the content of map pages,
//! and the changes that may not have been performed yet.
//!
//! The order of operations on different dies matters in three places, where the controller waits. An erase, a program
//! of a map page, and in block-mapped layers the first program of a block begin only after everything that was issued
//! earlier for their pool has ended. Otherwise data could be erased while their newer version is still on its way to
//! another die; the map could point to data that were never written; and all free blocks of one die could fill while
//! another die lags behind, which would leave no free block for merges. A copy waits for the program of the page that
//! it reads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use esker_core::PhysicalPage;

use super::flash::FlashState;
use super::{Cause, FlashOpKind, OpSink};
use crate::BlockIndex;
use crate::memory::zeroed;

/// The sequence number of a torn page: its program or erase was interrupted by a power failure.
const TORN: u64 = u64::MAX;

/// The content of a spare area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpareArea {
    /// The page is erased.
    Erased,
    /// The page was being programmed or erased when power failed.
    Unreadable,
    /// The page was programmed.
    Programmed {
        /// The owner of the page's data.
        owner: u32,
        /// Number of the program. Later programs have higher numbers, over the whole device.
        sequence: u64,
        /// The sequence number of the write that the data come from. Copies keep it: pages of one owner with equal
        /// versions hold the same data.
        version: u64,
        /// The role that the translation layer gave the block; see [`FlashState::open_as`].
        role: u8,
    },
}

/// The content of a map page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapPage {
    /// Map entries.
    pub entries: Box<[u32]>,
    /// Map pages contain all changes of this pool's map, except for data in blocks whose first page has at least this
    /// sequence number.
    pub saved_before: u64,
}

/// What became of a change at a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeFate {
    /// It was performed.
    Performed,
    /// Its die was performing it.
    Interrupted,
    /// It had not begun.
    NotBegun,
}

/// A change of the cells that may not have been performed yet.
#[derive(Clone, Debug)]
enum Change {
    Program { page: PhysicalPage, from: Option<PhysicalPage>, cause: Cause, waits: bool },
    Erase { block: BlockIndex, cause: Cause, held: Held },
}

impl Change {
    /// Returns true if the change waits for everything that was issued earlier for its pool.
    fn waits(&self) -> bool {
        matches!(self, Self::Erase { .. } | Self::Program { waits: true, .. })
    }
    fn is_erase(&self) -> bool {
        matches!(self, Self::Erase { .. })
    }
}

/// The content of a block before it was erased.
#[derive(Clone, Debug)]
struct Held {
    /// Pages that were programmed or skipped.
    written: u32,
    /// Whether pages were copied from it.
    copied: bool,
    owners: Vec<u32>,
    sequences: Vec<u64>,
    versions: Vec<u64>,
    /// Tags of write modes, if there are several.
    tags: Vec<u8>,
    role: u8,
    maps: Vec<(u32, MapPage)>,
}

/// The journal; see the module's documentation.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    /// Per page, its sequence number; zero if erased.
    sequences: Vec<u64>,
    /// Per page, the sequence number of the write that its data come from.
    versions: Vec<u64>,
    /// Per block, the role for which it was opened.
    roles: Vec<u8>,
    /// Blocks that were taken out of use since their last erase.
    bad: BTreeSet<u32>,
    next: u64,
    /// Whether the next program is the first of a block and has to wait, as its layer asked.
    opens: bool,
    maps: BTreeMap<u32, MapPage>,
    blocks_per_pool: u32,
    /// For each pool, the lowest sequence number of the first page of an open data block.
    oldest_open: Vec<u64>,
    /// Unsettled changes, in the order of issue.
    changes: VecDeque<Change>,
    /// Number of changes issued before [`Self::changes`], since the journal was started.
    first: u64,
    /// Whether changes are settled as soon as they are issued.
    settled: bool,
}

impl Journal {
    pub(super) fn programmed(&mut self, page: PhysicalPage) {
        self.sequences[page.0 as usize] = self.next;
        self.versions[page.0 as usize] = self.next;
        self.next += 1;
    }
    /// Records programs of `count` consecutive pages from `first` on, the first with number `sequence`.
    pub(super) fn record_programs(&mut self, first: PhysicalPage, count: u32, sequence: u64) {
        for (page, sequence) in (first.0..first.0 + count).zip(sequence..) {
            self.sequences[page as usize] = sequence;
            self.versions[page as usize] = sequence;
        }
        self.next = self.next.max(sequence + u64::from(count));
    }
    /// Makes the next program wait until everything before it has ended, since it opens a block.
    pub(super) fn begin_block(&mut self) {
        self.opens = true;
    }
    pub(super) fn issued_program(&mut self, page: PhysicalPage, cause: Cause, map: bool) {
        self.issued(page, None, cause, map);
    }
    pub(super) fn issued_copy(&mut self, from: PhysicalPage, to: PhysicalPage, cause: Cause, map: bool) {
        self.versions[to.0 as usize] = self.versions[from.0 as usize];
        if let Some(map) = self.maps.get(&from.0).cloned() {
            self.maps.insert(to.0, map);
        }
        self.issued(to, Some(from), cause, map);
    }
    fn issued(&mut self, page: PhysicalPage, from: Option<PhysicalPage>, cause: Cause, map: bool) {
        let waits = std::mem::take(&mut self.opens) || map;
        if !self.settled {
            self.changes.push_back(Change::Program { page, from, cause, waits });
        }
    }
    /// Records an erase of `block`, of which `written` pages were used and some, if so, `copied`. Its pages start at
    /// `first`, and have `owners` and `tags` of modes.
    pub(super) fn record_erase(
        &mut self,
        block: BlockIndex,
        cause: Cause,
        (first, written, copied): (u32, u32, bool),
        owners: &[u32],
        tags: &[u8],
    ) {
        let range = first..first + owners.len() as u32;
        let role = std::mem::take(&mut self.roles[block.0 as usize]);
        let maps: Vec<(u32, MapPage)> =
            range.clone().filter_map(|page| Some((page, self.maps.remove(&page)?))).collect();
        let range = range.start as usize..range.end as usize;
        let sequences = &mut self.sequences[range.clone()];
        if !self.settled {
            let (versions, owners) = (self.versions[range].to_vec(), owners.to_vec());
            let (sequences, tags) = (sequences.to_vec(), tags.to_vec());
            let held = Held { written, copied, owners, sequences, versions, tags, role, maps };
            self.changes.push_back(Change::Erase { block, cause, held });
        }
        sequences.fill(0);
    }
    pub(super) fn format(&mut self) {
        self.sequences.fill(0);
        self.roles.fill(0);
        self.bad.clear();
        self.maps.clear();
        self.changes.clear();
        self.oldest_open.fill(u64::MAX);
    }
}

impl FlashState {
    /// Keeps a journal from now on. All cells must be erased. A pool has `blocks_per_pool` consecutive blocks.
    pub fn keep_journal(&mut self, blocks_per_pool: u32) {
        let geometry = *self.geometry();
        assert_eq!(self.counts().programs().total(), 0, "a journal begins with erased cells");
        self.journal = Some(Box::new(Journal {
            sequences: zeroed(geometry.pages() as usize),
            versions: zeroed(geometry.pages() as usize),
            roles: zeroed(geometry.blocks() as usize),
            bad: BTreeSet::new(),
            next: 1,
            opens: false,
            maps: BTreeMap::new(),
            blocks_per_pool,
            oldest_open: vec![u64::MAX; (geometry.blocks() / blocks_per_pool) as usize],
            changes: VecDeque::new(),
            first: 0,
            settled: false,
        }));
    }

    /// Keeps a journal for power failures that only happen after everything issued was performed.
    pub fn keep_journal_of_settled_changes(&mut self, blocks_per_pool: u32) {
        self.keep_journal(blocks_per_pool);
        self.journal.iter_mut().for_each(|journal| journal.settled = true);
    }

    /// Loses power after everything issued was performed.
    pub fn lose_power(&mut self) {
        let dies = self.geometry().dies() as usize;
        self.power_failure(&vec![usize::MAX; dies], false);
    }

    /// Returns true if a journal is kept.
    #[inline(always)]
    pub fn keeps_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Returns the sequence number of the next program; zero without a journal.
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        self.journal.as_ref().map_or(0, |journal| journal.next)
    }

    /// Declares that the open data blocks of `pool` begin with `sequence` or later.
    #[inline]
    pub fn set_oldest_open(&mut self, pool: u32, sequence: u64) {
        if let Some(journal) = &mut self.journal {
            journal.oldest_open[pool as usize] = sequence;
        }
    }

    /// Returns a lower bound for the sequence number of the first page of any block that takes data of `pool` from now
    /// on.
    #[inline]
    pub fn oldest_open(&self, pool: u32) -> u64 {
        let journal = self.journal.as_ref().expect("a journal is kept");
        journal.oldest_open[pool as usize].min(journal.next)
    }

    /// Returns the sequence number of the first page of `block`; zero if it is erased or no journal is kept.
    pub fn opened(&self, block: BlockIndex) -> u64 {
        let first = self.geometry().first_page(block).0 as usize;
        self.journal.as_ref().map_or(0, |journal| journal.sequences[first])
    }

    /// Returns the content of the spare area of `page`.
    pub fn spare(&self, page: PhysicalPage) -> SpareArea {
        let journal = self.journal.as_ref().expect("a journal is kept");
        match journal.sequences[page.0 as usize] {
            0 => SpareArea::Erased,
            TORN => SpareArea::Unreadable,
            sequence => SpareArea::Programmed {
                owner: self.owner(page),
                sequence,
                version: journal.versions[page.0 as usize],
                role: journal.roles[self.geometry().block_of(page).0 as usize],
            },
        }
    }

    /// Returns the sequence number of the write that the data of `page`, which is programmed, come from.
    pub fn version(&self, page: PhysicalPage) -> u64 {
        self.journal.as_ref().expect("a journal is kept").versions[page.0 as usize]
    }

    /// Sets the role for which `block`, which is erased, is opened; 0 for none. The spare areas of its pages contain
    /// the role.
    #[inline]
    pub fn open_as(&mut self, block: BlockIndex, role: u8) {
        if let Some(journal) = &mut self.journal {
            journal.roles[block.0 as usize] = role;
        }
    }

    /// Takes `block`, which was just erased, out of use. A mark in the spare area of its first page records this, as
    /// data sheets specify for blocks that are bad from the start.
    pub fn mark_bad(&mut self, block: BlockIndex) {
        if let Some(journal) = &mut self.journal {
            journal.bad.insert(block.0);
        }
    }

    /// Returns true if the spare area of `block`'s first page marks it as bad.
    pub fn is_marked_bad(&self, block: BlockIndex) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.bad.contains(&block.0))
    }

    /// Reads the spare area of `page` during recovery.
    pub fn scan_spare<S: OpSink>(&mut self, page: PhysicalPage, sink: &mut S) -> SpareArea {
        self.scan(FlashOpKind::ReadSpare { page }, sink);
        self.spare(page)
    }

    /// Reads map page `page` during recovery.
    pub fn scan_map<S: OpSink>(&mut self, page: PhysicalPage, sink: &mut S) -> MapPage {
        self.scan(FlashOpKind::Read { page }, sink);
        self.map_page(page).expect("the page is one of the map").clone()
    }

    /// Returns the content of `page` if it is a map page.
    pub fn map_page(&self, page: PhysicalPage) -> Option<&MapPage> {
        self.journal.as_ref().and_then(|journal| journal.maps.get(&page.0))
    }

    /// Sets the content of `page`, a map page that was programmed.
    pub fn set_map_page(&mut self, page: PhysicalPage, map: MapPage) {
        let journal = self.journal.as_mut().expect("a journal is kept");
        journal.maps.insert(page.0, map);
    }

    /// Drops the content of map page `page`, of which a newer version was written elsewhere, unless that write may be
    /// undone.
    pub fn forget_map_page(&mut self, page: PhysicalPage) {
        if let Some(journal) = self.journal.as_mut().filter(|journal| journal.settled) {
            journal.maps.remove(&page.0);
        }
    }

    /// Returns the number of map pages whose content is kept.
    pub fn map_pages_kept(&self) -> usize {
        self.journal.as_ref().map_or(0, |journal| journal.maps.len())
    }

    /// Returns the die of each change since the last [`Self::settle`] or the last power failure, in order.
    pub fn unsettled_dies(&self) -> Vec<u32> {
        let changes = self.journal.iter().flat_map(|journal| &journal.changes);
        changes.map(|change| self.geometry().die_of(self.block_of_change(change)).0).collect()
    }

    fn block_of_change(&self, change: &Change) -> BlockIndex {
        match change {
            Change::Program { page, .. } => self.geometry().block_of(*page),
            Change::Erase { block, .. } => *block,
        }
    }

    /// Marks all changes so far as performed.
    pub fn settle(&mut self) {
        self.settle_before(self.issued_changes());
    }

    /// Sets whether changes are settled as soon as they are issued. Earlier changes are settled now.
    pub fn settle_as_issued(&mut self, settled: bool) {
        self.settle();
        if let Some(journal) = &mut self.journal {
            journal.settled = settled;
        }
    }

    /// Returns the number of changes since the journal was started, without those that were settled when issued.
    pub fn issued_changes(&self) -> u64 {
        self.journal.as_ref().map_or(0, |journal| journal.first + journal.changes.len() as u64)
    }

    /// Marks all changes before number `change` as performed.
    pub fn settle_before(&mut self, change: u64) {
        if let Some(journal) = &mut self.journal {
            let settled = change.saturating_sub(journal.first);
            journal.changes.drain(..settled as usize);
            journal.first += settled;
        }
    }

    /// Returns, for each of the last `count` changes, whether it waits for everything that was issued earlier for its
    /// pool.
    pub fn waits_of_last(&self, count: usize) -> impl Iterator<Item = bool> {
        let journal = self.journal.as_ref().expect("a journal is kept");
        journal.changes.range(journal.changes.len() - count..).map(Change::waits)
    }

    /// Loses power. Each unsettled change meets its fate in `fates`, which must keep the order of a die's changes to a
    /// block. Afterwards changes are settled when issued, and no page is known to be valid. Returns the number of torn
    /// pages and blocks.
    pub fn power_failure_with_fates(&mut self, fates: &[ChangeFate]) -> (u64, u64) {
        let mut journal = self.journal.take().expect("a journal is kept");
        let changes = std::mem::take(&mut journal.changes);
        assert_eq!(changes.len(), fates.len(), "a change was not tracked");
        let torn = |fate: &ChangeFate| *fate == ChangeFate::Interrupted;
        let blocks = changes.iter().zip(fates).filter(|(change, fate)| change.is_erase() && torn(fate)).count();
        let pages = fates.iter().filter(|fate| torn(fate)).count() - blocks;
        for (change, fate) in changes.into_iter().zip(fates).rev() {
            if *fate != ChangeFate::Performed {
                self.undo(change, &mut journal, torn(fate));
            }
        }
        journal.settled = true;
        self.power_failed(journal);
        (pages as u64, blocks as u64)
    }

    fn power_failed(&mut self, mut journal: Box<Journal>) {
        journal.oldest_open.fill(u64::MAX);
        self.journal = Some(journal);
        if let Some(modes) = &mut self.modes {
            modes.forget();
        }
        self.forget_validity();
    }

    /// Loses power when each die has performed the number of unsettled changes given in `kept`, or fewer if an
    /// operation would still have waited for another die (see the module's documentation). With `torn`, each die is
    /// interrupted in its next change. Afterwards no page is known to be valid. Returns, for each unsettled change,
    /// whether it was performed.
    pub fn power_failure(&mut self, kept: &[usize], torn: bool) -> Vec<bool> {
        let mut journal = self.journal.take().expect("a journal is kept");
        let changes = std::mem::take(&mut journal.changes);
        let places: Vec<(usize, u32)> = changes
            .iter()
            .map(|change| {
                let block = self.block_of_change(change);
                (self.geometry().die_of(block).0 as usize, block.0 / journal.blocks_per_pool)
            })
            .collect();
        let (performed, interrupted) = cut(&changes, &places, kept);
        for (index, change) in changes.into_iter().enumerate().rev() {
            if !performed[index] {
                self.undo(change, &mut journal, torn && interrupted[index]);
            }
        }
        self.power_failed(journal);
        performed
    }

    fn undo(&mut self, change: Change, journal: &mut Journal, torn: bool) {
        match change {
            Change::Program { page, cause, .. } => {
                journal.maps.remove(&page.0);
                journal.sequences[page.0 as usize] = if torn { TORN } else { 0 };
                if !torn {
                    self.undo_program(page, cause);
                }
            }
            Change::Erase { block, cause, held } => {
                journal.bad.remove(&block.0);
                let first = self.geometry().first_page(block).0;
                let pages = first as usize..(first + self.geometry().pages_per_block()) as usize;
                if torn {
                    journal.sequences[pages].fill(TORN);
                    self.undo_erase(block, cause, None);
                    return;
                }
                journal.sequences[pages.clone()].copy_from_slice(&held.sequences);
                journal.versions[pages].copy_from_slice(&held.versions);
                journal.roles[block.0 as usize] = held.role;
                journal.maps.extend(held.maps);
                if let Some(modes) = &mut self.modes {
                    modes.restore_tags(first, &held.tags);
                }
                self.undo_erase(block, cause, Some((&held.owners, held.written as u16, held.copied)));
            }
        }
    }
}

/// Returns which changes were performed, and which of the others may have been interrupted.
fn cut(changes: &VecDeque<Change>, places: &[(usize, u32)], kept: &[usize]) -> (Vec<bool>, Vec<bool>) {
    let mut performed = vec![false; changes.len()];
    let mut interrupted = vec![false; changes.len()];
    let mut left = kept.to_vec();
    let mut stopped = vec![false; kept.len()];
    let mut incomplete = BTreeSet::new();
    let mut missing = BTreeSet::new();
    for (index, change) in changes.iter().enumerate() {
        let (die, pool) = places[index];
        let source_is_missing = matches!(change, Change::Program { from: Some(from), .. } if missing.contains(&from.0));
        let held = source_is_missing || change.waits() && incomplete.contains(&pool);
        performed[index] = !stopped[die] && left[die] > 0 && !held;
        if performed[index] {
            left[die] -= 1;
            continue;
        }
        // The first change that a die did not perform may have been interrupted, unless it waited for another die.
        interrupted[index] = !stopped[die] && !held;
        stopped[die] = true;
        incomplete.insert(pool);
        if let Change::Program { page, .. } = change {
            missing.insert(page.0);
        }
    }
    (performed, interrupted)
}
