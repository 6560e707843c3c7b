//! A grid of runs: every combination of the values in `[sweep]`, on all cores.

mod store;
mod table;
mod workloads;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use esker_core::{Hint, jobs};
use esker_files::FileError;
use esker_results::RunResults;
use thiserror::Error;

use crate::config::{ConfigError, Experiment};
use crate::run::{RunOptions, run_workload};
use crate::run_error::RunError;
use store::{name_of, read_stored, write_stored};
use workloads::Workloads;

pub use store::is_name_of_results;
pub use table::{METRICS, Metric, SweepTable};

/// More points than this are a slip of the pen.
const POINTS_MAX: usize = 1_000_000;

/// How a sweep is run.
#[derive(Clone, Copy)]
pub struct SweepOptions<'a> {
    /// Where the results go: one file per point, named after its configuration. Made if it is not there.
    pub directory: &'a Path,
    /// Threads; all cores where `None`.
    pub threads: Option<NonZeroUsize>,
    /// Only the points whose index is `shard.0` modulo `shard.1`, to share a sweep out over machines.
    pub shard: Option<(usize, usize)>,
    /// Told how many points are done, and of how many.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Set by anyone to end the sweep, which then answers [`SweepError::Cancelled`]. What is done stays.
    pub cancel: Option<&'a AtomicBool>,
}

impl<'a> SweepOptions<'a> {
    /// On all cores, everything, into `directory`.
    pub fn new(directory: &'a Path) -> Self {
        Self { directory, threads: None, shard: None, progress: None, cancel: None }
    }
}

/// What a sweep did.
#[derive(Debug)]
pub struct Sweep {
    /// One row per point, in the order of the grid.
    pub table: SweepTable,
    /// Points that were run now.
    pub run: usize,
    /// Points whose results were there already.
    pub reused: usize,
    /// Points that could not be run; their rows say why.
    pub failed: usize,
}

/// Why a sweep could not be carried through.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The configuration of the whole, or of a point, is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Too many combinations.
    #[error("the sweep has {0} points, more than {POINTS_MAX}")]
    TooMany(usize),
    /// A shard that does not exist.
    #[error("there is no shard {index} of {count}; they are numbered from 0")]
    Shard {
        /// As asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The folder for results cannot be made.
    #[error("cannot make the folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Results cannot be kept.
    #[error(transparent)]
    Write(#[from] FileError),
    /// The caller ended the sweep.
    #[error("the sweep was cancelled")]
    Cancelled,
}

impl Hint for SweepError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Config(error) => error.hint(),
            Self::Write(error) => error.hint(),
            Self::Cancelled => Some("run it again to go on where it stopped".to_string()),
            _ => None,
        }
    }

    fn work_failed(&self) -> bool {
        match self {
            Self::Folder { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
            Self::Write(error) => error.work_failed(),
            _ => false,
        }
    }
}

/// One point of the grid.
struct Point {
    index: usize,
    choice: Vec<usize>,
    /// The file of its results, within the directory.
    name: String,
}

/// Runs every point of the experiment's grid whose results are not in the directory yet. The bytes of each file depend
/// on its point alone, not on the number of threads.
pub fn sweep(experiment: &Experiment, options: &SweepOptions) -> Result<Sweep, SweepError> {
    let points = points(experiment, options.shard)?;
    std::fs::create_dir_all(options.directory)
        .map_err(|source| SweepError::Folder { path: options.directory.to_path_buf(), source })?;
    // Points that come to the same configuration are one run.
    let mut distinct: BTreeMap<&str, &Point> = BTreeMap::new();
    for point in points.iter().rev() {
        distinct.insert(&point.name, point);
    }
    let mut queue: Vec<&Point> = distinct.into_values().collect();
    queue.sort_by_key(|point| point.index);

    let never = AtomicBool::new(false);
    let crew = Crew {
        experiment,
        options,
        cancel: options.cancel.unwrap_or(&never),
        workloads: Workloads::new(),
        done: AtomicUsize::new(0),
        outcomes: Mutex::new(BTreeMap::new()),
        failure: Mutex::new(None),
    };
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = options.threads.unwrap_or_else(cores).get();
    jobs::for_each(threads, queue.len(), |index| crew.run(queue[index], queue.len()));
    if let Some(failure) = crew.failure.into_inner().expect("no thread panicked") {
        return Err(failure);
    }
    if crew.cancel.load(Ordering::Relaxed) {
        return Err(SweepError::Cancelled);
    }
    let outcomes = crew.outcomes.into_inner().expect("no thread panicked");
    let count = |wanted: fn(&Outcome) -> bool| outcomes.values().filter(|outcome| wanted(outcome)).count();
    let (run, reused, failed) = (
        count(|outcome| matches!(outcome, Outcome::Run(_))),
        count(|outcome| matches!(outcome, Outcome::Reused(_))),
        count(|outcome| matches!(outcome, Outcome::Failed(_))),
    );
    let mut table = SweepTable::new(experiment.dimensions());
    for point in &points {
        match &outcomes[&point.name] {
            Outcome::Run(metrics) | Outcome::Reused(metrics) => {
                table.push(point.index, &point.choice, &point.name, metrics)
            }
            Outcome::Failed(message) => table.push_failed(point.index, &point.choice, message),
        }
    }
    Ok(Sweep { table, run, reused, failed })
}

