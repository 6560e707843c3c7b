//! The `[workload]` table.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use esker_config::ConfigError;
use esker_core::{Bytes, Nanos, Priority, Ratio};
use esker_trace::{FilterSettings, SyntheticSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use esker_core::Problem;

use super::run::WAITING_MAX;

/// The requests for the target: a trace or a synthetic workload, and how it is replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSettings {
    /// Trace file, relative to the experiment's folder; `-` for standard input. A list for the per-CPU files of one
    /// blktrace recording, or for several traces as one workload. If all of them have absolute times (as their format
    /// says: docs/formats.md), these are kept; else all traces begin at the same time. Their volumes lie side by side.
    /// But if the times are absolute, and traces that have a volume of the same name all follow each other in time, as
    /// the days of one system do, it is one volume. They follow each other, too, if they overlap by less than a
    /// hundredth of the shorter one. A remark on the results says which was assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<OneOrMore>,
    /// Synthetic requests instead of a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<SyntheticSettings>,
    /// The trace's format, if it is not detected correctly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Number of bad lines of the trace to skip; the next one is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lenient: Option<u64>,
    /// How far time may step back in the trace for a request still to be sorted into its place (default: 1s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Nanos>,
    /// How many requests it may have to pass for that (default: 65536).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder_records: Option<u64>,
    /// Selects requests of the trace: by volume, kind, time or address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterSettings>,
    /// Open loop: factor for arrival times; 0.5 doubles the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_scale: Option<Ratio>,
    /// Closed loop: always this many requests under way, regardless of arrival times. Without it: open loop by arrival
    /// times or, if the workload has none, one request at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<NonZeroU32>,
    /// Closed loop of independent processes, so many: each sends a request, waits until it has ended, thinks, and sends
    /// its next one. Only for `synthetic` requests. Each process draws its own with these settings: its own runs of
    /// sequential addresses (the first one of process k of N begins at k/N of the footprint, counted from 0), its own
    /// hot places. `requests` and `head` count those of all processes together; who is faster sends more of them. With
    /// one process and no `think_time` it is `queue_depth = 1`.
    #[schemars(range(min = 1, max = 65_536))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<NonZeroU32>,
    /// Time between the end of a process's request and its next one (default: none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<Nanos>,
    /// Only the first requests, this many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<u64>,
    /// Number of passes through the whole trace, to age a drive with it (default: 1). By arrival times, the next pass
    /// begins one mean gap between requests after the last arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<NonZeroU32>,
    /// What to do with addresses beyond the target's capacity.
    #[serde(default)]
    pub beyond_capacity: BeyondCapacity,
    /// The bytes of the target over which `beyond_capacity = "spread"` spreads the volumes. Of a target that has fewer,
    /// all are used. Default: all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread_over: Option<Bytes>,
    /// Whether somebody waits for the requests (default: "user"). Where requests queue (for a slot of the target or of
    /// a device in it, for a disk's arm, for room in a buffer), user requests go before background ones. Requests that
    /// have waited for long go next all the same, every other time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: RequestPriority,
    /// Stream of the requests: a number for all of them, or "volume" (the default), which makes each volume of a trace
    /// a stream, in order of appearance. Solid-state drives with `streams` keep streams apart; everything else ignores
    /// them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stream: StreamChoice,
    /// Settings for single volumes of a trace, by name. With several traces the names are TRACE:VOLUME, but that
    /// of a volume that several of them have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, VolumeSettings>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// More must be a typing error.
const PROCESSES_MAX: u32 = 65_536;

/// Whether somebody waits for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestPriority {
    /// Somebody waits for it.
    #[default]
    User,
    /// It can wait: copies, rebuilds, checks.
    Background,
}

impl From<RequestPriority> for Priority {
    fn from(priority: RequestPriority) -> Self {
        match priority {
            RequestPriority::User => Self::USER,
            RequestPriority::Background => Self::BACKGROUND,
        }
    }
}

/// The stream of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"volume\" or a number from 0 to 65535")]
pub enum StreamChoice {
    /// Assigned by a rule.
    By(StreamBy),
    /// This stream for all requests.
    Number(u16),
}

/// How streams are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamBy {
    /// Each volume is a stream.
    Volume,
}

impl Default for StreamChoice {
    fn default() -> Self {
        Self::By(StreamBy::Volume)
    }
}

/// Settings of one volume of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeSettings {
    /// Whether somebody waits for its requests (default: as for all others).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<RequestPriority>,
    /// The stream of its requests (default: as for all others).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u16>,
}

/// One name or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a file name or a list of them")]
pub enum OneOrMore {
    /// One name.
    One(String),
    /// A list of names.
    More(Vec<String>),
}

impl OneOrMore {
    /// Returns all names.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::More(names) => names,
        }
    }
}

/// What to do with requests beyond the target's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondCapacity {
    /// Refuse to run.
    #[default]
    Error,
    /// Wrap around: addresses modulo the target's capacity.
    Wrap,
    /// Leave out everything beyond the end.
    Clip,
    /// Pack the 1 MiB areas that the workload reads or writes without gaps, in order of address.
    Dense,
    /// Lay volumes one after another from the target's first address on, each from the lowest 1 MiB area that the
    /// workload reads or writes to the highest, with what lies between made longer or shorter so that they fill
    /// `spread_over` bytes: as data lie on a disk, whose arm has to go as far as they are apart.
    Spread,
}

