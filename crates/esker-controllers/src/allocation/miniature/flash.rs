//! A small flash: pages are written one after the other, and cleaning takes the block with the fewest valid pages.

const NOBODY: u32 = u32::MAX;

/// Number of erased blocks to keep: one for what the next cleaning copies, and one for what is written meanwhile.
const KEPT: usize = 2;
/// The least number of blocks: with this many, lines may take 85 % of the pages beside the blocks that are kept erased.
pub(super) const BLOCKS_MIN: u32 = 64;

/// Pages in blocks, each with the owner of its data. All writes and copies go to one open block.
#[derive(Debug)]
pub(super) struct SmallFlash {
    block: u32,
    /// The owner whose data each page holds; [`NOBODY`] if its data are not valid.
    owners: Vec<u32>,
    /// Number of valid pages in each block.
    valid: Vec<u32>,
    /// Whether each block is fully written, so that it can be cleaned.
    is_full: Vec<bool>,
    erased: Vec<u32>,
    /// The page to write next, and the end of its block.
    next: u32,
    end: u32,
    erases: u64,
    written: u64,
}

impl SmallFlash {
    /// An erased flash of `blocks` blocks of `block` pages each.
    pub(super) fn new(blocks: u32, block: u32) -> Self {
        let blocks = blocks.max(BLOCKS_MIN);
        Self {
            block,
            owners: vec![NOBODY; (blocks * block) as usize],
            valid: vec![0; blocks as usize],
            is_full: vec![false; blocks as usize],
            erased: (1..blocks).rev().collect(),
            next: 0,
            end: block,
            erases: 0,
            written: 0,
        }
    }

    /// Returns the blocks erased and the pages written by owners so far, without copies.
    pub(super) fn wear(&self) -> (u64, u64) {
        (self.erases, self.written)
    }

    pub(super) fn pages_a_block(&self) -> u32 {
        self.block
    }

    /// Writes a page of `owner`. Calls `place` with the new page of each owner whose data were written or copied.
    pub(super) fn write(&mut self, owner: u32, mut place: impl FnMut(u32, u32)) {
        self.written += 1;
        self.append(owner, &mut place);
        while self.erased.len() < KEPT && self.clean(&mut place) {}
    }

    fn append(&mut self, owner: u32, place: &mut impl FnMut(u32, u32)) {
        if self.next == self.end {
            let block = self.erased.pop().expect("cleaning keeps a block for what it copies");
            self.is_full[(self.end / self.block - 1) as usize] = true;
            (self.next, self.end) = (block * self.block, (block + 1) * self.block);
        }
        let page = self.next;
        self.next += 1;
        self.owners[page as usize] = owner;
        self.valid[(page / self.block) as usize] += 1;
        place(owner, page);
    }

    /// Marks the data of `page` as no longer valid.
    pub(super) fn forget(&mut self, page: u32) {
        self.owners[page as usize] = NOBODY;
        self.valid[(page / self.block) as usize] -= 1;
    }

    /// Cleans the block with the fewest valid pages. Returns false if no block would gain anything.
    fn clean(&mut self, place: &mut impl FnMut(u32, u32)) -> bool {
        let full = (0..self.valid.len()).filter(|&block| self.is_full[block]);
        let Some(victim) = full.min_by_key(|&block| self.valid[block]) else { return false };
        if self.valid[victim] == self.block {
            return false;
        }
        let first = victim * self.block as usize;
        for page in first..first + self.block as usize {
            let owner = std::mem::replace(&mut self.owners[page], NOBODY);
            if owner != NOBODY {
                self.append(owner, place);
            }
        }
        (self.valid[victim], self.is_full[victim]) = (0, false);
        self.erases += 1;
        self.erased.push(victim as u32);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each owner's data are where they were placed, whatever was cleaned; erases match the pages written and copied.
    #[test]
    fn every_page_is_where_it_was_placed() {
        let mut flash = SmallFlash::new(64, 8);
        let owners = 400;
        let mut pages = vec![NOBODY; owners];
        let mut rng = esker_core::Rng::new(5);
        for _ in 0..20_000 {
            let owner = rng.below(owners as u64) as u32;
            if pages[owner as usize] != NOBODY {
                flash.forget(pages[owner as usize]);
            }
            flash.write(owner, |owner, page| pages[owner as usize] = page);
        }
        for (owner, &page) in pages.iter().enumerate() {
            assert_eq!(flash.owners[page as usize], owner as u32);
        }
        assert_eq!(flash.valid.iter().sum::<u32>(), owners as u32);
        let (erases, written) = flash.wear();
        assert_eq!(written, 20_000);
        // 400 of 512 pages are valid. Cleaning finds less than that average share, but more than half of it.
        let valid = 1.0 - written as f64 / (erases as f64 * 8.0);
        assert!((0.3..0.78).contains(&valid), "{valid}");
    }
}
