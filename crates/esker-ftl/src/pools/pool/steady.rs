//! Starts a pool in its steady state.

mod draw;

use std::collections::VecDeque;

use esker_core::{PhysicalPage, Rng, bits};
use esker_nand::state::FlashState;

use super::cleaning::pace;
use super::{Frontier, Pool};
use crate::gc::Stationary;
use crate::numbers::{PoolBlock, PoolPart};
use crate::pools::steady::{Contents, Laws, OwnerRun};
use crate::pools::{PageMap, Temperature};
use crate::roomy::Roomy;
use draw::{draw, shuffled, take_full};

/// The fewest candidates for cleaning for which the theory of infinitely many blocks holds: with this many, write
/// amplification is off by less than half a percent (esker-flash, tests/device/steady.rs).
const CANDIDATES_MIN: u32 = 96;

/// A block with its first `written` pages programmed; `valid` of these were not superseded.
#[derive(Clone, Copy, Debug)]
struct BlockFill {
    /// Numbered within the pool.
    block: PoolBlock,
    written: u32,
    valid: u32,
}

/// How many pages each block holds. The blocks written last come first: a block for each frontier, then closed ones.
#[derive(Debug)]
pub(in crate::pools) struct Plan {
    data: Vec<BlockFill>,
    map: Vec<BlockFill>,
    free: Vec<Roomy<VecDeque<PoolBlock>>>,
    /// Data programs per host page write.
    pub(in crate::pools) amplification: f64,
}

/// The distribution of a pool's pages in the steady state.
struct PageBalance {
    law: Stationary,
    /// Number of free blocks.
    kept: u32,
    /// Number of blocks that are candidates for cleaning.
    candidates: u32,
    /// Valid data pages in the candidates.
    left: u32,
    /// Programmed pages of each open data block.
    open: Vec<u32>,
    /// Number of blocks of the map.
    of_map: u32,
}

/// Erased blocks of a pool by part, in random order.
struct ErasedBlocks(Vec<Vec<PoolBlock>>);

impl ErasedBlocks {
    fn new(free: &[Roomy<VecDeque<PoolBlock>>], rng: &mut Rng) -> Self {
        Self(free.iter().map(|blocks| shuffled(blocks.iter().copied().collect(), rng)).collect())
    }

    /// Takes a block of `part` or, if it has none, of the part with the most blocks.
    fn take(&mut self, part: PoolPart) -> Option<PoolBlock> {
        let most = || (0..self.0.len()).rev().max_by_key(|&part| self.0[part].len());
        let part = if self.0[part.index()].is_empty() { most()? } else { part.index() };
        self.0[part].pop()
    }
}

impl Pool {
    /// Plans the steady state of the pool, whose blocks are erased, just before it has to be cleaned: `data` data pages
    /// and `map` map pages are valid. Returns `None` if that state is not known.
    pub(in crate::pools) fn plan_steady(&self, data: u32, map: u32, rng: &mut Rng, laws: &mut Laws) -> Option<Plan> {
        // These writes would all be in one stream, and leave the frontiers of other streams unused.
        if self.streams > 1 {
            return None;
        }
        let behind = self.behind_in_the_long_run(data, map, laws)?;
        let PageBalance { law, kept, candidates, left, open, of_map } = self.balance(behind, data, map, laws)?;
        let pages = self.data_pages_per_block;
        let mut counts = law.apportion(candidates, u64::from(left));
        let gain = f64::from(pages) - law.victim;
        let full = open.iter().filter(|written| **written == pages).count() as u32;
        take_full(&mut counts, full)?;

        let mut erased = ErasedBlocks::new(&self.free, rng);
        let parts = self.free.len() as u32;
        let free = (0..parts)
            .map(|part| {
                let share = |parts_before| (u64::from(kept) * u64::from(parts_before) / u64::from(parts)) as u32;
                (share(part)..share(part + 1)).map(|_| erased.take(PoolPart(part))).collect()
            })
            .collect::<Option<_>>()?;
        let mut holdings = Vec::with_capacity(candidates as usize + open.len());
        for (frontier, written) in self.frontiers.iter().zip(open) {
            holdings.push(BlockFill { block: erased.take(frontier.home)?, written, valid: written });
        }
        let map = if map > 0 { self.plan_map(map, of_map, &mut erased, laws)? } else { Vec::new() };
        let closed = shuffled(erased.0.into_iter().flatten().collect(), rng);
        holdings.extend(by_age(&counts, closed, pages));
        Some(Plan { data: holdings, map, free, amplification: f64::from(pages) / gain })
    }