impl WorkloadSettings {
    /// Returns the factor for arrival times.
    pub fn time_scale(&self) -> Ratio {
        self.time_scale.unwrap_or(Ratio::ONE)
    }

    /// Returns the paths of the trace files, relative ones from `folder` on; `-` is standard input.
    pub(crate) fn paths(&self, folder: &Path) -> Vec<PathBuf> {
        let names = self.trace.as_ref().map_or(&[][..], OneOrMore::as_slice);
        names.iter().map(|name| path_of(folder, name)).collect()
    }

    /// Checks for contradictions.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.contradiction().map_or(Ok(()), |(key, message)| {
            let key = if key.is_empty() { "workload".to_string() } else { format!("workload.{key}") };
            Err(ConfigError::new(key, Problem::new(message)))
        })
    }

    /// Returns a contradiction: the key within the table, and a message.
    fn contradiction(&self) -> Option<(&'static str, String)> {
        const WITH_A_TRACE: &str = "it goes with a `trace`";
        if let Some(depth) = self.queue_depth.filter(|depth| u64::from(depth.get()) > WAITING_MAX) {
            return Some(("queue_depth", format!("{depth} requests under way are more than {WAITING_MAX}")));
        }
        if let (None, Some(_)) = (&self.trace, &self.synthetic) {
            let given = [
                ("format", self.format.is_some(), WITH_A_TRACE),
                ("lenient", self.lenient.is_some(), WITH_A_TRACE),
                ("reorder", self.reorder.is_some(), WITH_A_TRACE),
                ("reorder_records", self.reorder_records.is_some(), WITH_A_TRACE),
                ("filter", self.filter.is_some(), WITH_A_TRACE),
                ("volumes", !self.volumes.is_empty(), "it goes with a `trace`; a `synthetic` workload is one volume"),
                (
                    "passes",
                    self.passes.is_some(),
                    "it goes with a `trace`; ask a `synthetic` workload for more `requests`",
                ),
            ];
            if let Some((key, _, message)) = given.into_iter().find(|(_, given, _)| *given) {
                return Some((key, message.to_string()));
            }
        }
        match (&self.trace, &self.synthetic) {
            (None, None) => return Some(("", "it needs a `trace` or a `synthetic` workload".to_string())),
            (Some(_), Some(_)) => return Some(("synthetic", "it excludes `trace`; give one of them".to_string())),
            (Some(trace), None) if trace.as_slice().is_empty() => {
                return Some(("trace", "it names no file".to_string()));
            }
            _ => {}
        }
        let names = self.trace.as_ref().map_or(&[][..], OneOrMore::as_slice);
        let twice = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name));
        if let Some((_, twice)) = twice {
            return Some(("trace", format!("it names `{twice}` twice")));
        }
        if self.spread_over.is_some() && self.beyond_capacity != BeyondCapacity::Spread {
            return Some(("spread_over", "it goes with `beyond_capacity = \"spread\"`".to_string()));
        }
        if self.time_scale == Some(Ratio::ZERO) {
            return Some(("time_scale", "it is 0, so that all requests would arrive at once".to_string()));
        }
        if self.time_scale.is_some() && self.queue_depth.is_some() {
            let message = "it means nothing in a closed loop, and `queue_depth` asks for one";
            return Some(("time_scale", message.to_string()));
        }
        self.contradiction_of_processes().map(|(key, message)| (key, message.to_string()))
    }

    fn contradiction_of_processes(&self) -> Option<(&'static str, &'static str)> {
        let Some(processes) = self.processes else {
            return self.think_time.map(|_| ("think_time", "it goes with `processes`, which think between requests"));
        };
        if processes.get() > PROCESSES_MAX {
            return Some(("processes", "there are at most 65536"));
        }
        let faults = [
            (
                "processes",
                self.trace.is_some(),
                "processes need requests of their own, but a `trace` is one stream; keep several of its requests under \
                 way with `queue_depth`, or use a `synthetic` workload",
            ),
            (
                "queue_depth",
                self.queue_depth.is_some(),
                "it excludes `processes`, each of which has one request under way",
            ),
            (
                "time_scale",
                self.time_scale.is_some(),
                "it means nothing in a closed loop, and `processes` asks for one",
            ),
            (
                "synthetic.arrivals",
                self.synthetic.as_ref().is_some_and(|synthetic| synthetic.arrivals.is_some()),
                "it means nothing with `processes`, which send when their last request has ended; give them a \
                 `think_time`",
            ),
        ];
        faults.into_iter().find(|(_, given, _)| *given).map(|(key, _, message)| (key, message))
    }
}

/// Returns the path of the file `name`, as seen from `folder`; `-` is standard input.
pub(super) fn path_of(folder: &Path, name: &str) -> PathBuf {
    if name == "-" { name.into() } else { folder.join(name) }
}
