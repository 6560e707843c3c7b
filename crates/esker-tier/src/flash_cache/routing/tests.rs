//! The registry, and Orthus against closed forms and a model of it.

mod closed_loop;
mod model;

use esker_core::registry::{self, Choice, ParameterValue, Parameters};

use super::*;

/// Orthus with these parameters, for a cache of `slots` slots.
fn orthus(slots: u32, parameters: &[(&str, ParameterValue)]) -> Box<dyn HitRouting> {
    let entry = registry::find(ROUTINGS, "routing", "orthus").unwrap();
    let mut choice = Choice::named(entry.name);
    let given = parameters.iter().map(|(name, value)| (name.to_string(), value.clone()));
    choice.parameters.extend(given);
    (entry.build)(slots, Parameters::new(&choice, &entry.parameters).unwrap()).unwrap()
}

fn text(value: &str) -> ParameterValue {
    ParameterValue::Text(value.to_string())
}

/// Reads a line `all` times, `missed` of them in vain, and ends one request with this response time.
fn window(policy: &mut dyn HitRouting, now: Nanos, [all, missed]: [u64; 2], response: u64) {
    (0..all).for_each(|read| policy.looked_up(read >= missed));
    policy.ended(now, Bytes::kib(4), Nanos(response));
}

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(ROUTINGS), Vec::<String>::new());
    assert!(HitRouter::new(&Choice::named(NO_ROUTING), 8).unwrap().is_none());
}

/// Of reads of clean lines, as many are routed as the share says: of each ten at a share of 30%, three.
#[test]
fn reads_are_routed_at_even_distances() {
    let step = ("step", text("30%"));
    let mut policy = orthus(1, &[("window", ParameterValue::Integer(1)), step]);
    assert!(policy.admits() && !policy.routes());
    // The third window is that of the share nothing, the next one that of the first step.
    for number in 1..=3 {
        window(&mut *policy, Nanos(number), [1, 0], 10);
    }
    assert_eq!((policy.admits(), policy.share()), (false, Ratio::percent(30)));
    let routed: Vec<bool> = (0..20).map(|_| policy.routes()).collect();
    let at = |tens: usize| routed[10 * tens..][..10].iter().filter(|routed| **routed).count();
    assert_eq!((at(0), at(1)), (3, 3), "{routed:?}");
}

/// Misses that change from one period to the next, or that are too many, are no reason to stop admission.
#[test]
fn admission_stops_when_few_misses_are_steady_and_goes_on_when_they_change() {
    let mut policy = orthus(100, &[("window", ParameterValue::Integer(1))]);
    let mut admits = |missed: u64| {
        window(&mut *policy, Nanos(missed), [100, missed], 10);
        policy.admits()
    };
    // 30% are steady and too many; 15 and 12% are not steady.
    assert!([30, 30, 30, 15, 12].into_iter().all(&mut admits));
    assert!(!admits(12), "steady");
    assert!(![12, 19, 5, 0].into_iter().any(&mut admits), "not another workload");
    assert!(admits(21), "too many misses");
    assert!(admits(2) && !admits(2));
}
