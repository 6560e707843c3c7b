//! Tables and figures of the papers, published against measured. Each is one file and one line in [`ITEMS`].

mod drive;
mod items;
mod timed;
mod traces;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use esker_core::{Hint, ReplayEnd, ReplayError, Unsupported, did_you_mean};
use esker_flash::{HostManagedCacheError, PreconditionedDrives};
use esker_results::RunResults;
use esker_sim::{AssemblyError, ConfigError, Experiment, RunError, RunOptions, Workload};
use esker_trace::SyntheticError;
use thiserror::Error;

pub use esker_results::reproduction::{
    Axis, Claim, ClaimVerdict, Curve, Figure, STAND_IN_FACTOR, Scale, Source, Tally,
};
pub use items::ITEMS;
pub use traces::trace_files;

/// A table or a figure that can be rerun.
pub struct Item {
    /// `paper/item`: "agrawal/table-3".
    pub name: &'static str,
    /// A short title.
    pub title: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// Sections of the paper that it covers, without letters: "3.5.1". The first number is the chapter.
    pub sections: &'static [&'static str],
    /// Runs the item.
    pub run: fn(&Item, &Context<'_>) -> Result<ItemOutcome, ReproduceError>,
}

/// A claim before any run.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedClaim {
    /// What is claimed, with its unit.
    pub claim: String,
    /// The published value, if the paper has one.
    pub published: Option<f64>,
    /// The limit in words: "at least 1.25", or "unreachable". Absent if the value is only shown.
    pub limit: Option<String>,
    /// Why the limit is what it is, or why the claim cannot be judged.
    pub reason: String,
}

/// The results of an item.
#[derive(Clone, Debug, Default)]
pub struct ItemOutcome {
    /// Published and measured values.
    pub claims: Vec<Claim>,
    /// Curves or bars of these values, if the paper has a figure.
    pub figures: Vec<Figure>,
}

impl From<Vec<Claim>> for ItemOutcome {
    fn from(claims: Vec<Claim>) -> Self {
        Self { claims, figures: Vec::new() }
    }
}

/// Inputs and callbacks for running an item.
pub struct Context<'a> {
    /// Seed of everything random.
    pub seed: u64,
    /// Folder with the papers' traces, if the user has them.
    pub traces: Option<PathBuf>,
    /// Called with the progress within an item, as a fraction.
    pub progress: &'a (dyn Fn(f64) + Sync),
    /// Set to true to stop.
    pub cancel: &'a AtomicBool,
    /// The drives of all runs: those that begin alike are preconditioned once.
    pub drives: Arc<PreconditionedDrives>,
}

impl Context<'_> {
    /// How runs are stopped, and where they find the drives of other runs.
    pub(crate) fn run_options(&self) -> RunOptions<'_> {
        RunOptions { cancel: Some(self.cancel), drives: Some(&self.drives), ..RunOptions::default() }
    }

    /// Runs `experiment` as part `part.0` of `part.1` of the item. No request may fail.
    pub(crate) fn run(
        &self,
        item: &Item,
        experiment: &Experiment,
        part: (usize, usize),
    ) -> Result<RunResults, ReproduceError> {
        let opened = experiment.open_workload(self.cancel);
        let workload = opened.map_err(|fault| ReproduceError::of(item, ItemFault::from(fault)))?;
        self.run_workload(item, experiment, &workload, part)
    }

    /// Likewise, with the requests of `workload` instead of those that the experiment names.
    pub(crate) fn run_workload(
        &self,
        item: &Item,
        experiment: &Experiment,
        workload: &Workload,
        part: (usize, usize),
    ) -> Result<RunResults, ReproduceError> {
        let error = |fault: ItemFault| ReproduceError::of(item, fault);
        let progress = |ended: u64, requests: u64| {
            let share = part.0 as f64 + ended as f64 / requests.max(1) as f64;
            (self.progress)((share / part.1 as f64).min(1.0));
        };
        let options = RunOptions { progress: Some(&progress), ..self.run_options() };
        let results = esker_sim::run_workload(experiment, workload, &options).map_err(|fault| error(fault.into()))?;
        match results.requests.errors {
            0 => Ok(results),
            failed => Err(error(ItemFault::RequestsFailed(failed))),
        }
    }
}

/// Why an item failed.
#[derive(Debug, Error)]
pub enum ReproduceError {
    /// There is no such item.
    #[error("no item is called `{name}`")]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// The experiment could not be run.
    #[error("{item}: {fault}")]
    Experiment {
        /// The item.
        item: &'static str,
        /// The reason.
        fault: Box<ItemFault>,
    },
    /// The user stopped the run.
    #[error("interrupted")]
    Cancelled,
}

