//! Simulated devices that serve real data in real time.
//!
//! ```text
//!  requests ──► EmulatedDevice ──► simulated device (esker-sim): when does it end?
//!                    │                         │
//!                    │◄───── its end is due ───┘
//!                    ▼
//!                 Medium ──► Contents: memory, or a sparse file
//!                    └─────► WriteCache: what a loss of power would bring back
//! ```

mod contents;
mod device;
mod failing;
mod figures;
mod medium;
mod served;
mod status;

pub use contents::{Contents, FileContents, MemoryContents, OpenError};
pub use device::{EmulatedDevice, EmulationSettings, capacity_of};
pub use failing::Failing;
pub use figures::{Punctuality, ResponseTimes, TimeFigures};
pub use served::EmulationOperation;
pub use status::{EmulationServerStatus, EmulationStatus};
