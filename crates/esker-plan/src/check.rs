//! Whether a plan keeps all limits, and what it costs: plain arithmetic on the problem, apart from the solver.

use crate::problem::{Constraint, Problem, Resource, Sharing};

/// How far a load may be above its limit, as a share of the limit, and how far the shares of a class may be from 1:
/// what sums of rounded numbers can be wrong by.
pub const TOLERANCE: f64 = 1e-8;

/// Numbers of devices, and where the classes are.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Number of devices of each type, in the order of the types.
    pub counts: Vec<u32>,
    /// `shares[class][type]`: the share of the class, from 0 to 1, that is on devices of the type.
    pub shares: Vec<Vec<f64>>,
}

/// What a plan that keeps all limits costs, and how much of each limit it uses.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedPlan {
    /// Cost over the planning period, installed devices included.
    pub cost: f64,
    /// One for each constraint, in the order of [`Problem::constraints`].
    pub uses: Vec<LimitUse>,
}

/// How much of a limit a plan uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitUse {
    /// Which limit.
    pub constraint: Constraint,
    /// What is used, in the unit of the limit. If classes do not add up, that of the class which uses most; of a limit
    /// of pairs, the value that is nearest to its limit.
    pub used: f64,
    /// What may be used.
    pub limit: f64,
}

impl LimitUse {
    /// What is left of the limit.
    pub fn slack(&self) -> f64 {
        self.limit - self.used
    }
}

/// Why a plan is none for its problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Violation {
    /// The plan is of another problem.
    #[error("the plan has other numbers of classes or types than the problem")]
    Shape,
    /// A share is negative, above 1 or no number.
    #[error("{share} of class {class} is on type {device_type}")]
    Share {
        /// The class.
        class: String,
        /// The type.
        device_type: String,
        /// The share.
        share: f64,
    },
    /// The shares of a class do not add up to 1.
    #[error("{placed} of class {class} is placed, not all of it")]
    NotPlaced {
        /// The class.
        class: String,
        /// The sum of its shares.
        placed: f64,
    },
    /// Data are on devices that are not there.
    #[error("class {class} is on type {device_type}, of which there is no device")]
    NoDevice {
        /// The class.
        class: String,
        /// The type.
        device_type: String,
    },
    /// A limit is exceeded.
    #[error("{name}: {used} is used, and the limit is {limit}")]
    Exceeded {
        /// The limit's name.
        name: String,
        /// Which limit.
        constraint: Constraint,
        /// What is used.
        used: f64,
        /// What may be used.
        limit: f64,
    },
}

/// Checks a plan: that each class is placed whole and every limit kept.
pub fn check(problem: &Problem, plan: &Plan) -> Result<CheckedPlan, Vec<Violation>> {
    let types = problem.types.len();
    let shaped = plan.counts.len() == types
        && plan.shares.len() == problem.classes.len()
        && plan.shares.iter().all(|shares| shares.len() == types);
    if !shaped {
        return Err(vec![Violation::Shape]);
    }
    let mut violations = shares(problem, plan);
    let uses: Vec<LimitUse> =
        problem.constraints().into_iter().map(|constraint| limit_use(problem, plan, constraint)).collect();
    for one in &uses {
        // What is installed is a least count, not a largest.
        let exceeded = match one.constraint {
            Constraint::Installed(_) => one.used < one.limit,
            _ => one.used > one.limit * (1.0 + TOLERANCE),
        };
        if exceeded {
            let name = problem.constraint_name(one.constraint);
            let LimitUse { constraint, used, limit } = *one;
            violations.push(Violation::Exceeded { name, constraint, used, limit });
        }
    }
    if !violations.is_empty() {
        return Err(violations);
    }
    let cost = problem.types.iter().zip(&plan.counts).map(|(device_type, &count)| device_type.cost_of(count)).sum();
    Ok(CheckedPlan { cost, uses })
}

fn shares(problem: &Problem, plan: &Plan) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (class, shares) in problem.classes.iter().zip(&plan.shares) {
        let placed: f64 = shares.iter().sum();
        if placed.is_nan() || (placed - 1.0).abs() > TOLERANCE {
            violations.push(Violation::NotPlaced { class: class.name.clone(), placed });
        }
        for ((&share, device_type), &count) in shares.iter().zip(&problem.types).zip(&plan.counts) {
            let (class, device_type) = (class.name.clone(), device_type.name.clone());
            if !(0.0..=1.0 + TOLERANCE).contains(&share) {
                violations.push(Violation::Share { class, device_type, share });
            } else if share > 0.0 && count == 0 {
                violations.push(Violation::NoDevice { class, device_type });
            }
        }
    }
    violations
}

fn limit_use(problem: &Problem, plan: &Plan, constraint: Constraint) -> LimitUse {
    let count = |device_type: usize| f64::from(plan.counts[device_type]);
    let (used, limit) = match constraint {
        Constraint::Resource { device_type, resource } => {
            let resource = &problem.types[device_type].resources[resource];
            (load(plan, device_type, resource), resource.per_device * count(device_type))
        }
        Constraint::CountMax(at) => (count(at), problem.types[at].count_max.map_or(f64::INFINITY, f64::from)),
        Constraint::Installed(at) => (count(at), f64::from(problem.types[at].installed)),
        Constraint::Total(at) => {
            let total = &problem.totals[at];
            (total.per_device.iter().enumerate().map(|(at, each)| each * count(at)).sum(), total.limit)
        }
        Constraint::PairLimit(at) => nearest_pair(problem, plan, at),
    };
    LimitUse { constraint, used, limit }
}

/// What the shares on a type use of one of its resources.
fn load(plan: &Plan, device_type: usize, resource: &Resource) -> f64 {
    let loads = plan.shares.iter().zip(&resource.loads).map(|(shares, load)| shares[device_type] * load);
    match resource.sharing {
        Sharing::Summed => loads.sum(),
        Sharing::PerClass => loads.fold(0.0, f64::max),
    }
}

/// Value and limit of the pair in use that is nearest to its limit, or furthest above it.
fn nearest_pair(problem: &Problem, plan: &Plan, at: usize) -> (f64, f64) {
    let pair_limit = &problem.pair_limits[at];
    let mut nearest = (0.0, f64::INFINITY);
    let mut ratio_max = 0.0;
    for (class, shares) in plan.shares.iter().enumerate() {
        for device_type in (0..shares.len()).filter(|&device_type| shares[device_type] > 0.0) {
            let (value, limit) = (pair_limit.values[device_type][class], pair_limit.limits[class]);
            let ratio = if value == 0.0 {
                0.0
            } else if value.is_infinite() {
                f64::INFINITY
            } else {
                value / limit
            };
            if ratio > ratio_max {
                (nearest, ratio_max) = ((value, limit), ratio);
            }
        }
    }
    // A value that is infinite is above every limit, an infinite one included.
    if nearest.0.is_infinite() { (nearest.0, f64::MAX) } else { nearest }
}