impl ReproduceError {
    /// Why `item` could not be run, or that the user asked for the end.
    pub(crate) fn of(item: &Item, fault: impl Into<ItemFault>) -> Self {
        match fault.into() {
            ItemFault::Run(RunError::Cancelled) => Self::Cancelled,
            fault => Self::Experiment { item: item.name, fault: Box::new(fault) },
        }
    }
}

/// Why the experiment of an item could not be run.
#[derive(Debug, Error)]
pub enum ItemFault {
    /// Its devices cannot be built.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// Its trace cannot be read, or its replay not go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its cache cannot be built.
    #[error(transparent)]
    Cache(#[from] HostManagedCacheError),
    /// The drive refused requests, or lost their data.
    #[error("{0} requests failed")]
    RequestsFailed(u64),
    /// Requests were left over.
    #[error("the run ended early: {0:?}")]
    EndedEarly(ReplayEnd),
    /// The drive could not keep up with the trace.
    #[error("the drive saturated")]
    Saturated,
    /// Its requests cannot be made up.
    #[error(transparent)]
    Synthetic(#[from] SyntheticError),
    /// A model of its runs cannot be trained.
    #[error(transparent)]
    Model(esker_model::ModelError),
    /// Its requests do not determine the coefficients of a prediction.
    #[error(transparent)]
    Fit(esker_model::FitError),
    /// The drive does not report what the item needs.
    #[error("the drive has no account of {0}")]
    NotReported(&'static str),
}

impl From<ConfigError> for ItemFault {
    fn from(error: ConfigError) -> Self {
        Self::Run(error.into())
    }
}
impl From<ReplayError> for ItemFault {
    fn from(error: ReplayError) -> Self {
        Self::Run(error.into())
    }
}
impl From<Unsupported> for ItemFault {
    fn from(error: Unsupported) -> Self {
        Self::Run(error.into())
    }
}

impl Hint for ReproduceError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { name } => {
                let known: Vec<&str> = ITEMS.iter().map(|item| item.name).collect();
                let item = name.split('/').filter(|part| !part.starts_with("ch")).collect::<Vec<_>>().join("/");
                Some(match did_you_mean(&item, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("PAPER, PAPER/chN[.M] or PAPER/ITEM; there are: {}", known.join(", ")),
                })
            }
            Self::Experiment { fault, .. } => match &**fault {
                ItemFault::Run(error) => error.hint(),
                _ => None,
            },
            Self::Cancelled => None,
        }
    }

    fn work_failed(&self) -> bool {
        matches!(self, Self::Experiment { .. })
    }
}

/// Returns the items that `patterns` name, each of the form `PAPER[/chN[.M]][/ITEM]`: "agrawal", "kim/ch3",
/// "kim/ch3.5", "kim/ch3.5/table-3.4", "agrawal/table-3". Without patterns, returns all items. No item is returned
/// twice. Those that [run on request](Item::runs_on_request) have to be named: "tournament/full".
pub fn select(patterns: &[String]) -> Result<Vec<&'static Item>, ReproduceError> {
    if patterns.is_empty() {
        return Ok(ITEMS.iter().filter(|item| !item.runs_on_request()).collect());
    }
    let mut wanted = vec![false; ITEMS.len()];
    for pattern in patterns {
        let lowercase = pattern.to_lowercase();
        let parts: Vec<&str> = lowercase.trim_end_matches('/').split('/').collect();
        let mut found = false;
        for (item, wanted) in ITEMS.iter().zip(&mut wanted) {
            if item.matches(&parts) {
                (*wanted, found) = (true, true);
            }
        }
        if !found {
            return Err(ReproduceError::Unknown { name: pattern.clone() });
        }
    }
    Ok(ITEMS.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(item, _)| item).collect())
}

impl Item {
    /// Returns true if it measures file systems on this machine instead of simulating. The figures then differ between
    /// machines and runs.
    pub fn is_measured_here(&self) -> bool {
        self.stated_claims().is_some()
    }

    /// The claims of an item that measures this machine, as they are stated before it runs; `None` of a simulated item.
    pub fn stated_claims(&self) -> Option<Vec<StatedClaim>> {
        items::stated(self)
    }

    /// Returns true if it reproduces no paper: its figures are nowhere else, and nothing is published to compare with.
    pub fn is_ours(&self) -> bool {
        self.paper() == "tournament"
    }

