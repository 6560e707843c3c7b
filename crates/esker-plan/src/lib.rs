//! The cheapest mix of devices for classes of data.
//!
//! A [`Problem`] has classes of data and types of devices, and says what each class needs of each type. [`solve`] finds
//! the counts of devices, and the shares of each class on them, that cost least, and a bound that no plan can be below.
//! [`check`] checks a plan by plain arithmetic, apart from the solver. Nothing here simulates.

mod check;
mod classes;
mod explain;
mod instances;
mod problem;
mod solver;

pub use check::{CheckedPlan, LimitUse, Plan, TOLERANCE, Violation, check};
pub use classes::{ClassOfData, ClassSettings, DataClasses, Demand, HotBin, HotBins, Load, demand};
pub use explain::{
    BreakEven, Clash, ConstraintCost, LimitChange, Remedy, break_even, clash, constraint_costs, remedies, runners_up,
};
pub use instances::InstanceSettings;
pub use problem::{Constraint, DataClass, DeviceType, PairLimit, Problem, ProblemError, Resource, Sharing, TotalLimit};
pub use solver::{Observer, Outcome, Progress, Solution, SolverSettings, keep_going, solve};
