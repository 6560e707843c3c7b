//! Shows the slowest request of a drive and those around it, each with a breakdown of its time (after Kim 2009, figure
//! 3.15).
//!
//! Recording flash operations needs the event-by-event scheduler, which is slower than the usual one but gives the same
//! times. So the measured run only notes the slowest request. One drive then runs once more, with recording, until that
//! request has ended.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

use esker_core::{Arrival, Completion, Control, Nanos, Observer, Ratio, Request, Stretch, Verdict};
use esker_results::{TimelineOperation, TimelineReport, TimelineRequest};
use esker_sim::{RunMeasurements, Simulation, Slowest};

use crate::busy::Busy;
use crate::design::Design;
use crate::measure::flash_report;
use crate::setup::set_up;
use crate::strain::Stretches;
use crate::task::Task;
use crate::{Hooks, StudyError};
use esker_results::study::{ResponseParts, SlowRequest, SlowStretch};

/// Number of requests shown before and after the slowest one; most are before it, to show how it came about.
const BEFORE: usize = 79;
const AFTER: usize = 20;
/// Number of requests recorded: those that a drive may have under way, and those shown before them.
const RECORDED: u32 = 1024;
/// Number of completions kept: more than the requests recorded, because a slow request delays those behind it.
const ENDS: usize = 16_384;

/// Runs `design` again and shows the requests around `slowest`.
pub(crate) fn around(task: &Task<'_>, design: &Design, slowest: Slowest) -> Result<Option<SlowStretch>, StudyError> {
    let simulation = set_up(task, design, Ratio::ONE)?;
    let left_out = Cell::default();
    let arrivals = simulation.arrivals(&task.workload.requests, &left_out).map_err(StudyError::design)?;
    record(simulation, arrivals, slowest, design, task.hooks)
}

/// Shows the requests around the slowest one of the busiest stretches: replaying a large trace once more would take too
/// long.
pub(crate) fn of_busiest(task: &Task<'_>, busy: &Busy, design: &Design) -> Result<Option<SlowStretch>, StudyError> {
    let mut simulation = set_up(task, design, Ratio::ONE)?;
    let stretches = Stretches::of(busy, &simulation)?.judged_alone();
    let mut measured = RunMeasurements::new();
    let played = simulation.play(stretches.in_a_row(), &mut measured, &mut task.hooks.go_on());
    played.map_err(StudyError::design)?;
    let Some(slowest) = measured.slowest() else { return Ok(None) };
    // Frees the devices, because the next ones take as much memory.
    drop(simulation);
    let again = set_up(task, design, Ratio::ONE)?;
    let Some(found) = record(again, stretches.in_a_row(), slowest, design, task.hooks)? else { return Ok(None) };
    let start = stretches.in_trace(Nanos::from_secs_f64(found.start_s));
    let before = task.workload.arrivals().take_while(|(at, _)| *at < start).count() as u64;
    Ok(Some(SlowStretch { first_request: before, start_s: start.as_secs_f64(), of_busiest: true, ..found }))
}

/// Runs `design` with recording, until the slowest request has ended.
fn record(
    mut simulation: Simulation,
    arrivals: impl Iterator<Item = Arrival>,
    slowest: Slowest,
    design: &Design,
    hooks: &Hooks<'_>,
) -> Result<Option<SlowStretch>, StudyError> {
    for command in [Control::RecordTimeline(Stretch::Last(RECORDED)), Control::StartMeasuring] {
        simulation.control(command).map_err(StudyError::design)?;
    }
    let mut until = StopAfterSlowest { slowest, found: false, after: AFTER, ends: VecDeque::new() };
    simulation.play(arrivals, &mut until, &mut hooks.go_on()).map_err(StudyError::design)?;
    let Some(timeline) = flash_report(simulation.device()).and_then(|flash| flash.timeline) else { return Ok(None) };
    if !until.found {
        return Ok(None);
    }
    Ok(shown(&timeline, &until.ends, slowest).map(|stretch| SlowStretch { candidate: design.name.clone(), ..stretch }))
}

/// The completion of a request, as seen by the host.
struct HostCompletion {
    arrival: Nanos,
    request: Request,
    start: Nanos,
    at: Nanos,
}

/// Stops the replay once [`AFTER`] more requests have ended after the slowest one.
struct StopAfterSlowest {
    slowest: Slowest,
    found: bool,
    after: usize,
    ends: VecDeque<HostCompletion>,
}

impl<D: ?Sized> Observer<D> for StopAfterSlowest {
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict {
        if self.ends.len() == ENDS {
            self.ends.pop_front();
        }
        self.ends.push_back(HostCompletion {
            arrival,
            request: *request,
            start: completion.service_start,
            at: completion.at,
        });
        if self.found {
            self.after -= 1;
        }
        self.found |= (arrival, completion.at) == (self.slowest.arrival, self.slowest.end);
        if self.found && self.after == 0 { Verdict::Stop } else { Verdict::Continue }
    }
}

