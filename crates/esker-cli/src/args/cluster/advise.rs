//! The arguments of `esker cluster advise`.

use std::path::PathBuf;

use clap::Args;
use esker_core::Bytes;

use crate::args::JsonArguments;
use crate::values::{self, drive_model};

/// Arguments of `esker cluster advise`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker cluster advise monday.json friday.json\n  \
        esker cluster advise smart/ --rated MZQL21T9=3.5PB --price MZQL21T9=740\n  \
        esker cluster advise ceph-dumps/ --budget 2TB --script move.sh\n\
        \n\
        Files hold the output of `smartctl --json -x DEVICE`, two samples or more of each drive, a day apart at \
        least, or dumps of Ceph as JSON: osd dump, osd df tree, osd crush rule dump, device ls, two of pg dump, \
        and device get-health-metrics of each device. Each is recognised by what is in it. \
        Nothing is changed: the scripts are for you to read, and to run or not.")]
pub(crate) struct ClusterAdviseArguments {
    /// Samples and dumps, or folders with .json files; `-` reads standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// What moves may copy in all [default: a twentieth of what the cluster stores]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) budget: Option<Bytes>,
    /// How far to look ahead
    #[arg(long, value_name = "YEARS", default_value = "5", value_parser = drive_model::horizon)]
    pub(crate) horizon: f64,
    /// What drives of a model may be written in all; MODEL is a part of its name
    #[arg(long, value_name = "MODEL=SIZE", value_parser = drive_model::model_size)]
    pub(crate) rated: Vec<(String, Bytes)>,
    /// What another drive of a model costs, in dollars; MODEL is a part of its name
    #[arg(long, value_name = "MODEL=AMOUNT", value_parser = drive_model::model_price)]
    pub(crate) price: Vec<(String, f64)>,
    /// Write the moves of placement groups as a script to FILE, which has to be new
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Write the script that takes them back to FILE, which has to be new [default: beside it, with .undo]
    #[arg(long, value_name = "FILE", requires = "script")]
    pub(crate) undo: Option<PathBuf>,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}
