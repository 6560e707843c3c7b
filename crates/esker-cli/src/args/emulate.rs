//! The arguments of `esker emulate`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use esker_core::{Nanos, Ratio};
use esker_serve::Address;

use super::ServingArguments;
use crate::values;

/// Arguments of `esker emulate`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  \
        esker emulate atlas10k.toml --run 'nbdinfo $uri'\n  \
        esker emulate experiment.toml --device station --listen 127.0.0.1:10809\n  \
        esker emulate samsung-sp2504c-250g --data emulated.img --write-cache volatile\n  \
        esker emulate atlas10k.toml --record day.esker --run 'nbdcopy home.img $uri'\n  \
        esker emulate slow atlas10k.toml.control 10    (while it is emulated)\n  \
        esker emulate power-cut atlas10k.toml.control --for 2s    (the same)\n\
        \n\
        Requests end when those of the simulated device would. At the end it says how late its answers were,\n\
        and whether this machine keeps up. Whoever reaches the address reads and writes: there is no TLS."
)]
pub(crate) struct EmulateArguments {
    /// What to do at a device that is being emulated.
    #[command(subcommand)]
    pub(crate) operation: Option<EmulateOperation>,
    /// The device: a preset, the file of one, or an experiment, of which the devices and the target count
    #[arg(value_name = "DEVICE", required = true)]
    pub(crate) simulated: Option<String>,
    /// The device of an experiment [default: its target]
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Where clients connect; may be repeated [default: unix:DEVICE.nbd]
    #[arg(long, value_name = "ADDRESS", value_parser = values::address)]
    pub(crate) listen: Vec<Address>,
    /// Where the operations are asked for, a Unix socket [default: DEVICE.control]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// The name of the export; clients that name none get it, too
    #[arg(long, value_name = "NAME", default_value = "device")]
    pub(crate) export: String,
    /// Where the data are: `memory`, or a file, which is made if it is not there
    #[arg(long, value_name = "memory|FILE", default_value = "memory")]
    pub(crate) data: DataPlace,
    /// Whether a power cut loses what was not flushed
    #[arg(long, value_name = "KIND", value_enum, ignore_case = true, default_value_t = WriteCacheKind::None)]
    pub(crate) write_cache: WriteCacheKind,
    /// Whom it serves, and how long.
    #[command(flatten)]
    pub(crate) serving: ServingArguments,
}

/// Where the data of an emulated device are.
#[derive(Clone, Debug)]
pub(crate) enum DataPlace {
    /// In memory, as long as it is served.
    Memory,
    /// In this file.
    File(PathBuf),
}

impl FromStr for DataPlace {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "memory" { Self::Memory } else { Self::File(text.into()) })
    }
}

/// What becomes of writes that were not flushed when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WriteCacheKind {
    /// All that was answered survives
    None,
    /// What was not flushed is lost in part, sector by sector
    Volatile,
}

/// What is done at a device that is being emulated.
#[derive(Debug, Subcommand)]
pub(crate) enum EmulateOperation {
    /// Say how it does: faults, clients, response times, lateness
    Status(EmulateStatusArguments),
    /// Make everything in it take longer
    Slow(EmulateSlowArguments),
    /// Have its requests fail
    Fail(EmulateFailArguments),
    /// Have its requests fail no more
    Repair(EmulateSocketArguments),
    /// Cut its power: connections are closed, and what was not flushed may be lost
    PowerCut(EmulatePowerCutArguments),
    /// Give it power again
    PowerOn(EmulateSocketArguments),
}

/// Arguments of `esker emulate status`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  esker emulate status atlas10k.toml.control --json")]
pub(crate) struct EmulateStatusArguments {
    /// The control socket of the emulation
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,
    /// Print the status as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `esker emulate slow`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker emulate slow atlas10k.toml.control 10    (ten times as slow)\n  \
        esker emulate slow atlas10k.toml.control 1     (as its settings say)")]
pub(crate) struct EmulateSlowArguments {
    /// The control socket of the emulation
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,
    /// How many times as long everything takes as the device's settings say
    #[arg(value_name = "FACTOR", value_parser = values::slowdown)]
    pub(crate) factor: Ratio,
}

/// Arguments of `esker emulate fail`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker emulate fail atlas10k.toml.control\n  \
        esker emulate fail atlas10k.toml.control --writes\n\
        \n\
        Requests under way fail, too. `esker emulate repair` ends it.")]
pub(crate) struct EmulateFailArguments {
    /// The control socket of the emulation
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,
    /// Only those that change something, and flushes
    #[arg(long)]
    pub(crate) writes: bool,
}

/// Arguments of `esker emulate power-cut`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker emulate power-cut atlas10k.toml.control --for 2s\n  \
        esker emulate power-cut atlas10k.toml.control\n\
        \n\
        Without --for, `esker emulate power-on` gives it power again.")]
pub(crate) struct EmulatePowerCutArguments {
    /// The control socket of the emulation
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,
    /// When the power comes back by itself
    #[arg(long = "for", value_name = "TIME", value_parser = values::time)]
    pub(crate) off: Option<Nanos>,
}

/// Arguments of operations that have no options.
#[derive(Debug, Args)]
pub(crate) struct EmulateSocketArguments {
    /// The control socket of the emulation
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,
}
