use std::sync::{Arc, Mutex};

use super::*;
use crate::{Bytes, Change, Control, Lba, Ratio, Tag, Telemetry, Unsupported};

/// What happened, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// One server with a queue, called `server`. A change of speed by 1 gives it a service time of 1 us.
struct Server {
    service: Nanos,
    /// Requests with the starts of their services; the first one is served.
    queue: Vec<(Tag, Nanos)>,
    end: Nanos,
    log: Log,
}

impl Server {
    fn new(service: Nanos) -> (Self, Log) {
        let log = Log::default();
        (Self { service, queue: Vec::new(), end: Nanos::NEVER, log: log.clone() }, log)
    }

    fn tell(&self, now: Nanos, what: &str) {
        self.log.lock().unwrap().push(format!("{} {what}", now.0 / 1000));
    }
}

impl Device for Server {
    fn capacity(&self) -> Bytes {
        Bytes::mib(1)
    }
    fn free_slots(&self) -> usize {
        8 - self.queue.len()
    }
    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        self.tell(now, &format!("request {}", request.start.0));
        if self.queue.is_empty() {
            self.end = now + self.service;
        }
        self.queue.push((tag, now));
    }
    fn next_event(&self) -> Nanos {
        self.end
    }
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let (tag, start) = self.queue.remove(0);
        self.end = if self.queue.is_empty() { Nanos::NEVER } else { now + self.service };
        done.push(Completion { tag, at: now, service_start: start, result: Ok(()) });
    }
    fn control(&mut self, _: Nanos, _: Control) -> Result<(), Unsupported> {
        Ok(())
    }
    fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        if device == "broken" {
            return Err(ChangeError::new("it is broken"));
        }
        let Change::Slow { factor } = change else { return Ok(false) };
        self.tell(now, &format!("service {factor}"));
        self.service = Nanos(factor.of(1000));
        Ok(device == "server")
    }
    fn telemetry(&self) -> Telemetry {
        Telemetry::default()
    }
}

struct Watcher(Log);

impl<D: ?Sized> Observer<D> for Watcher {
    fn completed(&mut self, _: Nanos, request: &Request, completion: &Completion) -> Verdict {
        self.0.lock().unwrap().push(format!("{} end {}", completion.at.0 / 1000, request.start.0));
        Verdict::Continue
    }
    fn sample(&mut self, now: Nanos, _: usize, _: &D) -> Verdict {
        self.0.lock().unwrap().push(format!("{} sample", now.0 / 1000));
        Verdict::Continue
    }
}

fn request(number: u64) -> Request {
    Request::read(Lba(number), Bytes(512))
}

fn arrivals(micros: &[u64]) -> Vec<Arrival> {
    (0..).zip(micros).map(|(number, &at)| Arrival { at: Nanos::from_micros(at), request: request(number) }).collect()
}

fn change(at: u64, device: &str, micros: u64) -> ScheduledChange {
    let change = Change::Slow { factor: Ratio::percent(micros * 100) };
    ScheduledChange { at: Nanos::from_micros(at), device: device.to_string(), change }
}

/// Runs it on a server of 5 us, with a sample each 10 us.
fn run(feed: impl Feed, changes: &[ScheduledChange]) -> (Result<Replay, ReplayError>, Vec<String>) {
    let (mut server, log) = Server::new(Nanos::from_micros(5));
    let settings = ReplaySettings { sample_every: Some(Nanos::from_micros(10)), ..ReplaySettings::OPEN };
    let replay = replay_changing(&mut server, feed, &settings, changes, &mut Watcher(log.clone()));
    let log = log.lock().unwrap().clone();
    (replay, log)
}

#[test]
fn at_one_instant_come_sample_changes_ends_and_arrivals() {
    let changes = [change(10, "server", 2), change(10, "server", 3), change(99, "server", 1)];
    let (replay, log) = run(Stream::new(arrivals(&[5, 10]), None), &changes);
    let expected = ["5 request 0", "10 sample", "10 service 200%", "10 service 300%", "10 end 0", "10 request 1"];
    assert_eq!(log, [&expected[..], &["13 end 1"]].concat());
    // The last one would come when all is over.
    let replay = replay.unwrap();
    assert_eq!((replay.changes, replay.last_event, replay.end), (2, Nanos::from_micros(13), ReplayEnd::Complete));
}

#[test]
fn a_change_comes_before_a_closed_loop_begins_and_while_nothing_else_happens() {
    let changes = [change(0, "server", 3), change(1, "server", 4)];
    let (replay, log) = run(Stream::new(arrivals(&[0, 0]), Some(1)), &changes);
    let expected = ["0 service 300%", "0 request 0", "1 service 400%", "3 end 0", "3 request 1", "7 end 1"];
    assert_eq!((log, replay.unwrap().changes), (expected.map(str::to_string).to_vec(), 2));
}

