//! A trained model: its form, the coefficients, and the ranges of what it was trained on.

use esker_core::Hint;
use esker_core::registry::{self, NotFound};
use esker_results::profile::Profile;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::forms::{FORMS, Form, Prediction};
use crate::least_squares::{Fit, FitError};
use crate::run::{COLUMNS, Characteristics, MEASURED, Measured, NoRun, Run};

/// The version of the form of models in JSON. It is raised by changes that would break a reader.
pub const MODEL_SCHEMA: u32 = 1;

/// Runs in which the drive was busier than this are left out: their response times depend on how long they were.
pub const BUSY_MAX: f64 = 0.9;

/// A trained model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Version of this schema.
    pub schema: u32,
    /// Its form, by name.
    pub form: String,
    /// Runs that it was trained on.
    pub runs: usize,
    /// Runs that were left out, because the drive was busy for more than nine tenths of the time.
    pub left_out: usize,
    /// The characteristics of the runs: outside of these ranges a prediction is a guess.
    pub ranges: Vec<Range>,
    /// The fits, in the order of the form.
    pub parts: Vec<FittedPart>,
}

/// The values of a characteristic in the runs of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The characteristic.
    pub characteristic: String,
    /// The least value.
    pub from: f64,
    /// The greatest value.
    pub to: f64,
}

/// A part of a form with its coefficients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedPart {
    /// Its name.
    pub name: String,
    /// What it explains, with its unit.
    pub explains: String,
    /// The coefficients with their statistics.
    pub fit: Fit,
}

/// Why a model cannot be trained or read.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ModelError {
    /// There is no such form.
    #[error(transparent)]
    Form(#[from] NotFound),
    /// The coefficients of a part cannot be found.
    #[error("{part}: {fault}")]
    Fit {
        /// The part.
        part: &'static str,
        /// The reason.
        fault: FitError,
    },
    /// It is no model.
    #[error("this is no model of esker: {0}")]
    NoModel(String),
    /// It is a model of another schema.
    #[error("this model is of schema {found}, and this esker reads schema {MODEL_SCHEMA}")]
    Schema {
        /// Its schema.
        found: u32,
    },
    /// Its parts are not those of its form.
    #[error("the parts of this model are not those of the form `{form}`")]
    Parts {
        /// The form.
        form: String,
    },
}

impl Hint for ModelError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Form(error) => error.hint(),
            Self::Fit { fault: FitError::TooFew { .. }, .. } => {
                Some("give the results of more runs, such as those of a sweep with a `sample`".to_string())
            }
            Self::Fit { fault: FitError::Collinear { .. }, .. } => {
                Some("vary more characteristics in the runs, each independently of the others".to_string())
            }
            Self::Schema { .. } | Self::Parts { .. } => Some("train it again: `esker model train`".to_string()),
            _ => None,
        }
    }
}

/// Returns the form of this name.
pub fn form(name: &str) -> Result<&'static Form, NotFound> {
    Ok(&registry::find(FORMS, "form of a model", name)?.build)
}

impl Model {
    /// Trains a model of the form `name` on `runs`.
    pub fn train(name: &str, runs: &[Run]) -> Result<Self, ModelError> {
        let form = form(name)?;
        let usable: Vec<&Run> = runs.iter().filter(|run| is_usable(run)).collect();
        let mut fits: Vec<Fit> = Vec::new();
        for part in form.parts {
            let fit = part.train(&fits, &usable).map_err(|fault| ModelError::Fit { part: part.name, fault })?;
            fits.push(fit);
        }
        let fitted = form.parts.iter().zip(fits).map(|(part, fit)| FittedPart {
            name: part.name.to_string(),
            explains: part.explains.to_string(),
            fit,
        });
        Ok(Self {
            schema: MODEL_SCHEMA,
            form: name.to_string(),
            runs: usable.len(),
            left_out: runs.len() - usable.len(),
            ranges: ranges(&usable),
            parts: fitted.collect(),
        })
    }

    /// Reads a model in JSON.
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let no_model = |error: serde_json::Error| ModelError::NoModel(error.to_string());
        let Version { schema } = serde_json::from_str(text).map_err(no_model)?;
        if schema != MODEL_SCHEMA {
            return Err(ModelError::Schema { found: schema });
        }
        let model: Self = serde_json::from_str(text).map_err(no_model)?;
        let parts = form(&model.form)?.parts;
        let same = |(part, fitted): (&crate::forms::Part, &FittedPart)| {
            let terms = fitted.fit.coefficients.iter().map(|of| of.term.as_str());
            part.name == fitted.name && terms.eq(part.terms.iter().copied())
        };
        if model.parts.len() != parts.len() || !parts.iter().zip(&model.parts).all(same) {
            return Err(ModelError::Parts { form: model.form });
        }
        Ok(model)
    }

    /// Predicts response time and erase rate of a workload.
    pub fn predict(&self, of: &Characteristics) -> Prediction {
        let fits: Vec<Fit> = self.parts.iter().map(|part| part.fit.clone()).collect();
        (form(&self.form).expect("a model has a known form").predict)(&fits, of)
    }

    /// Describes a workload with this profile on a drive like those of the model, full to `fullness`.
    pub fn characteristics(&self, profile: &Profile, fullness: f64) -> Result<Characteristics, NoRun> {
        let of =
            |name: &str| self.ranges.iter().find(|range| range.characteristic == name).map_or(1.0, |range| range.to);
        Characteristics::new(profile, fullness, of("page_bytes"), of("block_pages"))
    }

    /// Returns the ranges that the characteristics of a workload lie outside of.
    pub fn outside(&self, of: &Characteristics) -> Vec<&Range> {
        let run = Run { name: String::new(), characteristics: *of, measured: Measured::default() };
        let value = |range: &Range| COLUMNS.iter().find(|column| column.name == range.characteristic);
        let outside =
            |range: &&Range| value(range).is_some_and(|column| !(range.from..=range.to).contains(&(column.of)(&run)));
        self.ranges.iter().filter(outside).collect()
    }
}

/// Whether a model can learn from a run.
pub(crate) fn is_usable(run: &Run) -> bool {
    run.measured.busy_share <= BUSY_MAX
}

fn ranges(runs: &[&Run]) -> Vec<Range> {
    let range = |column: &crate::run::Column| {
        let values = || runs.iter().map(|run| (column.of)(run));
        let (from, to) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        Range { characteristic: column.name.to_string(), from, to }
    };
    COLUMNS[..MEASURED].iter().map(range).collect()
}
