//! The block with the fewest valid pages.

use super::{VictimEntry, VictimPolicy};

pub(crate) static ENTRY: VictimEntry = VictimEntry {
    name: "greedy",
    summary: "the block with the fewest valid pages",
    source: "Agrawal et al. 2008, section 3.1",
    build: |shape, parameters, _seed| {
        parameters.finish()?;
        Ok(Box::new(Greedy::new(shape.blocks, shape.data_pages_per_block)))
    },
};

/// A node's neighbours in its ring.
#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u32,
    next: u32,
}

/// One ring of blocks per number of valid pages, in the order in which they came to that number; each ring begins and
/// ends at a node of its own behind the blocks'. So every step is a few loads and stores without a branch.
#[derive(Debug)]
struct Greedy {
    links: Vec<Link>,
    blocks: u32,
    pages_per_block: u32,
    /// No ring below this one has a block.
    lowest: u32,
}

impl Greedy {
    fn new(blocks: u32, pages_per_block: u32) -> Self {
        let links = (0..blocks + pages_per_block + 1).map(|node| Link { previous: node, next: node }).collect();
        Self { links, blocks, pages_per_block, lowest: 0 }
    }

    /// Puts `block` at the end of its ring.
    #[inline]
    fn insert(&mut self, block: u32, valid: u32) {
        let ring = self.blocks + valid;
        let last = std::mem::replace(&mut self.links[ring as usize].previous, block);
        self.links[block as usize] = Link { previous: last, next: ring };
        self.links[last as usize].next = block;
        self.lowest = self.lowest.min(valid);
    }

    #[inline]
    fn remove(&mut self, block: u32) {
        let Link { previous, next } = self.links[block as usize];
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
    }
}

impl VictimPolicy for Greedy {
    fn closed(&mut self, block: u32, valid: u32) {
        self.insert(block, valid);
    }

    #[inline]
    fn superseded(&mut self, block: u32, valid: u32) {
        self.remove(block);
        self.insert(block, valid);
    }

    fn take(&mut self) -> Option<u32> {
        while self.lowest <= self.pages_per_block {
            let ring = self.blocks + self.lowest;
            let first = self.links[ring as usize].next;
            if first != ring {
                self.remove(first);
                return Some(first);
            }
            self.lowest += 1;
        }
        None
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.links)
    }
}
