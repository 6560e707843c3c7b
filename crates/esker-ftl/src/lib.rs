//! Translation layers: they map logical pages to flash pages and make free space. One file per layer.
//!
//! A layer knows no time. Each call changes the [`FlashState`] and emits the flash operations of that change, in an
//! order that stays consistent wherever a power failure cuts it. The device schedules the operations.
//!
//! # How to add a translation layer
//!
//! Add one file, `plain.rs`. This one is in the registry of this crate's tests and passes the tests of every layer:
//!
#![doc = "```ignore"]
#![doc = include_str!("worked_example.rs")]
#![doc = "```"]
//!
//! and two lines here: `mod plain;`, and `plain::ENTRY` in [`FTLS`]. The tests that walk the registry (the map
//! property, the timing suite) then cover it, and `ftl = "plain"` selects it. A layer that maps single pages builds on
//! [`Pools`], as this one does. A layer that maps whole blocks, with or without log blocks, implements `Scheme` of
//! `blocks`, which provides data blocks, free blocks and merges. A layer that can do more than this names it in its
//! entry ([`LayerCapability`]); settings that need a capability which the layer lacks are refused.

mod allocation;
mod bast;
mod block;
mod blocks;
mod capability;
mod cells;
mod counters;
mod dftl;
mod error;
mod fast;
pub mod gc;
mod last;
pub mod modes;
mod numbers;
mod owner;
mod page;
mod pools;
pub mod precondition;
mod recovery;
mod replacement_block;
mod roomy;
mod settings;
mod space;
mod superblock;
mod suspects;
#[cfg(test)]
mod worked_example;
mod zoned;

use std::fmt;

use dyn_clone::DynClone;
use esker_core::registry::{self, Entry};
use esker_core::{LogicalPage, PhysicalPage, StreamId, Unsupported};
use esker_nand::Geometry;
use esker_nand::state::{Cause, FlashState, OpIndex, OpList, Silent};
use thiserror::Error;

pub use capability::LayerCapability;
pub use cells::Cells;
pub use counters::FtlCounters;
pub use error::BuildError;
pub use esker_core::registry::{Choice, ParameterValue, Parameters};
pub use gc::VICTIM_POLICIES;
pub use modes::WRITE_MODE_POLICIES;
pub use numbers::PoolBlock;
pub use owner::PageOwner;
pub use pools::{Content, PageMap, Pools, WearCounts};
pub use recovery::FoundBlock;
pub use settings::{
    CleaningSettings, EndOfLife, FtlSettings, STREAMS_MAX, Separation, WearLevelling, WearSettings, WriteFrontiers,
};
pub use space::Space;

/// Every translation layer, in the order in which lists show them.
pub static FTLS: &[FtlEntry] = &[
    page::ENTRY,
    dftl::ENTRY,
    block::ENTRY,
    replacement_block::ENTRY,
    bast::ENTRY,
    fast::ENTRY,
    superblock::ENTRY,
    last::ENTRY,
    zoned::ENTRY,
    #[cfg(test)]
    worked_example::ENTRY,
];

/// A translation layer: maps logical pages to flash.
pub trait Ftl: DynClone + fmt::Debug + Send {
    /// Returns the flash page that holds `page`; `None` if it was never written, was trimmed, or was dropped by its
    /// [`PageOwner`].
    fn find(&self, page: LogicalPage) -> Option<PhysicalPage>;

    /// Returns the pool, of the device's [`Space`], that `page` is written to.
    fn pool_of(&self, page: LogicalPage) -> u32;

    /// Prefetches what a coming request for `page` needs into the processor's caches. A hint: affects speed only.
    fn prefetch(&self, page: LogicalPage) {
        let _ = page;
    }

    /// Prefetches what a coming write of `page` needs beyond [`Self::prefetch`]: its address is in the map entry, which
    /// has to arrive first. A hint: affects speed only.
    fn prefetch_write(&self, page: LogicalPage, flash: &FlashState) {
        let _ = (page, flash);
    }

    /// Announces that the next `pages` writes belong to one request. Layers that tell sequential from random writes by
    /// the size of requests use this.
    fn begin_request(&mut self, pages: u32) {
        let _ = pages;
    }

    /// Announces that the next writes belong to a request of this stream. Layers with [`Self::keeps_streams`] use this.
    fn begin_stream(&mut self, stream: StreamId) {
        let _ = stream;
    }

