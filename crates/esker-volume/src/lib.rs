//! The real driver: the placement engine of the simulator over real stores and a real clock.
//!
//! One thread steps a [`RealDriver`]; it performs the very effects that `esker-sim` performs on device models. What is
//! not here yet: a journal on disk, I/O in parallel, and a front end such as NBD.

mod backend;
mod clock;
mod driver;
mod journal;

pub use backend::{Backend, FileBackend, MemoryBackend};
pub use clock::{Clock, SystemClock};
pub use driver::{EffectLog, RealDriver, Reply, Store};
pub use journal::{Journal, MemoryJournal};
