//! The arguments of commands about studies and their reports.

use std::path::PathBuf;

use clap::Args;
use esker_core::{Nanos, Ratio};

use super::{JsonArguments, ReadArguments};
use crate::values;

/// Arguments of `esker study`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  esker study db.blkparse.zst -o report.html\n  esker study vol1.csv.gz vol2.csv.gz \
        --together --p99 5ms --years 5 --growth 20%\n  blktrace -d /dev/sdX -o - | esker study - -o report.html"
)]
pub(crate) struct StudyArguments {
    /// Traces; `-` reads standard input. Compressed files (.gz, .zst, .xz) are read as they are
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Where to write the report
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
    /// Treat all traces as one workload instead of one each
    #[arg(long)]
    pub(crate) together: bool,
    /// Budget: largest 99th percentile of the response time in the busiest hour
    #[arg(long, value_name = "TIME", help_heading = "Budgets", value_parser = values::time)]
    pub(crate) p99: Option<Nanos>,
    /// Budget: years that the flash has to last
    #[arg(long, value_name = "YEARS", default_value_t = 5.0, help_heading = "Budgets", value_parser = values::years)]
    pub(crate) years: f64,
    /// Growth of the load per year
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Budgets", value_parser = values::growth)]
    pub(crate) growth: Ratio,
    /// Budget: most devices that a design may use
    #[arg(long, value_name = "N", help_heading = "Budgets", value_parser = values::devices)]
    pub(crate) devices: Option<u32>,
    /// Share of each flash design's capacity that holds data, touched or not
    #[arg(long, value_name = "SHARE", default_value = "85%", help_heading = "Simulation", value_parser = values::share)]
    pub(crate) utilisation: Ratio,
    /// Simulate the wide set of designs
    #[arg(long, help_heading = "Simulation")]
    pub(crate) thorough: bool,
    /// Leave out what the study itself cost, so that repeated runs give the same bytes
    #[arg(long)]
    pub(crate) no_cost: bool,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// Arguments of `esker report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  esker report study.json -o report.html\n  esker report - < study.json")]
pub(crate) struct ReportArguments {
    /// What `esker study --json=FILE` wrote; `-` reads standard input
    #[arg(value_name = "STUDY.json")]
    pub(crate) study: PathBuf,
    /// Where to write the report; `-` is standard output
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Replace a file that is there already and is no report; the study is never replaced
    #[arg(long)]
    pub(crate) force: bool,
}
