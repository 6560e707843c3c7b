//! The server: one thread for what is served and its clients.

mod ending;
mod hand_over;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use esker_core::Nanos;
use esker_nbd::{BlockSizes, Export, ExportError, Exports, ServerSettings, TlsPolicy};
use esker_volume::{Clock, DeviceIo, Signal, SystemClock};
use serde_json::Value;

use crate::clients::{ClientLimits, Clients};
use crate::control::ControlError;
use crate::export::ServedExport;
use crate::listener::Listener;
use crate::log::{Log, LogEvent};
use crate::memory::SECTOR;
use crate::metrics::{self, Collectors, Metrics};
use crate::observer::Observer;
use crate::served::Served;
use crate::status::ServingStatus;
use crate::take_over::Successor;
use crate::tls::Tls;
pub use hand_over::HandOver;

/// How clients are served.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// Whether clients may only read.
    pub is_read_only: bool,
    /// The most clients at a time. Others wait until one has left.
    pub connections_max: usize,
    /// What a client may have under way. Whether there is TLS follows from `tls`.
    pub session: ServerSettings,
    /// How connections are encrypted, if they are.
    pub tls: Option<Tls>,
    /// How long a client may take until it has opened an export.
    pub negotiation_limit: Duration,
    /// How long clients get to finish what they have under way when the server ends, and how long what was written may
    /// take to become durable after that.
    pub drain_limit: Duration,
    /// How long a process that takes over gets to open what is served. After that the server serves on.
    pub take_over_limit: Duration,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            is_read_only: false,
            connections_max: 64,
            session: ServerSettings::default(),
            tls: None,
            negotiation_limit: Duration::from_secs(10),
            drain_limit: Duration::from_secs(30),
            take_over_limit: Duration::from_secs(60),
        }
    }
}

/// What is served, and those who use it. One thread calls it. Exports have indices, in the order of their names.
pub struct Server<S> {
    exports: Vec<ServedExport<S>>,
    io: DeviceIo,
    clock: SystemClock,
    settings: ServeSettings,
    clients: Clients,
    collectors: Collectors,
    /// Takes what happens.
    log: Option<Box<dyn Log>>,
    /// A process that has asked to take over.
    successor: Option<Successor>,
    /// The answer to what the program that runs the server has asked for itself.
    own_answer: Option<Result<Value, ControlError>>,
    /// When something last went to or from a client.
    clients_moved: Nanos,
}

/// What a server that ends has done of what was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastWork {
    /// All of it.
    Done,
    /// All that was written is durable, but clients were disconnected before they had all their answers.
    Disconnected,
    /// Not all of it in time.
    Late,
    /// Something that was written cannot be made durable.
    Failed,
}

/// Stands for the program itself among those who ask for changes.
const OWN: u32 = u32::MAX;

/// How late the kernel usually wakes a thread: 20 to 50 us on an idle machine.
const WAKE_UP: Nanos = Nanos::from_micros(50);

/// The longest wait while the server ends.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long clients get to take their replies, to send the rest of a write and to choose an export before the server
/// ends or hands over. The connections of those that do not are closed.
const CLIENTS_LIMIT: Nanos = Nanos::from_secs(2);

impl<S: Served> Server<S> {
    /// A server of `served`, each under its name, whose thread waits for `io`. Clients that name no export get the
    /// first.
    ///
    /// # Errors
    /// If the protocol does not allow the exports.
    ///
    /// # Panics
    /// If nothing is served.
    pub fn new(
        served: Vec<(String, S)>,
        io: DeviceIo,
        clock: SystemClock,
        settings: ServeSettings,
    ) -> Result<Self, ExportError> {
        assert!(!served.is_empty(), "there is nothing to serve");
        let numbered = served.into_iter().enumerate();
        let exports: Vec<_> = numbered.map(|(index, (name, served))| ServedExport::new(name, served, index)).collect();
        let offered = Arc::new(offered(&exports, &settings)?);
        let ServeSettings { connections_max, negotiation_limit: negotiation, ref tls, ref session, .. } = settings;
        let policy = match tls {
            None => TlsPolicy::None,
            Some(Tls { is_required: false, .. }) => TlsPolicy::Offered,
            Some(Tls { is_required: true, .. }) => TlsPolicy::Required,
        };
        let session = ServerSettings { tls: policy, ..session.clone() };
        let limits = ClientLimits { connections_max, session, tls: tls.clone(), negotiation };
        Ok(Self {
            exports,
            io,
            clock,
            settings,
            clients: Clients::new(limits, offered),
            collectors: Collectors::default(),
            log: None,
            successor: None,
            own_answer: None,
            clients_moved: Nanos::ZERO,
        })
    }

