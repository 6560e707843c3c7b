//! Translation layers: where logical pages lie, and how space is made. One file per layer.
//!
//! A layer knows nothing of time. Each call changes the [`FlashState`] and emits the flash operations that do so, in an
//! order that is safe to be cut anywhere; the device schedules them.
//!
//! # How to add a translation layer
//!
//! One file, `plain.rs`; in the tests of this crate this one is in the registry, and passes what they ask of every layer:
//!
#![doc = "```ignore"]
#![doc = include_str!("worked_example.rs")]
#![doc = "```"]
//!
//! and two lines here: `mod plain;`, and `plain::ENTRY` in [`FTLS`]. The tests that walk the registry (the map property,
//! the timing suite) cover it from then on, and `ftl = "plain"` selects it. A layer that maps single pages builds on
//! [`Pools`], as this one does. A layer that maps whole blocks, with or without log blocks, is a `Scheme` of `blocks`,
//! which has the data blocks, the free blocks and the merges. What a layer can do beyond this ([`LayerCapability`])
//! stands in its entry: settings that need more are refused.

mod bast;
mod block;
mod blocks;
mod capability;
mod cells;
mod choice;
mod counters;
mod dftl;
mod error;
mod fast;
pub mod gc;
mod last;
mod numbers;
mod owner;
mod page;
mod pools;
pub mod precondition;
mod recovery;
mod replacement_block;
mod settings;
mod space;
mod superblock;
#[cfg(test)]
mod worked_example;

use std::fmt;

use esker_core::registry::{self, Entry};
use esker_core::{LogicalPage, PhysicalPage, StreamId};
use esker_nand::Geometry;
use esker_nand::state::{FlashState, OpIndex, OpList, Silent};
use thiserror::Error;

pub use capability::LayerCapability;
pub use cells::Cells;
pub use choice::{Choice, Parameter, Parameters};
pub use counters::FtlCounters;
pub use error::BuildError;
pub use gc::VICTIM_POLICIES;
pub use numbers::PoolBlock;
pub use owner::PageOwner;
pub use pools::{Content, PageMap, Pools, WearCounts};
pub use recovery::FoundBlock;
pub use settings::{
    CleaningRules, EndOfLife, FtlSettings, STREAMS_MAX, Separation, WearLevelling, WearSettings, WriteFrontiers,
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
    #[cfg(test)]
    worked_example::ENTRY,
];

/// Maps logical pages to flash.
pub trait Ftl: fmt::Debug + Send {
    /// Where the data of `page` lie; `None` where it was never written, or trimmed, or dropped by its [`PageOwner`].
    fn find(&self, page: LogicalPage) -> Option<PhysicalPage>;

    /// The pool, of those of the device's [`Space`], that `page` is written to.
    fn pool_of(&self, page: LogicalPage) -> u32;

    /// A request for `page` will come soon: what it needs may be fetched into the processor's caches. Nothing but speed
    /// depends on it.
    fn expect(&self, page: LogicalPage) {
        let _ = page;
    }

    /// A write of `page` that was expected is now near: what could not be asked for before the first fetch had arrived
    /// may be fetched, too.
    fn expect_write(&self, page: LogicalPage, flash: &FlashState) {
        let _ = (page, flash);
    }

    /// The next `pages` writes belong to one request. Layers that tell sequential from random writes
    /// by the size of requests heed it.
    fn begin_request(&mut self, pages: u32) {
        let _ = pages;
    }

    /// The next writes belong to a request of this stream. Layers with [`Self::keeps_streams`] heed it.
    fn begin_stream(&mut self, stream: StreamId) {
        let _ = stream;
    }

    /// Whether data of different streams go to different blocks, where the settings ask for that. Other layers ignore
    /// streams.
    fn keeps_streams(&self) -> bool {
        false
    }

    /// All pages of a request have been asked for: what can wait until then, and what the request need
    /// not wait for, is emitted here.
    fn end_request(&mut self, cells: &mut Cells<'_, OpList>) {
        let _ = cells;
    }

    /// Emits the reads that bring the data of `page`; none where it has no data.
    fn read(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>);

    /// Writes `page`, making space first where that is needed.
    fn write(&mut self, page: LogicalPage, part: Part, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError>;

    /// Layers that can [refresh](LayerCapability::Refresh): writes the data of `page` to another place. `read` is the operation among `ops` that brings them, as
    /// [`Self::read`] has just emitted it.
    fn refresh(&mut self, page: LogicalPage, read: OpIndex, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        let _ = (page, read, cells);
        Ok(())
    }

    /// Forgets the data of `page`.
    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>);

