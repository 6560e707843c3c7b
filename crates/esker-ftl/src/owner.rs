//! The owner of logical pages, who can drop pages instead of having cleaning copy them.

use std::fmt;

use esker_core::{LogicalPage, StreamId};

/// Owns the pages that a layer stores: a cache that manages its own flash, for example. The layer asks it before
/// cleaning copies a page, so that pages nobody needs cost no copy.
///
/// Layers with the capability to [ask](crate::LayerCapability::AsksOwner) do so for every data page that cleaning
/// (forced or in idle time) or wear-levelling is about to copy, and for no other. A page that is not kept is unmapped
/// and reads as never written; after a power failure it may, like a trimmed page, read as something that was written to
/// it before. Layers that map whole blocks never ask, and keep all pages.
pub trait PageOwner: fmt::Debug {
    /// Returns true if the data of `page` are still needed.
    fn keep(&mut self, page: LogicalPage) -> bool;

    /// Returns the stream whose blocks take `page`, which is [kept](Self::keep), when cleaning copies it. `None` leaves
    /// that to the settings of the layer. Layers without [streams](crate::LayerCapability::Streams), or whose settings
    /// do not ask for any, never ask.
    fn stream(&mut self, page: LogicalPage) -> Option<StreamId> {
        let _ = page;
        None
    }

    /// A block went out of use. The layer has room for fewer pages from now on, and the owner may say that pages which
    /// it would have [kept](Self::keep) are no longer needed.
    fn retired(&mut self) {}

    /// The block with the data of `page`, which was [suspected](crate::Ftl::suspect), is being erased: it can no longer
    /// be revived.
    fn erased(&mut self, page: LogicalPage) {
        let _ = page;
    }
}