/// A request that ended.
struct EndedRequest<'a> {
    index: u32,
    arrival: Nanos,
    end: Nanos,
    request: &'a TimelineRequest,
}

/// Returns the stretch around the slowest request, without the candidate's name; `None` if the request was not
/// recorded.
fn shown(timeline: &TimelineReport, ends: &VecDeque<HostCompletion>, slowest: Slowest) -> Option<SlowStretch> {
    let mut arrivals: BTreeMap<(u64, u64, u64, u64), VecDeque<Nanos>> = BTreeMap::new();
    for end in ends {
        let key = (end.request.start.byte_offset(), end.request.length.0, end.start.0, end.at.0);
        arrivals.entry(key).or_default().push_back(end.arrival);
    }
    // The time before the first recorded operation is unknown.
    let known = if timeline.operations_left_out == 0 { 0 } else { timeline.operations.first()?.end_ns };
    let seen: Vec<EndedRequest<'_>> = (0..)
        .zip(&timeline.requests)
        .filter(|(_, request)| request.arrival_ns >= known)
        .filter_map(|(index, request)| {
            let (start, end) = (request.start_ns?, request.end_ns?);
            let key = (request.offset_bytes, request.length_bytes, start, end);
            let arrival = arrivals.get_mut(&key)?.pop_front()?;
            Some(EndedRequest { index, arrival, end: Nanos(end), request })
        })
        .collect();
    let at = seen.iter().position(|seen| (seen.arrival, seen.end) == (slowest.arrival, slowest.end))?;
    let first = at.saturating_sub(BEFORE);
    let seen = &seen[first..seen.len().min(at + AFTER + 1)];
    let begin = seen[0].arrival;
    let dies = Dies::new(timeline);
    Some(SlowStretch {
        candidate: String::new(),
        of_busiest: false,
        first_request: timeline.first_request + u64::from(seen[0].index),
        start_s: begin.as_secs_f64(),
        slowest: (at - first) as u32,
        requests: seen
            .iter()
            .map(|seen| SlowRequest {
                kind: seen.request.kind.clone(),
                bytes: seen.request.length_bytes,
                arrival_us: seen.arrival.saturating_sub(begin).as_micros_f64(),
                response_us: (seen.end - seen.arrival).as_micros_f64(),
                parts: dies.parts(seen).as_micros(),
            })
            .collect(),
    })
}

/// Operations by die and by request, in the order in which they began.
struct Dies<'a> {
    of_die: BTreeMap<u32, Vec<&'a TimelineOperation>>,
    of_request: BTreeMap<u32, Vec<&'a TimelineOperation>>,
}

/// What the time of a request is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeUse {
    Queue,
    Requests,
    Cleaning,
    Map,
    Upkeep,
    Bus,
    Flash,
    Other,
}

/// Nanoseconds by [`TimeUse`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TimeUses([u64; 8]);

impl TimeUses {
    fn add(&mut self, part: TimeUse, from: u64, to: u64) {
        self.0[part as usize] += to.saturating_sub(from);
    }

    fn as_micros(self) -> ResponseParts {
        let of = |part: TimeUse| self.0[part as usize] as f64 / 1e3;
        ResponseParts {
            queue_us: of(TimeUse::Queue),
            requests_us: of(TimeUse::Requests),
            cleaning_us: of(TimeUse::Cleaning),
            map_us: of(TimeUse::Map),
            upkeep_us: of(TimeUse::Upkeep),
            bus_us: of(TimeUse::Bus),
            flash_us: of(TimeUse::Flash),
            other_us: of(TimeUse::Other),
        }
    }
}

impl<'a> Dies<'a> {
    fn new(timeline: &'a TimelineReport) -> Self {
        let (mut of_die, mut of_request): (BTreeMap<_, Vec<_>>, BTreeMap<_, Vec<_>>) = Default::default();
        for operation in &timeline.operations {
            of_die.entry(operation.die).or_default().push(operation);
            if let Some(request) = operation.request {
                of_request.entry(request).or_default().push(operation);
            }
        }
        for operations in of_die.values_mut().chain(of_request.values_mut()) {
            operations.sort_by_key(|operation: &&TimelineOperation| (operation.begin_ns, operation.end_ns));
        }
        Self { of_die, of_request }
    }

    /// Divides the response time of a request into parts. Until the drive takes the request, the time goes to the
    /// queue. From then on, it goes to whatever the die of the request's last operation is doing and, while that die is
    /// idle, to the request's other operations.
    fn parts(&self, seen: &EndedRequest<'_>) -> TimeUses {
        let mut parts = TimeUses::default();
        let (taken, end) = (seen.request.arrival_ns, seen.end.0);
        parts.add(TimeUse::Queue, seen.arrival.0, taken);
        let own: &[&TimelineOperation] = self.of_request.get(&seen.index).map_or(&[], Vec::as_slice);
        let Some(last) = own.iter().max_by_key(|operation| operation.end_ns) else {
            parts.add(TimeUse::Other, taken, end);
            return parts;
        };
        let none = Vec::new();
        let die = self.of_die.get(&last.die).unwrap_or(&none);
        let rest = sweep(die, seen.index, (taken, last.end_ns.min(end)), &mut parts);
        for gap in rest {
            for (from, to) in sweep(own, seen.index, gap, &mut parts) {
                parts.add(TimeUse::Other, from, to);
            }
        }
        parts.add(TimeUse::Other, last.end_ns, end);
        parts
    }
}

