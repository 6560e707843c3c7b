//! Synthetic traces: from a few settings, or fitted to a real trace.

mod address;
mod area;
mod arrivals;
mod like;
mod named;
mod permutation;
mod pieces;
mod presets;
mod rate;
mod settings;
mod size;
mod synthesiser;
mod zipf;

pub use address::AddressPattern;
pub use arrivals::ArrivalPattern;
pub use like::{GeneratedRecords, TraceModel, TraceModelFitter};
pub use permutation::Permutation;
pub use pieces::{PieceKind, PieceSettings};
pub use presets::WORKLOADS;
pub use rate::Rate;
pub use settings::{SyntheticError, SyntheticSettings};
pub use size::{SizePattern, WeightedSize};
pub use synthesiser::Synthesiser;
pub use zipf::Zipf;
