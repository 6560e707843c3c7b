//! What both sides of a connection share: numbers, commands, errors and extents of the protocol document.

mod command;
mod error;
mod extent;
mod fields;
pub(crate) mod numbers;

pub use command::Command;
pub(crate) use command::{Header, Offer, Refusal};
pub use error::ErrorNumber;
pub use extent::{BlockSizes, Extent};
pub(crate) use fields::{Fields, string};
