//! Tables and figures of the papers: published against measured. One file and one line in [`ITEMS`] each.

mod claim;
mod figure;
mod items;
mod traces;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use esker_core::{Hint, did_you_mean};
use thiserror::Error;

pub use claim::{Claim, ClaimVerdict};
pub use figure::{Axis, Curve, Figure, Scale, Source};
pub use items::ITEMS;
pub use traces::trace_files;

/// A table or a figure that can be rerun.
pub struct Item {
    /// `paper/item`: "agrawal/table-3".
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// Runs it.
    pub run: fn(&Item, &Context<'_>) -> Result<Outcome, ReproduceError>,
}

/// What an item found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Published against measured, value by value.
    pub claims: Vec<Claim>,
    /// The same as curves, where the paper has a figure.
    pub figures: Vec<Figure>,
}

impl From<Vec<Claim>> for Outcome {
    fn from(claims: Vec<Claim>) -> Self {
        Self { claims, figures: Vec::new() }
    }
}

/// What an item may use.
pub struct Context<'a> {
    /// Seed of everything random.
    pub seed: u64,
    /// Folder with the traces of the papers, where the user has them.
    pub traces: Option<PathBuf>,
    /// Told of progress within an item, as a fraction.
    pub progress: &'a (dyn Fn(f64) + Sync),
    /// Set when the work should stop.
    pub cancel: &'a AtomicBool,
}

/// Why an item could not be run.
#[derive(Debug, Error)]
pub enum ReproduceError {
    /// No such item.
    #[error("no item is called `{name}`")]
    Unknown {
        /// As asked for.
        name: String,
    },
    /// The experiment could not be run.
    #[error("{item}: {message}")]
    Experiment {
        /// The item.
        item: &'static str,
        /// Why.
        message: String,
    },
    /// The user asked for the end.
    #[error("interrupted")]
    Cancelled,
}

impl Hint for ReproduceError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { name } => {
                let known: Vec<&str> = ITEMS.iter().map(|item| item.name).collect();
                Some(match did_you_mean(name, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are: {}", known.join(", ")),
                })
            }
            _ => None,
        }
    }

    fn work_failed(&self) -> bool {
        matches!(self, Self::Experiment { .. })
    }
}

/// The items that `patterns` name: `paper`, `paper/item`; all of them where there is no pattern.
pub fn select(patterns: &[String]) -> Result<Vec<&'static Item>, ReproduceError> {
    if patterns.is_empty() {
        return Ok(ITEMS.iter().collect());
    }
    let mut selected = Vec::new();
    for pattern in patterns {
        let wanted = pattern.trim_end_matches('/');
        let matches = |item: &&Item| item.name == wanted || item.name.starts_with(&format!("{wanted}/"));
        let before = selected.len();
        selected.extend(ITEMS.iter().filter(matches));
        if selected.len() == before {
            return Err(ReproduceError::Unknown { name: pattern.clone() });
        }
    }
    Ok(selected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_selected_by_paper_or_name() {
        assert_eq!(select(&["agrawal/table-3".into()]).unwrap().len(), 1);
        assert!(!select(&["agrawal".into()]).unwrap().is_empty());
        let error = select(&["agrawal/tabel-3".into()]).err().unwrap();
        assert_eq!(error.hint().unwrap(), "did you mean `agrawal/table-3`?");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ITEMS.iter().map(|item| item.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ITEMS.len());
    }
}
