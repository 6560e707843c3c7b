//! Who says whether pages are still wanted.

use std::fmt;

use esker_core::LogicalPage;

/// Whose pages the layer keeps: a cache that manages its flash, for example. It is asked before cleaning copies one of
/// them, so that what it can do without costs no copy.
///
/// Layers that can [ask](crate::LayerCapability::AsksOwner) ask for every page of data that cleaning, in idle time or
/// when it must, or wear-levelling is about to copy, and for no other. A page that is not kept is unmapped and reads as
/// if it had never been written; after a power failure it may, as a trimmed one, read as what was written to it before.
/// Layers that map whole blocks never ask, and keep all.
pub trait PageOwner: fmt::Debug {
    /// Whether the data of `page` are still wanted.
    fn keep(&mut self, page: LogicalPage) -> bool;
}