    /// What is served as the export of this index.
    ///
    /// # Panics
    /// If there is no such export.
    pub fn served(&self, export: usize) -> &S {
        &self.exports[export].served
    }

    #[cfg(test)]
    pub(crate) fn served_mut(&mut self, export: usize) -> &mut S {
        &mut self.exports[export].served
    }

    /// Has clients connect at `listener`.
    ///
    /// # Errors
    /// If the system watches no more sockets.
    pub fn listen(&mut self, listener: Listener) -> io::Result<()> {
        self.clients.listen(&self.io, listener)
    }

    /// Has those who operate the export of this index connect at `listener`.
    ///
    /// # Errors
    /// If the system watches no more sockets.
    ///
    /// # Panics
    /// If there is no such export.
    pub fn take_control_at(&mut self, export: usize, listener: Listener) -> io::Result<()> {
        self.exports[export].operators.listen(&self.io, listener)
    }

    /// Has Prometheus fetch figures at `listener`: `GET /metrics`.
    ///
    /// # Errors
    /// If the system watches no more sockets.
    pub fn serve_metrics_at(&mut self, listener: Listener) -> io::Result<()> {
        self.collectors.listen(&self.io, listener)
    }

    /// Has `observer` told of the requests of clients from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.clients.observe(observer);
    }

    /// Has `log` told of what happens from now on.
    pub fn log_to(&mut self, log: Box<dyn Log>) {
        self.clients.news = Some(Vec::new());
        self.log = Some(log);
    }

    /// The clock that it goes by.
    pub fn clock(&self) -> SystemClock {
        self.clock
    }

    /// A signal that ends a wait, so that whoever runs the server is asked whether to stop.
    pub fn signal(&self) -> Signal {
        self.io.signal()
    }

    /// Begins to make durable what was written.
    fn flush(&mut self) {
        self.exports.iter_mut().filter(|export| !export.served.is_read_only()).for_each(ServedExport::flush);
    }

    fn writable(&self) -> impl Iterator<Item = &ServedExport<S>> {
        self.exports.iter().filter(|export| !export.served.is_read_only())
    }

    /// Number of requests under way.
    fn under_way(&self) -> usize {
        self.exports.iter().map(|export| export.requests.under_way()).sum()
    }

    /// Number of requests that have failed.
    fn failed(&self) -> u64 {
        self.exports.iter().map(|export| export.requests.counts.failed).sum()
    }

    /// Does at the first export what the program itself asks for, and serves until that has ended.
    ///
    /// # Errors
    /// If it is refused.
    pub fn perform(&mut self, operation: S::Operation) -> Result<Value, ControlError> {
        self.operate(0, OWN, operation);
        loop {
            if let Some(answer) = self.own_answer.take() {
                return answer;
            }
            if !self.turn() {
                self.wait(Some(PATIENCE));
            }
        }
    }

    /// Takes what has come, and does what can be done without waiting. Returns true if there was something.
    pub fn turn(&mut self) -> bool {
        let Self { exports, io, clients, .. } = self;
        let now = self.clock.now();
        clients.turn_away(exports, now);
        let mut did_something = clients.accept(io, now);
        if self.serve_clients(now) {
            (self.clients_moved, did_something) = (now, true);
        }
        self.clients.step_observer(now);
        did_something |= self.take_operations(now);
        let Self { exports, clients, collectors, .. } = self;
        collectors.go_on(&self.io, now, || {
            let mut figures = Metrics::default();
            for (index, export) in exports.iter().enumerate() {
                metrics::of_export(&mut figures, &clients.status(index, export), export.served.capacity().0);
                export.served.add_figures(&mut figures);
            }
            figures
        });
        self.tell_news(now);
        did_something || self.clients.have_more()
    }

    /// Takes requests, has all exports do what they can, and sends replies. Returns true if there was something.
    fn serve_clients(&mut self, now: Nanos) -> bool {
        let Self { exports, clients, .. } = self;
        let mut did_something = clients.receive(exports, now);
        for export in exports.iter_mut() {
            export.served.step();
            did_something |= clients.take_replies(export);
        }
        did_something | clients.send(exports, now)
    }

    fn tell_news(&mut self, now: Nanos) {
        let Self { exports, clients, log, .. } = self;
        let mut tell = |export: Option<&str>, event: &LogEvent| {
            if let Some(log) = log {
                log.log(export, event);
            }
        };
        clients.news.iter_mut().flat_map(|news| news.drain(..)).for_each(|event| tell(None, &event));
        let are_several = exports.len() > 1;
        for export in exports {
            let name = are_several.then_some(&*export.name);
            // Also if nobody hears it: what is served looks at its devices on this occasion.
            export.served.news(now).iter().for_each(|event| tell(name, event));
        }
    }

    /// Waits for the next thing to do, for at most `limit`.
    pub fn wait(&self, limit: Option<Duration>) {
        let (now, mut next) = (self.clock.now(), Nanos::NEVER);
        // Nobody else is accepted meanwhile.
        let is_holding = self.clients.is_holding();
        let unless_holding = |event: Nanos| if is_holding { Nanos::NEVER } else { event };
        for ServedExport { served, operators, .. } in &self.exports {
            next = next.min(unless_holding(operators.next_event()));
            let due = served.next_event();
            next = next.min(match served.is_punctual() {
                // A wait without time finds out what sockets have become ready.
                true if due <= now + WAKE_UP => return self.io.wait(Some(Duration::ZERO)),
                true if due != Nanos::NEVER => due - WAKE_UP,
                _ => due,
            });
        }
        let next = next.min(self.clients.next_expiry()).min(unless_holding(self.collectors.next_event()));
        let next = next.min(self.clients.next_admission());
        let next = next.min(self.clients.next_of_observer());
        // What is due already waits for no time, but finds out which sockets and devices are ready: whatever is due may
        // depend on them.
        let due = (next < Nanos::NEVER).then(|| Duration::from_nanos(next.0.saturating_sub(now.0)));
        self.io.wait([due, limit].into_iter().flatten().min());
    }

    /// Takes what operators ask for, and tells them how it has ended.
    fn take_operations(&mut self, now: Nanos) -> bool {
        let mut did_something = false;
        for export in 0..self.exports.len() {
            let (asked, successors) = self.exports[export].operators.take(&self.io, now);
            did_something |= !asked.is_empty() || !successors.is_empty();
            for successor in successors {
                match self.successor {
                    None => self.successor = Some(successor),
                    Some(_) => successor.refuse(ControlError::new("another process is taking over")),
                }
            }
            asked.into_iter().for_each(|(asked_by, operation)| self.operate(export, asked_by, operation));
            if let Some((asked_by, answer)) = self.exports[export].served.next_answer() {
                // Clients that connect from now on see what has changed.
                if let Ok(offered) = offered(&self.exports, &self.settings) {
                    self.clients.exports = Arc::new(offered);
                }
                self.answer(export, asked_by, answer);
                did_something = true;
            }
            did_something |= self.exports[export].operators.go_on();
        }
        did_something
    }

    fn operate(&mut self, export: usize, asked_by: u32, operation: S::Operation) {
        let status = self.status(export);
        let answer = self.exports[export].served.operate(asked_by, operation, &status);
        answer.into_iter().for_each(|answer| self.answer(export, asked_by, answer));
    }

    fn answer(&mut self, export: usize, asked_by: u32, answer: Result<Value, ControlError>) {
        match asked_by {
            OWN => self.own_answer = Some(answer),
            _ => self.exports[export].operators.answer(asked_by, answer),
        }
    }

    /// Where clients connect.
    pub fn addresses(&self) -> Vec<String> {
        self.clients.addresses()
    }

    /// What the server says of the clients of the export of this index.
    ///
    /// # Panics
    /// If there is no such export.
    pub fn status(&self, export: usize) -> ServingStatus {
        self.clients.status(export, &self.exports[export])
    }
}

/// What clients are offered.
fn offered<S: Served>(exports: &[ServedExport<S>], settings: &ServeSettings) -> Result<Exports, ExportError> {
    let export = |ServedExport { name, served, .. }: &ServedExport<S>| {
        let mut export = Export::new(name.clone(), served.capacity());
        export.description = served.description();
        export.block_sizes = BlockSizes { minimum: SECTOR.0 as u32, ..BlockSizes::default() };
        export.is_read_only = settings.is_read_only || served.is_read_only();
        export.can_multi_conn = true;
        export
    };
    Exports::new(exports.iter().map(export).collect(), exports.first().map(|export| &*export.name))
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(duration.as_nanos().try_into().unwrap_or(u64::MAX))
}
