//! What all commands have in common that serve something to clients.

mod exports;
mod log;
mod running;
mod tls;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use esker_nbd_device::{NbdServer, NbdUri};
use esker_serve::{
    Address, ControlError, LastWork, Listener, LogLevel, ServeSettings, Served, Server, Successor, inherited_listeners,
    tell_ready, tell_stopping,
};

use crate::args::{Common, LogForm, ServingArguments, TlsArguments};
use crate::cancel;
use crate::failure::Failure;
use crate::log_lines;
use crate::output;
use crate::recording::Plan;
pub(super) use exports::check_names;
use log::ServerLog;
use running::Running;
pub(super) use tls::describe_tls;

/// Where clients, operators and collectors of figures connect, and what runs meanwhile.
pub(super) struct Serving<'a> {
    /// Where operators of each export connect.
    pub(super) controls: Vec<PathBuf>,
    /// Where clients connect.
    pub(super) listen: &'a [Address],
    /// Where clients connect if `listen` is empty.
    pub(super) default: PathBuf,
    /// The names of the exports.
    pub(super) exports: Vec<&'a str>,
    /// Whether clients need TLS.
    pub(super) is_encrypted: bool,
    pub(super) arguments: &'a ServingArguments,
    /// A recording of what clients ask for.
    pub(super) record: Option<Plan>,
}

/// How clients are served.
pub(super) fn settings(serving: &ServingArguments, tls: &TlsArguments) -> Result<ServeSettings, Failure> {
    let connections_max = serving.clients as usize;
    Ok(ServeSettings { connections_max, tls: tls::tls(tls)?, ..ServeSettings::default() })
}

/// How a server has ended.
pub(super) enum Ending {
    /// Another process has taken over.
    HandedOver,
    /// It was asked to, or its command has ended.
    Ended {
        /// The exit status of the command.
        of_command: Option<u8>,
        last_work: LastWork,
        /// Why the recording is not whole, if it is not.
        recording: Option<Failure>,
    },
}

impl Ending {
    /// Returns the exit status. `problem` says what became of the last work if that is an error.
    pub(super) fn status(self, problem: impl FnOnce(LastWork) -> Option<Failure>) -> Result<ExitCode, Failure> {
        let Self::Ended { of_command, last_work, recording } = self else { return Ok(ExitCode::SUCCESS) };
        // What became of the data matters more than the recording, and is said last.
        let mut failures: Vec<Failure> = recording.into_iter().chain(problem(last_work)).collect();
        match of_command.unwrap_or(0) {
            0 => {
                let last = failures.pop();
                failures.iter().for_each(|failure| _ = failure.report());
                last.map_or(Ok(ExitCode::SUCCESS), Err)
            }
            // Whoever waits for the command wants to know how that has ended.
            status => {
                failures.iter().for_each(|failure| _ = failure.report());
                Ok(status.into())
            }
        }
    }
}

/// What becomes of a server that another process wants to take over: `None` if that one serves now.
pub(super) type HandedOver<S> = Result<Option<Box<Server<S>>>, Failure>;

/// Serves until it is asked to end, or until a command has ended. Says of each export `what` it is, has `hand_over`
/// hand the server over to another process that asks for it, and has `ended` look at the server at the end.
pub(super) fn serve<S: Served>(
    mut server: Server<S>,
    serving: Serving<'_>,
    common: &Common,
    what: &[String],
    hand_over: impl FnMut(Server<S>, Successor) -> HandedOver<S>,
    ended: impl FnOnce(&Server<S>),
) -> Result<Ending, Failure> {
    for (index, socket) in serving.controls.iter().enumerate() {
        let control = Listener::bind(&Address::Unix(socket.clone()))?;
        server.take_control_at(index, control).map_err(Failure::work)?;
    }
    let uris = listen(&mut server, &serving, common)?;
    serve_on(server, serving, common, what, &uris, hand_over, ended)
}