    /// Returns true if it takes so long that it runs only if its name is given.
    pub fn runs_on_request(&self) -> bool {
        items::ON_REQUEST.contains(&self.name)
    }

    fn paper(&self) -> &'static str {
        self.name.split('/').next().expect("splitting gives at least one part")
    }

    /// Returns true if `PAPER`, `PAPER/chN[.M]`, `PAPER/ITEM` or `PAPER/chN[.M]/ITEM`, split at the slashes, names this
    /// item.
    fn matches(&self, parts: &[&str]) -> bool {
        let is_item = |item: &str| self.name.split_once('/').is_some_and(|(_, name)| name == item);
        match parts {
            [paper] => self.paper() == *paper && !self.runs_on_request(),
            [paper, part] => self.paper() == *paper && (is_item(part) || self.lies_in(part)),
            [paper, chapter, item] => self.paper() == *paper && self.lies_in(chapter) && is_item(item),
            _ => false,
        }
    }

    /// Returns true if one of its sections is in `chapter`, "ch3" or "ch3.5".
    fn lies_in(&self, chapter: &str) -> bool {
        let Some(number) = chapter.strip_prefix("ch").filter(|number| !number.is_empty()) else { return false };
        let within =
            |section: &&str| section.strip_prefix(number).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.sections.iter().any(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_selected_by_paper_or_name() {
        assert_eq!(select(&["agrawal/table-3".into()]).unwrap().len(), 1);
        assert!(!select(&["agrawal".into()]).unwrap().is_empty());
        assert_eq!(select(&["Agrawal".into()]).unwrap().len(), select(&["agrawal".into()]).unwrap().len());
        let error = select(&["agrawal/tabel-3".into()]).err().unwrap();
        assert_eq!(error.hint().unwrap(), "did you mean `agrawal/table-3`?");
    }

    #[test]
    fn items_are_selected_by_chapter() {
        let names = |pattern: &str| -> Vec<&str> {
            select(&[pattern.to_string()]).map_or(Vec::new(), |items| items.iter().map(|item| item.name).collect())
        };
        assert_eq!(["kim/ch2", "kim/ch3", "kim/ch4", "kim/ch5"].map(names).concat(), names("kim"));
        assert_eq!(names("kim/ch5.2"), ["kim/regression", "kim/table-5.1", "kim/figure-5.2"]);
        assert_eq!(names("kim/ch3.5.3"), ["kim/figure-3.14"]);
        assert_eq!(names("kim/ch3.5/table-3.4"), ["kim/table-3.4"]);
        assert_eq!(names("agrawal/ch5/"), ["agrawal/table-7", "agrawal/table-8"]);
        assert!(names("agrawal/ch4").len() > names("agrawal/ch4.3").len() && !names("agrawal/ch4.3").is_empty());
        for nothing in ["kim/ch", "kim/ch35", "kim/ch6", "agrawal/ch5/table-3", "kim/3.5", "ch3"] {
            assert!(names(nothing).is_empty(), "{nothing}");
        }
    }

    #[test]
    fn what_takes_days_runs_only_if_it_is_named() {
        let names = |patterns: &[String]| -> Vec<&str> {
            select(patterns).map_or(Vec::new(), |items| items.iter().map(|item| item.name).collect())
        };
        assert_eq!(names(&["tournament".into()]), ["tournament/quick"]);
        assert_eq!(names(&["tournament/full".into()]), ["tournament/full"]);
        assert_eq!(names(&[]).len(), ITEMS.len() - 1);
    }

    #[test]
    fn an_item_that_two_patterns_name_runs_once() {
        let patterns = ["kim/ch3", "kim/table-3.4", "agrawal/table-3"].map(String::from);
        let selected = select(&patterns).unwrap();
        let mut names: Vec<_> = selected.iter().map(|item| item.name).collect();
        names.dedup();
        assert_eq!(names.len(), selected.len());
        assert_eq!(names[0], "agrawal/table-3", "in the order of the list, whatever the order of the patterns");
    }

    #[test]
    fn every_item_has_the_sections_that_its_source_names() {
        for item in ITEMS {
            assert_ne!(item.sections.is_empty(), !item.is_ours(), "{}", item.name);
            for section in item.sections {
                assert!(section.split('.').all(|number| number.parse::<u8>().is_ok()), "{}: {section}", item.name);
                let named = item.source.contains(section) || item.source.contains("simulator as released");
                assert!(named, "{}: {section}", item.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ITEMS.iter().map(|item| item.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ITEMS.len());
    }
}
