//! A problem in devices: each load as the number of devices that it needs.

use crate::problem::{Problem, Resource, Sharing};

/// A problem whose loads are numbers of devices. The cost of counts `y` is `fixed_cost` and the sum of `cost * y`.
pub(super) struct Model {
    pub(super) classes: usize,
    pub(super) types: Vec<ModelType>,
    pub(super) totals: Vec<ModelTotal>,
    pub(super) fixed_cost: f64,
}

/// A type of device.
pub(super) struct ModelType {
    pub(super) cost: f64,
    /// Number of resources whose loads add up.
    pub(super) rows: usize,
    /// Devices that each class needs for each of these resources: class by class, resource by resource.
    pub(super) loads: Vec<f64>,
    /// Devices that each class needs by itself: by resources whose loads do not add up, and one where it needs nothing
    /// else, since data cannot be on a device that is not there.
    pub(super) caps: Vec<f64>,
    pub(super) allowed: Vec<bool>,
}

/// A limit over all types.
#[derive(Clone)]
pub(super) struct ModelTotal {
    pub(super) per_device: Vec<f64>,
    pub(super) limit: f64,
}

/// From which to which count of each type a plan is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CountRange {
    pub(super) min: Vec<u32>,
    pub(super) max: Vec<u32>,
}

impl Model {
    /// The model of a problem, which is valid, and the counts that can be in a cheapest plan: more devices than hold
    /// all classes by themselves are never better.
    pub(super) fn new(problem: &Problem) -> (Self, CountRange) {
        let classes = problem.classes.len();
        let types: Vec<ModelType> = (0..problem.types.len()).map(|at| ModelType::new(problem, at)).collect();
        let min: Vec<u32> = problem.types.iter().map(|device_type| device_type.installed).collect();
        let max = problem.types.iter().zip(&types).map(|(device_type, model)| {
            let useful = model.count_for_all(classes).max(device_type.installed);
            device_type.count_max.map_or(useful, |count_max| count_max.min(useful))
        });
        let range = CountRange { max: max.collect(), min };
        let totals =
            problem.totals.iter().map(|total| ModelTotal { per_device: total.per_device.clone(), limit: total.limit });
        // A total that no counts can exceed is left out.
        let binding = totals.filter(|total| total.used(&range.max) > total.limit);
        let installed = problem.types.iter().map(|one| f64::from(one.installed) * (one.installed_cost - one.cost));
        (Self { classes, types, totals: binding.collect(), fixed_cost: installed.sum() }, range)
    }

    /// Cost of these counts.
    pub(super) fn cost(&self, counts: &[u32]) -> f64 {
        let each = self.types.iter().zip(counts).map(|(one, &count)| one.cost * f64::from(count));
        self.fixed_cost + each.sum::<f64>()
    }

    /// What the largest counts cost, at least.
    pub(super) fn dearest(&self, range: &CountRange) -> f64 {
        self.cost(&range.max).max(0.0)
    }

    /// Whether the counts keep all limits over all types, exactly.
    pub(super) fn keeps_totals(&self, counts: &[u32]) -> bool {
        self.totals.iter().all(|total| total.used(counts) <= total.limit)
    }
}

impl ModelTotal {
    fn used(&self, counts: &[u32]) -> f64 {
        self.per_device.iter().zip(counts).map(|(each, &count)| each * f64::from(count)).sum()
    }
}

impl ModelType {
    fn new(problem: &Problem, at: usize) -> Self {
        let device_type = &problem.types[at];
        let needs = |resource: &Resource, class: usize| resource.loads[class] / resource.per_device;
        let of = |sharing: Sharing| device_type.resources.iter().filter(move |resource| resource.sharing == sharing);
        let rows = of(Sharing::Summed).count();
        let classes = problem.classes.len();
        let (mut loads, mut caps) = (Vec::with_capacity(classes * rows), Vec::with_capacity(classes));
        for class in 0..classes {
            let first = loads.len();
            loads.extend(of(Sharing::Summed).map(|resource| needs(resource, class)));
            let cap = of(Sharing::PerClass).map(|resource| needs(resource, class)).fold(0.0, f64::max);
            let needs_nothing = cap == 0.0 && loads[first..].iter().all(|&load| load == 0.0);
            caps.push(if needs_nothing { 1.0 } else { cap });
        }
        let allowed = (0..classes).map(|class| problem.allows(at, class)).collect();
        Self { cost: device_type.cost, rows, loads, caps, allowed }
    }

    /// What a class needs of the resources whose loads add up.
    pub(super) fn loads_of(&self, class: usize) -> &[f64] {
        &self.loads[class * self.rows..(class + 1) * self.rows]
    }

    /// Number of devices that hold every class that is allowed on them.
    fn count_for_all(&self, classes: usize) -> u32 {
        let allowed = || (0..classes).filter(|&class| self.allowed[class]);
        let sums = (0..self.rows).map(|row| allowed().map(|class| self.loads_of(class)[row]).sum::<f64>());
        let caps = allowed().map(|class| self.caps[class]);
        let least = if allowed().next().is_some() { 1.0 } else { 0.0 };
        // A float becomes the nearest number that an integer can be.
        (sums.chain(caps).fold(least, f64::max) * (1.0 + 1e-9)).ceil() as u32
    }
}