    /// Returns true if the layer writes each stream to blocks of its own when the settings ask for that. Other layers
    /// ignore streams.
    fn keeps_streams(&self) -> bool {
        false
    }

    /// Called after all pages of a request have been asked for. Emits work that was put off until then, or that the
    /// request need not wait for.
    fn end_request(&mut self, cells: &mut Cells<'_, OpList>) {
        let _ = cells;
    }

    /// Emits the reads that fetch the data of `page`; none if it has no data.
    fn read(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>);

    /// Writes `page`, and first makes space if needed.
    fn write(&mut self, page: LogicalPage, extent: WriteExtent, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError>;

    /// Writes the data of `page` to another flash page; for layers that can [refresh](LayerCapability::Refresh). `read`
    /// is the operation among `ops` that fetches the data, just emitted by [`Self::read`]; `cause` is what the program
    /// counts as.
    fn refresh(
        &mut self,
        page: LogicalPage,
        read: OpIndex,
        cause: Cause,
        cells: &mut Cells<'_, OpList>,
    ) -> Result<(), FtlError> {
        let _ = (page, read, cause, cells);
        Ok(())
    }

    /// Unmaps `page`: its data are no longer needed.
    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>);

    /// Counts the data of `page` as invalid from now on, but keeps them where they are. Until their block is erased,
    /// they can be [revived](Self::revive); the erase is reported to the [`PageOwner`]. Until then, [`Self::find`] does
    /// not find the page, and a write or a trim of it ends the suspicion. Returns false, with nothing changed, if the
    /// page has no data, or if the layer cannot [suspect](LayerCapability::Suspects).
    ///
    /// A power failure forgets which pages were suspected, so that they would take the room of others: drives that can
    /// [recover](Self::recover) must not suspect.
    fn suspect(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) -> bool {
        let _ = (page, cells);
        false
    }

    /// Makes the data of `page`, which was [suspected](Self::suspect), valid again, without any flash operation.
    /// Returns false, with nothing changed, if the page is not or no longer suspected. The caller makes sure that there
    /// are never more pages with valid data than [`Space::host_pages`].
    fn revive(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) -> bool {
        let _ = (page, cells);
        false
    }

