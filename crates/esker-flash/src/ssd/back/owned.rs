//! Flash whose pages have an owner: a cache that shares the layer's map.

use esker_core::{LogicalPage, Nanos};
use esker_ftl::{Cells, FtlError, PageOwner, WriteExtent};
use esker_nand::array::Waiter;

use super::{Back, Issued};

impl Back {
    /// Returns true if `page` has data.
    #[inline]
    pub(in crate::ssd) fn has_data(&self, page: LogicalPage) -> bool {
        self.ftl.find(page).is_some()
    }

    /// See [`esker_ftl::Ftl::suspect`].
    pub(in crate::ssd) fn suspect(&mut self, page: LogicalPage) -> bool {
        self.ftl.suspect(page, &mut Cells::new(&mut self.flash, &mut self.ops))
    }

    /// See [`esker_ftl::Ftl::revive`].
    pub(in crate::ssd) fn revive(&mut self, page: LogicalPage) -> bool {
        self.ftl.revive(page, &mut Cells::new(&mut self.flash, &mut self.ops))
    }

    /// Reads all of `page`.
    pub(in crate::ssd) fn read_page(&mut self, now: Nanos, waiter: Waiter, page: LogicalPage) -> Issued {
        self.ops.clear();
        self.ftl.read(page, &mut Cells::new(&mut self.flash, &mut self.ops));
        self.counts.reads += 1;
        self.issue(now, waiter, None, None)
    }

    /// Writes all of `page`. Cleaning asks `owner` before it copies a page. If `at` is `None`, nothing is issued and
    /// the write takes no time.
    pub(in crate::ssd) fn write_page(
        &mut self,
        at: Option<(Nanos, Waiter)>,
        page: LogicalPage,
        owner: &mut dyn PageOwner,
    ) -> (Issued, Result<(), FtlError>) {
        self.ops.clear();
        if let (true, Some((now, _))) = (self.least_loaded, at) {
            self.array.get_mut().backlog(now, &mut self.flash.backlog);
        }
        let cells = &mut Cells::new(&mut self.flash, &mut self.ops).owned_by(owner);
        let written = self.ftl.write(page, WriteExtent::Whole, cells);
        self.counts.writes += u64::from(written.is_ok());
        match at {
            Some((now, waiter)) => (self.issue(now, waiter, None, None), written),
            None => (Issued::default(), written),
        }
    }
}
