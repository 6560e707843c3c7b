//! `esker volume serve`.

use std::process::ExitCode;

use esker_core::words;
use esker_serve::ServeSettings;

use super::file::Places;
use super::server::{VolumeServer, open};
use super::session::Serving as VolumeServing;
use crate::args::{Common, VolumeServeArguments};
use crate::cancel;
use crate::commands::serving::{Ending, Serving, client_socket, control_socket, serve};
use crate::failure::Failure;
use crate::recording::Plan;

/// Serves until it is asked to end, or until a command has ended.
pub(super) fn run(arguments: &VolumeServeArguments, common: &Common) -> Result<ExitCode, Failure> {
    let settings = ServeSettings {
        export: arguments.export.clone(),
        is_read_only: arguments.read_only,
        connections_max: arguments.serving.clients as usize,
        ..ServeSettings::default()
    };
    // What the volume's file names is no place for a recording.
    Places::read(&arguments.volume)?;
    let record = arguments.record.as_deref();
    let record = record.map(|path| Plan::new(path, arguments.record_as.as_deref(), arguments.force)).transpose()?;
    let server = open(&arguments.volume, VolumeServing::new(arguments.io, arguments.direct), settings, common)?;
    cancel::leaves("what clients had not flushed may be lost");
    let serving = Serving {
        control: control_socket(&arguments.volume),
        listen: &arguments.listen,
        default: client_socket(&arguments.volume),
        export: &arguments.export,
        arguments: &arguments.serving,
        record,
    };
    let what = describe(&server);
    match serve(server, serving, common, &what, |_| {})? {
        Ending::OfCommand(status) => Ok(status),
        Ending::Finished => Ok(ExitCode::SUCCESS),
        Ending::Unfinished => Err(Failure::work("not everything was finished and made durable in 30 seconds")
            .with_hint("what clients had not flushed may be lost; `esker volume check` looks at the devices")),
    }
}

/// What is served, in words.
fn describe(server: &VolumeServer) -> String {
    let status = server.served().status(&server.status());
    let read_only = status.read_only.map_or(String::new(), |why| format!(", only to be read ({why})"));
    format!("{} of {} over {}{read_only}", status.kind, words::bytes(status.capacity_bytes as f64), status.io)
}