    /// Does one step of cleaning in idle time in `pool`, if `cleaning.background` asks for it: copies a page, or erases
    /// a block. Returns false if there was nothing to do.
    fn collect(&mut self, pool: u32, cells: &mut Cells<'_, OpList>) -> Result<bool, FtlError>;

    /// Writes `pages` one after the other without simulated time. A layer may override this with a faster way to the
    /// same result.
    fn write_untimed(&mut self, pages: &[LogicalPage], flash: &mut FlashState) -> Result<(), FtlError> {
        let mut ops = OpList::default();
        for page in pages {
            ops.clear();
            self.write(*page, WriteExtent::Whole, &mut Cells::new(flash, &mut ops))?;
        }
        Ok(())
    }

    /// Puts a newly built layer and erased flash into the steady state of uniformly random writes to the first `pages`
    /// pages. Returns the mean number of data programs per host page write in that state; `None`, with nothing changed,
    /// if the layer does not know the state.
    fn begin_steady(&mut self, pages: u32, seed: u64, flash: &mut FlashState) -> Option<f64> {
        let _ = (pages, seed, flash);
        None
    }

    /// Rebuilds the map after a power failure, on a newly built layer, from flash alone; for layers that can
    /// [recover](LayerCapability::Recover). Emits the reads that this takes, and the operations needed before new
    /// writes.
    ///
    /// Afterwards each page reads as its last acknowledged write, or as a later one. A trimmed page may read as
    /// anything that was written to it before, unless the layer promises more.
    fn recover(&mut self, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        let _ = cells;
        Err(FtlError::CannotRecover)
    }

    /// Returns the number of pages that can be written before cleaning is needed.
    fn writable_pages(&self) -> u64;

    /// Returns the bytes of memory that the simulation of this layer takes.
    fn memory_bytes(&self) -> usize;

    /// Returns the bytes of controller memory that the layer's tables take, counted as in its paper: an entry of 4
    /// bytes per mapped block or page (Kim 2009, section 2.3.2: 32 MB for 16 GB in pages of 2 KB).
    fn map_bytes(&self) -> u64;

    /// Returns the layer's own counts since it was built. [`FlashState`] counts the operations.
    fn counters(&self) -> FtlCounters {
        FtlCounters::default()
    }

    /// Stops or resumes wear-levelling that moves data only to level wear, from the next write on. What levels wear
    /// without moving data (the rate limit) goes on. A power failure forgets the pause. Layers that level nothing, and
    /// settings by which nothing is moved, do not support this.
    fn pause_levelling(&mut self, is_paused: bool) -> Result<(), Unsupported> {
        let _ = is_paused;
        Err(NO_LEVELLING)
    }

    /// Returns counts of worn-out blocks and of wear-levelling; `None` from layers that have neither.
    fn wear(&self) -> Option<WearCounts> {
        None
    }

    /// Returns how many pages cleaning has moved out of blocks that it has not erased yet: those under cleaning between
    /// two steps. Zero from layers that empty a block at once.
    fn half_cleaned(&self) -> u64 {
        0
    }

    /// Asserts the invariants that hold between calls. Slow.
    fn check(&self, flash: &FlashState);
}

dyn_clone::clone_trait_object!(Ftl);

/// What a layer without wear-levelling answers when it is to pause it.
const NO_LEVELLING: Unsupported = Unsupported("wear-levelling");

/// Distance, in writes, at which the map entry of a coming write is prefetched.
const FAR: usize = 24;
/// Distance, in writes, at which what the map entry points to is prefetched.
const NEAR: usize = 12;

/// Writes `pages` one after the other, and prefetches for the writes that follow.
#[inline(always)]
fn write_with_prefetch<L: Ftl>(
    layer: &mut L,
    pages: &[LogicalPage],
    flash: &mut FlashState,
    mut write: impl FnMut(&mut L, LogicalPage, &mut Cells<'_, Silent>) -> Result<(), FtlError>,
) -> Result<(), FtlError> {
    for (index, page) in pages.iter().enumerate() {
        if let Some(far) = pages.get(index + FAR) {
            layer.prefetch(*far);
        }
        if let Some(near) = pages.get(index + NEAR) {
            layer.prefetch_write(*near, flash);
        }
        write(layer, *page, &mut Cells::new(flash, &mut Silent))?;
    }
    Ok(())
}

/// How much of a page a write covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteExtent {
    /// The whole page.
    Whole,
    /// Some of its sectors. If the page has data, they are read first (read-modify-write).
    Partial,
}

/// Why a translation layer could not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FtlError {
    /// No free page is left, and cleaning gains none.
    #[error("no free page is left, and cleaning gains none")]
    NoSpace,
    /// The layer does not support recovery.
    #[error("this translation layer cannot recover after a power failure")]
    CannotRecover,
    /// So many blocks have gone bad that the host's data no longer fit.
    #[error("so many blocks have gone bad that the host's data have no room")]
    WornOut,
}

/// What a translation layer is built from.
#[derive(Clone, Copy, Debug)]
pub struct FtlContext<'a> {
    /// The array's shape.
    pub geometry: &'a Geometry,
    /// How its pages are divided into pools, host space and spare space.
    pub space: &'a Space,
    /// The settings of the drive that concern the layer.
    pub settings: &'a FtlSettings,
    /// Seed of the layer's random numbers.
    pub seed: u64,
}

/// Builds a translation layer.
pub type BuildFtl = fn(&FtlContext<'_>, Parameters<'_>) -> Result<Box<dyn Ftl>, BuildError>;

/// A translation layer in the registry.
pub type FtlEntry = Entry<BuildFtl, LayerCapability>;

/// Returns the registry entry of the layer that a drive's `ftl` names.
pub fn entry(ftl: &Choice) -> Result<&'static FtlEntry, BuildError> {
    registry::find(FTLS, "translation layer", &ftl.kind).map_err(|name| BuildError::UnknownKind { key: "ftl", name })
}

/// Builds the translation layer that `context.settings.ftl` names.
pub fn build(context: &FtlContext<'_>) -> Result<Box<dyn Ftl>, BuildError> {
    let entry = entry(&context.settings.ftl)?;
    pools::check(context.settings)?;
    let parameters = Parameters::new(&context.settings.ftl, &entry.parameters)
        .map_err(|error| BuildError::of_choice("ftl", error))?;
    // Before sizes: what a layer cannot do, it can do at no size.
    capability::check(entry, context.settings)?;
    (entry.build)(context, parameters)
}

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod owner_tests;
#[cfg(test)]
mod suspect_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