    /// Returns how many free pages are missing to the goal of cleaning when a victim is chosen. Gradual cleaning falls
    /// behind until victims are so empty that it keeps up, or until whole blocks are cleaned at once. Counts pages,
    /// because a small pool has few blocks to spare.
    fn behind_in_the_long_run(&self, data: u32, map: u32, laws: &mut Laws) -> Option<u32> {
        let pages = self.data_pages_per_block;
        let most = self.gradual.saturating_sub(self.reserve) * pages;
        let mut falls_behind = |behind| {
            let law = self.balance(behind, data, map, laws)?.law;
            Some(self.backlog(&law) > f64::from(behind))
        };
        // With a map, gradual cleaning keeps up, because map writes clean a little, too.
        if most == 0 || map > 0 || !falls_behind(0)? {
            return Some(0);
        }
        // Emptier victims may take longer, because their pages are copied at another pace. So no step is longer than a
        // block.
        let (mut low, mut high) = (0, pages);
        while high < most && falls_behind(high)? {
            (low, high) = (high, high + pages);
        }
        while high - low > 1 {
            let middle = low.midpoint(high);
            if falls_behind(middle)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(high)
    }

    /// Returns the distribution of pages if `behind` free pages are missing to the goal of cleaning.
    fn balance(&self, behind: u32, data: u32, map: u32, laws: &mut Laws) -> Option<PageBalance> {
        let pages = self.data_pages_per_block;
        let compared = self.victims.compares()?;
        let of_map = if map > 0 { self.map.as_ref()?.allowance } else { 0 };
        // Cleaning is due when the last block of the goal would be opened next: one open block is full then.
        let opened = behind.div_ceil(pages);
        let kept = self.reserve.max(self.gradual).checked_sub(opened)?;
        let newest = pages - (opened * pages - behind);
        let count = self.first_map_frontier;
        let open: Vec<u32> = (0..count).rev().map(|index| staggered(index * pages + newest, count)).collect();
        // A full block is a candidate as soon as its frontier opens another one.
        let partly: Vec<u32> = open.iter().copied().filter(|written| *written < pages).collect();
        let candidates = self.free_blocks.checked_sub(kept + of_map + partly.len() as u32)?;
        let left = data.checked_sub(partly.iter().sum())?;
        if candidates < CANDIDATES_MIN || left == 0 || u64::from(left) >= u64::from(candidates) * u64::from(pages) {
            return None;
        }
        let law = laws.of(compared, self.gradual > 0, pages, f64::from(left) / f64::from(candidates));
        Some(PageBalance { law, kept, candidates, left, open, of_map })
    }

    /// Returns how many pages gradual cleaning is behind on average if blocks are distributed as in `law`.
    ///
    /// Each victim frees more or fewer pages than are written while it is cleaned. The backlog is a random walk that
    /// stops at zero. `MEAN_OF_WALK` corrects the mean of such a walk in continuous time for its discrete steps
    /// (Siegmund 1979).
    fn backlog(&self, law: &Stationary) -> f64 {
        const MEAN_OF_WALK: f64 = 0.582_6;
        let pages = self.data_pages_per_block;
        let Some(compared) = self.victims.compares() else { return 0.0 };
        let (victims, full) = law.victims(compared, true);
        // The victim is erased with the write that finds fewer pages left to copy than its share.
        let surplus = |valid: u32| f64::from(pages - valid) - f64::from(valid / pace(valid, pages) + 1);
        // A write whose victim is skipped cleans nothing.
        let (spared, spread) = (full / (1.0 - full), full / (1.0 - full).powi(2));
        let mean: f64 = victims.iter().map(|(valid, share)| share * surplus(*valid)).sum();
        let squares: f64 = victims.iter().map(|(valid, share)| share * (surplus(*valid) - mean).powi(2)).sum();
        let (drift, variance) = (mean - spared, squares + spread);
        if drift <= 0.0 {
            return f64::INFINITY;
        }
        (variance / (2.0 * drift) - MEAN_OF_WALK * variance.sqrt()).max(0.0)
    }

    /// Plans `blocks` blocks of the map with `valid` valid pages. They are few and soon rewritten, so an approximation
    /// is enough.
    fn plan_map(&self, valid: u32, blocks: u32, erased: &mut ErasedBlocks, laws: &mut Laws) -> Option<Vec<BlockFill>> {
        let pages = self.data_pages_per_block;
        let frontiers = &self.frontiers[self.first_map_frontier as usize..];
        let count = frontiers.len() as u32;
        // At most half of the map is in open blocks, and each of these has at least one page.
        let most = valid / 2 / count;
        let open: Vec<u32> =
            (0..count).map(|index| staggered(index * pages + pages / 2, count).min(most.max(1))).collect();
        let left = valid.checked_sub(open.iter().sum())?;
        let closed = blocks.checked_sub(count).filter(|closed| *closed > 0)?;
        if most == 0 || u64::from(left) > u64::from(closed) * u64::from(pages) {
            return None;
        }
        let compared = self.map.as_ref()?.victims.compares()?;
        let law = laws.of(compared, self.gradual > 0, pages, f64::from(left) / f64::from(closed));
        let counts = law.apportion(closed, u64::from(left));
        let mut holdings = Vec::with_capacity(blocks as usize);
        for (frontier, written) in frontiers.iter().zip(open) {
            holdings.push(BlockFill { block: erased.take(frontier.home)?, written, valid: written });
        }
        let parts = self.free.len() as u32;
        let closed: Option<Vec<PoolBlock>> = (0..closed).map(|block| erased.take(PoolPart(block % parts))).collect();
        holdings.extend(by_age(&counts, closed?, pages));
        Some(holdings)
    }

    /// Fills the blocks as `plan` says, with pages of the owners in `contents`.
    pub(in crate::pools) fn start_steady(
        &mut self,
        plan: Plan,
        contents: &Contents,
        rng: &mut Rng,
        flash: &mut FlashState,
        page_map: &mut impl PageMap,
    ) {
        let summaries = plan.data.len() + plan.map.len() - self.first_map_frontier as usize;
        let programs = plan.data.iter().chain(&plan.map).map(|holding| u64::from(holding.written)).sum::<u64>();
        let mut after = flash.next_sequence() + programs + if self.summary { summaries as u64 } else { 0 };
        if let Some(run) = &contents.map {
            let first = self.first_map_frontier as usize;
            self.fill(&plan.map, first..self.frontiers.len(), run, &mut after, rng, flash, page_map);
            for holding in &plan.map {
                bits::set(&mut self.holds_map, holding.block.index());
            }
            self.map.as_mut().expect("there is a map").in_use = plan.map.len() as u32;
        }
        let first = self.first_map_frontier as usize;
        self.fill(&plan.data, 0..first, &contents.data, &mut after, rng, flash, page_map);
        self.free_blocks = plan.free.iter().map(|blocks| blocks.len() as u32).sum();
        self.free = plan.free;
        // The blocks written first are closed first.
        let open = if contents.map.is_some() { self.frontiers.len() - first } else { 0 };
        for holding in plan.map.iter().skip(open).rev().chain(plan.data[first..].iter().rev()) {
            self.close(holding.block, holding.valid);
        }
        if flash.keeps_journal() {
            self.record_oldest_open(flash);
        }
        if let Some(temperature) = &mut self.temperature {
            warm(temperature, &contents.data, rng);
        }
    }

    /// Fills the blocks of `holdings` with pages of `run`; the first blocks belong to `frontiers`. `after` is the
    /// sequence number after their last page, and is lowered to the sequence number of their first page.
    #[expect(clippy::too_many_arguments, reason = "all of them are of the one start")]
    fn fill(
        &mut self,
        holdings: &[BlockFill],
        frontiers: std::ops::Range<usize>,
        run: &OwnerRun,
        after: &mut u64,
        rng: &mut Rng,
        flash: &mut FlashState,
        page_map: &mut impl PageMap,
    ) {
        let is_map = self.is_map_frontier(frontiers.start);
        let mut mask = vec![0; flash.words_per_block()];
        let mut placer = Placer { run, placed: 0, pending: [(0, PhysicalPage(0)); 64], waiting: 0 };
        for (index, holding) in holdings.iter().enumerate() {
            let block = self.numbers.on_device(holding.block);
            let open = index < frontiers.len();
            let summary = self.summary && !open;
            *after -= u64::from(holding.written) + u64::from(summary);
            draw(&mut mask, holding.valid, holding.written, rng);
            flash.set_block(block, holding.written, &mask, is_map, summary, *after);
            let first_page = flash.geometry().first_page(block).0;
            let younger = placer.placed;
            for (word, valid) in mask.iter().enumerate() {
                placer.place(first_page + 64 * word as u32, *valid, flash, page_map);
            }
            if flash.keeps_journal() {
                // Superseded pages are earlier versions of pages that were written later.
                for offset in
                    (0..holding.written).filter(|offset| mask[*offset as usize / 64] >> (offset % 64) & 1 == 0)
                {
                    let owner = run.owner(rng.below(u64::from(younger)) as u32);
                    flash.set_owner(PhysicalPage(first_page + offset), owner);
                }
            }
            if open {
                let frontier = &mut self.frontiers[frontiers.start + index];
                let room = self.data_pages_per_block - holding.written;
                *frontier = Frontier { block: Some(block), room, opened: *after, ..*frontier };
            }
        }
        placer.flush(flash, page_map);
        debug_assert_eq!(placer.placed, run.count(), "a page was forgotten");
    }
}

/// Assigns valid pages to owners. Prefetches for the pages of one word while those of the previous word are written.
struct Placer<'a> {
    run: &'a OwnerRun,
    placed: u32,
    pending: [(u32, PhysicalPage); 64],
    waiting: usize,
}

