//! Emulates devices.

use std::process::ExitCode;

use esker_emulate::Failing;
use esker_serve::{ControlError, LastWork, Server, Successor};
use esker_volume::{DeviceIo, IoChoice, SystemClock};

use super::devices::{Chosen, Prepared, chosen};
use super::report;
use crate::args::{Common, EmulateArguments};
use crate::cancel;
use crate::commands::serving::{Serving, describe_tls, say_as, serve, settings};
use crate::failure::Failure;
use crate::output;
use crate::recording::Plan;

/// Serves until it is asked to end, or until a command has ended.
pub(super) fn run(arguments: &EmulateArguments, common: &Common) -> Result<ExitCode, Failure> {
    say_as(&arguments.serving);
    let chosen = chosen(arguments, common.seed.unwrap_or(1))?;
    let settings = settings(&arguments.serving, &arguments.tls)?;
    let record = Plan::of(&arguments.serving, chosen.len())?;
    let prepared: Vec<Prepared> =
        chosen.iter().map(|chosen| Prepared::of(chosen, arguments)).collect::<Result<_, _>>()?;
    let io = DeviceIo::start(IoChoice::Best).map_err(Failure::work)?;
    let tls = describe_tls(&arguments.tls);
    let what: Vec<String> = prepared.iter().map(|device| format!("{}, over {}{tls}", device.what, io.name())).collect();
    // The time of the devices begins now.
    let clock = SystemClock::start();
    let names = chosen.iter().map(|chosen| chosen.name().to_string());
    let served = names.zip(prepared.into_iter().map(|device| device.begin(clock))).collect();
    let is_encrypted = settings.tls.as_ref().is_some_and(|tls| tls.is_required);
    let server = Server::new(served, io, clock, settings).map_err(Failure::input)?;
    cancel::leaves("requests under way were not answered");
    let serving = Serving {
        controls: chosen.iter().map(Chosen::control).collect(),
        listen: &arguments.listen,
        default: chosen[0].clients(),
        exports: chosen.iter().map(Chosen::name).collect(),
        is_encrypted,
        arguments: &arguments.serving,
        record,
    };
    let mut is_faulty = false;
    // Its time goes on, and its data are in memory: no other process could take over.
    let refuse = |server, successor: Successor| {
        successor.refuse(ControlError::new("an emulated device cannot be taken over"));
        Ok(Some(Box::new(server)))
    };
    let ending = serve(server, serving, common, &what, refuse, |server| {
        for (index, chosen) in chosen.iter().enumerate() {
            let status = server.served(index).status();
            is_faulty |= !status.has_power || status.failing != Failing::None;
            if !common.quiet {
                let name = if what.len() > 1 { format!("{}: ", chosen.name()) } else { String::new() };
                let served = report::served(&status, &server.status(index).requests);
                output::remark(&format!("{name}{}", served.trim_end()));
            }
        }
    })?;
    ending.status(|last_work| match last_work {
        _ if is_faulty => None,
        LastWork::Done => None,
        LastWork::Late | LastWork::Disconnected => Some(Failure::work("not everything was answered in time")),
        LastWork::Failed => Some(Failure::work("not everything could be flushed")),
    })
}