/// Serves with a server that listens already, as [`serve`] does; `uris`, one for each export, are for a command.
pub(super) fn serve_on<S: Served>(
    server: Server<S>,
    serving: Serving<'_>,
    common: &Common,
    what: &[String],
    uris: &[String],
    hand_over: impl FnMut(Server<S>, Successor) -> HandedOver<S>,
    ended: impl FnOnce(&Server<S>),
) -> Result<Ending, Failure> {
    let mut server = Box::new(server);
    // Opening its file may wait for a reader, for ever: until then, a signal ends the program.
    let recording = serving.record.map(|plan| plan.begin(&serving.exports, server.clock())).transpose()?;
    let recording = recording.map(|(observer, recording)| {
        server.observe(observer);
        recording
    });
    wake_with_signals(&server);
    server.log_to(Box::new(log_of(serving.arguments, common)));
    if !common.quiet {
        announce(&server, &serving.exports, what);
    }
    let command = serving.arguments.run.as_deref();
    let child = command.map(|command| Running::start(command, uris, server.signal())).transpose()?;
    tell_ready();
    // Neither a command nor a recording can be handed over.
    let (server, last_work) = if child.is_some() || recording.is_some() {
        let last_work = server.run(|| {
            let stops = cancel::requested() || child.as_ref().is_some_and(Running::has_ended);
            if stops {
                tell_stopping();
            }
            stops
        });
        (Some(server), last_work)
    } else {
        let log = || log_of(serving.arguments, common);
        match until_asked_to_end(server, hand_over, log)? {
            None => (None, LastWork::Done),
            Some(mut server) => {
                tell_stopping();
                let last_work = server.run(|| true);
                (Some(server), last_work)
            }
        }
    };
    let is_handed_over = server.is_none();
    if let Some(server) = server {
        ended(&server);
    }
    let recorded = recording.map_or(Ok(()), |recording| recording.finish(common.quiet));
    child.as_ref().into_iter().for_each(Running::end);
    let of_command = child.map(Running::status).transpose()?;
    Ok(match is_handed_over {
        true => Ending::HandedOver,
        false => Ending::Ended { of_command, last_work, recording: recorded.err() },
    })
}

/// Says what is served, with its name if there are several, and where.
fn announce<S: Served>(server: &Server<S>, exports: &[&str], what: &[String]) {
    for (name, what) in exports.iter().zip(what) {
        let name = if exports.len() > 1 { format!("{name}: ") } else { String::new() };
        output::remark(&format!("serving {name}{what}"));
    }
    server.addresses().iter().for_each(|address| output::remark(&format!("clients connect at {address}")));
}

/// The log that was asked for.
fn log_of(arguments: &ServingArguments, common: &Common) -> ServerLog {
    ServerLog(match (arguments.log, common.quiet) {
        (_, true) => LogLevel::Warning,
        (LogForm::Text, false) => LogLevel::Information,
        (LogForm::Json, false) => LogLevel::Detail,
    })
}

/// Has everything that is said be said in the form that was asked for.
pub(super) fn say_as(arguments: &ServingArguments) {
    if arguments.log == LogForm::Json {
        log_lines::say_in_json();
    }
}

/// Serves until a signal asks it to end. Returns `None` if another process has taken over before.
fn until_asked_to_end<S: Served>(
    mut server: Box<Server<S>>,
    mut hand_over: impl FnMut(Server<S>, Successor) -> HandedOver<S>,
    log: impl Fn() -> ServerLog,
) -> HandedOver<S> {
    while let Some(successor) = server.serve(cancel::requested) {
        match hand_over(*server, successor)? {
            Some(this) => server = this,
            None => return Ok(None),
        }
        server.log_to(Box::new(log()));
        wake_with_signals(&server);
    }
    Ok(Some(server))
}

