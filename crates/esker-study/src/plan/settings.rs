//! The settings of plans.

use esker_plan::ClassSettings;

use crate::StudySettings;

/// What a plan asks for beside what a study does.
#[derive(Clone, Debug)]
pub struct PlanSettings {
    /// The traces, budgets, data and products.
    pub study: StudySettings,
    /// How records become classes.
    pub classes: ClassSettings,
    /// Plans that are simulated at most, each corrected by what the one before missed.
    pub rounds: usize,
}
