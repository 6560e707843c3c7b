//! A few devices out of many types: fractions of devices cost far less, and say little.

use esker_core::Rng;
use esker_plan::{DataClass, DeviceType, PairLimit, Problem, Resource, SolverSettings};

use crate::small::solution;

/// Kinds of flash and of disks, each in two sizes.
const PRODUCTS: usize = 40;
const HOT: usize = 24;

/// Hot classes that only flash answers in time, and 40 TB of cold data: a catalogue, as `esker plan` has it.
fn problem(seed: u64) -> Problem {
    let mut rng = Rng::derive(seed, "few devices of many types");
    let hot = (0..HOT).map(|at| DataClass { name: format!("hot {at}"), bytes: 1e9 * (0.02 + 0.3 * rng.unit()) });
    let mut classes: Vec<DataClass> = hot.collect();
    classes.push(DataClass { name: "cold".into(), bytes: 40e12 });
    let busy: Vec<f64> = (0..HOT).map(|_| 0.1 * rng.unit()).chain([0.0]).collect();
    let mut types = Vec::new();
    for product in 0..PRODUCTS {
        let (flash, dear) = (product < PRODUCTS / 2, 0.8 + 0.4 * rng.unit());
        for size in 0..2 {
            let (bytes, cost, speed) = if flash {
                let bytes = 240e9 * f64::from(1 << (2 * size + product % 2));
                (bytes, 50.0 + 380e-12 * bytes * dear, (0.5 + rng.unit()) * (bytes / 240e9).sqrt())
            } else {
                let bytes = 12e12 + 4e12 * (product % 3) as f64 + 2e12 * f64::from(size as u32);
                (bytes, 100.0 + 18e-12 * bytes * dear, 0.01)
            };
            let time = Resource::summed("time", 1.0, busy.iter().map(|busy| busy / speed).collect());
            let resources = vec![Resource::capacity(&classes, bytes, 0.98), time];
            types.push(DeviceType::new(format!("product {product}, size {size}"), cost, resources));
        }
    }
    let slow = |at: usize, class: usize| if at >= PRODUCTS && class < HOT { 1.0 } else { 0.0 };
    let values = (0..types.len()).map(|at| (0..classes.len()).map(|class| slow(at, class)).collect()).collect();
    let limits = vec![0.5; classes.len()];
    let pair_limits = vec![PairLimit { name: "response time".into(), values, limits }];
    Problem { classes, types, pair_limits, ..Problem::default() }
}

#[test]
fn a_few_devices_of_many_types_are_proved_cheapest() {
    for seed in 0..8 {
        // `solution` holds the gap to what was asked for.
        let settings = SolverSettings { gap: 1e-3, nodes_max: 3_000 };
        let solution = solution(&problem(seed), &settings).unwrap();
        assert!(solution.nodes < 100, "seed {seed}: {} ranges", solution.nodes);
        let devices: u32 = solution.plan.counts.iter().sum();
        assert!((2..6).contains(&devices), "seed {seed}: {devices} devices");
    }
}
