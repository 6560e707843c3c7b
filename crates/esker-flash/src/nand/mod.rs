//! NAND flash: what its cells hold, and how long its operations take.

mod counts;
mod journal;
mod op;
mod scan;
mod state;
mod timing;

pub use counts::OperationCounts;
pub(crate) use counts::by_cause;
pub(crate) use journal::Fate;
pub use journal::{MapPage, Spare};
pub use op::{CAUSES, Cause, FlashOp, FlashOpKind, OpIndex, OpList, OpSink, Silent, Transfer};
pub(crate) use scan::Scan;
pub use state::FlashState;
pub use timing::{Decoding, DecodingStep, Timing};
