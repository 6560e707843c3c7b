//! Balancers: which slices should be on other servers. One file per policy.
//!
//! # How to add a balancer
//!
//! Add one file like `none.rs`, and two lines here: `mod name;`, and `name::ENTRY` in [`BALANCERS`]. The tests that
//! walk the registry then hold it to what every plan has to keep: room, failure domains, loads, the budget, and each
//! slice moved once.

mod averages;
mod codes;
mod draft;
mod edm_like;
pub(crate) mod equations;
mod ewo;
mod life;
mod none;
mod takers;
#[cfg(test)]
mod tests;
mod view;

use std::fmt::Debug;

use esker_core::Ratio;
use esker_core::registry::{self, Accepted, Choice, Entry, Fallback, Parameter, Parameters};

use crate::plan::Plan;
use crate::wear::{SettingsError, WearModel};

pub use codes::CodeGroups;
pub use view::{ClusterView, ServerView, SliceView, WearSum};

/// All balancers, in the order in which lists show them.
pub static BALANCERS: &[BalancerEntry] = &[none::ENTRY, edm_like::ENTRY, ewo::ENTRY, life::ENTRY];

/// A balancer in the registry.
pub type BalancerEntry = Entry<fn(Parameters<'_>) -> Box<dyn Balancer>>;

/// Decides at the end of each epoch which slices should move. It knows neither requests nor how replicas are kept
/// alike. The same views make the same plans.
pub trait Balancer: Debug + Send {
    /// Returns what should move. `model` tells what writes cost.
    ///
    /// A plan moves each slice at most once, and of the slices that share an erasure code at most one, to a server that
    /// takes more, has room, and shares no failure domain with another home of the slice or of its code. It expects to
    /// copy no more than the budget.
    fn plan(&mut self, view: &ClusterView<'_>, model: &dyn WearModel) -> Plan;

    /// `gamma_c`: objects above this multiple of the mean popularity count as hot in views.
    fn hot_threshold(&self) -> f64 {
        1.0
    }
}

/// Makes the balancer that `choice` names.
pub fn build_balancer(choice: &Choice) -> Result<Box<dyn Balancer>, SettingsError> {
    let entry = registry::find(BALANCERS, "balancer", &choice.kind)?;
    Ok((entry.build)(Parameters::new(choice, &entry.parameters)?))
}

/// A share that may be above one.
const fn share(name: &'static str, meaning: &'static str, percent: u64) -> Parameter {
    let (default, most) = (Ratio::percent(percent), Ratio::percent(100_000));
    Parameter { name, meaning, value: Accepted::Share { default, least: Ratio::ZERO, most } }
}

const fn count(name: &'static str, meaning: &'static str, default: u64, most: u64) -> Parameter {
    Parameter { name, meaning, value: Accepted::Count { default: Fallback::Value(default), least: 0, most } }
}
