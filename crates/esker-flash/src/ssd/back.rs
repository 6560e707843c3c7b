//! The flash side of the drive: the translation layer, the contents of the cells, the array with its timing, and the
//! decoder. It deals with pages and with what waits for them. All it knows of a request is its slot.

mod issue;
mod keeper;
mod modes;
mod owned;

use std::cell::RefCell;

use esker_core::{Bytes, LogicalPage, Nanos, Precondition, RequestKind, StreamId};
use esker_ftl::{
    Cells, Ftl, FtlContext, FtlCounters, FtlError, FtlSettings, Space, WearCounts, WriteExtent, precondition,
};
use esker_nand::array::{Array, Timing, Waiter};
use esker_nand::ecc::Ecc;
use esker_nand::state::{Cause, ERASES_MAX, FlashOp, FlashState, HostAccess, OpList};
use esker_nand::{Geometry, Placement, ValueError};
use esker_results::{Counters, PreconditionReport};

use super::PageCounts;
use crate::{SsdError, SsdSettings};
use modes::add_modes_and_errors;

pub(super) use keeper::{Keeper, pages_left};

/// Flash behind a translation layer.
#[derive(Debug)]
pub(super) struct Back {
    /// The array's shape as the translation layer sees it.
    pub(super) geometry: Geometry,
    pub(super) timing: Timing,
    pub(super) space: Space,
    layer: FtlSettings,
    seed: u64,
    page_shift: u32,
    /// Size of the smallest part of a logical page that can be read alone (a flash page): the base-2 logarithm of its
    /// bytes.
    part_shift: u32,
    whole_page_reads: bool,
    /// Whether the translation layer has to know how much work waits on each die.
    least_loaded: bool,
    /// Whether the translation layer keeps streams apart.
    pub(super) streams: bool,
    /// Whether the array tracks which changes were performed, for a sudden power failure.
    pub(super) tracks_changes: bool,
    pub(super) ftl: Box<dyn Ftl>,
    pub(super) flash: FlashState,
    /// Operations that the layer has emitted and that the array has not received yet.
    ops: OpList,
    /// Decides as late as possible in which order operations run. In a cell because telemetry makes it decide
    /// everything up to now.
    pub(super) array: RefCell<Array>,
    /// Bit errors and decoding, if they are modelled.
    pub(super) ecc: Option<Box<Ecc>>,
    /// Whether too many blocks have gone bad for the drive to take writes.
    pub(super) read_only: bool,
    pub(super) counts: PageCounts,
    /// Which pages may be dropped, if the drive has an owner.
    pub(super) keeper: Option<Box<Keeper>>,
    /// Counters of earlier layers: preconditioning and recovery each build a new layer.
    former: FtlCounters,
    /// Wear counts that were lost with the map at power failures.
    former_wear: WearCounts,
}

/// The result of issuing operations to the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Issued {
    /// Number of issued operations whose end is reported to the waiter.
    pub(super) awaited: u32,
    /// Whether data that a request asked for could not be corrected.
    pub(super) uncorrectable: bool,
    /// Number of pages that cleaning copies for a page that leaves the buffer.
    pub(super) copies: u64,
}

impl Back {
    /// Builds the back of a new drive. `seed` is for victim policies that choose at random.
    pub(super) fn new(settings: &SsdSettings, seed: u64) -> Result<Self, SsdError> {
        Self::addressing(settings, 0, seed)
    }

