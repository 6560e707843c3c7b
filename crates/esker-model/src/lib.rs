//! Regression models of a solid-state drive: what its mean response time and its erase rate will be, by the
//! characteristics of a workload, without a simulation.
//!
//! A [`Run`] has the characteristics of a workload and what a simulation of it measured. A form ([`FORMS`]) says which
//! terms explain what; [`Model::train`] finds their coefficients by [least squares](Problem::solve), and
//! [`Model::evaluate`] compares a model with runs that it has not seen.
//!
//! [`LinearResponse`] predicts single requests instead: the response time of the next one, by those before it.

mod evaluation;
mod forms;
mod least_squares;
mod model;
mod response;
mod run;
mod shipped;
mod table;

pub use evaluation::{Errors, Evaluation, Judged};
pub use forms::{FORMS, Form, Part, Prediction, Weight};
pub use least_squares::{CONFIDENCE, Coefficient, Fit, FitError, Problem};
pub use model::{BUSY_MAX, FittedPart, MODEL_SCHEMA, Model, ModelError, Range, form};
pub use response::{
    CleaningClock, LinearResponse, MarginalCost, RecursiveLeastSquares, RequestTerms, RequestWindow,
    ResponseObservation,
};
pub use run::{Characteristics, Measured, NoRun, Run};
pub use shipped::{SHIPPED, Shipped};
pub use table::{TableError, is_table, read_table, write_table};
