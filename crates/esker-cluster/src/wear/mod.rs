//! Wear models: how many erases a server's writes cost. One file per model.

mod counters;
pub(crate) mod equations;
mod light;
mod published;
mod spread;

use std::fmt::Debug;

use esker_core::registry::{self, Choice, ChoiceError, Entry, NotFound, Parameters};
use thiserror::Error;

pub use light::{FITTED_GRANULARITY, FITTED_OVERLAP};
pub use spread::{RATE_CLASSES, WriteSpread, rate_class};

/// All wear models, in the order in which lists show them.
pub static WEAR_MODELS: &[WearEntry] = &[counters::ENTRY, published::ENTRY, light::ENTRY];

/// A wear model in the registry.
pub type WearEntry = Entry<fn(Parameters<'_>) -> Box<dyn WearModel>>;

/// What is known of a server's flash and of what was written to it in some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlashLoad {
    /// `B_p`: pages of a block.
    pub pages_per_block: u32,
    /// Pages that the host has written.
    pub pages: f64,
    /// The share of the drive's physical pages that are valid, from 0 to 1.
    pub utilisation: f64,
    /// How unevenly pages are written.
    pub spread: WriteSpread,
    /// Pages of one write that lie in the same block; 0 if unknown, as if blocks were much larger.
    pub run_pages: f64,
    /// Whether writes begin anywhere, so that one overwrites parts of others.
    pub runs_overlap: bool,
    /// Erases in that time by the drive's own count, if it tells.
    pub counted: Option<f64>,
}

impl FlashLoad {
    /// A drive of which nothing is known, and to which nothing is written.
    pub const UNKNOWN: Self = Self {
        pages_per_block: 1,
        pages: 0.0,
        utilisation: 0.0,
        spread: WriteSpread::EVEN,
        run_pages: 0.0,
        runs_overlap: false,
        counted: None,
    };
}

/// Tells how many erases writes cost.
pub trait WearModel: Debug + Send + Sync {
    /// Returns the erases for each page that the host writes; `None` if too little is known.
    fn erases_per_page(&self, flash: &FlashLoad) -> Option<f64>;

    /// Returns the erases that `flash.pages` have cost.
    fn erases(&self, flash: &FlashLoad) -> Option<f64> {
        self.erases_per_page(flash).map(|rate| rate * flash.pages)
    }
}

/// Why a component of this crate cannot be made from its settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// The registry has no such entry.
    #[error(transparent)]
    Unknown(#[from] NotFound),
    /// The entry does not take these parameters.
    #[error(transparent)]
    Parameter(#[from] ChoiceError),
}

/// Makes the wear model that `choice` names.
pub fn build_wear_model(choice: &Choice) -> Result<Box<dyn WearModel>, SettingsError> {
    let entry = registry::find(WEAR_MODELS, "wear model", &choice.kind)?;
    Ok((entry.build)(Parameters::new(choice, &entry.parameters)?))
}

/// A parameter in thousandths as a number.
fn thousandths(parameters: Parameters<'_>, name: &str) -> f64 {
    parameters.integer(name) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::registry::ParameterValue;

    #[test]
    fn the_registry_is_sound_and_every_model_orders_loads_alike() {
        assert_eq!(registry::check(WEAR_MODELS), Vec::<String>::new());
        for entry in WEAR_MODELS {
            let model = build_wear_model(&Choice::named(entry.name)).unwrap();
            let load = |pages: f64| FlashLoad {
                pages_per_block: 64,
                pages,
                utilisation: 0.8,
                counted: Some(pages / 40.0),
                ..FlashLoad::UNKNOWN
            };
            assert_eq!(model.erases(&load(0.0)).unwrap_or(0.0), 0.0, "{}", entry.name);
            let (less, more) = (model.erases(&load(1000.0)).unwrap(), model.erases(&load(3000.0)).unwrap());
            assert!(less > 0.0 && (more / less - 3.0).abs() < 1e-9, "{}", entry.name);
        }
        let mut choice = Choice::named("published");
        choice.parameters.insert("offset_thousandths".into(), ParameterValue::Integer(5000));
        assert!(matches!(build_wear_model(&choice), Err(SettingsError::Parameter(_))));
        assert!(matches!(build_wear_model(&Choice::named("smart")), Err(SettingsError::Unknown(_))));
    }
}
