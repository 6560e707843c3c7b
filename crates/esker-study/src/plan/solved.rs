//! What a problem came to.

use std::ops::ControlFlow;

use esker_plan::{Outcome, Problem, ProblemError, Progress, Solution};

use super::moments::Moment;
use crate::{Hooks, StudyError};

/// A plan of the model.
pub(super) struct Solved {
    pub(super) problem: Problem,
    pub(super) solution: Solution,
    pub(super) moments: Vec<Moment>,
}

/// What a problem came to.
pub(super) enum Found {
    Solved(Box<Solved>),
    NoPlan(Box<Unplanned>),
}

/// A problem without a plan.
pub(super) struct Unplanned {
    pub(super) problem: Problem,
    /// How its search ended.
    pub(super) outcome: Outcome,
    /// The seconds that plans without them did not keep.
    pub(super) seconds: Vec<u32>,
}

pub(super) fn fault(error: ProblemError) -> StudyError {
    StudyError::Settings { message: format!("there is no plan: {error}") }
}

/// An observer that lets searches go on until the user stops them.
pub(super) fn observer<'h>(hooks: &'h Hooks<'_>) -> impl FnMut(&Progress) -> ControlFlow<()> + 'h {
    |_| if hooks.cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
