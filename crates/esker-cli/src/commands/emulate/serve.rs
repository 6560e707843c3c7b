//! Emulates a device.

use std::path::Path;
use std::process::ExitCode;

use esker_core::{Bytes, Nanos, Ratio, words};
use esker_emulate::{Contents, EmulatedDevice, EmulationSettings, Failing, FileContents, MemoryContents, capacity_of};
use esker_serve::{ControlError, ServeSettings, Server, Successor};
use esker_sim::{RunEvent, system_of};
use esker_volume::{DeviceIo, IoChoice, SystemClock};

use super::report;
use crate::args::{Common, DataPlace, EmulateArguments, WriteCacheKind};
use crate::cancel;
use crate::commands::serving::{Ending, Serving, client_socket, control_socket, say_as, serve};
use crate::failure::Failure;
use crate::output;
use crate::recording::Plan;

/// Serves until it is asked to end, or until a command has ended.
pub(super) fn run(simulated: &str, arguments: &EmulateArguments, common: &Common) -> Result<ExitCode, Failure> {
    say_as(&arguments.serving);
    let record = Plan::of(&arguments.serving, 1)?;
    let (system, seed) = (system_of(simulated, arguments.device.as_deref())?, common.seed.unwrap_or(1));
    let (name, kind) = (system.target(), system.devices()[system.target()].settings.kind().name);
    // So that the device and all below it can be slowed.
    let events = [RunEvent::slow(Nanos::ZERO, name, Ratio::ONE)];
    let device = system.assemble_for(seed, &events)?.device;
    let capacity = capacity_of(&*device);
    let (contents, place) = contents(&arguments.data, capacity, simulated)?;
    let has_volatile_cache = arguments.write_cache == WriteCacheKind::Volatile;
    let io = DeviceIo::start(IoChoice::Best).map_err(Failure::work)?;
    let io_name = io.name().to_string();
    // The time of the device begins now.
    let clock = SystemClock::start();
    let emulated = EmulatedDevice::new(name, device, EmulationSettings { contents, has_volatile_cache, seed }, clock);
    let connections_max = arguments.serving.clients as usize;
    let settings = ServeSettings { connections_max, ..ServeSettings::default() };
    let served = vec![(arguments.export.clone(), emulated)];
    let server = Server::new(served, io, clock, settings).map_err(Failure::input)?;
    cancel::leaves("requests under way were not answered");
    let serving = Serving {
        controls: vec![arguments.control.clone().unwrap_or_else(|| control_socket(Path::new(simulated)))],
        listen: &arguments.listen,
        default: client_socket(Path::new(simulated)),
        exports: vec![&arguments.export],
        is_encrypted: false,
        arguments: &arguments.serving,
        record,
    };
    let what = format!("{name} ({kind}) of {} in {place}, over {io_name}", words::bytes(capacity.0 as f64));
    let mut is_faulty = false;
    // Its time goes on, and its data are in memory: no other process could take over.
    let refuse = |server, successor: Successor| {
        successor.refuse(ControlError::new("an emulated device cannot be taken over"));
        Ok(Some(Box::new(server)))
    };
    let ending = serve(server, serving, common, &[what], refuse, |server| {
        let status = server.served(0).status();
        is_faulty = !status.has_power || status.failing != Failing::None;
        if !common.quiet {
            output::remark(report::served(&status, &server.status(0).requests).trim_end());
        }
    })?;
    match ending {
        Ending::OfCommand(status) => Ok(status),
        Ending::Unfinished if !is_faulty => Err(Failure::work("not everything was answered in 30 seconds")),
        Ending::Finished | Ending::HandedOver | Ending::Unfinished => Ok(ExitCode::SUCCESS),
    }
}

/// Where the data are, and that in words.
fn contents(place: &DataPlace, capacity: Bytes, simulated: &str) -> Result<(Box<dyn Contents>, String), Failure> {
    let DataPlace::File(path) = place else {
        return Ok((Box::new(MemoryContents::default()), "memory".to_string()));
    };
    let shown = path.display();
    let is_same = |one: &Path| std::fs::canonicalize(one).ok().zip(std::fs::canonicalize(path).ok());
    if is_same(Path::new(simulated)).is_some_and(|(one, other)| one == other) {
        return Err(Failure::input(format!("{shown} describes the device, and would be replaced by its data")));
    }
    let opened = FileContents::open(path, capacity).map_err(|error| {
        let failure = Failure::input(format!("{shown}: {error}"));
        match esker_core::Hint::hint(&error) {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    })?;
    Ok((Box::new(opened), shown.to_string()))
}
