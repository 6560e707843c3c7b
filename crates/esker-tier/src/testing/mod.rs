//! The world in which the tests of all engines run: a host, devices that fail and lose unflushed data, and a journal.

mod buffers;
mod device;
mod history;
mod host;
mod journal;
mod losses;
mod rules;
mod store;
mod world;

pub(crate) use device::Device;
pub(crate) use losses::losses;
pub(crate) use rules::Rules;
pub(crate) use store::Store;
pub(crate) use world::{Around, World};
