//! A translation layer that wraps the one of a drive and records whose data each program writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use esker_core::{LogicalPage, PhysicalPage, StreamId};
use esker_ftl::{Cells, Ftl, FtlCounters, FtlError, WearCounts, WriteExtent};
use esker_nand::state::{Cause, FlashOpKind, FlashState, OpIndex, OpList};

use super::Ssd;

/// For each program for the host, by sequence number: the page that it wrote, and the stream that the data belong to.
pub(super) type Programs = Arc<Mutex<BTreeMap<u64, (LogicalPage, StreamId)>>>;

/// Passes all calls on to the wrapped layer.
#[derive(Clone, Debug)]
struct Witness {
    layer: Box<dyn Ftl>,
    stream: StreamId,
    programs: Programs,
}

/// Wraps the layer of `ssd` in a witness, and makes the drive pass the streams of requests on to it. If each request
/// has a stream of its own, the recorded programs show which request's data were written. A power failure removes the
/// witness.
pub(super) fn watch(ssd: &mut Ssd) -> Programs {
    let programs = Programs::default();
    let another = ssd.back.new_layer();
    let layer = std::mem::replace(&mut ssd.back.ftl, another);
    ssd.back.ftl = Box::new(Witness { layer, stream: StreamId::default(), programs: programs.clone() });
    ssd.back.streams = true;
    programs
}

impl Ftl for Witness {
    fn begin_stream(&mut self, stream: StreamId) {
        self.stream = stream;
        if self.layer.keeps_streams() {
            self.layer.begin_stream(stream);
        }
    }
    fn write(&mut self, page: LogicalPage, extent: WriteExtent, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        let first = cells.flash.next_sequence();
        self.layer.write(page, extent, cells)?;
        let programs = cells
            .sink
            .as_slice()
            .iter()
            .filter(|op| matches!(op.kind, FlashOpKind::Program { .. } | FlashOpKind::Copy { .. }));
        let is_host =
            |op: &esker_nand::state::FlashOp| matches!(op.kind, FlashOpKind::Program { .. }) && op.cause == Cause::Host;
        let index = programs.into_iter().position(is_host).expect("a write programs a page");
        self.programs.lock().unwrap().insert(first + index as u64, (page, self.stream));
        Ok(())
    }

    fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        self.layer.find(page)
    }
    fn pool_of(&self, page: LogicalPage) -> u32 {
        self.layer.pool_of(page)
    }
    fn begin_request(&mut self, pages: u32) {
        self.layer.begin_request(pages);
    }
    fn keeps_streams(&self) -> bool {
        self.layer.keeps_streams()
    }
    fn end_request(&mut self, cells: &mut Cells<'_, OpList>) {
        self.layer.end_request(cells);
    }
    fn read(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        self.layer.read(page, cells);
    }
    fn refresh(
        &mut self,
        page: LogicalPage,
        read: OpIndex,
        cause: Cause,
        cells: &mut Cells<'_, OpList>,
    ) -> Result<(), FtlError> {
        let version = |layer: &dyn Ftl, flash: &FlashState| layer.find(page).map(|at| flash.version(at));
        let old = version(&*self.layer, cells.flash);
        let refreshed = self.layer.refresh(page, read, cause, cells);
        let new = version(&*self.layer, cells.flash);
        // The data are those of the earlier write.
        let mut programs = self.programs.lock().unwrap();
        if let (Some(new), Some(of)) = (new, old.and_then(|old| programs.get(&old).copied())) {
            programs.insert(new, of);
        }
        refreshed
    }
    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        self.layer.trim(page, cells);
    }
    fn collect(&mut self, pool: u32, cells: &mut Cells<'_, OpList>) -> Result<bool, FtlError> {
        self.layer.collect(pool, cells)
    }
    fn writable_pages(&self) -> u64 {
        self.layer.writable_pages()
    }
    fn memory_bytes(&self) -> usize {
        self.layer.memory_bytes()
    }
    fn map_bytes(&self) -> u64 {
        self.layer.map_bytes()
    }
    fn counters(&self) -> FtlCounters {
        self.layer.counters()
    }
    fn wear(&self) -> Option<WearCounts> {
        self.layer.wear()
    }
    fn check(&self, flash: &FlashState) {
        self.layer.check(flash);
    }
}
