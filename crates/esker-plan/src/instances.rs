//! Made-up problems from a seed, for tests and benchmarks.

use esker_core::Rng;

use crate::problem::{DataClass, DeviceType, Problem, Resource};

/// What a made-up problem is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstanceSettings {
    /// Number of classes.
    pub classes: usize,
    /// Number of types.
    pub types: usize,
    /// Number of resources of each type.
    pub resources: usize,
    /// About how many devices hold everything.
    pub devices: f64,
    /// Decades over which the sizes of classes are spread.
    pub decades: f64,
}

impl InstanceSettings {
    /// As many classes and types as in Kim 2009: 33 and 5, a handful of devices.
    pub const PAPER: Self = Self { classes: 33, types: 5, resources: 4, devices: 8.0, decades: 3.0 };
    /// 2,000 classes, 20 types, tens of devices.
    pub const LARGE: Self = Self { classes: 2_000, types: 20, resources: 4, devices: 60.0, decades: 8.0 };
    /// 2,000 classes and 20 types with thousands of devices: a class needs between a billionth of a device and some
    /// hundred.
    pub const VAST: Self = Self { devices: 8_000.0, ..Self::LARGE };

    /// The problem of a seed. What a class needs of a type is the product of its size, of how much it asks of the
    /// resource, of how little the type has of it, and of chance.
    pub fn problem(&self, seed: u64) -> Problem {
        let mut rng = Rng::derive(seed, "plan instance");
        let mut draw = |deviation: f64| (deviation * rng.normal()).exp();
        let sizes: Vec<f64> = (0..self.classes).map(|_| draw(0.0)).collect();
        let asks: Vec<Vec<f64>> = sizes.iter().map(|_| (0..self.resources).map(|_| draw(1.2)).collect()).collect();
        let mut types = Vec::new();
        for at in 0..self.types {
            let has: Vec<f64> = (0..self.resources).map(|_| draw(0.8)).collect();
            let mean = has.iter().sum::<f64>() / self.resources as f64;
            let cost = 100.0 * mean.powf(0.8) * draw(0.3);
            let resources = has.iter().enumerate().map(|(resource, has)| {
                let loads = asks.iter().map(|asks| asks[resource] / has * draw(0.2)).collect();
                Resource::summed(format!("resource {resource}"), 1.0, loads)
            });
            let resources = resources.collect();
            types.push(DeviceType::new(format!("type {at}"), cost, resources));
        }
        let mut problem = Problem { types, ..Problem::default() };
        self.size(&mut problem, &mut rng);
        problem
    }

    /// Gives classes their sizes, so that about the number of devices asked for holds them.
    fn size(&self, problem: &mut Problem, rng: &mut Rng) {
        let mut sizes: Vec<f64> = (0..self.classes).map(|_| 10f64.powf(-self.decades * rng.unit())).collect();
        let needs = |class: usize| {
            let needs = problem
                .types
                .iter()
                .map(|one| one.resources.iter().map(|resource| resource.loads[class]).fold(0.0, f64::max));
            needs.fold(f64::INFINITY, f64::min)
        };
        let all: f64 = sizes.iter().enumerate().map(|(class, size)| size * needs(class)).sum();
        sizes.iter_mut().for_each(|size| *size *= self.devices / all);
        for resource in problem.types.iter_mut().flat_map(|one| &mut one.resources) {
            resource.loads.iter_mut().zip(&sizes).for_each(|(load, size)| *load *= size);
        }
        let class = |(at, &bytes): (usize, &f64)| DataClass { name: format!("class {at}"), bytes };
        problem.classes = sizes.iter().enumerate().map(class).collect();
    }
}