    /// Builds a back that knows `pages` logical pages if that is more than it has room for. In that case, the pages
    /// have an owner, who keeps only some of them here, and the settings must ask for a single pool.
    pub(super) fn addressing(settings: &SsdSettings, pages: u32, seed: u64) -> Result<Self, SsdError> {
        let flash_pages = Geometry::new(&settings.geometry, settings.block_summary)?;
        let mut timing = Timing::new(&settings.timing, &flash_pages)?;
        settings.check_array()?;
        let wiring = settings.wiring();
        for transfer in [&mut timing.page_transfer, &mut timing.sector_transfer] {
            transfer.0 = transfer.0.saturating_mul(wiring.pages_in_turn());
        }
        let geometry = Geometry::new(&wiring.seen(), settings.block_summary)?.with_stripe(&settings.array.stripe)?;
        let layer = settings.layer();
        let space = Space::new(&layer, &geometry)?;
        let space = if pages > 0 { space.addressing(pages).unwrap_or(space).shrinking() } else { space };
        if settings.endurance_cycles == 0 {
            return Err(ValueError::Zero { key: "endurance_cycles" }.into());
        }
        let mut flash = FlashState::new(&geometry);
        if let Some(wear) = &settings.wear {
            let (found, limit) = (u64::from(wear.initial_erases), settings.endurance_cycles);
            if found >= limit {
                return Err(SsdError::BornWornOut { found, limit });
            }
            if wear.initial_erases > ERASES_MAX {
                let (key, limit) = ("wear.initial_erases", u64::from(ERASES_MAX));
                return Err(ValueError::TooLarge { key, found, limit }.into());
            }
            flash.set_wear(wear.initial_erases);
        }
        let decoder = add_modes_and_errors(settings, &mut timing, &mut flash, space.host_pages, seed)?;
        let ftl = esker_ftl::build(&FtlContext { geometry: &geometry, space: &space, settings: &layer, seed })?;
        Ok(Self {
            page_shift: geometry.page_size().0.trailing_zeros(),
            part_shift: wiring.layout().0.page_size.0.trailing_zeros(),
            whole_page_reads: settings.array.whole_page_reads,
            least_loaded: settings.array.placement == Placement::LeastLoaded,
            streams: settings.streams > 1,
            tracks_changes: false,
            array: RefCell::new(Array::new(&geometry, &timing, &wiring)),
            geometry,
            timing,
            space,
            layer,
            seed,
            ftl,
            flash,
            ops: OpList::default(),
            ecc: decoder,
            read_only: false,
            keeper: None,
            counts: PageCounts::default(),
            former: FtlCounters::default(),
            former_wear: WearCounts::default(),
        })
    }