#[test]
fn a_change_that_nobody_makes_is_an_error() {
    let unsupported = "this device does not support this change";
    for (device, what) in [("nobody", unsupported), ("broken", "it is broken")] {
        let changes = [change(1, "server", 1), change(2, device, 1)];
        let error = run(Stream::new(arrivals(&[9]), None), &changes).0.unwrap_err();
        assert!(matches!(error, ReplayError::Change { index: 1, .. }), "{error:?}");
        assert_eq!(error.to_string(), format!("at 2 µs: {what}"));
    }
}

/// Processes 0 and 1 with the numbers 0, 10, 20... and 1, 11, 21...
fn processes(think: u64, count: u64) -> Processes<impl Iterator<Item = Request>> {
    let requests = (0..2).map(|process| (0..).map(move |number| request(number * 10 + process))).collect();
    Processes::new(requests, Nanos::from_micros(think), count)
}

#[test]
fn processes_send_a_think_time_after_their_answer() {
    let (replay, log) = run(&mut processes(7, 5), &[]);
    let begin = ["0 request 0", "0 request 1", "5 end 0", "10 sample", "10 end 1", "12 request 10"];
    let end = ["17 end 10", "17 request 11", "20 sample", "22 end 11", "24 request 20", "29 end 20"];
    assert_eq!(log, [begin, end].concat());
    assert_eq!(replay.unwrap().arrived, 5);
}

#[test]
fn processes_go_on_where_they_stopped_and_end_with_their_requests() {
    let mut all = processes(0, 3);
    let expected = ["0 request 0", "0 request 1", "5 end 0", "5 request 10", "10 sample", "10 end 1", "15 end 10"];
    assert_eq!(run(&mut all, &[]).1, expected);
    all.limit(1);
    assert_eq!(run(&mut all, &[]).1, ["0 request 20", "5 end 20"]);
    let two = [vec![request(0)], vec![request(1), request(11)]].map(Vec::into_iter);
    let replay = run(&mut Processes::new(two.to_vec(), Nanos::ZERO, 100), &[]).0.unwrap();
    assert_eq!((replay.end, replay.completed), (ReplayEnd::Complete, 3));
}

/// Serves nothing for a long time, and takes as much as it is given.
struct Hoard {
    held: Vec<Tag>,
    most: u64,
    bytes: u64,
}

impl Device for Hoard {
    fn capacity(&self) -> Bytes {
        Bytes::gib(1 << 20)
    }
    fn free_slots(&self) -> usize {
        1000 - self.held.len()
    }
    fn submit(&mut self, _: Nanos, tag: Tag, request: Request) {
        self.held.push(tag);
        self.bytes += if matches!(request.kind, crate::RequestKind::Read) { request.length.0 } else { 0 };
        self.most = self.most.max(self.bytes);
    }
    fn next_event(&self) -> Nanos {
        if self.held.is_empty() { Nanos::NEVER } else { Nanos::from_micros(9) }
    }
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        done.extend(self.held.drain(..).map(|tag| Completion { tag, at: now, service_start: now, result: Ok(()) }));
        self.bytes = 0;
    }
    fn control(&mut self, _: Nanos, _: Control) -> Result<(), Unsupported> {
        Ok(())
    }
    fn telemetry(&self) -> Telemetry {
        Telemetry::default()
    }
}

#[test]
fn a_host_holds_so_much_data_and_no_more() {
    let read = |number: u64| Arrival { at: Nanos::ZERO, request: Request::read(Lba(number), Bytes::mib(100)) };
    let mut hoard = Hoard { held: Vec::new(), most: 0, bytes: 0 };
    let watcher = &mut Watcher(Log::default());
    let replay = replay(&mut hoard, (0..40).map(read), &ReplaySettings::OPEN, watcher).unwrap();
    // Requests of 100 MiB: the forty-first fills 4 GiB.
    assert_eq!((hoard.most, replay.backlog_max), (40 * (100 << 20), 0));
    let mut hoard = Hoard { held: Vec::new(), most: 0, bytes: 0 };
    let limited = ReplaySettings { backlog_limit: 58, ..ReplaySettings::OPEN };
    let replay = super::replay(&mut hoard, (0..100).map(read), &limited, watcher).unwrap();
    assert_eq!((hoard.most, hoard.held.len()), (41 * (100 << 20), 41));
    assert_eq!(replay.end, ReplayEnd::Saturated { since: Nanos::ZERO, backlog: 59 }, "a queue that fills is saturated");
}
