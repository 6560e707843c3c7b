//! `esker volume serve`.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::words;
use esker_nbd_device::{NbdServer, NbdUri};
use esker_serve::{Address, Listener, ServeSettings, inherited_listeners, tell_ready, tell_stopping};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::file::Places;
use super::server::{VolumeServer, client_socket, control_socket, open};
use super::session::Serving;
use crate::args::{Common, VolumeServeArguments};
use crate::cancel;
use crate::failure::Failure;
use crate::output;
use crate::recording::Plan;

/// Serves until it is asked to end, or until a command has ended.
pub(super) fn run(arguments: &VolumeServeArguments, common: &Common) -> Result<ExitCode, Failure> {
    let settings = ServeSettings {
        export: arguments.export.clone(),
        is_read_only: arguments.read_only,
        connections_max: arguments.clients as usize,
        ..ServeSettings::default()
    };
    let serving = Serving::new(arguments.io, arguments.direct);
    // What the volume's file names is no place for a recording.
    Places::read(&arguments.volume)?;
    let record = arguments.record.as_deref();
    let plan = record.map(|path| Plan::new(path, arguments.record_as.as_deref(), arguments.force)).transpose()?;
    let mut server = open(&arguments.volume, serving, settings, common)?;
    cancel::leaves("what clients had not flushed may be lost");
    let uri = listen(&mut server, arguments, common)?;
    let signal = server.signal();
    cancel::ends_by_itself(move || signal.give());
    announce(&server, common);
    let recording = plan.map(|plan| plan.begin(&arguments.export, server.clock())).transpose()?;
    let recording = recording.map(|(observer, recording)| {
        server.observe(observer);
        recording
    });
    let child = arguments.run.as_deref().map(|command| Running::start(command, &uri, &server)).transpose()?;
    let has_ended = || child.as_ref().is_some_and(Running::has_ended);
    tell_ready();
    let was_finished = server.run(|| {
        let stops = cancel::requested() || has_ended();
        if stops {
            tell_stopping();
        }
        stops
    });
    drop(server);
    let recorded = recording.map_or(Ok(()), |recording| recording.finish(common.quiet));
    child.as_ref().into_iter().for_each(Running::end);
    match child {
        Some(child) => recorded.and_then(|()| child.status()),
        None if was_finished => recorded.map(|()| ExitCode::SUCCESS),
        None => Err(Failure::work("not everything was finished and made durable in 30 seconds")
            .with_hint("what clients had not flushed may be lost; `esker volume check` looks at the devices")),
    }
}

/// Has the server listen. Returns where a client connects.
fn listen(server: &mut VolumeServer, arguments: &VolumeServeArguments, common: &Common) -> Result<String, Failure> {
    let file = &arguments.volume;
    let control = Listener::bind(&Address::Unix(control_socket(file)))?;
    server.take_control_at(control).map_err(Failure::work)?;
    let mut listeners = inherited_listeners()
        .map_err(|error| Failure::work(format!("a socket that was bound for this program: {error}")))?;
    let default = [Address::Unix(client_socket(file))];
    let addresses = match arguments.listen.is_empty() {
        true if listeners.is_empty() => &default[..],
        _ => &arguments.listen,
    };
    for address in addresses {
        listeners.push(Listener::bind(address)?);
    }
    let uri = uri(listeners[0].address(), &arguments.export);
    for listener in listeners {
        server.listen(listener).map_err(Failure::work)?;
    }
    if let Some(address) = &arguments.metrics {
        let listener = Listener::bind(address)?;
        if !common.quiet {
            output::remark(&format!("Prometheus fetches figures at {}, /metrics", listener.address()));
        }
        server.serve_metrics_at(listener).map_err(Failure::work)?;
    }
    Ok(uri)
}

/// Where clients connect, in the form that they take.
fn uri(address: &Address, export: &str) -> String {
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
    NbdUri { server, export: export.to_string() }.to_string()
}

fn announce(server: &VolumeServer, common: &Common) {
    if common.quiet {
        return;
    }
    let status = server.served().status(&server.status());
    let read_only = status.read_only.map_or(String::new(), |why| format!(", only to be read ({why})"));
    output::remark(&format!(
        "serving {} of {} over {}{read_only}",
        status.kind,
        words::bytes(status.capacity_bytes as f64),
        status.io
    ));
    status.serving.addresses.iter().for_each(|address| output::remark(&format!("clients connect at {address}")));
}

/// A command that runs while the volume is served.
struct Running {
    process: Pid,
    thread: std::thread::JoinHandle<std::io::Result<std::process::ExitStatus>>,
    has_ended: Arc<AtomicBool>,
}

impl Running {
    fn start(command: &str, uri: &str, server: &VolumeServer) -> Result<Self, Failure> {
        let mut child: Child = Command::new("sh")
            .args(["-c", command])
            .env("uri", uri)
            .spawn()
            .map_err(|error| Failure::work(format!("cannot run a shell: {error}")))?;
        let process = Pid::from_raw(child.id().cast_signed());
        let has_ended = Arc::new(AtomicBool::new(false));
        let (ended, signal) = (Arc::clone(&has_ended), server.signal());
        let thread = std::thread::spawn(move || {
            let status = child.wait();
            ended.store(true, Ordering::SeqCst);
            signal.give();
            status
        });
        Ok(Self { process, thread, has_ended })
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Asks the command to end: nobody serves any more.
    fn end(&self) {
        if !self.has_ended() {
            // It may have ended at this moment.
            let _ = kill(self.process, Signal::SIGTERM);
        }
    }

    /// The exit status of the command, as a shell has it: 128 and the number of the signal that ended it.
    fn status(self) -> Result<ExitCode, Failure> {
        let status = self.thread.join().map_err(|_| Failure::work("the command was lost"))?;
        let status = status.map_err(|error| Failure::work(format!("the command was lost: {error}")))?;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_get_an_address_that_they_can_use() {
        let unix = Address::Unix("/run/my home.nbd".into());
        assert_eq!(uri(&unix, "volume"), "nbd+unix:///volume?socket=/run/my%20home.nbd");
        assert_eq!(uri(&Address::Tcp("[::]:10809".to_string()), "a b"), "nbd://localhost:10809/a%20b");
        assert_eq!(uri(&Address::Tcp("127.0.0.1:1".to_string()), ""), "nbd://127.0.0.1:1/");
    }
}
