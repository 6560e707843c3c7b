//! Figures for Prometheus: an HTTP server that answers `GET /metrics`, and `HEAD`, and nothing else.

use std::fmt::{self, Write};
use std::io::{self, IoSlice};

use esker_core::Nanos;
use esker_volume::DeviceIo;

use crate::background::BackgroundStatus;
use crate::connections::{Connections, SILENT_FOR};
use crate::listener::Listener;
use crate::socket::Socket;
use crate::status::{DeviceStatus, DrainStatus, ServingStatus};

/// The connections of those who collect figures.
pub(crate) struct Collectors(Connections<Collector>);

/// Somebody who collects figures.
struct Collector {
    socket: Socket,
    since: Nanos,
    request: Vec<u8>,
    /// The answer, and how much of it was sent.
    answer: Option<(Vec<u8>, usize)>,
}

/// The most collectors at a time. Others take the place of the oldest one who has asked for nothing, or wait.
const COLLECTORS_MAX: usize = 8;

/// The longest request, and how long a collector may take.
const REQUEST_MAX: usize = 8 << 10;
const LIMIT: Nanos = Nanos::from_secs(10);

impl Default for Collectors {
    fn default() -> Self {
        Self(Connections::new(COLLECTORS_MAX))
    }
}

impl Collectors {
    pub(crate) fn listen(&mut self, io: &DeviceIo, listener: Listener) -> io::Result<()> {
        self.0.listen(io, listener)
    }

    pub(crate) fn listeners_mut(&mut self) -> impl Iterator<Item = &mut Listener> {
        self.0.listeners_mut()
    }

    /// The listeners, to be handed over. Whoever waits for figures asks again.
    pub(crate) fn into_listeners(self) -> Vec<Listener> {
        self.0.into_parts().0
    }

    /// When the first collector has taken too long, or others who wait are tried again.
    pub(crate) fn next_event(&self) -> Nanos {
        let somebody_waits = !self.0.has_room() && self.0.have_somebody_waiting();
        let limit = |collector: &Collector| if somebody_waits && collector.is_silent() { SILENT_FOR } else { LIMIT };
        let ends = self.0.iter().map(|(_, collector)| collector.since + limit(collector));
        ends.min().unwrap_or(Nanos::NEVER).min(self.0.next_try())
    }

    /// Answers collectors with the `figures` of now.
    pub(crate) fn go_on(&mut self, io: &DeviceIo, now: Nanos, figures: impl Fn() -> Metrics) {
        self.0.try_again(now);
        let open = |socket, _| Collector { socket, since: now, request: Vec::new(), answer: None };
        self.0.accept(io, (now, usize::MAX), open);
        self.serve(now, &figures);
        if !self.0.has_room() {
            let gives_way = |collector: &Collector| collector.is_silent() && collector.since + SILENT_FOR <= now;
            while let Some(closed) = self.0.accept_instead((io, now), gives_way, open) {
                closed.socket.shut_down();
            }
            self.serve(now, &figures);
        }
    }

    /// Answers those who have asked, and closes what has ended or takes too long.
    fn serve(&mut self, now: Nanos, figures: impl Fn() -> Metrics) {
        self.0.retain(|_, collector| {
            let is_kept = collector.go_on(&figures) && collector.since + LIMIT > now;
            if !is_kept {
                collector.socket.shut_down();
            }
            is_kept
        });
    }
}

impl Collector {
    /// Returns true as long as it has not asked for anything.
    fn is_silent(&self) -> bool {
        self.answer.is_none()
    }

    /// Returns false if the connection is to be closed.
    fn go_on(&mut self, figures: impl Fn() -> Metrics) -> bool {
        let mut bytes = [0; 2048];
        while self.socket.can_read() && self.answer.is_none() {
            let count = self.socket.read(&mut bytes);
            self.request.extend_from_slice(&bytes[..count]);
            if self.request.windows(4).any(|end| end == b"\r\n\r\n") {
                self.answer = Some((answer(&self.request, &figures).into_bytes(), 0));
            } else if self.request.len() > REQUEST_MAX {
                return false;
            }
        }
        let Some((answer, sent)) = &mut self.answer else { return !self.socket.has_ended() };
        while self.socket.can_write() && *sent < answer.len() {
            *sent += self.socket.send(&[IoSlice::new(&answer[*sent..])]);
        }
        *sent < answer.len() && !self.socket.is_broken()
    }
}

