//! Which device holds what: placement engines, and how much a cache of each size would help.

pub mod mrc;
