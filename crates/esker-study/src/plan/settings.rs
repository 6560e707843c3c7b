//! The settings of plans.

use esker_core::Power;
use esker_plan::{ClassSettings, Sharing};

use crate::StudySettings;

/// What a plan asks for beside what a study does.
#[derive(Clone, Debug)]
pub struct PlanSettings {
    /// The traces, budgets, data and products.
    pub study: StudySettings,
    /// How records become classes.
    pub classes: ClassSettings,
    /// Whether neighbouring classes that are planned for the same devices become one.
    pub merge: bool,
    /// Whether classes on a type share the time of its devices, or each has all of it, as in Kim 2009, (4.6).
    pub sharing: Sharing,
    /// What all devices together may draw while they work.
    pub power: Option<Power>,
    /// Plans that are simulated at most, each corrected by what the one before missed.
    pub rounds: usize,
}

impl PlanSettings {
    /// Plans that are simulated at most, if nothing else is asked for.
    pub const ROUNDS: usize = 5;

    /// A plan for what a study asks for, as plans are if nothing else is asked for.
    pub(crate) fn of_study(study: StudySettings) -> Self {
        Self {
            study,
            classes: ClassSettings::kim_33(),
            merge: false,
            sharing: Sharing::Summed,
            power: None,
            rounds: Self::ROUNDS,
        }
    }
}
