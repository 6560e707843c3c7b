//! Sweeps: a run for every combination of the values in `[sweep]`, or for a random sample of them, on all cores.

mod store;
mod table;
mod workloads;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use esker_config::ConfigError;
use esker_core::{Hint, jobs};
use esker_files::FileError;
use esker_flash::PreconditionedDrives;
use esker_results::RunResults;
use thiserror::Error;

use crate::config::{Experiment, POINTS_MAX};
use crate::run::run_workload;
use crate::run_error::RunError;
use crate::run_options::RunOptions;
use store::{name_of, read_stored, write_stored};
use workloads::Workloads;

pub use store::is_name_of_results;
pub use table::{METRICS, Metric, SweepTable};

/// Options of a sweep.
#[derive(Clone, Copy)]
pub struct SweepOptions<'a> {
    /// Folder for the results: one file per point, named after its configuration. Created if missing.
    pub directory: &'a Path,
    /// Threads; `None` for all cores.
    pub threads: Option<NonZeroUsize>,
    /// Only the points whose index is `shard.0` modulo `shard.1`, to split a sweep over several machines.
    pub shard: Option<(usize, usize)>,
    /// Called with the number of finished points, and of all points.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Set to true to stop the sweep, which then returns [`SweepError::Cancelled`]. Finished points are kept.
    pub cancel: Option<&'a AtomicBool>,
}

impl<'a> SweepOptions<'a> {
    /// All points, on all cores, into `directory`.
    pub fn new(directory: &'a Path) -> Self {
        Self { directory, threads: None, shard: None, progress: None, cancel: None }
    }
}

/// The outcome of a sweep.
#[derive(Debug)]
pub struct Sweep {
    /// One row per point, in order.
    pub table: SweepTable,
    /// Number of points that were run.
    pub run: usize,
    /// Number of points whose results existed already.
    pub reused: usize,
    /// Number of points that failed; their rows have the reason.
    pub failed: usize,
}

/// Why a sweep failed.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The configuration of the sweep or of a point is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Too many combinations.
    #[error("the sweep has {0} points, more than {POINTS_MAX}")]
    TooMany(usize),
    /// A shard that does not exist.
    #[error("there is no shard {index} of {count}; they are numbered from 0")]
    Shard {
        /// Its index.
        index: usize,
        /// Number of shards.
        count: usize,
    },
    /// The folder for results cannot be created.
    #[error("cannot make the folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Results cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
    /// The caller stopped the sweep.
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

/// One point of the sweep.
struct Point {
    index: usize,
    choice: Vec<usize>,
    /// The name of its results file, within the directory.
    name: String,
}

/// Runs every point whose results are not yet in the directory. The bytes of a results file depend only on its point,
/// not on the number of threads.
pub fn sweep(experiment: &Experiment, options: &SweepOptions) -> Result<Sweep, SweepError> {
    let points = points(experiment, options.shard)?;
    std::fs::create_dir_all(options.directory)
        .map_err(|source| SweepError::Folder { path: options.directory.to_path_buf(), source })?;
    // Points with equal configurations are run once.
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
        drives: Arc::default(),
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
    let count = |wanted: fn(&PointOutcome) -> bool| outcomes.values().filter(|outcome| wanted(outcome)).count();
    let (run, reused, failed) = (
        count(|outcome| matches!(outcome, PointOutcome::Run(_))),
        count(|outcome| matches!(outcome, PointOutcome::Reused(_))),
        count(|outcome| matches!(outcome, PointOutcome::Failed(_))),
    );
    let mut table = SweepTable::new(experiment.dimensions());
    for point in &points {
        match &outcomes[&point.name] {
            PointOutcome::Run(metrics) | PointOutcome::Reused(metrics) => {
                table.push(point.index, &point.choice, &point.name, metrics)
            }
            PointOutcome::Failed(message) => table.push_failed(point.index, &point.choice, message),
        }
    }
    Ok(Sweep { table, run, reused, failed })
}

/// Returns the points (or those of one shard). Reads the configuration of every point, so that mistakes show before
/// hours of work.
fn points(experiment: &Experiment, shard: Option<(usize, usize)>) -> Result<Vec<Point>, SweepError> {
    let plan = experiment.sweep_plan();
    let total = plan.count();
    if total > POINTS_MAX {
        return Err(SweepError::TooMany(total));
    }
    let (shard, shards) = shard.unwrap_or((0, 1));
    if shard >= shards {
        return Err(SweepError::Shard { index: shard, count: shards });
    }
    let point = |index: usize| {
        let choice = plan.choice(index);
        let name = name_of(&experiment.point(&choice)?.resolved());
        Ok(Point { index, choice, name })
    };
    (shard..total).step_by(shards).map(point).collect()
}

enum PointOutcome {
    Run(Vec<serde_json::Value>),
    Reused(Vec<serde_json::Value>),
    Failed(String),
}

/// State shared by the threads of a sweep.
struct Crew<'a> {
    experiment: &'a Experiment,
    options: &'a SweepOptions<'a>,
    cancel: &'a AtomicBool,
    workloads: Workloads,
    /// The drives of all points: those that begin alike are preconditioned once.
    drives: Arc<PreconditionedDrives>,
    done: AtomicUsize,
    /// Outcomes by file name.
    outcomes: Mutex<BTreeMap<String, PointOutcome>>,
    failure: Mutex<Option<SweepError>>,
}

impl Crew<'_> {
    /// Runs one point of `total`. Breaks off if no other point should begin.
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

    fn outcome(&self, point: &Point) -> Result<PointOutcome, SweepError> {
        let experiment = self.experiment.point(&point.choice)?;
        let path = self.options.directory.join(&point.name);
        if let Some(results) = read_stored(&path, &experiment.resolved()) {
            return Ok(PointOutcome::Reused(metrics(&results)));
        }
        let options = RunOptions { cancel: Some(self.cancel), drives: Some(&self.drives), ..RunOptions::default() };
        let results = self
            .workloads
            .of(&experiment, self.cancel)
            .and_then(|workload| run_workload(&experiment, &workload, &options));
        match results {
            Ok(results) => {
                write_stored(&path, &results)?;
                Ok(PointOutcome::Run(metrics(&results)))
            }
            Err(RunError::Cancelled) => Err(SweepError::Cancelled),
            // One impossible combination should not cost the others their results.
            Err(error) => Ok(PointOutcome::Failed(error.to_string())),
        }
    }
}

fn metrics(results: &RunResults) -> Vec<serde_json::Value> {
    METRICS.iter().map(|metric| (metric.of)(results)).collect()
}
