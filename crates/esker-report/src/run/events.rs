//! What happened in the middle of a run: changes of devices, as its configuration lists them.

use std::collections::BTreeMap;

use esker_core::words::page;
use esker_core::{Bytes, Nanos, Ratio};
use esker_results::{ChildReport, RunResults};
use serde::Deserialize;

use crate::run_event::RunEvent;

/// An entry of `run.events` in the configuration.
#[derive(Deserialize)]
struct Configured {
    at: Nanos,
    device: String,
    slow: Option<Ratio>,
    #[serde(default)]
    join: bool,
    #[serde(default)]
    drain: bool,
    pause: Option<bool>,
    moved_bytes_per_day: Option<Bytes>,
    shrink: Option<Bytes>,
}

/// The events of a run whose measuring began at `measured_from_s`, in order of time, as far as they were reached.
/// Those that this version of esker cannot read are left out.
pub(crate) fn of_run(results: &RunResults, measured_from_s: f64, end_s: f64) -> Vec<RunEvent> {
    let configured = results.config["run"]["events"].as_array().into_iter().flatten();
    let configured = configured
        .filter_map(|event| Configured::deserialize(event).ok())
        .map(|event| RunEvent { at_s: measured_from_s + event.at.as_secs_f64(), what: what(&event) });
    let drained = results.devices.values().flat_map(|device| drained(&device.children));
    let mut events: Vec<RunEvent> = configured.chain(drained).filter(|event| event.at_s <= end_s).collect();
    events.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    events
}

fn drained(children: &BTreeMap<String, ChildReport>) -> impl Iterator<Item = RunEvent> {
    let empty = |(name, child): (&String, &ChildReport)| {
        Some(RunEvent { at_s: child.drained_at_s?, what: format!("{name} is empty") })
    };
    children.iter().filter_map(empty)
}

fn what(event: &Configured) -> String {
    let device = &event.device;
    let times = |factor: f64| page::plain(factor).text();
    match event.slow.map(Ratio::as_f64) {
        _ if event.join => format!("{device} joins"),
        _ if event.drain => format!("{device} is drained"),
        _ if event.shrink.is_some() => {
            let used = page::bytes(event.shrink.unwrap_or_default().0 as f64).text();
            format!("{used} of {device} are used")
        }
        _ if event.pause == Some(true) => format!("{device} moves nothing in the background"),
        _ if event.pause == Some(false) => format!("{device} moves in the background again"),
        _ if event.moved_bytes_per_day.is_some() => {
            let budget = page::bytes(event.moved_bytes_per_day.unwrap_or_default().0 as f64).text();
            format!("{device} may move {budget} a day")
        }
        Some(1.0) => format!("{device} as fast as before"),
        Some(factor) if factor > 1.0 => format!("{device} {} times slower", times(factor)),
        Some(factor) if factor > 0.0 => format!("{device} {} times faster", times(1.0 / factor)),
        _ => format!("{device} changes"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::samples;

    #[test]
    fn events_say_what_happened_and_those_after_the_end_did_not() {
        let mut results = samples::run();
        results.config["run"]["events"] = json!([
            { "at": "3s", "device": "b", "slow": 1 },
            { "at": "1s", "device": "b", "slow": "500%" },
            { "at": "1500ms", "device": "c", "join": true },
            { "at": "2s", "device": "b", "drain": true },
            { "at": "4s", "device": "b", "slow": 0.5 },
            { "at": "5s", "device": "b", "shrink": "4MiB" },
            { "at": "90s", "device": "b", "slow": 2 },
            { "at": "2s", "device": "b", "explode": 1, "slow": [] },
        ]);
        let volume = results.devices.get_mut("volume").unwrap();
        volume.children.get_mut("disk").unwrap().drained_at_s = Some(12.5);
        let found = of_run(&results, 10.0, 20.0);
        let found: Vec<(f64, &str)> = found.iter().map(|event| (event.at_s, event.what.as_str())).collect();
        let expected = [
            (11.0, "b 5 times slower"),
            (11.5, "c joins"),
            (12.0, "b is drained"),
            (12.5, "disk is empty"),
            (13.0, "b as fast as before"),
            (14.0, "b 2 times faster"),
            (15.0, "4\u{a0}MiB of b are used"),
        ];
        assert_eq!(found, expected);
    }
}
