//! Which parts of a sparse pool are known to have room where the pool lies.

use crate::layout::RUN;

/// A bit for each 2 MiB of a pool: whether its pages were given room since the mount. After a mount none is known.
#[derive(Debug)]
pub(crate) struct Backed {
    words: Vec<u64>,
    pages: u64,
}

impl Backed {
    /// A pool of `pages`.
    pub(crate) fn new(pages: u64) -> Backed {
        Backed { words: vec![0; pages.div_ceil(RUN * 64) as usize], pages }
    }

    /// Whether the block of 2 MiB with `page` has room.
    #[inline]
    pub(crate) fn has(&self, page: u64) -> bool {
        self.words[(page / RUN / 64) as usize] >> (page / RUN % 64) & 1 == 1
    }

    /// The block with `page` has room from now on.
    pub(crate) fn note(&mut self, page: u64) {
        self.words[(page / RUN / 64) as usize] |= 1 << (page / RUN % 64);
    }

    /// The block with `page`: its first page, and how many it has.
    pub(crate) fn block(&self, page: u64) -> (u64, u64) {
        let start = page / RUN * RUN;
        (start, RUN.min(self.pages - start))
    }

    /// First pages of the blocks that have room.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = u64> {
        (0..self.pages).step_by(RUN as usize).filter(|&page| self.has(page))
    }
}
