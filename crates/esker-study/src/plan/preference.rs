//! Among places that cost the same, those that an operator would choose: what is asked for on flash, what is not on
//! disks. For the solver all places that keep the limits are as good.

use esker_plan::{CheckedPlan, Constraint, LimitUse, Plan, Problem, Solution, check};

use super::planner::Planner;

/// Flash takes what it need not take only up to this share of each of its limits, so that its queues stay short.
const FLASH_MAX: f64 = 0.5;

/// Takes `plan` for the solution if it keeps all limits, and what it uses of them `fits`.
fn adopt(plan: Plan, (problem, solution): (&Problem, &mut Solution), fits: impl Fn(&CheckedPlan) -> bool) {
    if let Some(checked) = check(problem, &plan).ok().filter(fits) {
        (solution.plan, solution.checked) = (plan, checked);
    }
}

/// Whether what is used of a limit of `flash` leaves enough of it; true for other limits.
fn has_room(used: &LimitUse, flash: usize) -> bool {
    match used.constraint {
        Constraint::Resource { device_type, .. } if device_type == flash => used.used <= FLASH_MAX * used.limit,
        _ => true,
    }
}

impl Planner<'_> {
    /// Moves classes of a solution to better places, with the same devices.
    pub(super) fn prefer_places(&self, problem: &Problem, solution: &mut Solution) {
        let idle = self.with_idle_data_on_disks(problem, &solution.plan);
        adopt(idle, (problem, solution), |_| true);
        for class in self.hottest_first() {
            let plan = solution.plan.clone();
            let on_disks = (0..self.model.types.len()).any(|at| plan.shares[class][at] > 0.0 && !self.is_flash(at));
            let flash = (0..self.model.types.len()).find(|&at| plan.counts[at] > 0 && self.is_flash(at));
            let Some(flash) = flash.filter(|_| on_disks) else { continue };
            let mut moved = plan;
            moved.shares[class].fill(0.0);
            moved.shares[class][flash] = 1.0;
            adopt(moved, (problem, solution), |checked| checked.uses.iter().all(|used| has_room(used, flash)));
        }
    }

    fn is_flash(&self, at: usize) -> bool {
        self.model.types[at].is_flash()
    }

    /// The classes by requests for their size.
    fn hottest_first(&self) -> Vec<usize> {
        let classes = &self.model.classes.classes;
        let density = |at: usize| classes[at].total.requests() as f64 / classes[at].records.max(1) as f64;
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_by(|&one, &other| density(other).total_cmp(&density(one)));
        order
    }

    /// Data that are never asked for are on disks as far as these have room, on each type by its room.
    fn with_idle_data_on_disks(&self, problem: &Problem, plan: &Plan) -> Plan {
        let idle = self.model.classes.classes.len();
        let bytes = problem.classes[idle].bytes;
        let room = |at: usize| {
            let other = |class: usize| plan.shares[class][at] * problem.classes[class].bytes;
            let limit = self.model.types[at].part.capacity.bytes.0 as f64 * self.model.need.fill_limit;
            (limit * f64::from(plan.counts[at]) - (0..idle).map(other).sum::<f64>()).max(0.0)
        };
        let rooms: Vec<f64> = (0..self.model.types.len()).map(room).collect();
        let sum = |on_flash: bool| -> f64 {
            rooms.iter().enumerate().filter(|(at, _)| self.is_flash(*at) == on_flash).map(|(_, room)| room).sum()
        };
        let (disks, flash) = (sum(false).max(1.0), sum(true).max(1.0));
        let on_disks = bytes.min(sum(false));
        let held = rooms.iter().enumerate().map(|(at, room)| match self.is_flash(at) {
            false => on_disks * room / disks,
            true => (bytes - on_disks) * room / flash,
        });
        let mut changed = plan.clone();
        changed.shares[idle] = held.map(|held| held / bytes.max(1.0)).collect();
        changed
    }
}
