//! The real driver: it runs the engines of the simulator over real stores, in real time.

mod backend;
mod buffers;
mod clock;
mod driver;
mod journal;
mod memory;
mod queue;
mod signal;
mod stacked;
mod store;

pub use backend::{
    Backend, BlockingBackend, Direct, Ended, FileBackend, Gather, MemoryBackend, Operation, OperationData, PlacedError,
    Threaded,
};
pub use clock::{Clock, SystemClock};
pub use driver::{RealDriver, Reply, StuckDrain};
pub use journal::{BlockingJournal, DirectJournal, Journal, JournalShare, MemoryJournal, ThreadedJournal, share};
pub use memory::{Buffer, BufferPool, ReplyData};
pub use signal::Signal;
pub use stacked::Stacked;
pub use store::Store;