/// The points of the grid (of one shard of it), the first dimension varying slowest. Reads every point's configuration,
/// so that a mistake shows before hours of work.
fn points(experiment: &Experiment, shard: Option<(usize, usize)>) -> Result<Vec<Point>, SweepError> {
    let counts: Vec<usize> = experiment.dimensions().iter().map(|dimension| dimension.count()).collect();
    let total = counts.iter().fold(1usize, |product, &count| product.saturating_mul(count));
    if total > POINTS_MAX {
        return Err(SweepError::TooMany(total));
    }
    let (shard, shards) = shard.unwrap_or((0, 1));
    if shard >= shards {
        return Err(SweepError::Shard { index: shard, count: shards });
    }
    let point = |index: usize| {
        let mut rest = index;
        let mut choice: Vec<usize> = counts
            .iter()
            .rev()
            .map(|&count| {
                let value = rest % count;
                rest /= count;
                value
            })
            .collect();
        choice.reverse();
        let name = name_of(&experiment.point(&choice)?.resolved());
        Ok(Point { index, choice, name })
    };
    (shard..total).step_by(shards).map(point).collect()
}

enum Outcome {
    Run(Vec<serde_json::Value>),
    Reused(Vec<serde_json::Value>),
    Failed(String),
}

/// What the threads of a sweep share.
struct Crew<'a> {
    experiment: &'a Experiment,
    options: &'a SweepOptions<'a>,
    cancel: &'a AtomicBool,
    workloads: Workloads,
    done: AtomicUsize,
    /// By file name.
    outcomes: Mutex<BTreeMap<String, Outcome>>,
    failure: Mutex<Option<SweepError>>,
}

impl Crew<'_> {
    /// Runs one point of `total`; breaks off where no other point is worth beginning.
    fn run(&self, point: &Point, total: usize) -> ControlFlow<()> {
        if self.cancel.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        match self.outcome(point) {
            Ok(outcome) => {
                self.outcomes.lock().expect("no thread panicked").insert(point.name.clone(), outcome);
            }
            Err(SweepError::Cancelled) => return ControlFlow::Break(()),
            Err(error) => {
                self.failure.lock().expect("no thread panicked").get_or_insert(error);
                return ControlFlow::Break(());
            }
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.options.progress.inspect(|progress| progress(done, total));
        ControlFlow::Continue(())
    }

    fn outcome(&self, point: &Point) -> Result<Outcome, SweepError> {
        let experiment = self.experiment.point(&point.choice)?;
        let path = self.options.directory.join(&point.name);
        if let Some(results) = read_stored(&path, &experiment.resolved()) {
            return Ok(Outcome::Reused(metrics(&results)));
        }
        let options = RunOptions { cancel: Some(self.cancel), ..RunOptions::default() };
        let results = self
            .workloads
            .of(&experiment, self.cancel)
            .and_then(|workload| run_workload(&experiment, &workload, &options));
        match results {
            Ok(results) => {
                write_stored(&path, &results)?;
                Ok(Outcome::Run(metrics(&results)))
            }
            Err(RunError::Cancelled) => Err(SweepError::Cancelled),
            // One impossible combination should not cost the others their results.
            Err(error) => Ok(Outcome::Failed(error.to_string())),
        }
    }
}

fn metrics(results: &RunResults) -> Vec<serde_json::Value> {
    METRICS.iter().map(|metric| (metric.of)(results)).collect()
}
