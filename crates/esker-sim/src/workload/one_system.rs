//! What several traces are of: consecutive times of one system, or several systems.

use std::collections::BTreeMap;

use esker_core::{Nanos, words};
use esker_trace::VolumeIndex;

use super::input::TraceInput;

/// Traces still follow each other if they overlap by less than this part of the shorter one: recordings that are cut
/// where requests end have a few late ones from before the cut.
const OVERLAP: u64 = 100;

/// How several traces belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// There is only one.
    Alone,
    /// Not all have absolute times: nobody knows which came first.
    BeginTogether,
    /// All have absolute times, and no volume of one has the name of another's.
    NothingShared,
    /// Those that have a volume of the same name follow each other: that is one volume. Their names.
    FollowEachOther(Vec<String>),
    /// Of those that have a volume of the same name, some overlap: they are of different systems. Their names.
    Overlap(Vec<String>),
}

impl Relation {
    pub(super) fn of(inputs: &[TraceInput]) -> Self {
        if inputs.len() < 2 {
            return Self::Alone;
        }
        if !inputs.iter().all(|input| input.absolute || input.spool.is_empty()) {
            return Self::BeginTogether;
        }
        let mut spans: BTreeMap<&str, Vec<(Nanos, Nanos)>> = BTreeMap::new();
        for input in inputs {
            let Some(times) = input.spool.times() else { continue };
            for volume in input.spool.volumes() {
                spans.entry(volume).or_default().push(times);
            }
        }
        spans.retain(|_, spans| spans.len() > 1);
        let mut shared: Vec<String> = spans.keys().map(ToString::to_string).collect();
        shared.sort_unstable();
        match spans.into_values().all(follow_each_other) {
            _ if shared.is_empty() => Self::NothingShared,
            true => Self::FollowEachOther(shared),
            false => Self::Overlap(shared),
        }
    }

    /// Whether the traces have arrival times. Times that are all the same tell nothing, but a trace of few requests may
    /// be one moment of several that were recorded.
    pub(super) fn has_times(&self, inputs: &[TraceInput]) -> bool {
        let stamped = inputs.iter().filter(|input| !input.spool.is_empty()).all(|input| input.has_times);
        let spans = || inputs.iter().filter_map(|input| input.spool.times());
        let differ = |(first, last): (Nanos, Nanos)| first < last;
        let known = if self.keeps_times() {
            let all = spans().reduce(|(first, last), (begin, end)| (first.min(begin), last.max(end)));
            all.is_some_and(differ)
        } else {
            let are_known = |input: &TraceInput| input.spool.len() < 2 || input.spool.times().is_some_and(differ);
            inputs.iter().all(are_known) && spans().any(differ)
        };
        stamped && known
    }

    /// Whether requests keep the times between traces.
    pub(super) fn keeps_times(&self) -> bool {
        !matches!(self, Self::Alone | Self::BeginTogether)
    }

    /// The names of volumes that several traces have; `None` if volumes of the same name are several.
    pub(super) fn one_system(&self) -> Option<&[String]> {
        match self {
            Self::FollowEachOther(shared) => Some(shared),
            _ => None,
        }
    }

    pub(super) fn remark(&self) -> Option<String> {
        match self {
            Self::Alone | Self::NothingShared => None,
            Self::BeginTogether => {
                let text = "Not all traces have absolute times: all begin at the same time, with volumes of their own.";
                Some(text.into())
            }
            Self::FollowEachOther(shared) => Some(format!(
                "Traces that follow each other are taken to be of one system: {}.",
                names(shared, "is one volume", "are one volume each")
            )),
            Self::Overlap(shared) => Some(format!(
                "Traces that overlap in time are taken to be of different systems: in each, {}.",
                names(shared, "is a volume of its own", "are volumes of their own")
            )),
        }
    }
}

/// Whether times of traces follow each other. Those that begin at the same time do not, nor does one within another.
fn follow_each_other(mut spans: Vec<(Nanos, Nanos)>) -> bool {
    spans.sort_unstable();
    spans.windows(2).all(|pair| {
        let [(first, last), (next_first, next_last)] = [pair[0], pair[1]];
        let shorter = (last - first).min(next_last - next_first);
        let overlap = last.saturating_sub(next_first);
        first < next_first && (overlap == Nanos::ZERO || overlap < Nanos(shorter.0 / OVERLAP))
    })
}

/// The volumes, by name if they are few, and what they are.
fn names(volumes: &[String], one: &str, several: &str) -> String {
    match volumes {
        [only] => format!("volume {only} {one}"),
        few if few.len() <= 3 => format!("volumes {} {several}", few.join(", ")),
        many => format!("{} volumes of the same name {several}", words::count(many.len() as u64)),
    }
}

/// Numbers and names of the volumes of all traces.
pub(super) struct Names<'a> {
    several: bool,
    /// The names of volumes that several traces have, if that makes them one volume.
    one_system: Option<&'a [String]>,
    names: Vec<String>,
    /// Numbers by name, where volumes of the same name are one.
    known: BTreeMap<String, VolumeIndex>,
}

impl<'a> Names<'a> {
    pub(super) fn new(several: bool, one_system: Option<&'a [String]>) -> Self {
        Self { several, one_system, names: Vec::new(), known: BTreeMap::new() }
    }

    /// Returns the number of a trace's volume.
    pub(super) fn number(&mut self, trace: &str, volume: &str) -> VolumeIndex {
        if self.one_system.is_some()
            && let Some(&known) = self.known.get(volume)
        {
            return known;
        }
        let number = VolumeIndex(self.names.len() as u32);
        let is_shared = self.one_system.is_some_and(|shared| shared.iter().any(|one| one == volume));
        let of_trace = self.several && !is_shared;
        self.names.push(if of_trace { format!("{trace}:{volume}") } else { volume.to_string() });
        if self.one_system.is_some() {
            self.known.insert(volume.to_string(), number);
        }
        number
    }

    pub(super) fn finish(self) -> Vec<String> {
        self.names
    }
}
