//! NAND flash: what its cells hold, and how long its operations take.

mod journal;
mod op;
mod state;
mod timing;

pub use journal::{MapPage, Spare};
pub use op::{CAUSES, Cause, FlashOp, FlashOpKind, OpIndex, OpList, OpSink, Silent, Transfer};
pub use state::{FlashState, OperationCounts};
pub use timing::Timing;
