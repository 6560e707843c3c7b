//! Makes plans of a workload, and simulates them.

use esker_core::Bytes;
use esker_plan::{DataClasses, Outcome, Plan, Problem, ProblemError, Sharing, SolverSettings, solve};
use esker_results::study::Candidate;

use super::classes;
use super::mix;
use super::model::{Corrections, Model};
use super::moments::Moment;
use super::place::{PlacedRange, place};
use super::settings::PlanSettings;
use super::solved::{Found, Solved, Unplanned, fault, observer};
use super::types::PlanType;
use crate::load::StudyWorkload;
use crate::offers::{Offer, Part, Terms, as_one};
use crate::prepare::PreparedWorkload;
use crate::search::Search;
use crate::{Hooks, StudyError};

/// A tenth of a percent is less than prices differ from shop to shop. Problems with tens of devices of many types that
/// are about as good as each other end before that is proved; the gap that was reached is printed.
const SEARCH: SolverSettings = SolverSettings { gap: 1e-3, nodes_max: 3_000 };
/// Seconds that are added to the problem for one plan at most: each is one that the plan before did not keep.
const SECONDS_MAX: usize = 12;
/// How far a second may be above its limit.
const TOLERANCE: f64 = 1e-6;

pub(super) struct Planner<'a> {
    pub(super) workload: &'a StudyWorkload,
    pub(super) prepared: &'a PreparedWorkload,
    pub(super) model: Model<'a>,
    /// Names of the classes.
    pub(super) names: Vec<String>,
    pub(super) settings: &'a PlanSettings,
    pub(super) search: SolverSettings,
    pub(super) hooks: &'a Hooks<'a>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        workload: &'a StudyWorkload,
        prepared: &'a PreparedWorkload,
        (classes, types): (&'a DataClasses, &'a [PlanType<'a>]),
        settings: &'a PlanSettings,
        hooks: &'a Hooks<'a>,
    ) -> Self {
        let written: u64 = classes.classes.iter().map(|class| class.total.written_bytes).sum();
        let per_day = prepared.demand.bytes_per_day().map_or(0.0, |[_, most]| most);
        let model = Model {
            settings,
            budgets: &prepared.budgets,
            need: &prepared.need,
            classes,
            types,
            days_of_trace: per_day / written.max(1) as f64,
        };
        let names = classes::names(classes, &settings.classes);
        Self { workload, prepared, model, names, settings, search: SEARCH, hooks }
    }

    /// Solves the problem, and adds seconds to it in which the plan would be too busy, until there are none.
    pub(super) fn solved(&self, corrections: &Corrections) -> Result<Found, StudyError> {
        self.solved_with(corrections, Vec::new(), |problem| problem)
    }

    /// Does the same for a `changed` problem, which has these seconds already.
    pub(super) fn solved_with(
        &self,
        corrections: &Corrections,
        mut seconds: Vec<u32>,
        changed: impl Fn(Problem) -> Problem,
    ) -> Result<Found, StudyError> {
        loop {
            let moments = self.moments(&seconds);
            let problem = changed(self.model.problem(&self.names, &moments, corrections));
            let outcome = self.solve(&problem)?;
            let Outcome::Planned(mut solution) = outcome else {
                return Ok(Found::NoPlan(Box::new(Unplanned { problem, outcome, seconds })));
            };
            self.prefer_places(&problem, &mut solution);
            let missed = self.missed_second(&solution.plan, corrections);
            let Some(second) = missed.filter(|second| !seconds.contains(second) && seconds.len() < SECONDS_MAX) else {
                return Ok(Found::Solved(Box::new(Solved { problem, solution: *solution, moments })));
            };
            seconds.push(second);
        }
    }

    /// The busiest times, and these seconds.
    pub(super) fn moments(&self, seconds: &[u32]) -> Vec<Moment> {
        let busy = self.prepared.busy.as_ref().expect("the trace has times");
        let seconds = seconds.iter().map(|&second| Moment::of_second(self.model.classes, second));
        Moment::of_busy(self.model.classes, busy).into_iter().chain(seconds).collect()
    }

    /// The second in which a plan exceeds the limit of a type most. Classes that do not share the time have no second
    /// together.
    fn missed_second(&self, plan: &Plan, corrections: &Corrections) -> Option<u32> {
        if self.settings.sharing == Sharing::PerClass {
            return None;
        }
        let peaks = self.model.peaks(plan).into_iter().zip(self.model.types).zip(&corrections.busy);
        let over = peaks.filter_map(|((peak, one), correction)| {
            let (busy, second) = peak?;
            Some((busy * correction / self.model.utilisation(one), second))
        });
        over.filter(|(over, _)| *over > 1.0 + TOLERANCE)
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, at)| at)
    }

    pub(super) fn solve(&self, problem: &Problem) -> Result<Outcome, StudyError> {
        let outcome = solve(problem, &self.search, &mut observer(self.hooks));
        self.hooks.check()?;
        match outcome {
            // As little as any other limit that nothing keeps.
            Err(ProblemError::NoTypeAllowed { .. }) => Ok(Outcome::Infeasible),
            outcome => outcome.map_err(fault),
        }
    }

    /// Simulates a plan, and judges it as a study would.
    pub(super) fn verified(&self, solved: &Solved) -> Result<Candidate, StudyError> {
        let offer = self.offer(&solved.solution.plan);
        let study = &self.settings.study;
        let task = self.prepared.task(self.workload, study, self.hooks);
        let bounds = self.prepared.bounds(self.workload, study);
        let active = Bytes(self.workload.map().footprint());
        let mut search = Search::new(&task, bounds, self.prepared.demand, &study.running, active);
        let mut tried = search.try_all(&[&offer])?;
        Ok(tried.pop().expect("one was asked for").candidate)
    }

    /// The design of a plan.
    fn offer(&self, plan: &Plan) -> Offer<'a> {
        let copies = self.prepared.need.copies.max(1);
        let volumes = self.volumes(plan);
        match &volumes[..] {
            // As a study offers them.
            [alike] => crate::kinds::devices_of_parts(alike.clone(), copies),
            _ => mix::offer(&volumes, self.places(plan).1, copies),
        }
    }

    /// The devices of each type in a plan: those in use, and those to buy, which are paid for apart.
    fn volumes(&self, plan: &Plan) -> Vec<Vec<Part<'a>>> {
        let of_type = |(one, &count): (&PlanType<'a>, &u32)| -> Vec<Part<'a>> {
            let in_use = one.installed.min(count);
            let name = if one.is_flash() { "flash" } else { "disks" };
            let terms = [(Terms::InUse, in_use), (Terms::Bought, count - in_use)];
            let there = terms.into_iter().filter(|(_, count)| *count > 0);
            there.map(|(terms, count)| Part { name, count, terms, ..one.part }).collect()
        };
        let types = self.model.types.iter().zip(&plan.counts);
        types.map(of_type).filter(|parts| !parts.is_empty()).collect()
    }

    /// The devices of each type in a plan as one, and which of them hold which records.
    pub(super) fn places(&self, plan: &Plan) -> (Vec<Part<'a>>, Vec<PlacedRange>) {
        let touched = &plan.shares[..self.model.classes.classes.len()];
        let in_plan = |shares: &Vec<f64>| -> Vec<f64> {
            shares.iter().zip(&plan.counts).filter(|(_, count)| **count > 0).map(|(share, _)| *share).collect()
        };
        let shares: Vec<Vec<f64>> = touched.iter().map(in_plan).collect();
        let volumes = self.volumes(plan);
        (volumes.iter().map(|parts| as_one(parts)).collect(), place(self.model.classes, &shares))
    }

    /// What one simulated device of a type is called, with which the names of several begin.
    pub(super) fn device_name(&self, plan: &Plan, at: usize) -> String {
        let part = &self.model.types[at].part;
        match &self.volumes(plan)[..] {
            [_] => part.device_name().to_string(),
            _ => mix::device_name(plan.counts[..at].iter().filter(|&&count| count > 0).count(), part),
        }
    }

    /// The types that hold touched data.
    pub(super) fn used(&self, plan: &Plan) -> Vec<usize> {
        let touched = &plan.shares[..self.model.classes.classes.len()];
        (0..self.model.types.len()).filter(|&at| touched.iter().any(|shares| shares[at] > 0.0)).collect()
    }

    /// Numbers that are equal for classes that are planned for the same devices. On disks, classes that may be slow
    /// stay apart from those that may not.
    pub(super) fn planned_alike(&self, solved: &Solved) -> Vec<usize> {
        let slow = self.model.may_be_slow(&solved.moments, Corrections::none(0).slow_share);
        let mut kinds: Vec<(bool, Vec<usize>)> = Vec::new();
        let of = |(shares, &slow): (&Vec<f64>, &bool)| {
            let on: Vec<usize> = (0..shares.len()).filter(|&at| shares[at] > 0.0).collect();
            let is_slow = slow && on.iter().any(|&at| !self.model.types[at].is_flash());
            let kind = (is_slow, on);
            let known = kinds.iter().position(|known| *known == kind);
            known.unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            })
        };
        solved.solution.plan.shares.iter().zip(&slow).map(of).collect()
    }

    /// Devices in one line.
    pub(super) fn title(&self, counts: &[u32]) -> String {
        let copies = self.prepared.need.copies.max(1);
        let parts = self.model.types.iter().zip(counts).filter(|(_, count)| **count > 0);
        parts.map(|(one, count)| format!("{} x {}", count * copies, one.title())).collect::<Vec<_>>().join(" + ")
    }
}
