//! The arguments of `esker trace record`.

use std::path::PathBuf;

use clap::Args;
use esker_core::Nanos;

use super::WriteArguments;
use crate::values;

/// Arguments of `esker trace record`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker trace record /dev/sdb --for 60s -o minute.esker\n  \
        esker trace record /dev/sdb -o day.esker    (until Ctrl-C)\n\
        \n\
        It runs blktrace, as root, on Linux. What blktrace writes lies in OUTPUT.recording meanwhile: on \
        another disk than the recorded one, if you can. For volumes and emulated devices, there is \
        `esker volume serve --record` and `esker emulate --record`.")]
pub(crate) struct RecordArguments {
    /// Block devices, such as /dev/sdb
    #[arg(required = true, value_name = "DEVICE")]
    pub(crate) devices: Vec<PathBuf>,
    /// When it ends by itself [default: Ctrl-C ends it]
    #[arg(long = "for", value_name = "TIME", value_parser = values::time)]
    pub(crate) time: Option<Nanos>,
    /// Leave out the names of devices and the date
    #[arg(long)]
    pub(crate) anonymise: bool,
    /// Options for writing.
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}
