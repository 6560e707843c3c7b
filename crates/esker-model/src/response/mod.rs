//! The response time of a drive's next request, by what came just before it (Kim 2009, section 5.3.1).
//!
//! A [`RequestWindow`] follows the requests of a drive and gives the [`RequestTerms`] of each. [`LinearResponse`] is
//! equation 5.3 with coefficients found by [least squares](crate::Problem::solve) on past requests;
//! [`RecursiveLeastSquares`] finds them while the requests go on.

mod cleaning_clock;
mod gaps;
mod linear;
mod marginal_cost;
mod recursive;
mod window;

pub use cleaning_clock::CleaningClock;
pub use linear::{LinearResponse, ResponseObservation};
pub use marginal_cost::MarginalCost;
pub use recursive::RecursiveLeastSquares;
pub use window::{RequestTerms, RequestWindow};
