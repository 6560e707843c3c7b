//! `esker volume serve`.

use std::process::ExitCode;

use esker_core::words;
use esker_serve::{LastWork, Listener, ServeSettings};

use super::exports;
use super::server::{VolumeServer, open, serving, settings};
use super::take_over;
use crate::args::{Common, VolumeServeArguments};
use crate::cancel;
use crate::commands::serving::{
    Serving, client_socket, control_socket, describe_tls, say_as, serve, serve_metrics, serve_on,
};
use crate::failure::Failure;
use crate::recording::Plan;
use crate::values::Export;

/// What is left if the program is ended.
const LEFT: &str = "what clients had not flushed may be lost";

/// Serves until it is asked to end, or until a command has ended.
pub(super) fn run(arguments: &VolumeServeArguments, common: &Common) -> Result<ExitCode, Failure> {
    say_as(&arguments.serving);
    // What volumes' files name is no place for a recording.
    exports::check(&arguments.volumes)?;
    let settings = settings(arguments)?;
    let record = Plan::of(&arguments.serving, arguments.volumes.len())?;
    let around = Serving {
        controls: arguments.volumes.iter().map(|volume| control_socket(&volume.file)).collect(),
        listen: &arguments.listen,
        default: client_socket(&arguments.volumes[0].file),
        exports: arguments.volumes.iter().map(|volume| &*volume.name).collect(),
        is_encrypted: settings.tls.as_ref().is_some_and(|tls| tls.is_required),
        arguments: &arguments.serving,
        record,
    };
    let hand_over = |server, successor| take_over::hand_over(server, successor, (arguments, &settings), common);
    let mut failed = Vec::new();
    let ended = |server: &VolumeServer| failed = failed_devices(server, arguments);
    let ending = if arguments.take_over {
        let server = take_over_server(arguments, &settings, common)?;
        let what = describe(&server, arguments);
        serve_on(server, around, common, &what, &[], hand_over, ended)?
    } else {
        let server = open(&arguments.volumes, serving(arguments), &settings, common)?;
        cancel::leaves(LEFT);
        let what = describe(&server, arguments);
        serve(server, around, common, &what, hand_over, ended)?
    };
    ending.status(|last_work| match last_work {
        LastWork::Done => None,
        LastWork::Disconnected => Some(Failure::work(
            "clients that did not leave in time were disconnected in the middle of their requests; all that was \
             written is durable",
        )),
        LastWork::Late => Some(unfinished("not everything was finished and made durable in time".to_string())),
        LastWork::Failed => {
            let names = if failed.is_empty() { String::new() } else { format!("; failed: {}", failed.join(", ")) };
            Some(unfinished(format!("not everything that was written could be made durable{names}")))
        }
    })
}

fn unfinished(message: String) -> Failure {
    let hint = "what clients had not flushed may be lost; `esker volume check` looks at the devices";
    Failure::work(message).with_hint(hint)
}

/// The names of the devices that have failed, with those of their volumes if there are several.
fn failed_devices(server: &VolumeServer, arguments: &VolumeServeArguments) -> Vec<String> {
    let of_volume = |(index, volume): (usize, &Export)| {
        let devices = server.served(index).status(&server.status(index)).devices;
        let failed = devices.into_iter().filter(|device| device.state == "failed");
        let prefix = if arguments.volumes.len() > 1 { format!("{}: ", volume.name) } else { String::new() };
        failed.map(move |device| format!("{prefix}{}", device.name)).collect::<Vec<_>>()
    };
    arguments.volumes.iter().enumerate().flat_map(of_volume).collect()
}

/// Takes over from the server of the volumes. Should anything fail, that one serves on.
fn take_over_server(
    arguments: &VolumeServeArguments,
    settings: &ServeSettings,
    common: &Common,
) -> Result<VolumeServer, Failure> {
    // Dropped behind the server: its connection is there for as long as the volumes are open.
    let (handover, mut predecessor) = take_over::ask(arguments)?;
    let mut server = open(&arguments.volumes, serving(arguments), settings, common)?;
    cancel::leaves(LEFT);
    // A server that was started with the same addresses has them all.
    for address in arguments.listen.iter().filter(|address| !handover.has_clients_at(address)) {
        server.listen(Listener::bind(address)?).map_err(Failure::work)?;
    }
    let metrics = arguments.serving.metrics.as_ref();
    if let Some(address) = metrics.filter(|address| !handover.has_metrics_at(address)) {
        serve_metrics(&mut server, address, common)?;
    }
    take_over::resume(&mut server, handover, common)?;
    server.take_over_from(&mut predecessor)?;
    Ok(server)
}

/// What each volume is, in words.
fn describe(server: &VolumeServer, arguments: &VolumeServeArguments) -> Vec<String> {
    (0..arguments.volumes.len()).map(|index| describe_volume(server, index, arguments)).collect()
}

fn describe_volume(server: &VolumeServer, index: usize, arguments: &VolumeServeArguments) -> String {
    let status = server.served(index).status(&server.status(index));
    let read_only = status.read_only.map_or(String::new(), |why| format!(", only to be read ({why})"));
    let tls = describe_tls(&arguments.tls);
    let size = words::bytes(status.capacity_bytes as f64);
    format!("{} of {size} over {}{read_only}{tls}", status.kind, status.io)
}