/// Divides the time from `within.0` to `within.1` among `operations`, which are ordered by their beginning. Returns the
/// gaps, in which no operation runs.
fn sweep(operations: &[&TimelineOperation], request: u32, within: (u64, u64), parts: &mut TimeUses) -> Vec<(u64, u64)> {
    let (mut at, to) = within;
    let mut rest = Vec::new();
    for operation in operations {
        if operation.end_ns <= at || operation.begin_ns >= to {
            continue;
        }
        if operation.begin_ns > at {
            rest.push((at, operation.begin_ns));
            at = operation.begin_ns;
        }
        let end = operation.end_ns.min(to);
        let part = match operation.cause.as_str() {
            "host" if operation.request == Some(request) => {
                let wait = operation.bus_wait_ns.min(end - at);
                parts.add(TimeUse::Bus, 0, wait);
                at += wait;
                TimeUse::Flash
            }
            "host" => TimeUse::Requests,
            "cleaning" => TimeUse::Cleaning,
            "mapping" => TimeUse::Map,
            _ => TimeUse::Upkeep,
        };
        parts.add(part, at, end);
        at = end;
    }
    if at < to {
        rest.push((at, to));
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::{Bytes, Lba};

    fn operation(
        die: u32,
        cause: &str,
        request: Option<u32>,
        (begin_ns, end_ns): (u64, u64),
        bus_wait_ns: u64,
    ) -> TimelineOperation {
        let kind = "program".to_string();
        TimelineOperation { die, plane: 0, kind, cause: cause.to_string(), request, begin_ns, end_ns, bus_wait_ns }
    }

    fn request(arrival_ns: u64, start_ns: u64, end_ns: u64) -> TimelineRequest {
        let (start_ns, end_ns) = (Some(start_ns), Some(end_ns));
        TimelineRequest { kind: "write".into(), offset_bytes: 4096, length_bytes: 4096, arrival_ns, start_ns, end_ns }
    }

    /// A write arrives at 10, is taken at 20, waits for cleaning until 50 and another request until 70, is idle for 5,
    /// waits 3 for the bus, and is served until 100, including 2 for the link.
    #[test]
    fn the_time_of_a_request_goes_to_what_its_die_did_meanwhile() {
        let timeline = TimelineReport {
            first_request: 7,
            requests: vec![request(0, 50, 70), request(20, 75, 102)],
            operations: vec![
                operation(1, "mapping", None, (0, 100), 0),
                operation(0, "cleaning", None, (5, 50), 0),
                operation(0, "host", Some(0), (50, 70), 2),
                operation(0, "host", Some(1), (75, 100), 3),
            ],
            operations_left_out: 0,
        };
        let end = |arrival, start, at| HostCompletion {
            arrival: Nanos(arrival),
            request: Request::write(Lba(8), Bytes(4096)),
            start: Nanos(start),
            at: Nanos(at),
        };
        let ends = VecDeque::from([end(0, 50, 70), end(10, 75, 102)]);
        let slowest = Slowest { arrival: Nanos(10), end: Nanos(102) };
        let stretch = shown(&timeline, &ends, slowest).unwrap();
        assert_eq!((stretch.first_request, stretch.slowest, stretch.requests.len()), (7, 1, 2));
        let parts = stretch.requests[1].parts;
        let expected = ResponseParts {
            queue_us: 0.010,
            requests_us: 0.020,
            cleaning_us: 0.030,
            map_us: 0.0,
            upkeep_us: 0.0,
            bus_us: 0.003,
            flash_us: 0.022,
            other_us: 0.007,
        };
        assert_eq!(parts, expected);
        assert_eq!(stretch.requests[1].response_us, 0.092);
        // The die of the first request was cleaning from 5 on; before that, its work is unknown.
        let parts = stretch.requests[0].parts;
        assert_eq!((parts.other_us, parts.cleaning_us, parts.bus_us, parts.flash_us), (0.005, 0.045, 0.002, 0.018));
        assert!(shown(&timeline, &ends, Slowest { end: Nanos(103), ..slowest }).is_none());
    }

    #[test]
    fn what_idle_time_of_its_die_goes_to_is_what_its_other_operations_do() {
        let operations = [operation(0, "host", Some(0), (0, 40), 0), operation(1, "host", Some(0), (40, 90), 0)];
        let timeline = TimelineReport { operations: operations.to_vec(), ..TimelineReport::default() };
        let request = request(0, 0, 90);
        let seen = EndedRequest { index: 0, arrival: Nanos(0), end: Nanos(90), request: &request };
        assert_eq!(Dies::new(&timeline).parts(&seen).as_micros().flash_us, 0.090);
    }
}