    /// Does a step of cleaning ahead of need, as in idle time, if `cleaning.background` asks for it: copies a page, or
    /// erases a block. Says whether there was anything to do.
    fn collect(&mut self, cells: &mut Cells<'_, OpList>) -> Result<bool, FtlError>;

    /// Writes `pages` one after the other in no time. A layer may do this faster than page by page, with the same
    /// outcome.
    fn write_untimed(&mut self, pages: &[LogicalPage], flash: &mut FlashState) -> Result<(), FtlError> {
        let mut ops = OpList::default();
        for page in pages {
            ops.clear();
            self.write(*page, Part::Whole, &mut Cells::new(flash, &mut ops))?;
        }
        Ok(())
    }

    /// Brings a layer that was just built, and erased flash, into the state that uniformly random writes of the first
    /// `pages` pages would bring about in the end. Says how many programs of data a page write of the host takes from
    /// then on, in the mean. `None`, with nothing changed, where the layer does not know that state.
    fn begin_steady(&mut self, pages: u32, seed: u64, flash: &mut FlashState) -> Option<f64> {
        let _ = (pages, seed, flash);
        None
    }

    /// Layers that can [recover](LayerCapability::Recover): finds out after a power failure where the data are, on a layer that was just built, from what is on flash alone.
    /// Emits the reads that this takes, and what is needed to go on.
    ///
    /// Afterwards each page reads as what was last written to it and acknowledged, or as something that was written
    /// later. A trimmed page may read as anything that was written to it before, unless the layer says more.
    fn recover(&mut self, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        let _ = cells;
        Err(FtlError::CannotRecover)
    }

    /// Pages that can be written before anything has to be cleaned.
    fn writable_pages(&self) -> u64;

    /// Bytes of memory that this takes.
    fn memory_bytes(&self) -> usize;

    /// Bytes of controller memory that the layer's tables take, by the accounting of its paper: an entry of 4 bytes per
    /// block or page that is mapped (Kim 2009, section 2.3.2: 32 MB for 16 GB in pages of 2 KB).
    fn map_bytes(&self) -> u64;

    /// What the layer counted beside the operations that [`FlashState`] counts, since it was built.
    fn counters(&self) -> FtlCounters {
        FtlCounters::default()
    }

    /// What wore out, and what was done against uneven wear; `None` from layers that do neither.
    fn wear(&self) -> Option<WearCounts> {
        None
    }

    /// Asserts what must hold between calls; takes long.
    fn check(&self, flash: &FlashState);
}

/// How many writes ahead of its own a map entry is fetched, where the writes are known.
const FAR: usize = 24;
/// How many writes ahead of its own what follows from the map entry is fetched.
const NEAR: usize = 12;

/// Writes `pages` one after the other, and has `layer` fetch what each needs some writes before it.
#[inline(always)]
fn write_with_foresight<L: Ftl>(
    layer: &mut L,
    pages: &[LogicalPage],
    flash: &mut FlashState,
    mut write: impl FnMut(&mut L, LogicalPage, &mut Cells<'_, Silent>) -> Result<(), FtlError>,
) -> Result<(), FtlError> {
    for (index, page) in pages.iter().enumerate() {
        if let Some(far) = pages.get(index + FAR) {
            layer.expect(*far);
        }
        if let Some(near) = pages.get(index + NEAR) {
            layer.expect_write(*near, flash);
        }
        write(layer, *page, &mut Cells::new(flash, &mut Silent))?;
    }
    Ok(())
}

/// How much of a page a write covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Some sectors; the others are read first where the page has data (read-modify-write).
    Some,
}

/// Why a translation layer could not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FtlError {
    /// Nothing can be gained by cleaning.
    #[error("no free page is left, and cleaning gains none")]
    NoSpace,
    /// The layer has no recovery.
    #[error("this translation layer cannot recover after a power failure")]
    CannotRecover,
    /// Too many blocks have gone bad.
    #[error("so many blocks have gone bad that the host's data have no room")]
    WornOut,
}

/// What a translation layer is built for.
#[derive(Clone, Copy, Debug)]
pub struct FtlContext<'a> {
    /// The array's shape.
    pub geometry: &'a Geometry,
    /// How its pages are shared out.
    pub space: &'a Space,
    /// What it has to know of the drive's settings.
    pub settings: &'a FtlSettings,
    /// Its own seed.
    pub seed: u64,
}

/// Builds a translation layer.
pub type BuildFtl = fn(&FtlContext<'_>, Parameters<'_>) -> Result<Box<dyn Ftl>, BuildError>;

/// A translation layer in the registry.
pub type FtlEntry = Entry<BuildFtl, LayerCapability>;

/// The entry that the drive's settings name.
pub fn entry(settings: &FtlSettings) -> Result<&'static FtlEntry, BuildError> {
    registry::find(FTLS, "translation layer", &settings.ftl.kind)
        .map_err(|name| BuildError::UnknownKind { key: "ftl", name })
}

/// Builds the translation layer that `context.settings.ftl` names.
pub fn build(context: &FtlContext<'_>) -> Result<Box<dyn Ftl>, BuildError> {
    let entry = entry(context.settings)?;
    pools::check(context.settings)?;
    let parameters = Parameters::new("ftl", &context.settings.ftl, &entry.parameters)?;
    let layer = (entry.build)(context, parameters)?;
    capability::check(entry, context.settings)?;
    Ok(layer)
}

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod owner_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
