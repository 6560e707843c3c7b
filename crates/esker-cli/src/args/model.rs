//! The arguments of `esker model`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use esker_core::Ratio;

use super::{JsonArguments, ReadArguments};
use crate::values;

/// The commands of `esker model`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Find the coefficients of a model from the results of runs
    Train(TrainArguments),
    /// Compare a model with the results of runs
    Evaluate(EvaluateArguments),
    /// Say what a drive will do with a trace, without simulating it
    Predict(PredictArguments),
    /// List the models that come with esker, and the forms that a model can have
    List,
}

/// Arguments of `esker model train`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker sweep examples/ssd-model.toml -o runs/ && esker model train runs/ -o model.json\n  \
        esker model train runs/ --form linear --table table.csv -o linear.json\n\
        \n\
        Of every term: estimate, standard error, p of Student's t, 99 % interval. Runs in which the \
        drive was busy for over nine tenths of the time are left out: how long requests waited in them \
        depends on how long they were.")]
pub(crate) struct TrainArguments {
    /// Results of `esker sim`, folders of `esker sweep`, or tables of runs (--table)
    #[arg(required = true, value_name = "RUNS")]
    pub(crate) runs: Vec<PathBuf>,
    /// Write the model to FILE, as JSON
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// What explains what (see `esker model list`)
    #[arg(long, value_name = "NAME", default_value = "queueing")]
    pub(crate) form: String,
    /// Also write what was learnt from to FILE, one line for each run: as good as the results, and small
    #[arg(long, value_name = "FILE")]
    pub(crate) table: Option<PathBuf>,
    /// Replace a file that is there already and is no such result of esker; an input is never replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// Arguments of `esker model evaluate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker model evaluate kim-slc runs/\n  \
        esker model evaluate model.json runs.csv --json | jq .response.median")]
pub(crate) struct EvaluateArguments {
    /// The model: a file, or one that comes with esker (see `esker model list`)
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// Results of `esker sim`, folders of `esker sweep`, or tables of runs
    #[arg(required = true, value_name = "RUNS")]
    pub(crate) runs: Vec<PathBuf>,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

/// Arguments of `esker model predict`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  esker model predict kim-slc oltp.spc.zst --fullness 70%")]
pub(crate) struct PredictArguments {
    /// The model: a file, or one that comes with esker (see `esker model list`)
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// The trace; `-` reads standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// How full the drive is: data, as a part of what its translation layer can use
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) fullness: Ratio,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}
