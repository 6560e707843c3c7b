//! `[[run.events]]`: changes of devices in the middle of a run.

use esker_config::ConfigError;
use esker_core::registry::NotFound;
use esker_core::{Bytes, Change, Nanos, Problem, Ratio, ScheduledChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::system::System;

/// One change of one device in the middle of the run: its time, the device, and one of the changes. As many tables as
/// there are changes, in any order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunEvent {
    /// When: time since measuring starts, which is where `series` begins, too. Without a warm-up this is the start of
    /// the run.
    pub at: Nanos,
    /// The target or a device below it, by its name in results: `disk.0` for the first of several of one table.
    pub device: String,
    /// Change: from then on, everything in the device takes this many times as long as its settings say. 1 restores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<Ratio>,
    /// Change: the device, one of the last children of a hybrid or a cluster, was not part of it so far and joins it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub join: bool,
    /// Change: the hybrid or cluster above the device moves all data away from it, in the background. `drained_at_s` in
    /// the results tells when that was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drain: bool,
    /// Change: the device has failed for the device above it, which sends it no more writes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail: bool,
    /// Change: the device, a hybrid or cluster, moves nothing in the background from then on (`false`: it does so
    /// again).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<bool>,
    /// Change: moves of the device, a hybrid or cluster, may write this many bytes in any 24 hours from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_bytes_per_day: Option<Bytes>,
    /// Change: the cache above the device, its flash, uses no more than this of it from then on. Lines that lie beyond
    /// leave, dirty ones after they are copied back; `beyond_lines` in the results counts those that are still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrink: Option<Bytes>,
}

impl RunEvent {
    /// Slows `device` by `factor` from `at` on.
    pub fn slow(at: Nanos, device: impl Into<String>, factor: Ratio) -> Self {
        Self {
            at,
            device: device.into(),
            slow: Some(factor),
            join: false,
            drain: false,
            fail: false,
            pause: None,
            moved_bytes_per_day: None,
            shrink: None,
        }
    }

    /// Returns what changes, or the key that is wrong and why. All kinds of change are read here.
    fn change(&self) -> Result<Change, (&'static str, Problem)> {
        let changes = [
            self.slow.map(|factor| Change::Slow { factor }),
            self.join.then_some(Change::Join),
            self.drain.then_some(Change::Drain),
            self.fail.then_some(Change::Fail),
            self.pause.map(|paused| Change::Pause { paused }),
            self.moved_bytes_per_day.map(|moved_bytes_per_day| Change::MoveBudget { moved_bytes_per_day }),
            self.shrink.map(|capacity| Change::Shrink { capacity }),
        ];
        let mut given = changes.into_iter().flatten();
        let change = match (given.next(), given.next()) {
            (Some(change), None) => change,
            (None, _) => {
                return Err((
                    "",
                    Problem::with_hint(
                        "it changes nothing",
                        "say what changes: `slow = 10`, `join = true`, `drain = true`, `fail = true`, `pause = true`, \
                         `moved_bytes_per_day = \"100GiB\"` or `shrink = \"4GiB\"`",
                    ),
                ));
            }
            (Some(_), Some(_)) => return Err(("", Problem::new("it makes several changes; give each its own table"))),
        };
        match change {
            Change::Slow { factor: Ratio::ZERO } => {
                let hint = "10 makes it ten times slower, 1 restores its speed";
                Err(("slow", Problem::with_hint("it is 0, but no device works in no time", hint)))
            }
            _ => Ok(change),
        }
    }
}

/// Checks the events of a run on `system`.
pub(super) fn check(events: &[RunEvent], system: &System) -> Result<(), ConfigError> {
    let names = if events.is_empty() { Vec::new() } else { system.instances() };
    for (index, event) in events.iter().enumerate() {
        let error = |key: &str, problem| Err(ConfigError::new(key_of(index, key), problem));
        if event.at > Nanos::LAST {
            return error("at", Problem::new("it is later than 292 years after the start, where simulated time ends"));
        }
        if !names.contains(&event.device) {
            let known = names.iter().map(String::as_str);
            return error("device", NotFound::new("device of the target's tree", &event.device, known).into());
        }
        match event.change() {
            Err((key, problem)) => return error(key, problem),
            Ok(Change::Join | Change::Drain)
                if !system.parent(&event.device, |parent, _| parent.changes_children()) =>
            {
                let message = format!(
                    "`{}` is not a child of a hybrid or a cluster; only those join and are drained",
                    event.device
                );
                return error("device", Problem::new(message));
            }
            Ok(Change::Fail) if !system.parent(&event.device, |parent, _| parent.notices_failures()) => {
                let message = format!("`{}` is not part of another device, which could go on without it", event.device);
                return error("device", Problem::new(message));
            }
            Ok(Change::Pause { .. } | Change::MoveBudget { .. }) if !system.moves_in_background(&event.device) => {
                let message = format!("`{}` moves no data in the background; hybrids and clusters do", event.device);
                return error("device", Problem::new(message));
            }
            Ok(Change::Shrink { .. }) if !system.parent(&event.device, |parent, child| parent.shrinks(child)) => {
                let message = format!("`{}` is not the flash of a cache; only that shrinks", event.device);
                return error("device", Problem::new(message));
            }
            Ok(Change::Join)
                if events[..index].iter().any(|earlier| earlier.join && earlier.device == event.device) =>
            {
                let hint = "leave out all but the first; what has joined stays, even if it is drained";
                return error("join", Problem::with_hint(format!("`{}` joins twice", event.device), hint));
            }
            Ok(Change::Drain)
                if events.iter().any(|one| one.join && one.device == event.device && one.at > event.at) =>
            {
                let message = format!("`{}` is drained before it joins", event.device);
                return error("drain", Problem::with_hint(message, "give it a later time, or leave it out"));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// The events of a run in order of time, those of the same instant as they come in the file.
pub(crate) struct Schedule {
    /// The changes, with times since the start of the run.
    pub(crate) changes: Vec<ScheduledChange>,
    /// The place of each in the file.
    order: Vec<usize>,
}

impl Schedule {
    /// `events` that were checked, for a run that measures from `start` on.
    pub(crate) fn new(events: &[RunEvent], start: Nanos) -> Self {
        let mut order: Vec<usize> = (0..events.len()).collect();
        order.sort_by_key(|&index| events[index].at);
        let scheduled = |&index: &usize| {
            let event = &events[index];
            let change = event.change().expect("events are checked");
            ScheduledChange { at: start + event.at, device: event.device.clone(), change }
        };
        Self { changes: order.iter().map(scheduled).collect(), order }
    }

    /// Returns the key of the change at `place` of the schedule.
    pub(crate) fn key(&self, place: usize) -> String {
        key_of(self.order[place], "")
    }
}

fn key_of(index: usize, key: &str) -> String {
    let table = format!("run.events[{index}]");
    if key.is_empty() { table } else { format!("{table}.{key}") }
}
