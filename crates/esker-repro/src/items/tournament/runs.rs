//! The runs: every contestant in a closed loop, then at 70 % of the best one's rate.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use esker_core::{Bytes, Ratio, jobs};
use esker_sim::{Experiment, OneOrMore, RunError, RunSettings, Workload, WorkloadSettings};

use super::contestants::{self, BEST_SPLIT, Contestant};
use super::loads::{Load, MEAN_GAP};
use super::measured::Measured;
use super::verdict::{Estimate, Row};
use super::{Cell, Plan};
use crate::{Context, Item, ItemFault, ReproduceError};

/// The arrival rate of open loops, as a part of the best closed loop's.
const OPEN_SHARE: f64 = 0.7;

/// How requests come.
#[derive(Clone, Copy, Debug)]
enum Arrive {
    UnderWay(u32),
    PerSecond(f64),
}

/// A load, played on every cell.
pub(super) struct Played {
    pub(super) load: Load,
    /// Nothing but the reason if its trace is missing.
    pub(super) cells: Result<Vec<PlayedCell>, String>,
}

/// A load on one cell.
pub(super) struct PlayedCell {
    /// Those that ran.
    pub(super) rows: Vec<Row>,
    /// Those that did not, with the reason.
    pub(super) absent: Vec<(String, String)>,
    /// Share of the data on the fast device of the best fixed split, percent of what fits.
    pub(super) best_split: Option<String>,
}

/// How far the tournament is.
struct Progress<'a> {
    context: &'a Context<'a>,
    done: Mutex<usize>,
    all: usize,
}

impl Progress<'_> {
    fn one_more(&self) {
        let mut done = self.done.lock().expect("nothing panics with the lock");
        *done += 1;
        (self.context.progress)((*done as f64 / self.all as f64).min(1.0));
    }
}

/// Plays everything.
pub(super) fn all(item: &Item, context: &Context<'_>, plan: &Plan) -> Result<Vec<Played>, ReproduceError> {
    let contestants = contestants::all();
    let files: Vec<_> = plan.loads.iter().map(|load| (load, load.find(context))).collect();
    let splits = contestants.iter().filter(|one| one.is_split()).count();
    let runs_of_cell = (2 * contestants.len() - splits + 1) * plan.seeds as usize;
    let found = files.iter().filter(|(_, file)| file.is_ok()).count();
    let progress = Progress { context, done: Mutex::new(0), all: found * plan.cells().len() * runs_of_cell };
    let mut played = Vec::new();
    for (load, file) in files {
        let cells = match file {
            Ok(file) => {
                let requests = load.read(item, context, file.as_deref(), (plan.requests, plan.made_up))?;
                let seeds = (0..plan.seeds).map(|seed| {
                    let seed = context.seed + seed;
                    let workload = load.workload(&requests, plan.requests, seed);
                    Ok((seed, workload.map_err(|fault| ReproduceError::of(item, fault))?))
                });
                let seeds = seeds.collect::<Result<_, ReproduceError>>()?;
                let round = Round { plan, progress: &progress, seeds, touched: requests.touched };
                Ok(round.cells(&contestants).map_err(|fault| ReproduceError::of(item, fault))?)
            }
            Err(reason) => Err(reason),
        };
        played.push(Played { load: *load, cells });
    }
    Ok(played)
}

/// One load.
struct Round<'a> {
    plan: &'a Plan,
    progress: &'a Progress<'a>,
    /// Its requests for each seed.
    seeds: Vec<(u64, Workload)>,
    touched: Bytes,
}

/// What every contestant measured on a cell, one run for each seed, or why it did not run.
type Found = Vec<Result<Vec<Measured>, String>>;