    /// Returns the capacity that the host can address. An owner can address more than the drive has room for.
    pub(super) fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.space.logical_pages) * self.geometry.page_size().0)
    }

    /// Returns the seed for victim policies that choose at random.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the number of the logical page that holds `byte`.
    #[inline(always)]
    pub(super) fn page_of(&self, byte: u64) -> u64 {
        byte >> self.page_shift
    }
    /// Returns the number of flash pages of a logical page.
    pub(super) fn flash_pages_per_page(&self) -> u64 {
        1 << (self.page_shift - self.part_shift)
    }

    /// Returns how much of `page` the bytes from `start` to `end` cover.
    #[inline(always)]
    pub(super) fn write_extent(&self, start: u64, end: u64, page: u64) -> WriteExtent {
        let (first, size) = (page << self.page_shift, 1u64 << self.page_shift);
        match start <= first && first + size <= end {
            true => WriteExtent::Whole,
            false => WriteExtent::Partial,
        }
    }

    /// Lets copies of adjacent pages be one operation, unless the array, the decoder or `single` needs them page by
    /// page.
    pub(super) fn choose_operations(&mut self, single: bool) {
        let needs_pages = self.ecc.is_some() || self.flash.mode_policy().is_some();
        let runs = self.array.get_mut().takes_runs() && !needs_pages && !single;
        self.ops.take_runs(runs);
    }

    /// Makes the array track which changes were performed. May only be called before any operation has been issued.
    pub(super) fn track_changes(&mut self, settings: &SsdSettings) {
        let blocks = self.space.blocks_per_pool;
        self.array.get_mut().track_changes(&self.geometry, &self.timing, &settings.wiring(), blocks);
        self.flash.settle_as_issued(false);
        self.tracks_changes = true;
    }

    /// Tells the layer that the next `pages` writes belong to one request.
    #[inline]
    pub(super) fn begin_request(&mut self, pages: u32) {
        self.ftl.begin_request(pages);
    }

    /// Tells the layer that the next writes belong to `stream`.
    #[inline]
    pub(super) fn begin_stream(&mut self, stream: StreamId) {
        if self.streams {
            self.ftl.begin_stream(stream);
        }
    }

    /// Ends a request whose pages have all been served. Returns the further operations that `waiter` has to wait for.
    #[inline]
    pub(super) fn end_request(&mut self, now: Nanos, waiter: Waiter) -> Issued {
        self.ops.clear();
        self.ftl.end_request(&mut Cells::new(&mut self.flash, &mut self.ops));
        self.issue(now, waiter, None, None)
    }

    /// Performs a request on `page`, for the bytes from `start` to `end` of the drive. If the layer fails, the
    /// operations that it had emitted by then are still issued.
    #[inline]
    pub(super) fn serve(
        &mut self,
        now: Nanos,
        waiter: Waiter,
        kind: RequestKind,
        page: LogicalPage,
        (start, end): (u64, u64),
    ) -> (Issued, Result<(), FtlError>) {
        self.ops.clear();
        let extent = self.write_extent(start, end, u64::from(page.0));
        let result = match kind {
            RequestKind::Read => {
                self.flash.begin_access(HostAccess::Read);
                self.ftl.read(page, &mut Cells::new(&mut self.flash, &mut self.ops));
                let has_data = self.ops.as_slice().iter().any(|op| op.cause == Cause::Host);
                self.counts.unwritten_reads += u64::from(!has_data);
                Ok(())
            }
            RequestKind::Write { .. } => self.write_for_host(now, page, extent),
            RequestKind::WriteZeroes { .. } if extent == WriteExtent::Partial => match self.ftl.find(page) {
                Some(_) => self.write_for_host(now, page, extent),
                None => Ok(()),
            },
            RequestKind::Trim if extent == WriteExtent::Partial => Ok(()),
            RequestKind::WriteZeroes { .. } | RequestKind::Trim => {
                self.ftl.trim(page, &mut Cells::new(&mut self.flash, &mut self.ops));
                self.keep(page);
                Ok(())
            }
            RequestKind::Flush => Ok(()),
        };
        let mut issued = Issued::default();
        // Operations emitted before an error have changed the cells, too, so they are issued.
        if !self.ops.as_slice().is_empty() {
            let first_byte = u64::from(page.0) << self.page_shift;
            let cover = (self.part_shift < self.page_shift)
                .then(|| self.cover(kind, start.saturating_sub(first_byte), end - first_byte));
            let read = (kind == RequestKind::Read).then_some(page);
            issued = self.issue(now, waiter, cover.as_ref(), read);
        }
        (issued, result)
    }

    #[inline]
    fn write_for_host(&mut self, now: Nanos, page: LogicalPage, extent: WriteExtent) -> Result<(), FtlError> {
        self.write(now, page, extent)?;
        self.counts.writes += 1;
        Ok(())
    }

    #[inline]
    fn write(&mut self, now: Nanos, page: LogicalPage, extent: WriteExtent) -> Result<(), FtlError> {
        if self.least_loaded {
            self.array.get_mut().backlog(now, &mut self.flash.backlog);
        }
        self.flash.begin_access(HostAccess::Write);
        let mut written = self.write_in_layer(page, extent);
        if self.keeper.is_some() {
            if self.is_worth_another_try(written) {
                written = self.write_in_layer(page, extent);
            }
            self.keep(page);
        }
        self.flash.begin_access(HostAccess::None);
        written
    }

    #[inline]
    fn write_in_layer(&mut self, page: LogicalPage, extent: WriteExtent) -> Result<(), FtlError> {
        let mut cells = Cells::new(&mut self.flash, &mut self.ops);
        if let Some(keeper) = &mut self.keeper {
            cells = cells.owned_by(&mut **keeper);
        }
        self.ftl.write(page, extent, &mut cells)
    }

    /// Writes a page that leaves the buffer. It counts as a request of its own, whichever requests wrote it.
    pub(super) fn write_out(
        &mut self,
        now: Nanos,
        waiter: Waiter,
        page: LogicalPage,
        extent: WriteExtent,
        stream: StreamId,
    ) -> (Issued, Result<(), FtlError>) {
        self.ops.clear();
        self.begin_request(1);
        self.begin_stream(stream);
        let written = self.write(now, page, extent);
        self.ftl.end_request(&mut Cells::new(&mut self.flash, &mut self.ops));
        let copies = self.ops.as_slice().iter().map(FlashOp::copied_pages).sum();
        (Issued { copies, ..self.issue(now, waiter, None, None) }, written)
    }

    /// Unmaps a page. Nothing waits for the operations that a map in flash may need for this.
    pub(super) fn forget(&mut self, now: Nanos, page: LogicalPage) {
        self.ops.clear();
        self.ftl.trim(page, &mut Cells::new(&mut self.flash, &mut self.ops));
        self.issue(now, Waiter::NOBODY, None, None);
    }

    /// Does a round of cleaning: one step in each pool that needs it. Returns the number of operations to wait for.
    pub(super) fn clean(&mut self, now: Nanos) -> u32 {
        let (mut under_way, mut something) = (0, true);
        // If all erases of a round take no time, the next round follows at once.
        while under_way == 0 && something {
            something = false;
            for pool in 0..self.space.pools {
                self.ops.clear();
                // An error means that cleaning gains no space. Idle time cannot help in that case.
                let mut cells = Cells::new(&mut self.flash, &mut self.ops);
                something |= self.ftl.collect(pool, &mut cells).unwrap_or(false);
                under_way += self.issue(now, Waiter::BACKGROUND, None, None).awaited;
            }
        }
        under_way
    }

    /// Builds a translation layer in its initial state, with the drive's settings.
    pub(super) fn new_layer(&self) -> Box<dyn Ftl> {
        let context =
            FtlContext { geometry: &self.geometry, space: &self.space, settings: &self.layer, seed: self.seed };
        esker_ftl::build(&context).expect("it was built from the same settings before")
    }

    /// Returns true if nothing was ever written, by the host or by preconditioning.
    pub(super) fn is_new(&self) -> bool {
        self.counts.writes == 0 && self.flash.counts().programs().total() == 0
    }

    /// Discards all data and wear, and brings the drive into `condition`. Returns a report, and the number of pages
    /// written. [`Self::begin`] has to follow.
    pub(super) fn precondition(
        &mut self,
        condition: Precondition,
        settings: &SsdSettings,
    ) -> (Option<PreconditionReport>, u64) {
        let ftl = self.new_layer();
        self.flash.format();
        self.flash.settle_as_issued(true);
        if let Some(wear) = &settings.wear {
            self.flash.set_wear(wear.initial_erases);
        }
        self.read_only = false;
        self.former = self.layer_counters();
        self.flash.backlog.clear();
        self.ftl = ftl;
        precondition::run(condition, &mut *self.ftl, &mut self.flash, &self.space)
    }

    /// Begins to serve requests, after preconditioning wrote this number of pages.
    pub(super) fn begin(&mut self, now: Nanos, writes: u64) {
        self.flash.settle_as_issued(!self.tracks_changes);
        self.counts.writes += writes;
        if let Some(ecc) = &mut self.ecc {
            ecc.start(now, &self.flash);
        }
    }

    /// Makes a new layer find its data in flash, as after a power failure. `ops` receives the operations for that.
    pub(super) fn recover_layer(&mut self, ops: &mut OpList) -> Result<(), FtlError> {
        self.former = self.layer_counters();
        if let Some(wear) = self.ftl.wear() {
            self.former_wear.add_events(&wear);
        }
        self.ftl = self.new_layer();
        self.ftl.recover(&mut Cells::new(&mut self.flash, ops))
    }

    /// Returns the counts of wear since the drive was new; `None` if the layer has none.
    pub(super) fn wear_counts(&self) -> Option<WearCounts> {
        let mut counts = self.ftl.wear()?;
        counts.add_events(&self.former_wear);
        Some(counts)
    }

    /// Returns the counts of all translation layers since the drive was new.
    pub(super) fn layer_counters(&self) -> FtlCounters {
        self.ftl.counters().plus(&self.former)
    }

    /// Asserts the invariants that hold at any time. Slow.
    pub(super) fn check(&self) {
        self.flash.check();
        self.ftl.check(&self.flash);
    }
}
