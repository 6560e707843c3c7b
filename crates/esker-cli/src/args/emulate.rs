//! The arguments of `esker emulate`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use esker_core::{Nanos, Ratio};
use esker_serve::Address;

use super::serving::{ServingArguments, TlsArguments};
use crate::values::{self, Export};

/// Arguments of `esker emulate`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  \
        esker emulate atlas10k.toml --run 'nbdinfo $uri'\n  \
        esker emulate experiment.toml --device station --listen 127.0.0.1:10809\n  \
        esker emulate fast.toml slow.toml --run 'nbdinfo --list $uri'\n  \
        esker emulate one=fast.toml two=fast.toml --run 'for each in $uris; do nbdinfo $each; done'\n  \
        esker emulate examples/wu-pair.toml --device flash --device disk\n  \
        esker emulate samsung-sp2504c-250g --data emulated.img --write-cache volatile\n  \
        esker emulate atlas10k.toml --record day.esker --run 'nbdcopy home.img $uri'\n  \
        esker emulate atlas10k.toml --listen :10809 --tls-certificates pki\n  \
        esker emulate slow atlas10k.control 10    (while it is emulated)\n  \
        esker emulate power-cut atlas10k.control --for 2s    (the same)\n\
        \n\
        Each device is an export that is called as its file without the ending, or as the device that --device \
        chooses. Clients that name none get the first. Each has a control socket of its own, NAME.control. \
        Requests end when those of the simulated device would. At the end it says how late its answers were, \
        and whether this machine keeps up.\n\
        Without TLS, whoever reaches the address reads and writes: prefer a Unix socket, or 127.0.0.1."
)]
pub(crate) struct EmulateArguments {
    /// What to do at a device that is being emulated.
    #[command(subcommand)]
    pub(crate) operation: Option<EmulateOperation>,
    /// The devices: presets, files of one, or experiments, of which the devices and the target count; with
    /// NAME=DEVICE, clients call it NAME
    #[arg(value_name = "DEVICE", required = true, value_parser = values::device_export)]
    pub(crate) simulated: Vec<Export>,
    /// The device of an experiment; may be repeated, and clients call each by its name [default: its target]
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Vec<String>,
    /// Where clients connect; may be repeated [default: unix:NAME.nbd, of the first device, beside its file]
    #[arg(long, value_name = "ADDRESS", value_parser = values::address)]
    pub(crate) listen: Vec<Address>,
    /// Where the operations are asked for, a Unix socket for each device, in order [default: NAME.control, beside its
    /// file]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Vec<PathBuf>,
    /// Where the data are, for each device, in order: `memory`, or a file, which is made if it is not there [default:
    /// memory]
    #[arg(long, value_name = "memory|FILE")]
    pub(crate) data: Vec<DataPlace>,
    /// Whether a power cut loses what was not flushed
    #[arg(long, value_name = "KIND", value_enum, ignore_case = true, default_value_t = WriteCacheKind::None)]
    pub(crate) write_cache: WriteCacheKind,
    /// Whom it serves, and how long.
    #[command(flatten)]
    pub(crate) serving: ServingArguments,
    /// Whether connections are encrypted.
    #[command(flatten)]
    pub(crate) tls: TlsArguments,
}

/// Where the data of an emulated device are.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[command(after_help = "Example:\n  esker emulate status atlas10k.control --json")]
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
        esker emulate slow atlas10k.control 10    (ten times as slow)\n  \
        esker emulate slow atlas10k.control 1     (as its settings say)")]
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
        esker emulate fail atlas10k.control\n  \
        esker emulate fail atlas10k.control --writes\n\
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
        esker emulate power-cut atlas10k.control --for 2s\n  \
        esker emulate power-cut atlas10k.control\n\
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
