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

pub use device::Device;
pub use losses::losses;
pub use rules::Rules;
pub use store::Store;
pub use world::{Around, World};
