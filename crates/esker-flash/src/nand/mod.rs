//! NAND flash: what its cells hold, and how long its operations take.

mod op;
mod state;
mod timing;

pub use op::{CAUSES, Cause, FlashOp, FlashOpKind, OpIndex, OpList, OpSink, Silent, Transfer};
pub use state::{FlashState, OperationCounts};
pub use timing::Timing;
