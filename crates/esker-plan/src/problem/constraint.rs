//! The constraints of a problem by name: how to leave one out, and how to loosen it.

use super::Problem;

/// One constraint of a problem. Numbers are places in the lists of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constraint {
    /// What the devices of a type have of a resource.
    Resource {
        /// The type.
        device_type: usize,
        /// The resource, in the list of the type.
        resource: usize,
    },
    /// The largest count of a type.
    CountMax(usize),
    /// That what is installed of a type stays.
    Installed(usize),
    /// A limit over all types.
    Total(usize),
    /// A limit that forbids classes on types.
    PairLimit(usize),
}

impl Problem {
    /// All constraints: of each type its resources, its largest count and what is installed, then those over all types.
    pub fn constraints(&self) -> Vec<Constraint> {
        let mut all = Vec::new();
        for (at, device_type) in self.types.iter().enumerate() {
            let resources = 0..device_type.resources.len();
            all.extend(resources.map(|resource| Constraint::Resource { device_type: at, resource }));
            all.extend(device_type.count_max.map(|_| Constraint::CountMax(at)));
            all.extend((device_type.installed > 0).then_some(Constraint::Installed(at)));
        }
        all.extend((0..self.totals.len()).map(Constraint::Total));
        all.extend((0..self.pair_limits.len()).map(Constraint::PairLimit));
        all
    }

    /// The name of a constraint, such as "disk: capacity".
    pub fn constraint_name(&self, constraint: Constraint) -> String {
        match constraint {
            Constraint::Resource { device_type, resource } => {
                let owner = &self.types[device_type];
                format!("{}: {}", owner.name, owner.resources[resource].name)
            }
            Constraint::CountMax(at) => format!("{}: largest count", self.types[at].name),
            Constraint::Installed(at) => format!("{}: installed devices", self.types[at].name),
            Constraint::Total(at) => self.totals[at].name.clone(),
            Constraint::PairLimit(at) => self.pair_limits[at].name.clone(),
        }
    }

    /// The same problem without a constraint. Without [`Constraint::Installed`] nothing is installed. That says whether
    /// there is a plan, and not what it costs: every device of the type costs its full price.
    pub fn without(&self, constraint: Constraint) -> Self {
        let mut problem = self.clone();
        match constraint {
            // The resource stays in its place, so that others keep their numbers.
            Constraint::Resource { device_type, resource } => {
                problem.types[device_type].resources[resource].loads.fill(0.0);
            }
            Constraint::CountMax(at) => problem.types[at].count_max = None,
            Constraint::Installed(at) => problem.types[at].installed = 0,
            Constraint::Total(at) => problem.totals[at].limit = f64::MAX,
            Constraint::PairLimit(at) => problem.pair_limits[at].limits.fill(f64::INFINITY),
        }
        problem
    }

    /// The same problem with the limit of a constraint `factor` times as large (at least 1), whole counts rounded up.
    /// `None` for installed devices: they are no limit.
    pub fn loosened(&self, constraint: Constraint, factor: f64) -> Option<Self> {
        let limit = self.limit(constraint) * factor;
        match constraint {
            Constraint::Installed(_) => None,
            Constraint::CountMax(_) => Some(self.with_limit(constraint, limit.ceil())),
            _ => Some(self.with_limit(constraint, limit)),
        }
    }

    /// The limit of a constraint: what a device has of a resource, a count, a total. Of a limit of pairs, which has one
    /// for each class, 1.
    pub fn limit(&self, constraint: Constraint) -> f64 {
        match constraint {
            Constraint::Resource { device_type, resource } => self.types[device_type].resources[resource].per_device,
            Constraint::CountMax(at) => self.types[at].count_max.map_or(f64::INFINITY, f64::from),
            Constraint::Installed(at) => f64::from(self.types[at].installed),
            Constraint::Total(at) => self.totals[at].limit,
            Constraint::PairLimit(_) => 1.0,
        }
    }

    /// The same problem with another limit, in the unit of [`Self::limit`]. The limits of pairs are multiplied by it.
    pub fn with_limit(&self, constraint: Constraint, limit: f64) -> Self {
        let mut problem = self.clone();
        match constraint {
            Constraint::Resource { device_type, resource } => {
                problem.types[device_type].resources[resource].per_device = limit;
            }
            Constraint::CountMax(at) => problem.types[at].count_max = Some(limit as u32),
            Constraint::Installed(at) => problem.types[at].installed = limit as u32,
            Constraint::Total(at) => problem.totals[at].limit = limit,
            Constraint::PairLimit(at) => problem.pair_limits[at].limits.iter_mut().for_each(|one| *one *= limit),
        }
        problem
    }
}
