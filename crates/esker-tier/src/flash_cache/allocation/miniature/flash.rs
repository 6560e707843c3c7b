//! A small flash: pages are written one after the other, and the block with the fewest valid pages is cleaned.

const NOBODY: u32 = u32::MAX;

/// Erased blocks that are kept: one for what the next cleaning copies, and one for what is written meanwhile.
const KEPT: usize = 2;
/// The fewest blocks: with those that are kept, lines may take 85 % of the pages.
pub(super) const BLOCKS_MIN: u32 = 64;

/// Pages in blocks, each with the owner of its data. All that is written and copied goes to one open block.
#[derive(Debug)]
pub(super) struct SmallFlash {
    block: u32,
    /// Whose data each page holds; [`NOBODY`]'s if they are not valid.
    owners: Vec<u32>,
    /// Valid pages of each block.
    valid: Vec<u32>,
    /// Blocks that can be cleaned.
    is_full: Vec<bool>,
    erased: Vec<u32>,
    /// The page that is written next, and the end of its block.
    next: u32,
    end: u32,
    erases: u64,
    written: u64,
}

impl SmallFlash {
    /// An erased flash of so many blocks of `block` pages.
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

    /// Blocks erased, and pages written by those who own them, so far.
    pub(super) fn wear(&self) -> (u64, u64) {
        (self.erases, self.written)
    }

    pub(super) fn pages_a_block(&self) -> u32 {
        self.block
    }

    /// Writes a page of `owner`. Calls `place` with the page of each owner whose data were written or copied.
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

    /// The data of `page` are valid no more.
    pub(super) fn forget(&mut self, page: u32) {
        self.owners[page as usize] = NOBODY;
        self.valid[(page / self.block) as usize] -= 1;
    }

    /// Cleans a block. Returns false if none has anything to give.
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

    /// Each owner's page is its own, whatever was cleaned meanwhile; what was written and copied fills what was erased.
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
        // 400 of 512 pages are valid: cleaning finds fewer than that, evenly spread, and more than half of it.
        let valid = 1.0 - written as f64 / (erases as f64 * 8.0);
        assert!((0.3..0.78).contains(&valid), "{valid}");
    }
}
