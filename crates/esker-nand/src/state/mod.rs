//! The content of the cells: blocks and their pages, wear, spare areas, and the operations that change them. This part
//! of the model has no notion of time.

mod counts;
mod flash;
mod journal;
mod mode;
mod op;
mod page_modes;
mod scan;

pub use counts::{OperationCounts, by_cause};
pub use flash::{ERASES_MAX, FlashState};
pub use journal::{ChangeFate, MapPage, SpareArea};
pub use mode::{OpModes, WRITE_MODES, WriteMode};
pub use op::{CAUSES, Cause, Cover, FlashOp, FlashOpKind, OpIndex, OpList, OpSink, Silent, Transfer};
pub use page_modes::{HostAccess, ModeCounts, ModePolicy};
pub use scan::{Scan, ScanCounts};
