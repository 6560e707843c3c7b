//! What is wrong with a problem that cannot be planned at all.

use esker_core::Hint;
use thiserror::Error;

use super::{PairLimit, Problem, Resource};

/// Why a problem cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProblemError {
    /// There is nothing to place.
    #[error("there is no class of data")]
    NoClasses,
    /// There is nothing to place it on.
    #[error("there is no type of device")]
    NoTypes,
    /// A number that is negative, infinite or none at all.
    #[error("{place} is {found}: expected {expected}")]
    Number {
        /// Which number.
        place: String,
        /// What it is.
        found: String,
        /// What it may be.
        expected: &'static str,
    },
    /// A list that does not have one value for each class or each type.
    #[error("{place} has {found} values: expected {expected}, one for each {per}")]
    Length {
        /// Which list.
        place: String,
        /// How many values it has.
        found: usize,
        /// How many it should have.
        expected: usize,
        /// "class" or "type".
        per: &'static str,
    },
    /// More devices are installed than there may be.
    #[error("type {name}: {installed} devices are installed, and its largest count is {count_max}")]
    InstalledAboveMax {
        /// The type.
        name: String,
        /// What is installed.
        installed: u32,
        /// The largest count.
        count_max: u32,
    },
    /// Limits of pairs leave a class no type.
    #[error("class {name} is allowed on no type of device: {} it", forbidding(.limits))]
    NoTypeAllowed {
        /// The class.
        name: String,
        /// The limits that forbid it somewhere.
        limits: Vec<String>,
    },
}

fn forbidding(limits: &[String]) -> String {
    let verb = if limits.len() == 1 { "forbids" } else { "forbid" };
    format!("{} {verb}", limits.join(" and "))
}

impl Hint for ProblemError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NoClasses => "add the data that have to be placed",
            Self::NoTypes => "add the devices to choose from",
            Self::Number { .. } => "correct this number",
            Self::Length { .. } => "give the list one value for each, zero where there is no load",
            Self::InstalledAboveMax { .. } => "raise the largest count, or leave out installed devices that will go",
            Self::NoTypeAllowed { .. } => "raise the limit of this class, or add a type of device that keeps it",
        };
        Some(text.to_string())
    }
}

const POSITIVE: &str = "a positive number";
const NOT_NEGATIVE: &str = "a number that is not negative";

impl Problem {
    /// The first thing that makes the problem meaningless, if any.
    pub fn validate(&self) -> Result<(), ProblemError> {
        if self.classes.is_empty() {
            return Err(ProblemError::NoClasses);
        }
        if self.types.is_empty() {
            return Err(ProblemError::NoTypes);
        }
        for class in &self.classes {
            number(class.bytes, NOT_NEGATIVE, || format!("the size of class {}", class.name))?;
        }
        for device_type in &self.types {
            let name = &device_type.name;
            number(device_type.cost, NOT_NEGATIVE, || format!("the cost of type {name}"))?;
            number(device_type.installed_cost, NOT_NEGATIVE, || format!("the installed cost of type {name}"))?;
            let installed = device_type.installed;
            if let Some(count_max) = device_type.count_max.filter(|&count_max| count_max < installed) {
                return Err(ProblemError::InstalledAboveMax { name: name.clone(), installed, count_max });
            }
            device_type.resources.iter().try_for_each(|resource| self.validate_resource(name, resource))?;
        }
        for total in &self.totals {
            length(total.per_device.len(), self.types.len(), "type", || total.name.clone())?;
            number(total.limit, NOT_NEGATIVE, || format!("the limit of {}", total.name))?;
            for (value, device_type) in total.per_device.iter().zip(&self.types) {
                number(*value, NOT_NEGATIVE, || format!("{} of type {}", total.name, device_type.name))?;
            }
        }
        self.pair_limits.iter().try_for_each(|limit| self.validate_pair_limit(limit))?;
        (0..self.classes.len()).try_for_each(|class| self.validate_allowed(class))
    }

    fn validate_resource(&self, owner: &str, resource: &Resource) -> Result<(), ProblemError> {
        let place = || format!("{} of type {owner}", resource.name);
        number(resource.per_device, POSITIVE, place)?;
        length(resource.loads.len(), self.classes.len(), "class", || format!("the loads on {}", place()))?;
        for (load, class) in resource.loads.iter().zip(&self.classes) {
            number(*load, NOT_NEGATIVE, || format!("the load of class {} on {}", class.name, place()))?;
            number(*load / resource.per_device, NOT_NEGATIVE, || {
                format!("the number of devices for the load of class {} on {}", class.name, place())
            })?;
        }
        Ok(())
    }

    fn validate_pair_limit(&self, limit: &PairLimit) -> Result<(), ProblemError> {
        length(limit.values.len(), self.types.len(), "type", || limit.name.clone())?;
        length(limit.limits.len(), self.classes.len(), "class", || format!("the limits of {}", limit.name))?;
        for (values, device_type) in limit.values.iter().zip(&self.types) {
            let place = || format!("{} on type {}", limit.name, device_type.name);
            length(values.len(), self.classes.len(), "class", place)?;
            if let Some(value) = values.iter().find(|value| value.is_nan() || **value < 0.0) {
                return Err(not(*value, NOT_NEGATIVE, place()));
            }
        }
        match limit.limits.iter().find(|value| value.is_nan() || **value < 0.0) {
            Some(value) => Err(not(*value, NOT_NEGATIVE, format!("a limit of {}", limit.name))),
            None => Ok(()),
        }
    }

    fn validate_allowed(&self, class: usize) -> Result<(), ProblemError> {
        if (0..self.types.len()).any(|at| self.allows(at, class)) {
            return Ok(());
        }
        let forbids = |limit: &&PairLimit| (0..self.types.len()).any(|at| !limit.allows(at, class));
        let limits = self.pair_limits.iter().filter(forbids).map(|limit| limit.name.clone()).collect();
        Err(ProblemError::NoTypeAllowed { name: self.classes[class].name.clone(), limits })
    }
}

fn number(value: f64, expected: &'static str, place: impl FnOnce() -> String) -> Result<(), ProblemError> {
    let good = value.is_finite() && value >= 0.0 && (value > 0.0 || expected == NOT_NEGATIVE);
    if good { Ok(()) } else { Err(not(value, expected, place())) }
}

fn not(value: f64, expected: &'static str, place: String) -> ProblemError {
    ProblemError::Number { place, found: value.to_string(), expected }
}

fn length(
    found: usize,
    expected: usize,
    per: &'static str,
    place: impl FnOnce() -> String,
) -> Result<(), ProblemError> {
    if found == expected { Ok(()) } else { Err(ProblemError::Length { place: place(), found, expected, per }) }
}