impl Round<'_> {
    fn cells(&self, contestants: &[Contestant]) -> Result<Vec<PlayedCell>, RunError> {
        let cells = self.plan.cells();
        let everyone = vec![vec![true; contestants.len()]; cells.len()];
        let closed = self.play(&cells, contestants, &everyone, |cell| Arrive::UnderWay(cells[cell].depth))?;
        let throughput = |cell: usize, one: usize| {
            let runs = closed[cell][one].as_ref().ok()?;
            Some(Estimate::of(&runs.iter().map(|run| run.requests_per_s).collect::<Vec<_>>()).mean)
        };
        let best = |cell: usize, among: &dyn Fn(&Contestant) -> bool| {
            let some = (0..contestants.len()).filter(|&one| among(&contestants[one]));
            let some = some.filter_map(|one| Some((one, throughput(cell, one)?)));
            some.max_by(|(_, one), (_, other)| one.total_cmp(other))
        };
        let best_splits: Vec<Option<usize>> =
            (0..cells.len()).map(|cell| Some(best(cell, &Contestant::is_split)?.0)).collect();
        let with_rows: Vec<Vec<bool>> = best_splits
            .iter()
            .map(|best| (0..contestants.len()).map(|one| !contestants[one].is_split() || *best == Some(one)).collect())
            .collect();
        let rate = |cell: usize| best(cell, &|_| true).map_or(1.0, |(_, rate)| rate * OPEN_SHARE);
        let open = self.play(&cells, contestants, &with_rows, |cell| Arrive::PerSecond(rate(cell)))?;
        let found = closed.into_iter().zip(open).zip(with_rows.iter().zip(best_splits));
        Ok(found.map(|(found, (who, best))| played_cell(contestants, found, (who, best))).collect())
    }

    /// Runs those of `contestants` on each of `cells` that `who` says.
    fn play(
        &self,
        cells: &[Cell],
        contestants: &[Contestant],
        who: &[Vec<bool>],
        arrive: impl Fn(usize) -> Arrive + Sync,
    ) -> Result<Vec<Found>, RunError> {
        let runs: Vec<(usize, usize, usize)> = (0..cells.len())
            .flat_map(|cell| (0..contestants.len()).map(move |one| (cell, one)))
            .filter(|&(cell, one)| who[cell][one])
            .flat_map(|(cell, one)| (0..self.seeds.len()).map(move |seed| (cell, one, seed)))
            .collect();
        let measured = jobs::collect(self.plan.threads, runs.len(), |index| {
            let (cell, one, seed) = runs[index];
            let measured = self.run(&cells[cell], &contestants[one], seed, arrive(cell));
            self.progress.one_more();
            measured
        });
        let mut found: Vec<Found> = vec![vec![Ok(Vec::new()); contestants.len()]; cells.len()];
        for ((cell, one, _), measured) in runs.into_iter().zip(measured) {
            match measured {
                Err(ItemFault::Run(RunError::Cancelled)) => return Err(RunError::Cancelled),
                Err(fault) => found[cell][one] = Err(fault.to_string()),
                Ok(measured) => found[cell][one].iter_mut().for_each(|runs| runs.push(measured.clone())),
            }
        }
        Ok(found)
    }

    fn run(&self, cell: &Cell, one: &Contestant, seed: usize, arrive: Arrive) -> Result<Measured, ItemFault> {
        // A short run ends before it looks.
        if self.progress.context.cancel.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled.into());
        }
        let (seed, workload) = &self.seeds[seed];
        let (queue_depth, time_scale) = match arrive {
            Arrive::UnderWay(depth) => (NonZeroU32::new(depth), None),
            Arrive::PerSecond(rate) => (None, Some(Ratio::from_f64(1.0 / (rate * MEAN_GAP.as_secs_f64())))),
        };
        // The requests are there already: the name only says whose they are.
        let trace = Some(OneOrMore::One(one.name.clone()));
        let settings = WorkloadSettings { trace, queue_depth, time_scale, ..WorkloadSettings::default() };
        let run = RunSettings { seed: *seed, warm_up_requests: self.plan.requests / 2, ..RunSettings::default() };
        let system = cell.pair.system(&one.store, self.touched, cell.fast_percent);
        let experiment = Experiment::of(system, settings, run)?;
        let options = self.progress.context.run_options();
        let results = esker_sim::run_workload(&experiment, workload, &options)?;
        match (results.requests.errors, results.saturated) {
            (0, None) => Ok(Measured::of(&results, &cell.pair)),
            (0, Some(_)) => Err(ItemFault::Saturated),
            (failed, _) => Err(ItemFault::RequestsFailed(failed)),
        }
    }
}

/// Puts together what `contestants` did in both kinds of runs. `who` has rows, and of splits only the best.
fn played_cell(
    contestants: &[Contestant],
    (closed, open): (Found, Found),
    (who, best): (&[bool], Option<usize>),
) -> PlayedCell {
    let (mut rows, mut absent) = (Vec::new(), Vec::new());
    let both = contestants.iter().zip(who).zip(closed.into_iter().zip(open)).filter(|((_, has_row), _)| **has_row);
    for ((one, _), found) in both {
        let name = if one.is_split() { BEST_SPLIT.to_string() } else { one.name.clone() };
        match found {
            (Ok(closed), Ok(open)) => rows.push(Row { name, side: one.side, closed, open }),
            (Err(reason), _) | (_, Err(reason)) => absent.push((name, reason)),
        }
    }
    PlayedCell { rows, absent, best_split: best.map(|best| contestants[best].name.clone()) }
}
