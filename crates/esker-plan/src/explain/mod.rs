//! Why a plan is as it is, and why there is none: the problem solved again with changes.

mod break_even;
mod clash;
mod constraints;
mod remedy;
mod runners_up;

pub use break_even::{BreakEven, break_even};
pub use clash::{Clash, clash};
pub use constraints::{ConstraintCost, constraint_costs};
pub use remedy::{LimitChange, Remedy, remedies};
pub use runners_up::runners_up;
