//! What is done at a device that is being emulated.

use std::path::Path;
use std::process::ExitCode;

use esker_emulate::{EmulationOperation, EmulationServerStatus, Failing};
use esker_serve::call;
use serde_json::Value;

use super::report;
use crate::args::EmulateOperation;
use crate::commands::serving::{refused, senseless};
use crate::failure::Failure;
use crate::output;

/// Has the server of the device do it.
pub(super) fn run(operation: &EmulateOperation) -> Result<ExitCode, Failure> {
    let (socket, asked) = match operation {
        EmulateOperation::Status(arguments) => {
            let answer = ask(&arguments.socket, &EmulationOperation::Status)?;
            match arguments.json {
                true => output::print_json(&answer)?,
                false => {
                    let status: EmulationServerStatus =
                        serde_json::from_value(answer).map_err(|error| senseless(&error))?;
                    output::print(&report::status(&status))?;
                }
            }
            return Ok(ExitCode::SUCCESS);
        }
        EmulateOperation::Slow(arguments) => (&arguments.socket, EmulationOperation::Slow { factor: arguments.factor }),
        EmulateOperation::Fail(arguments) => {
            let requests = if arguments.writes { Failing::Writes } else { Failing::All };
            (&arguments.socket, EmulationOperation::Fail { requests })
        }
        EmulateOperation::Repair(arguments) => (&arguments.socket, EmulationOperation::Repair),
        EmulateOperation::PowerCut(arguments) => {
            (&arguments.socket, EmulationOperation::PowerCut { off: arguments.off })
        }
        EmulateOperation::PowerOn(arguments) => (&arguments.socket, EmulationOperation::PowerOn),
    };
    ask(socket, &asked)?;
    Ok(ExitCode::SUCCESS)
}

fn ask(socket: &Path, operation: &EmulationOperation) -> Result<Value, Failure> {
    call(socket, operation).map_err(|error| match error.is_unserved {
        true => Failure::input(format!("no device is emulated at {}", socket.display()))
            .with_hint("name the control socket: NAME.control beside the device's file, or what --control said"),
        false => refused(error),
    })
}
