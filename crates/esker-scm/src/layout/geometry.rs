//! Where the parts of a pool begin.

use super::{PAGE, RUN};

/// The parts of a pool in physical space, in pages (Wu, figure 23): two copies of the header, the two halves of the
/// log, the mapping table, counts of writes, then data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Pages of the pool.
    pub pages: u64,
    /// Pages of virtual space, a multiple of a run.
    pub virtual_pages: u64,
    /// Bytes of a half of the log. The log begins with page 2.
    pub log_half_bytes: u64,
    /// First page of the mapping table.
    pub table: u64,
    /// First page of the counts of writes.
    pub wear: u64,
    /// First page of data.
    pub data: u64,
}

impl Geometry {
    /// Virtual pages for each physical page: files may grow to several times their size before they have to move.
    pub(crate) const VIRTUAL: u64 = 16;
    /// First page of the log.
    const LOG: u64 = 2;
    /// Fewest pages of a pool: room for the parts, and for a few files.
    pub const PAGES_MIN: u64 = 64;
    /// Most pages of a pool: 1 TiB, whose virtual space has 2^32 pages.
    pub const PAGES_MAX: u64 = 1 << 28;
    /// The virtual page of the superblock.
    pub(crate) const SUPERBLOCK: u64 = 0;

    /// The geometry of a pool of `pages`, between [`Geometry::PAGES_MIN`] and [`Geometry::PAGES_MAX`].
    pub fn plan(pages: u64) -> Geometry {
        // The longest transaction moves the largest file that can grow, which has a quarter of the virtual space: two
        // entries for each of its regions, and then the entries of one leaf; or it writes some pages of a directory
        // and their entries.
        let regions = Self::virtual_pages_of(pages) / RUN;
        Self::plan_with_log(pages, regions / 4 * 16)
    }

    /// The geometry of a pool with layout version 1. Its log has two entries for each run of physical space: files with
    /// more holes than that cannot move there.
    pub(crate) fn plan_of_version_1(pages: u64) -> Geometry {
        Self::plan_with_log(pages, pages.div_ceil(RUN) * 16)
    }

    fn virtual_pages_of(pages: u64) -> u64 {
        (pages * Self::VIRTUAL).next_power_of_two().max(4 * RUN)
    }

    fn plan_with_log(pages: u64, bytes_to_move: u64) -> Geometry {
        let virtual_pages = Self::virtual_pages_of(pages);
        let table_pages = (virtual_pages / RUN * 8).div_ceil(PAGE);
        let log_half_bytes = (bytes_to_move + 3 * PAGE).next_multiple_of(PAGE);
        let table = Self::LOG + 2 * log_half_bytes / PAGE;
        let wear = table + table_pages;
        let data = wear + (64 + pages * 4).div_ceil(PAGE);
        Geometry { pages, virtual_pages, log_half_bytes, table, wear, data }
    }

    /// Runs of virtual space: entries of the mapping table's first level.
    pub fn regions(&self) -> u64 {
        self.virtual_pages / RUN
    }

    /// First virtual page of the inode table.
    pub(crate) fn inode_table(&self) -> u64 {
        RUN
    }

    /// Most pages of the inode table: one inode for each page of the pool.
    pub(crate) fn inode_table_pages_max(&self) -> u64 {
        (self.pages / super::inode::PER_PAGE).next_multiple_of(RUN)
    }

    /// First virtual page that files may have.
    pub(crate) fn files(&self) -> u64 {
        self.inode_table() + self.inode_table_pages_max()
    }

    /// Address of the half `half` of the log, 0 or 1.
    pub(crate) fn log_half(&self, half: u64) -> u64 {
        Self::LOG * PAGE + half * self.log_half_bytes
    }

    /// Address of the entry of `region` in the mapping table's first level.
    pub(crate) fn region_entry(&self, region: u64) -> u64 {
        self.table * PAGE + region * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fit_into_pools_of_any_size() {
        for pages in [64, 65, 1000, 2048, 4096, 1 << 20, 1 << 24, 1 << 28] {
            let plan = Geometry::plan(pages);
            assert!(plan.data + 16 <= pages, "{pages} pages: data begin with page {}", plan.data);
            assert!(plan.files() * 2 <= plan.virtual_pages);
            assert!(plan.data * 10 <= pages * 2, "{pages} pages: at most a fifth is not for data: {}", plan.data);
        }
    }
}
