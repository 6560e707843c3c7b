//! Why a plan is as it is, and why there is none, in words.

use esker_core::words;
use esker_plan::{
    BreakEven, Clash, Constraint, LimitChange, LimitUse, Outcome, Problem, Remedy, Resource, Solution, SolverSettings,
    break_even, clash, constraint_costs, remedies, runners_up,
};
use esker_results::study::plan::{BreakEvenPrice, NoPlan, OtherPlan, PlanConstraint, PlanRemedy};

use super::model::{Corrections, POWER, WRITES};
use super::planner::Planner;
use super::solved::{Found, Solved, Unplanned, fault, observer};
use crate::StudyError;

/// Explanations are many problems: less is proved of each.
const SETTINGS: SolverSettings = SolverSettings { gap: 1e-3, nodes_max: 500 };
/// Runners-up that are shown.
const RUNNERS_UP: usize = 3;

impl Planner<'_> {
    /// Why a problem has no plan.
    pub(super) fn no_plan(&self, unplanned: Unplanned, corrections: &Corrections) -> Result<NoPlan, StudyError> {
        let without_remedy = |reason: &str| NoPlan { reason: reason.into(), clash: Vec::new(), remedies: Vec::new() };
        let Unplanned { mut problem, outcome, mut seconds } = unplanned;
        if outcome == Outcome::Unknown {
            return Ok(without_remedy("the search ended before there was a plan, or a proof that there is none"));
        }
        loop {
            let found = clash(&problem, &SETTINGS, &mut observer(self.hooks)).map_err(fault)?;
            self.hooks.check()?;
            let Some(clash) = &found else {
                return Ok(without_remedy("no mix of devices keeps all limits"));
            };
            if let Some(remedies) = self.remedies(&problem, clash, (corrections, &mut seconds))? {
                return Ok(NoPlan { remedies, ..reasons(&problem, clash) });
            }
            problem = self.model.problem(&self.names, &self.moments(&seconds), corrections);
        }
    }

    /// What helps, each with the cost of the plan that is made with it. `None` if one change is too small for a second
    /// that was not among `seconds`: it is now.
    fn remedies(
        &self,
        problem: &Problem,
        clash: &Clash,
        (corrections, seconds): (&Corrections, &mut Vec<u32>),
    ) -> Result<Option<Vec<PlanRemedy>>, StudyError> {
        let found = remedies(problem, clash, &SETTINGS, &mut observer(self.hooks)).map_err(fault)?;
        self.hooks.check()?;
        let mut all = Vec::new();
        for mut remedy in found {
            remedy.changes.iter_mut().for_each(|change| change.to = self.as_printed(change));
            // What one type has of a resource is nothing that a plan is asked for, and has other numbers with other
            // seconds.
            let is_of_type = |change: &LimitChange| matches!(change.constraint, Constraint::Resource { .. });
            if !remedy.changes.iter().any(is_of_type) {
                match self.solved_with(corrections, seconds.clone(), |problem| remedy.apply(&problem))? {
                    Found::Solved(solved) => remedy.cost = solved.solution.cost,
                    Found::NoPlan(more) if more.seconds.len() > seconds.len() => {
                        *seconds = more.seconds;
                        return Ok(None);
                    }
                    Found::NoPlan(_) => continue,
                }
            }
            all.push(self.remedy(problem, &remedy));
        }
        Ok(Some(all))
    }

    /// The changed limit, rounded up to what is printed where it can be any number: that has to be enough.
    fn as_printed(&self, change: &LimitChange) -> f64 {
        match (change.constraint, self.prepared.budgets.p99_us) {
            (Constraint::PairLimit(_), Some(p99_us)) => rounded_up(p99_us * change.to) / p99_us,
            _ if change.to.fract() == 0.0 => change.to,
            _ => rounded_up(change.to),
        }
    }

    fn remedy(&self, problem: &Problem, remedy: &Remedy) -> PlanRemedy {
        let change = |change: &LimitChange| {
            let [from, to] = [change.from, change.to].map(|limit| self.limit_text(problem, change.constraint, limit));
            format!("{} from {from} to {to}", change.name)
        };
        let changes: Vec<String> = remedy.changes.iter().map(change).collect();
        PlanRemedy { text: changes.join(", "), cost: remedy.cost }
    }

    /// A limit with its unit.
    fn limit_text(&self, problem: &Problem, constraint: Constraint, limit: f64) -> String {
        match constraint {
            // The budget is what is given, not how many times it.
            Constraint::PairLimit(_) => match self.prepared.budgets.p99_us {
                Some(p99_us) => words::time_limit(p99_us * limit),
                None => words::number_limit(limit),
            },
            Constraint::Total(at) if problem.totals[at].name == POWER => format!("{} W", words::number_limit(limit)),
            Constraint::Resource { device_type, resource } => {
                match problem.types[device_type].resources[resource].name.as_str() {
                    Resource::CAPACITY => words::on_sale(limit as u64),
                    WRITES => format!("{} a day", words::on_sale(limit as u64)),
                    // All others are shares of the time.
                    _ => words::percent_limit(limit),
                }
            }
            Constraint::Total(_) | Constraint::CountMax(_) | Constraint::Installed(_) => words::count(limit as u64),
        }
    }

    /// What the constraints cost that have to do with the types in the plan.
    pub(super) fn constraints(&self, solved: &Solved) -> Result<Vec<PlanConstraint>, StudyError> {
        let counts = &solved.solution.plan.counts;
        let concerns = |used: &&LimitUse| match used.constraint {
            Constraint::Resource { device_type, .. } => counts[device_type] > 0 && used.used > 0.0,
            Constraint::CountMax(at) | Constraint::Installed(at) => counts[at] > 0,
            Constraint::Total(_) | Constraint::PairLimit(_) => true,
        };
        let mut concerned = solved.solution.clone();
        concerned.checked.uses = solved.solution.checked.uses.iter().filter(concerns).copied().collect();
        let costs = constraint_costs(&solved.problem, &concerned, &SETTINGS, &mut observer(self.hooks));
        self.hooks.check()?;
        let costs = costs.map_err(fault)?;
        let of = |(cost, used): (esker_plan::ConstraintCost, &LimitUse)| PlanConstraint {
            name: cost.name,
            used: used.used,
            limit: used.limit,
            slack: cost.slack,
            cost_if_looser_10_percent: cost.cost_if_looser_10_percent,
            cost_without: cost.cost_without,
        };
        Ok(costs.into_iter().zip(&concerned.checked.uses).map(of).collect())
    }

    /// The next best plans.
    pub(super) fn runners_up(&self, solved: &Solved) -> Result<Vec<OtherPlan>, StudyError> {
        let found = runners_up(&solved.problem, &solved.solution, RUNNERS_UP, &SETTINGS, &mut observer(self.hooks));
        self.hooks.check()?;
        let runner_up = |solution: &Solution| OtherPlan {
            sort: "runner-up".into(),
            title: self.title(&solution.plan.counts),
            cost: Some(solution.cost),
        };
        Ok(found.map_err(fault)?.iter().map(runner_up).collect())
    }

    /// The best plans of other sorts.
    pub(super) fn others(&self, solved: &Solved) -> Result<Vec<OtherPlan>, StudyError> {
        let all = 0..self.model.types.len();
        let flash: Vec<usize> = all.clone().filter(|&at| self.model.types[at].is_flash()).collect();
        let disks: Vec<usize> = all.filter(|&at| !self.model.types[at].is_flash()).collect();
        Ok(vec![
            self.only("only flash", &solved.problem, &[flash])?,
            self.only("only disks", &solved.problem, &[disks])?,
            self.only("one product", &solved.problem, &self.products())?,
        ])
    }

    /// The types of each product.
    fn products(&self) -> Vec<Vec<usize>> {
        let mut products: Vec<(&str, Vec<usize>)> = Vec::new();
        for (at, one) in self.model.types.iter().enumerate() {
            let name = one.part.product.name.as_str();
            match products.iter_mut().find(|(known, _)| *known == name) {
                Some((_, types)) => types.push(at),
                None => products.push((name, vec![at])),
            }
        }
        products.into_iter().map(|(_, types)| types).collect()
    }

    /// The cheapest plan with one of these sets of types.
    fn only(&self, sort: &str, problem: &Problem, sets: &[Vec<usize>]) -> Result<OtherPlan, StudyError> {
        let mut best: Option<(f64, String)> = None;
        for types in sets.iter().filter(|types| !types.is_empty()) {
            let restricted = problem.with_types(types);
            // A class that none of them may hold makes the problem meaningless, and no plan.
            if restricted.validate().is_err() {
                continue;
            }
            let Some(solution) = self.solve(&restricted)?.solution() else { continue };
            if best.as_ref().is_none_or(|(cost, _)| solution.cost < *cost) {
                let mut counts = vec![0; self.model.types.len()];
                types.iter().zip(&solution.plan.counts).for_each(|(&at, &count)| counts[at] = count);
                best = Some((solution.cost, self.title(&counts)));
            }
        }
        let (cost, title) = best.map_or((None, String::new()), |(cost, title)| (Some(cost), title));
        Ok(OtherPlan { sort: sort.into(), title, cost })
    }

    /// Up to which price each type of the plan is bought.
    pub(super) fn break_even(&self, solved: &Solved) -> Result<Vec<BreakEvenPrice>, StudyError> {
        let counts = solved.solution.plan.counts.iter().enumerate();
        let bought = counts.filter(|(at, count)| **count > self.model.types[*at].installed).map(|(at, _)| at);
        let mut prices = Vec::new();
        // The problem has the cost of a device of each copy, together.
        let copies = f64::from(self.prepared.need.copies.max(1));
        for at in bought {
            let found = break_even(&solved.problem, at, &SETTINGS, &mut observer(self.hooks));
            self.hooks.check()?;
            let up_to = match found.map_err(fault)? {
                BreakEven::Price(price) => Some(price / copies),
                BreakEven::Always => None,
                BreakEven::Never | BreakEven::Unknown => continue,
            };
            let cost = solved.problem.types[at].cost / copies;
            prices.push(BreakEvenPrice { title: self.model.types[at].title(), cost, up_to });
        }
        Ok(prices)
    }
}

/// The constraints that exclude each other, without what helps.
fn reasons(problem: &Problem, clash: &Clash) -> NoPlan {
    let names: Vec<String> = clash.constraints.iter().map(|&constraint| problem.constraint_name(constraint)).collect();
    let why = match (problem.validate(), &names[..]) {
        // Which class it is says more than the limit alone.
        (Err(forbidden), [_]) => forbidden.to_string(),
        (_, [only]) => format!("{only} leaves none"),
        _ => format!("{} exclude each other", names.join(", ")),
    };
    let reason = format!("no mix of devices keeps all limits: {why}");
    NoPlan { reason, clash: names, remedies: Vec::new() }
}

/// The next larger value of two digits: a limit that is printed has to be enough.
fn rounded_up(value: f64) -> f64 {
    let step = 10_f64.powf(value.log10().floor() - 1.0);
    (value / step).ceil() * step
}