/// Has the signals that ask the program to end be noticed by the server.
fn wake_with_signals<S: Served>(server: &Server<S>) {
    let signal = server.signal();
    cancel::ends_by_itself(move || signal.give());
}

/// Has the server listen. Returns where clients of each export connect.
fn listen<S: Served>(server: &mut Server<S>, serving: &Serving<'_>, common: &Common) -> Result<Vec<String>, Failure> {
    let mut listeners = inherited_listeners()
        .map_err(|error| Failure::work(format!("a socket that was bound for this program: {error}")))?;
    let default = [Address::Unix(serving.default.clone())];
    let addresses = match serving.listen.is_empty() {
        true if listeners.is_empty() => &default[..],
        _ => serving.listen,
    };
    for address in addresses {
        listeners.push(Listener::bind(address)?);
    }
    let uri = |export: &&str| uri(listeners[0].address(), export, serving.is_encrypted);
    let uris = serving.exports.iter().map(uri).collect();
    for listener in listeners {
        server.listen(listener).map_err(Failure::work)?;
    }
    if let Some(address) = &serving.arguments.metrics {
        serve_metrics(server, address, common)?;
    }
    Ok(uris)
}

/// Has Prometheus fetch figures at `address`.
pub(super) fn serve_metrics<S: Served>(
    server: &mut Server<S>,
    address: &Address,
    common: &Common,
) -> Result<(), Failure> {
    let listener = Listener::bind(address)?;
    if !common.quiet {
        output::remark(&format!("Prometheus fetches figures at {}, /metrics", listener.address()));
    }
    server.serve_metrics_at(listener).map_err(Failure::work)
}

/// Where clients connect, in the form that they take.
fn uri(address: &Address, export: &str, is_encrypted: bool) -> String {
    let server = match address {
        Address::Unix(path) => NbdServer::Unix(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        Address::Tcp(address) => {
            // A client connects to this machine, not to all of its addresses.
            let address = address.replace("[::]", "localhost").replace("0.0.0.0", "localhost");
            let (host, port) = address.rsplit_once(':').expect("an address has a port");
            let port = port.parse().expect("what is listened at has a port");
            NbdServer::Tcp(host.trim_matches(['[', ']']).to_string(), port)
        }
    };
    let uri = NbdUri { server, export: export.to_string(), certificates: None }.to_string();
    if is_encrypted { uri.replacen("nbd", "nbds", 1) } else { uri }
}

/// Where those who operate what is served as `name` connect.
pub(super) fn control_socket(name: &Path) -> PathBuf {
    with_ending(name, ".control")
}

/// Where the clients of what is served as `name` connect unless something else is wanted.
pub(super) fn client_socket(name: &Path) -> PathBuf {
    with_ending(name, ".nbd")
}

fn with_ending(name: &Path, ending: &str) -> PathBuf {
    let mut name = name.as_os_str().to_os_string();
    name.push(ending);
    name.into()
}

/// The failure for what a server has refused.
pub(super) fn refused(error: ControlError) -> Failure {
    let failure = Failure::input(&error);
    match error.hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// The failure for an answer of a server that is none.
pub(super) fn senseless(error: &serde_json::Error) -> Failure {
    Failure::work(format!("the server's status makes no sense: {error}"))
        .with_hint("it may be another version of esker: use that one, or start the server again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_get_an_address_that_they_can_use() {
        let unix = Address::Unix("/run/my home.nbd".into());
        assert_eq!(uri(&unix, "volume", false), "nbd+unix:///volume?socket=/run/my%20home.nbd");
        assert_eq!(uri(&Address::Tcp("[::]:10809".to_string()), "a b", false), "nbd://localhost:10809/a%20b");
        assert_eq!(uri(&Address::Tcp("127.0.0.1:1".to_string()), "", true), "nbds://127.0.0.1:1/");
        assert_eq!(uri(&unix, "nbd", true), "nbds+unix:///nbd?socket=/run/my%20home.nbd");
    }
}