/// The answer to an HTTP request. What is asked for behind `?` changes nothing.
fn answer(request: &[u8], figures: impl Fn() -> Metrics) -> String {
    let mut words = request.split(|&byte| byte == b' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|&byte| byte == b'?').next().unwrap_or_default();
    let (code, kind, body) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => {
            ("200 OK", "text/plain; version=0.0.4; charset=utf-8", figures().to_string())
        }
        (b"GET" | b"HEAD", _) => ("404 Not Found", "text/plain", "only /metrics is here\n".to_string()),
        _ => {
            let code = "405 Method Not Allowed\r\nAllow: GET, HEAD";
            (code, "text/plain", "only GET and HEAD are answered\n".to_string())
        }
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    if method == b"HEAD" { head } else { head + &body }
}

/// Figures that there are of every export.
pub(crate) fn of_export(out: &mut Metrics, serving: &ServingStatus, capacity_bytes: u64) {
    out.begin_export(&serving.export);
    let requests = &serving.requests;
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
    let clients = serving.connections.iter().filter(|client| client.export.is_some()).count() as u64;
    out.single("esker_clients", "gauge", "Clients that have opened the export.", clients);
    let under_way = serving.connections.iter().map(|client| u64::from(client.under_way)).sum();
    out.single("esker_requests_under_way", "gauge", "Requests that are to be answered.", under_way);
    out.single("esker_capacity_bytes", "gauge", "Bytes that clients see.", capacity_bytes);
}

/// Figures of the devices of a volume.
pub(crate) fn of_devices(out: &mut Metrics, devices: &[DeviceStatus]) {
    out.family("esker_device_data_bytes", "gauge", "Bytes for data of a device.");
    for device in devices {
        out.figure("esker_device_data_bytes", &[("device", &device.name)], device.data_bytes);
    }
    out.family("esker_device_used_bytes", "gauge", "Bytes of the extents that a device holds.");
    for device in devices {
        let used = device.used_bytes.iter();
        used.for_each(|&bytes| out.figure("esker_device_used_bytes", &[("device", &device.name)], bytes));
    }
    out.family("esker_device_state", "gauge", "1 for the state that a device has.");
    for device in devices {
        out.figure("esker_device_state", &[("device", &device.name), ("state", &device.state)], 1);
    }
    out.family("esker_device_wear_percent", "gauge", "Percent of its endurance that a device has used.");
    for device in devices {
        let wear = device.wear_percent.iter();
        wear.for_each(|&percent| out.figure("esker_device_wear_percent", &[("device", &device.name)], percent));
    }
    out.family("esker_device_draining", "gauge", "1 while the data of a device move to the others, 2 if they cannot.");
    for device in devices {
        out.figure("esker_device_draining", &[("device", &device.name)], draining(device.drain.as_ref()));
    }
}

/// How the drain of a device goes, as a number.
fn draining(drain: Option<&DrainStatus>) -> u64 {
    match drain {
        None | Some(DrainStatus::Empty) => 0,
        Some(DrainStatus::Moving) => 1,
        Some(DrainStatus::Stuck { .. }) => 2,
    }
}

pub(crate) fn of_background(out: &mut Metrics, background: &BackgroundStatus) {
    let BackgroundStatus { paused, copies, moved_bytes, moved_bytes_per_day, .. } = background;
    let is_held = u64::from(background.held_for_sure().is_some());
    out.single("esker_background_paused", "gauge", "1 if nothing moves in the background.", (*paused).into());
    out.single("esker_background_copies", "gauge", "Extents that are being copied.", (*copies).into());
    out.single("esker_background_held", "gauge", "1 if extents should move and cannot.", is_held);
    out.single("esker_moved_bytes_total", "counter", "Bytes that copies of extents have written.", *moved_bytes);
    if let Some(budget) = moved_bytes_per_day {
        out.single("esker_moved_bytes_per_day_max", "gauge", "Bytes that may move in any 24 hours.", *budget);
    }
}

/// Figures in the text format of Prometheus. Each has the label `export`.
#[derive(Default)]
pub struct Metrics {
    /// The export that figures are of.
    export: String,
    /// In the order in which they are first mentioned.
    families: Vec<Family>,
}

/// Figures of one name, which have to follow each other.
struct Family {
    name: String,
    /// With what is said of the family.
    lines: String,
}

impl Metrics {
    /// Has figures that are added from now on be of this export.
    pub(crate) fn begin_export(&mut self, name: &str) {
        self.export = name.to_string();
    }

    /// Begins a family of figures, unless another export has: `counter` or `gauge`, and what it says.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        if self.families.iter().all(|family| family.name != name) {
            let lines = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
            self.families.push(Family { name: name.to_string(), lines });
        }
    }

    /// Adds a figure to the family of this name, with labels.
    ///
    /// # Panics
    /// If the family has not been begun.
    pub fn figure(&mut self, name: &str, labels: &[(&str, &str)], figure: u64) {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels = [("export", &*self.export)].into_iter().chain(labels.iter().copied());
        let labels: Vec<String> = labels.map(|(label, text)| format!("{label}=\"{}\"", quoted(text))).collect();
        let family = self.families.iter_mut().find(|family| family.name == name).expect("a family is begun first");
        let _ = writeln!(family.lines, "{name}{{{}}} {figure}", labels.join(","));
    }

    /// Adds a family of one figure.
    pub fn single(&mut self, name: &str, kind: &str, help: &str, figure: u64) {
        self.family(name, kind, help);
        self.figure(name, &[], figure);
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.families.iter().try_for_each(|family| f.write_str(&family.lines))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write as _};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use esker_volume::IoChoice;

    use super::*;
    use crate::address::Address;
    use crate::status::RequestCounts;

    #[test]
    fn a_device_drains_only_while_data_move() {
        let all = [None, Some(DrainStatus::Moving), Some(DrainStatus::Stuck { extents: 1 }), Some(DrainStatus::Empty)];
        assert_eq!(all.map(|drain| draining(drain.as_ref())), [0, 1, 2, 0]);
    }

    fn figures() -> Metrics {
        let device = DeviceStatus {
            name: "a\"b".to_string(),
            data_bytes: 7,
            used_bytes: Some(3),
            wear_percent: Some(12),
            state: "online".to_string(),
            drain: Some(DrainStatus::Stuck { extents: 1 }),
            ..DeviceStatus::default()
        };
        let requests = RequestCounts { reads: 5, written_bytes: 9, ..RequestCounts::default() };
        let serving = |export: &str| ServingStatus { requests, export: export.to_string(), ..ServingStatus::default() };
        let mut figures = Metrics::default();
        of_export(&mut figures, &serving("other"), 1 << 30);
        of_devices(&mut figures, std::slice::from_ref(&device));
        of_export(&mut figures, &serving("home"), 1 << 20);
        of_devices(&mut figures, &[device]);
        let background = BackgroundStatus {
            paused: true,
            moved_bytes_per_day: Some(9),
            moved_bytes: 7,
            held: Some("paused".to_string()),
            ..BackgroundStatus::default()
        };
        of_background(&mut figures, &background);
        figures
    }

    #[test]
    fn figures_have_names_labels_and_help() {
        let text = figures().to_string();
        for line in [
            "# TYPE esker_requests_total counter",
            "esker_requests_total{export=\"home\",kind=\"read\"} 5",
            "esker_request_bytes_total{export=\"home\",kind=\"write\"} 9",
            "esker_capacity_bytes{export=\"other\"} 1073741824",
            "esker_capacity_bytes{export=\"home\"} 1048576",
            "esker_device_used_bytes{export=\"home\",device=\"a\\\"b\"} 3",
            "esker_device_state{export=\"other\",device=\"a\\\"b\",state=\"online\"} 1",
            "esker_device_wear_percent{export=\"home\",device=\"a\\\"b\"} 12",
            "esker_device_draining{export=\"home\",device=\"a\\\"b\"} 2",
            "esker_background_paused{export=\"home\"} 1",
            "esker_background_copies{export=\"home\"} 0",
            "esker_background_held{export=\"home\"} 1",
            "esker_moved_bytes_total{export=\"home\"} 7",
            "esker_moved_bytes_per_day_max{export=\"home\"} 9",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
        // Each figure belongs to the family before it, and each family is there once.
        let (mut family, mut families) = (String::new(), Vec::new());
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => {
                    let name = rest.split(' ').next().unwrap();
                    assert!(!families.contains(&name), "{name} is there twice");
                    families.push(name);
                    family = format!("{name}{{");
                }
                None => assert!(line.starts_with("# HELP ") || line.starts_with(&family), "{line}"),
            }
        }
    }

    #[test]
    fn only_the_figures_are_served() {
        let code = |request: &str| answer(request.as_bytes(), figures)[9..12].to_string();
        assert_eq!(code("GET /metrics HTTP/1.1\r\n\r\n"), "200");
        assert_eq!(code("GET / HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(code("POST /metrics HTTP/1.1\r\n\r\n"), "405");
        assert!(answer(b"POST /metrics HTTP/1.1\r\n\r\n", figures).contains("\r\nAllow: GET, HEAD\r\n"));
        assert_eq!(code("GET /metrics?x=y HTTP/1.1\r\n\r\n"), "200");
        assert_eq!(code("GET /metricsx HTTP/1.1\r\n\r\n"), "404");
        let all = answer(b"GET /metrics HTTP/1.0\r\n\r\n", figures);
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
        assert_eq!(answer(b"HEAD /metrics HTTP/1.0\r\n\r\n", figures), format!("{head}\r\n\r\n"));
    }

    #[test]
    fn who_asks_for_nothing_gives_way_to_others_who_wait() {
        let folder = tempfile::tempdir().unwrap();
        let (path, io) = (folder.path().join("socket"), DeviceIo::start(IoChoice::Best).unwrap());
        let mut collectors = Collectors::default();
        collectors.listen(&io, Listener::bind(&Address::Unix(path.clone())).unwrap()).unwrap();
        let (start, ms) = (Nanos::from_secs(100), Nanos::from_millis);
        let wait = || (0..5).for_each(|_| io.wait(Some(Duration::from_millis(5))));
        let silent: Vec<UnixStream> = (0..COLLECTORS_MAX).map(|_| UnixStream::connect(&path).unwrap()).collect();
        wait();
        collectors.go_on(&io, start, figures);
        let mut asks = UnixStream::connect(&path).unwrap();
        for stream in [&asks, &silent[0]] {
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        }
        asks.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        wait();
        collectors.go_on(&io, start + ms(50), figures);
        assert_eq!(collectors.next_event(), start + SILENT_FOR);
        collectors.go_on(&io, start + SILENT_FOR, figures);
        let mut answer = String::new();
        asks.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(collectors.next_event(), start + LIMIT, "the others stay");
        assert_eq!((&silent[0]).read(&mut [0]).unwrap(), 0, "the oldest one was closed");
    }
}
