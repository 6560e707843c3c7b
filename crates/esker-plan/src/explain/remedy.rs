//! The smallest changes of limits after which there is a plan.

use super::clash::{Clash, has_plan};
use crate::problem::{Constraint, Problem, ProblemError};
use crate::solver::{Observer, SolverSettings, solve};

/// How exactly a limit that can be any number is found, as a share.
const PRECISION: f64 = 1e-6;
/// Limits are not raised further than this.
const FACTOR_MAX: f64 = 1e12;

/// Changes of limits after which there is a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// One change, or several that help only together.
    pub changes: Vec<LimitChange>,
    /// Cost of the cheapest plan found after them.
    pub cost: f64,
}

/// Another limit of a constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitChange {
    /// Which constraint.
    pub constraint: Constraint,
    /// Its name.
    pub name: String,
    /// The limit as it is, see [`Problem::limit`].
    pub from: f64,
    /// The limit as it would have to be.
    pub to: f64,
}

impl LimitChange {
    /// By what share the limit changes.
    pub fn share(&self) -> f64 {
        (self.to - self.from).abs() / self.from
    }
}

impl Remedy {
    /// The problem with its limits changed.
    pub fn apply(&self, problem: &Problem) -> Problem {
        self.changes.iter().fold(problem.clone(), |changed, one| changed.with_limit(one.constraint, one.to))
    }
}

/// Finds the smallest change of each constraint of a clash that helps by itself, those that change least first. If none
/// does, all largest counts, totals and limits of pairs are raised together, by the same share.
pub fn remedies(
    problem: &Problem,
    clash: &Clash,
    settings: &SolverSettings,
    observer: &mut Observer<'_>,
) -> Result<Vec<Remedy>, ProblemError> {
    let mut search = RemedySearch { problem, settings, observer };
    let mut found = Vec::new();
    for &constraint in &clash.constraints {
        if let Some(to) = search.smallest(constraint)? {
            found.extend(search.remedy(&[constraint], |_| to)?);
        }
    }
    if found.is_empty() {
        found.extend(search.together()?);
    }
    found.sort_by(|a, b| a.changes[0].share().total_cmp(&b.changes[0].share()));
    Ok(found)
}

struct RemedySearch<'a, 'o> {
    problem: &'a Problem,
    settings: &'a SolverSettings,
    observer: &'a mut Observer<'o>,
}

impl RemedySearch<'_, '_> {
    /// The limit nearest to the present one with which there is a plan; `None` if no limit helps.
    fn smallest(&mut self, constraint: Constraint) -> Result<Option<f64>, ProblemError> {
        let without = self.problem.without(constraint);
        if has_plan(&without, self.settings, self.observer)? != Some(true) {
            return Ok(None);
        }
        match constraint {
            Constraint::CountMax(at) => self.least(without, |device_type| f64::from(device_type == at)),
            Constraint::Total(at) => {
                let each = &self.problem.totals[at].per_device;
                self.least(without, |device_type| each[device_type])
            }
            Constraint::Installed(at) => {
                // The most that may stay; without any there is a plan.
                let (mut good, mut bad) = (0, self.problem.types[at].installed);
                while bad - good > 1 {
                    let middle = good + (bad - good) / 2;
                    let limit = self.problem.with_limit(constraint, f64::from(middle));
                    if has_plan(&limit, self.settings, self.observer)? == Some(true) {
                        good = middle;
                    } else {
                        bad = middle;
                    }
                }
                Ok(Some(f64::from(good)))
            }
            Constraint::Resource { .. } | Constraint::PairLimit(_) => {
                let limit = self.problem.limit(constraint);
                let factor = self.factor(|problem, factor| problem.with_limit(constraint, limit * factor))?;
                Ok(factor.map(|factor| limit * factor))
            }
        }
    }

    /// The least that a plan can use of something, `each` for a device: the problem with that for its cost.
    fn least(&mut self, mut problem: Problem, each: impl Fn(usize) -> f64) -> Result<Option<f64>, ProblemError> {
        for (at, one) in problem.types.iter_mut().enumerate() {
            (one.cost, one.installed_cost) = (each(at), each(at));
        }
        let exact = SolverSettings { gap: 0.0, ..*self.settings };
        Ok(solve(&problem, &exact, self.observer)?.solution().map(|solution| {
            // The sum as it is checked.
            solution.plan.counts.iter().enumerate().map(|(at, &count)| each(at) * f64::from(count)).sum()
        }))
    }

    /// The smallest factor above 1 with which there is a plan, to a millionth above it.
    fn factor(&mut self, changed: impl Fn(&Problem, f64) -> Problem) -> Result<Option<f64>, ProblemError> {
        let problem = self.problem;
        let mut works = |factor: f64| {
            has_plan(&changed(problem, factor), self.settings, self.observer).map(|known| known == Some(true))
        };
        let (mut bad, mut good) = (1.0, 2.0);
        while !works(good)? {
            (bad, good) = (good, good * 4.0);
            if good > FACTOR_MAX {
                return Ok(None);
            }
        }
        while good - bad > PRECISION * bad {
            let middle = 0.5 * (bad + good);
            if works(middle)? { good = middle } else { bad = middle }
        }
        Ok(Some(good))
    }

    fn together(&mut self) -> Result<Option<Remedy>, ProblemError> {
        let limits =
            |one: &Constraint| matches!(one, Constraint::CountMax(_) | Constraint::Total(_) | Constraint::PairLimit(_));
        let constraints: Vec<Constraint> = self.problem.constraints().into_iter().filter(limits).collect();
        let raised = |problem: &Problem, constraint: Constraint, factor: f64| {
            let limit = problem.limit(constraint);
            match constraint {
                // None becomes one before it becomes more.
                Constraint::CountMax(_) => (limit.max(1.0 - 1.0 / factor) * factor).ceil().min(f64::from(u32::MAX)),
                _ => limit * factor,
            }
        };
        let all_raised = |problem: &Problem, factor: f64| {
            let raise = |changed: Problem, one: &Constraint| changed.with_limit(*one, raised(problem, *one, factor));
            constraints.iter().fold(problem.clone(), raise)
        };
        let Some(factor) = self.factor(all_raised)? else { return Ok(None) };
        let problem = self.problem;
        self.remedy(&constraints, |constraint| raised(problem, constraint, factor))
    }

    fn remedy(
        &mut self,
        constraints: &[Constraint],
        to: impl Fn(Constraint) -> f64,
    ) -> Result<Option<Remedy>, ProblemError> {
        let change = |&constraint: &Constraint| LimitChange {
            constraint,
            name: self.problem.constraint_name(constraint),
            from: self.problem.limit(constraint),
            to: to(constraint),
        };
        let mut remedy = Remedy { changes: constraints.iter().map(change).collect(), cost: 0.0 };
        let outcome = solve(&remedy.apply(self.problem), self.settings, self.observer)?;
        Ok(outcome.solution().map(|solution| {
            remedy.cost = solution.cost;
            remedy
        }))
    }
}
