//! Figures for Prometheus: an HTTP server that answers `GET /metrics` and nothing else.

use std::fmt::Write;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use esker_core::Nanos;
use esker_volume::{DeviceIo, Watch};
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::listener::Listener;
use crate::status::{DrainStatus, Status};
use crate::watched::WatchedListener;

/// The connections of those who collect figures.
#[derive(Default)]
pub(crate) struct Collectors {
    listener: Option<WatchedListener>,
    connections: Vec<Collector>,
}

/// Somebody who collects figures.
struct Collector {
    socket: Arc<OwnedFd>,
    watch: Watch,
    since: Nanos,
    request: Vec<u8>,
    /// The answer, and how much of it was sent.
    answer: Option<(Vec<u8>, usize)>,
    is_finished: bool,
}

/// The most collectors at a time. Others wait.
const COLLECTORS_MAX: usize = 8;

/// The longest request, and how long a collector may take.
const REQUEST_MAX: usize = 8 << 10;
const LIMIT: Nanos = Nanos::from_secs(10);

impl Collectors {
    pub(crate) fn listen(&mut self, io: &DeviceIo, listener: Listener) -> io::Result<()> {
        self.listener = Some(WatchedListener::new(io, listener)?);
        Ok(())
    }

    /// When the first collector has taken too long.
    pub(crate) fn next_expiry(&self) -> Nanos {
        self.connections.iter().map(|collector| collector.since + LIMIT).min().unwrap_or(Nanos::NEVER)
    }

    /// Answers collectors, with the `status` of now.
    pub(crate) fn go_on(&mut self, io: &DeviceIo, now: Nanos, status: impl Fn() -> Status) {
        while self.connections.len() < COLLECTORS_MAX
            && let Some((socket, _)) = self.listener.as_mut().and_then(WatchedListener::accept)
        {
            if let Ok(watch) = io.watch(Arc::clone(&socket)) {
                self.connections.push(Collector::new(socket, watch, now));
            }
        }
        let before = self.connections.len();
        self.connections.retain_mut(|collector| {
            collector.go_on(&status);
            !collector.is_finished && collector.since + LIMIT > now
        });
        if let Some(listener) = self.listener.as_mut().filter(|_| self.connections.len() < before) {
            listener.may_accept = true;
        }
    }
}

impl Collector {
    fn new(socket: Arc<OwnedFd>, watch: Watch, since: Nanos) -> Self {
        let (request, answer) = (Vec::new(), None);
        Self { socket, watch, since, request, answer, is_finished: false }
    }

    fn go_on(&mut self, status: impl Fn() -> Status) {
        let mut bytes = [0; 2048];
        while self.watch.can_read() && self.answer.is_none() && !self.is_finished {
            match rustix::io::read(&self.socket, &mut bytes) {
                Ok(0) => self.is_finished = true,
                Ok(count) => self.request.extend_from_slice(&bytes[..count]),
                Err(Errno::AGAIN) => self.watch.read_blocks(),
                Err(Errno::INTR) => {}
                Err(_) => self.is_finished = true,
            }
            if self.request.windows(4).any(|end| end == b"\r\n\r\n") {
                self.answer = Some((answer(&self.request, &status).into_bytes(), 0));
            }
            self.is_finished |= self.request.len() > REQUEST_MAX;
        }
        while let Some((answer, sent)) = self.answer.as_mut().filter(|_| self.watch.can_write() && !self.is_finished) {
            match rustix::net::send(&self.socket, &answer[*sent..], SendFlags::NOSIGNAL) {
                Ok(count) => {
                    *sent += count;
                    self.is_finished = *sent == answer.len();
                }
                Err(Errno::AGAIN) => self.watch.write_blocks(),
                Err(Errno::INTR) => {}
                Err(_) => self.is_finished = true,
            }
        }
    }
}

