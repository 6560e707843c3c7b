//! A server of a volume that takes over from another one, and one that hands over.

use std::time::Duration;

use esker_serve::{FormerSuccessor, HandOver, Handover, Predecessor, ServeSettings, Served, Successor, take_over};

use super::file::Places;
use super::server::{VolumeServer, open, serving};
use crate::args::{Common, VolumeServeArguments};
use crate::cancel;
use crate::commands::serving::control_socket;
use crate::failure::Failure;
use crate::output;

/// Time between two attempts to open volumes again.
const PAUSE: Duration = Duration::from_millis(200);

/// Asks the server of the volumes to hand over.
pub(super) fn ask(arguments: &VolumeServeArguments) -> Result<(Handover, Predecessor), Failure> {
    let file = &arguments.volumes[0].file;
    let names: Vec<&str> = arguments.volumes.iter().map(|volume| &*volume.name).collect();
    take_over(&control_socket(file), &names).map_err(|error| match error.is_unserved {
        true => Failure::input(format!("nobody serves {}", file.display()))
            .with_hint("leave --take-over out: there is nothing to be taken over"),
        false => Failure::from(error),
    })
}

/// Goes on with what a server had. Should this fail, that one serves on.
pub(super) fn resume(server: &mut VolumeServer, handover: Handover, common: &Common) -> Result<(), Failure> {
    let clients = handover.clients();
    server.resume(handover)?;
    if !common.quiet {
        output::remark(&format!("{clients} clients were taken over"));
    }
    Ok(())
}

/// Hands over to `successor`. Returns the server if this process serves on.
pub(super) fn hand_over(
    server: VolumeServer,
    successor: Successor,
    serves: (&VolumeServeArguments, &ServeSettings),
    common: &Common,
) -> Result<Option<Box<VolumeServer>>, Failure> {
    let were_writable = are_writable(&server, serves.0);
    match server.hand_over(successor) {
        HandOver::Taken => Ok(None),
        HandOver::Refused(server) => Ok(Some(server)),
        HandOver::TakenBack(handover, successor) => {
            if !common.quiet {
                output::remark("the process that was to take over does not serve; this one serves on");
            }
            take_back((handover, &successor), &were_writable, serves, common).map(|server| Some(Box::new(server)))
        }
    }
}

/// Whether each volume can be written.
fn are_writable(server: &VolumeServer, arguments: &VolumeServeArguments) -> Vec<bool> {
    (0..arguments.volumes.len()).map(|index| !server.served(index).is_read_only()).collect()
}

/// Opens the volumes again, and goes on serving.
fn take_back(
    (handover, successor): (Handover, &FormerSuccessor),
    were_writable: &[bool],
    (arguments, settings): (&VolumeServeArguments, &ServeSettings),
    common: &Common,
) -> Result<VolumeServer, Failure> {
    let mut told = String::new();
    let mut server = loop {
        let is_free = check_exports(arguments, successor);
        match is_free.and_then(|()| open_again(arguments, were_writable, settings, common)) {
            Ok(server) => break server,
            Err(error) if cancel::requested() => return Err(error),
            // The other process may still have it open, because it hangs, or a device is away. Clients wait.
            Err(error) => {
                if error.message() != told {
                    told = error.message().to_string();
                    output::remark(&format!("clients wait, as the volume cannot be opened again yet: {told}"));
                }
                std::thread::sleep(PAUSE);
            }
        }
    };
    server.resume(handover)?;
    Ok(server)
}

/// Refuses to open exports that the other process may still use. Files are locked as long as it does.
fn check_exports(arguments: &VolumeServeArguments, successor: &FormerSuccessor) -> Result<(), Failure> {
    for volume in arguments.volumes.iter().filter(|_| !successor.has_gone()) {
        if Places::read(&volume.file)?.have_exports() {
            let message = "the process that was to take over still runs, and may use the exports among its devices";
            return Err(Failure::work(format!("{}: {message}", volume.name)));
        }
    }
    Ok(())
}

/// Opens the volumes as they were. One that lacks a device could only be read, which is not what clients were told.
fn open_again(
    arguments: &VolumeServeArguments,
    were_writable: &[bool],
    settings: &ServeSettings,
    common: &Common,
) -> Result<VolumeServer, Failure> {
    // What there is to say of each attempt is in its error.
    let quiet = Common { quiet: true, ..common.clone() };
    let server = open(&arguments.volumes, serving(arguments), settings, &quiet)?;
    let are_writable = are_writable(&server, arguments);
    for (index, volume) in arguments.volumes.iter().enumerate() {
        if were_writable[index] && !are_writable[index] {
            let why = server.served(index).status(&server.status(index)).read_only.unwrap_or_default();
            return Err(Failure::work(format!("{} could only be read: {why}", volume.name)));
        }
    }
    Ok(server)
}
