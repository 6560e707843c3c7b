//! Drives for items: a preset, with changes where the paper differs.

use esker_core::Ratio;
use esker_flash::{Choice, ParameterValue, SsdSettings};
use esker_sim::{DeviceDescription, PreconditionKind, System, preset};

/// The name of a drive in results.
pub(crate) const FLASH: &str = "flash";

/// A drive, and the state of its data before the run.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    pub(crate) settings: SsdSettings,
    pub(crate) precondition: PreconditionKind,
    pub(crate) utilisation: Ratio,
}

impl Drive {
    /// The preset without changes, as from the factory.
    pub(crate) fn preset(name: &str) -> Self {
        let settings = preset(name).unwrap_or_else(|error| panic!("an item names a preset: {error}"));
        Self { settings, precondition: PreconditionKind::None, utilisation: Ratio::ONE }
    }

    /// Applies `change` to the drive's settings.
    pub(crate) fn changed(mut self, change: impl FnOnce(&mut SsdSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Preconditions the whole address space of the drive.
    pub(crate) fn preconditioned(self, precondition: PreconditionKind) -> Self {
        Self { precondition, utilisation: Ratio::ONE, ..self }
    }

    /// Returns it as a device for a larger system.
    pub(crate) fn description(&self) -> DeviceDescription {
        DeviceDescription::new(self.settings.clone()).preconditioned(self.precondition, self.utilisation)
    }

    /// Returns a system of this drive alone, called [`FLASH`].
    pub(crate) fn system(&self) -> System {
        System::single(FLASH, self.description()).expect("one device without children is a tree")
    }
}

/// Makes a choice of the component `kind`, with parameters as in experiment files.
pub(crate) fn choice<const N: usize>(kind: &str, parameters: [(&str, ParameterValue); N]) -> Choice {
    let parameters = parameters.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    Choice { parameters, ..Choice::named(kind) }
}
