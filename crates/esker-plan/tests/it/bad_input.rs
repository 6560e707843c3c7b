//! What cannot be planned is refused, with what is wrong and where.

use esker_core::Hint;
use esker_plan::{DataClass, DeviceType, PairLimit, Problem, Resource, SolverSettings, TotalLimit, keep_going, solve};

fn good() -> Problem {
    let classes = vec![DataClass { name: "hot".into(), bytes: 4.0 }, DataClass { name: "cold".into(), bytes: 9.0 }];
    let types = vec![
        DeviceType::new("disk", 7.0, vec![Resource::capacity(&classes, 2.0, 1.0)]),
        DeviceType::new("ssd", 9.0, vec![Resource::capacity(&classes, 3.0, 0.7)]),
    ];
    let totals = vec![TotalLimit { name: "slots".into(), per_device: vec![1.0, 1.0], limit: 30.0 }];
    let values = vec![vec![0.01, 0.01], vec![0.001, 0.001]];
    let pair_limits = vec![PairLimit { name: "response time".into(), values, limits: vec![0.005, 1.0] }];
    Problem { classes, types, totals, pair_limits }
}

#[test]
fn each_mistake_is_named_with_its_place() {
    type Mistake = fn(&mut Problem);
    let mistakes: [(Mistake, &str); 16] = [
        (|one| one.classes.clear(), "there is no class of data"),
        (|one| one.types.clear(), "there is no type of device"),
        (|one| one.classes[0].bytes = f64::NAN, "the size of class hot is NaN: expected a number that is not negative"),
        (|one| one.types[0].cost = -1.0, "the cost of type disk is -1: expected a number that is not negative"),
        (
            |one| one.types[1].cost = f64::INFINITY,
            "the cost of type ssd is inf: expected a number that is not negative",
        ),
        (|one| one.types[1].installed_cost = f64::NAN, "the installed cost of type ssd is NaN"),
        (|one| one.types[0].resources[0].per_device = 0.0, "capacity of type disk is 0: expected a positive number"),
        (|one| one.types[0].resources[0].loads[1] = -2.0, "the load of class cold on capacity of type disk is -2"),
        (|one| one.types[0].resources[0].per_device = 1e-320, "the number of devices for the load of class hot"),
        (
            |one| one.types[0].resources[0].loads.push(1.0),
            "the loads on capacity of type disk has 3 values: expected 2",
        ),
        (|one| one.totals[0].per_device.truncate(1), "slots has 1 values: expected 2, one for each type"),
        (|one| one.totals[0].limit = f64::NAN, "the limit of slots is NaN"),
        (|one| one.totals[0].per_device[1] = -1.0, "slots of type ssd is -1"),
        (|one| one.pair_limits[0].values[1][0] = f64::NAN, "response time on type ssd is NaN"),
        (
            |one| (one.types[0].installed, one.types[0].count_max) = (3, Some(2)),
            "type disk: 3 devices are installed, and its largest count is 2",
        ),
        (
            |one| one.pair_limits[0].limits[0] = 0.0001,
            "class hot is allowed on no type of device: response time forbids it",
        ),
    ];
    assert!(solve(&good(), &SolverSettings::default(), &mut keep_going).is_ok());
    for (mistake, message) in mistakes {
        let mut problem = good();
        mistake(&mut problem);
        let error = solve(&problem, &SolverSettings::default(), &mut keep_going).unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}");
        assert!(error.hint().is_some());
    }
}