impl Placer<'_> {
    /// Assigns the pages in `valid`, a bit for each from `first` on, to the next owners.
    #[inline]
    fn place(&mut self, first: u32, mut valid: u64, flash: &mut FlashState, page_map: &mut impl PageMap) {
        let mut next = [(0, PhysicalPage(0)); 64];
        let count = valid.count_ones() as usize;
        for entry in &mut next[..count] {
            let owner = self.run.owner(self.placed);
            page_map.prefetch(owner);
            *entry = (owner, PhysicalPage(first + valid.trailing_zeros()));
            valid &= valid - 1;
            self.placed += 1;
        }
        self.flush(flash, page_map);
        (self.pending, self.waiting) = (next, count);
    }

    #[inline]
    fn flush(&mut self, flash: &mut FlashState, page_map: &mut impl PageMap) {
        for (owner, page) in &self.pending[..self.waiting] {
            flash.set_owner(*page, *owner);
            page_map.moved(*owner, *page, flash);
        }
        self.waiting = 0;
    }
}

/// Returns how many pages of a block are written if `count` frontiers fill up in turn: a `count`-th of `pages`, at
/// least one.
fn staggered(pages: u32, count: u32) -> u32 {
    (pages / count).max(1)
}

/// Returns `blocks`, full and with the numbers of valid pages in `counts`, those with the most first.
fn by_age(counts: &[u32], blocks: Vec<PoolBlock>, written: u32) -> impl Iterator<Item = BlockFill> {
    let levels = (0..=written).rev().flat_map(|valid| (0..counts[valid as usize]).map(move |_| valid));
    blocks.into_iter().zip(levels).map(move |(block, valid)| BlockFill { block, written, valid })
}

/// Brings the temperatures to their state after many writes: the last window is complete, the current one half
/// complete.
fn warm(temperature: &mut Temperature, run: &OwnerRun, rng: &mut Rng) {
    for _ in 0..temperature.window() + temperature.window() / 2 {
        temperature.written(run.owner(rng.below(u64::from(run.count())) as u32));
    }
}
