//! Issues the operations that a layer emitted to the array. On the way, decides how they are decoded, which pages are
//! written again, and which parts of a page a request needs.

use esker_core::{LogicalPage, Nanos, RequestKind};
use esker_ftl::Cells;
use esker_nand::array::Waiter;
use esker_nand::state::{Cause, Cover, HostAccess, OpList};

use super::{Back, Issued};

impl Back {
    /// Issues operations that a layer emitted into `ops` instead of the drive's own list.
    pub(in crate::ssd) fn issue_list(&mut self, now: Nanos, ops: OpList, waiter: Waiter) -> Issued {
        self.ops = ops;
        let issued = self.issue(now, waiter, None, None);
        self.ops = OpList::default();
        issued
    }

    /// Issues the emitted operations to the array. If they read a page for the host, `read` is that page. It is
    /// rewritten if it has many bit errors (refresh), or if another write mode suits its reads better.
    #[inline]
    pub(super) fn issue(
        &mut self,
        now: Nanos,
        waiter: Waiter,
        cover: Option<&Cover>,
        read: Option<LogicalPage>,
    ) -> Issued {
        if self.ops.as_slice().is_empty() {
            return Issued::default();
        }
        let uncorrectable = match &mut self.ecc {
            Some(ecc) => ecc.judge(now, self.ops.as_slice(), cover),
            None => false,
        };
        if let Some(page) = read {
            self.write_again(now, page, uncorrectable, cover);
        }
        if self.tracks_changes {
            self.report_changes();
        }
        let more_steps = self.ecc.as_ref().map_or(&[][..], |ecc| ecc.more_steps());
        let awaited = self.array.get_mut().push(now, self.ops.as_slice(), more_steps, waiter, cover);
        Issued { awaited, uncorrectable, copies: 0 }
    }

    /// Writes `page`, which the host has just read, to another place if another write mode suits it better, or if it
    /// has many bit errors. Data that are `uncorrectable` cannot be written again.
    #[inline]
    fn write_again(&mut self, now: Nanos, page: LogicalPage, uncorrectable: bool, cover: Option<&Cover>) {
        let stale = self.ecc.as_ref().and_then(|ecc| ecc.stale());
        let (read, cause) = match (self.flash.re_encoding(), stale) {
            (Some(read), _) if !uncorrectable => (read, Cause::ReEncoding),
            (_, Some(read)) => (read, Cause::Refresh),
            _ => return self.flash.begin_access(HostAccess::None),
        };
        // Without room for a new copy, the data stay where they are. The host has read them all the same.
        let _ = self.ftl.refresh(page, read, cause, &mut Cells::new(&mut self.flash, &mut self.ops));
        self.flash.begin_access(HostAccess::None);
        if let Some(ecc) = &mut self.ecc {
            ecc.judge_more(now, self.ops.as_slice(), cover);
        }
    }

    /// Tells the array which of the next operations to be issued have to wait for earlier ones of their pool.
    #[cold]
    fn report_changes(&mut self) {
        let changes = self.ops.as_slice().iter().filter(|op| op.is_change()).count();
        self.array.get_mut().set_waits(self.flash.waits_of_last(changes));
    }

    /// Returns which flash pages of a logical page have to be read for a request to its bytes from `start` to `end`. A
    /// read needs those that hold the bytes, a write those that it overwrites only in part or not at all.
    #[cold]
    pub(super) fn cover(&self, kind: RequestKind, start: u64, end: u64) -> Cover {
        let end = end.min(1 << self.page_shift);
        let part = 1 << self.part_shift;
        let all = 1 << (self.page_shift - self.part_shift);
        if kind == RequestKind::Read {
            if self.whole_page_reads {
                return Cover { needed: [0..all, 0..0] };
            }
            return Cover { needed: [(start / part) as u32..end.div_ceil(part) as u32, 0..0] };
        }
        let (first, last) = (start.div_ceil(part) as u32, (end / part) as u32);
        Cover { needed: if first < last { [0..first, last..all] } else { [0..all, 0..0] } }
    }
}