/// The answer to an HTTP request.
fn answer(request: &[u8], status: impl Fn() -> Status) -> String {
    let (code, kind, body) = match request.split(|&byte| byte == b' ').take(2).collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics"] => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text(&status())),
        [b"GET", _] => ("404 Not Found", "text/plain", "only /metrics is here\n".to_string()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET is answered\n".to_string()),
    };
    let length = body.len();
    format!("HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// The figures of a status, in the text format of Prometheus.
fn text(status: &Status) -> String {
    let mut out = Metrics(String::new());
    let requests = &status.requests;
    out.family("esker_requests_total", "counter", "Requests of clients, by kind.");
    let kinds = [
        ("read", requests.reads),
        ("write", requests.writes),
        ("flush", requests.flushes),
        ("trim", requests.trims),
        ("other", requests.others),
    ];
    kinds.iter().for_each(|(kind, count)| out.figure("esker_requests_total", &[("kind", kind)], *count));
    out.family("esker_request_bytes_total", "counter", "Bytes that clients have read and written.");
    let directions = [("read", requests.read_bytes), ("write", requests.written_bytes)];
    directions.iter().for_each(|(kind, bytes)| out.figure("esker_request_bytes_total", &[("kind", kind)], *bytes));
    out.single("esker_requests_failed_total", "counter", "Requests that the volume has failed.", requests.failed);
    out.single("esker_clients", "gauge", "Clients that are connected.", status.connections.len() as u64);
    let under_way = status.connections.iter().map(|client| u64::from(client.under_way)).sum();
    out.single("esker_requests_under_way", "gauge", "Requests that are to be answered.", under_way);
    out.single("esker_capacity_bytes", "gauge", "Bytes that clients see.", status.capacity_bytes);
    let read_only = u64::from(status.read_only.is_some());
    out.single("esker_read_only", "gauge", "1 if nothing can be written because a device is missing.", read_only);
    out.family("esker_device_data_bytes", "gauge", "Bytes for data of a device.");
    for device in &status.devices {
        out.figure("esker_device_data_bytes", &[("device", &device.name)], device.data_bytes);
    }
    out.family("esker_device_used_bytes", "gauge", "Bytes of the extents that a device holds.");
    for device in &status.devices {
        let used = device.used_bytes.iter();
        used.for_each(|&bytes| out.figure("esker_device_used_bytes", &[("device", &device.name)], bytes));
    }
    out.family("esker_device_state", "gauge", "1 for the state that a device has.");
    for device in &status.devices {
        out.figure("esker_device_state", &[("device", &device.name), ("state", &device.state)], 1);
    }
    out.family("esker_device_draining", "gauge", "1 while the data of a device move to the others, 2 if they cannot.");
    for device in &status.devices {
        let draining = match device.drain {
            None => 0,
            Some(DrainStatus::Moving | DrainStatus::Empty) => 1,
            Some(DrainStatus::Stuck { .. }) => 2,
        };
        out.figure("esker_device_draining", &[("device", &device.name)], draining);
    }
    out.0
}

/// Figures in the text format of Prometheus.
struct Metrics(String);

impl Metrics {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn figure(&mut self, name: &str, labels: &[(&str, &str)], figure: u64) {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels: Vec<String> = labels.iter().map(|(label, text)| format!("{label}=\"{}\"", quoted(text))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {figure}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, figure: u64) {
        self.family(name, kind, help);
        self.figure(name, &[], figure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{DeviceStatus, RequestCounts};

    fn status() -> Status {
        let device = DeviceStatus {
            name: "a\"b".to_string(),
            data_bytes: 7,
            used_bytes: Some(3),
            state: "online".to_string(),
            drain: Some(DrainStatus::Stuck { extents: 1 }),
            ..DeviceStatus::default()
        };
        let requests = RequestCounts { reads: 5, written_bytes: 9, ..RequestCounts::default() };
        Status { devices: vec![device], requests, read_only: Some("missing: c".to_string()), ..Status::default() }
    }

    #[test]
    fn figures_have_names_labels_and_help() {
        let text = text(&status());
        for line in [
            "# TYPE esker_requests_total counter",
            "esker_requests_total{kind=\"read\"} 5",
            "esker_request_bytes_total{kind=\"write\"} 9",
            "esker_read_only 1",
            "esker_device_used_bytes{device=\"a\\\"b\"} 3",
            "esker_device_state{device=\"a\\\"b\",state=\"online\"} 1",
            "esker_device_draining{device=\"a\\\"b\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
        // Each figure belongs to the family before it.
        let mut family = "";
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => family = rest.split(' ').next().unwrap(),
                None => assert!(line.starts_with("# HELP ") || line.starts_with(family), "{line}"),
            }
        }
    }

    #[test]
    fn only_the_figures_are_served() {
        let code = |request: &str| answer(request.as_bytes(), status)[9..12].to_string();
        assert_eq!(code("GET /metrics HTTP/1.1\r\n\r\n"), "200");
        assert_eq!(code("GET / HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(code("POST /metrics HTTP/1.1\r\n\r\n"), "405");
        let all = answer(b"GET /metrics HTTP/1.0\r\n\r\n", status);
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
    }
}
