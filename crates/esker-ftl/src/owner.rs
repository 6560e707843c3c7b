//! The owner of logical pages, who can drop pages so that cleaning need not copy them.

use std::fmt;

use esker_core::{LogicalPage, StreamId};

/// Owns the pages that a layer stores: for example, a cache that manages its own flash. Before cleaning copies a page,
/// the layer asks the owner, so that pages that nobody needs cost no copy.
///
/// Layers with the capability to [ask](crate::LayerCapability::AsksOwner) do so for every data page that cleaning
/// (forced or in idle time) or wear-levelling is about to copy, and for no other. A page that is not kept is unmapped
/// and reads as never written. After a power failure it may read as something that was written to it before, like a
/// trimmed page. Layers that map whole blocks never ask, and keep all pages.
pub trait PageOwner: fmt::Debug {
    /// Returns true if the data of `page` are still needed.
    fn keep(&mut self, page: LogicalPage) -> bool;

    /// Returns the stream whose blocks take `page`, which is [kept](Self::keep), when cleaning copies it. `None` leaves
    /// that to the settings of the layer. Layers without [streams](crate::LayerCapability::Streams), or with settings
    /// for a single stream, never ask.
    fn stream(&mut self, page: LogicalPage) -> Option<StreamId> {
        let _ = page;
        None
    }

    /// Called when a block went out of use. The layer has room for fewer pages from now on, and the owner may say that
    /// pages which it would have [kept](Self::keep) are no longer needed.
    fn retired(&mut self) {}

    /// Called when the block with the data of `page`, which was [suspected](crate::Ftl::suspect), is being erased: the
    /// page can no longer be revived.
    fn erased(&mut self, page: LogicalPage) {
        let _ = page;
    }
}
