//! The arguments of commands about studies and their reports.

use std::path::PathBuf;

use clap::Args;
use esker_catalogue::Market;
use esker_core::{Bytes, Nanos, Ratio};
use esker_results::study::Budgets;
use esker_study::{DataSettings, InUse};

use super::{CatalogueArguments, JsonArguments, KindArguments, ReadArguments};
use crate::values;

/// Arguments of `esker study`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  esker study db.blkparse.zst -o report.html\n  esker study vol1.csv.gz vol2.csv.gz \
        --together --p99 5ms --years 5 --growth 20%\n  \
        esker study db.blkparse.zst --capacity 20TB --copies 2\n  \
        esker study db.blkparse.zst --market aws --p99 5ms\n  \
        esker study db.blkparse.zst --capacity 40TB --hybrids\n  \
        esker study db.blkparse.zst --capacity 40TB --caches\n  \
        esker study db.blkparse.zst --only micron-7450-pro,toshiba-mg10 --price toshiba-mg10=15USD/TB\n  \
        blktrace -d /dev/sdX -o - | esker study - -o report.html"
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
    /// Treat all traces as one workload instead of one each. Volumes of the same name are one volume if these traces
    /// follow each other in absolute time (days of one system); else they lie side by side
    #[arg(long)]
    pub(crate) together: bool,
    /// The budgets.
    #[command(flatten)]
    pub(crate) budgets: BudgetArguments,
    /// Exit with 3 if no design of the market keeps every budget
    #[arg(long, help_heading = "Budgets")]
    pub(crate) require: bool,
    /// What has to be stored.
    #[command(flatten)]
    pub(crate) data: DataArguments,
    /// The market that the verdict is about: on-premises, aws, azure or google
    #[arg(
        long,
        value_name = "MARKET",
        default_value = "on-premises",
        help_heading = "Products",
        value_parser = values::market
    )]
    pub(crate) market: Market,
    /// Allow drives made for desktops, which lose what their buffer holds when power fails
    #[arg(long, help_heading = "Products")]
    pub(crate) consumer: bool,
    /// The kinds of designs to offer, too.
    #[command(flatten)]
    pub(crate) kinds: KindArguments,
    /// Plan the cheapest mix of devices of any products, too, with a place for each class of data
    #[arg(long, help_heading = "Products")]
    pub(crate) plan: bool,
    /// Devices that you have already, which cost only electricity: micron-7450-pro:3.84TB, or 4xNAME:SIZE
    #[arg(long, value_name = "NAME:SIZE", help_heading = "Products", value_parser = values::in_use)]
    pub(crate) have: Vec<InUse>,
    /// The products to choose from, and their prices.
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArguments,
    /// Look at every design that could win, however many, and replay the whole trace on each
    #[arg(long, help_heading = "Simulation")]
    pub(crate) thorough: bool,
    /// What else to write.
    #[command(flatten)]
    pub(crate) tables: TableArguments,
    /// Leave out what the study itself cost, so that repeated runs give the same bytes
    #[arg(long)]
    pub(crate) no_cost: bool,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// Limits that a design has to keep.
#[derive(Clone, Debug, Args)]
pub(crate) struct BudgetArguments {
    /// Budget: largest 99th percentile of the response time, in the busiest times and over all
    #[arg(long, value_name = "TIME", help_heading = "Budgets", value_parser = values::p99)]
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
    /// Budget: the load that has to be carried, as a multiple of the trace's [default: 1.3]
    #[arg(long, value_name = "FACTOR", help_heading = "Budgets", value_parser = values::headroom)]
    pub(crate) headroom: Option<f64>,
}

/// What has to be stored, and how full devices may be.
#[derive(Clone, Debug, Args)]
pub(crate) struct DataArguments {
    /// Data to store, with its unit: 20TB [default: the span of addresses in the trace]
    #[arg(long, value_name = "SIZE", help_heading = "Data", value_parser = values::capacity)]
    pub(crate) capacity: Option<Bytes>,
    /// Growth of the data per year
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Data", value_parser = values::growth)]
    pub(crate) data_growth: Ratio,
    /// Copies of the data, each on devices of its own
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Data", value_parser = values::copies)]
    pub(crate) copies: u32,
    /// Share of each design's capacity that data may fill
    #[arg(long, value_name = "SHARE", default_value = "85%", help_heading = "Data", value_parser = values::share)]
    pub(crate) utilisation: Ratio,
}

impl BudgetArguments {
    /// The budgets that are given.
    pub(crate) fn budgets(&self) -> Budgets {
        Budgets {
            p99_us: self.p99.map(Nanos::as_micros_f64),
            years: self.years,
            growth_per_year: self.growth.as_f64(),
            devices: self.devices,
            headroom: self.headroom,
            ..Budgets::default()
        }
    }

    /// The options that differ from their defaults, to repeat the command.
    pub(crate) fn given(&self) -> Vec<(&'static str, String)> {
        let mut given: Vec<(&'static str, String)> = Vec::new();
        given.extend(self.p99.map(|time| ("--p99", time.to_string())));
        given.extend((self.years != 5.0).then(|| ("--years", self.years.to_string())));
        given.extend((self.growth != Ratio::ZERO).then(|| ("--growth", self.growth.to_string())));
        given.extend(self.devices.map(|count| ("--devices", count.to_string())));
        given.extend(self.headroom.map(|load| ("--headroom", load.to_string())));
        given
    }
}

impl DataArguments {
    /// What has to be stored.
    pub(crate) fn data(&self) -> DataSettings {
        DataSettings {
            capacity: self.capacity,
            growth_per_year: self.data_growth.as_f64(),
            copies: self.copies,
            fill_limit: self.utilisation,
        }
    }

    /// The options that differ from their defaults, to repeat the command.
    pub(crate) fn given(&self) -> Vec<(&'static str, String)> {
        let mut given: Vec<(&'static str, String)> = Vec::new();
        given.extend(self.capacity.map(|bytes| ("--capacity", bytes.to_string())));
        given.extend((self.data_growth != Ratio::ZERO).then(|| ("--data-growth", self.data_growth.to_string())));
        given.extend((self.copies != 1).then(|| ("--copies", self.copies.to_string())));
        let utilisation = self.utilisation;
        given.extend((utilisation != Ratio::percent(85)).then(|| ("--utilisation", utilisation.to_string())));
        given
    }
}

/// What else to write of a study, beside its report.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TableArguments {
    /// Write every table into this folder as comma-separated values, one file each
    #[arg(long, value_name = "FOLDER")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the verdict and its tables as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Print every step of the arithmetic for this design, by its name in the list of designs
    #[arg(long, value_name = "DESIGN")]
    pub(crate) explain: Vec<String>,
}

impl TableArguments {
    /// The first of these options that is given, if any.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--csv", self.csv.is_some()),
            ("--markdown", self.markdown.is_some()),
            ("--explain", !self.explain.is_empty()),
        ];
        given.iter().find(|(_, given)| *given).map(|(option, _)| *option)
    }
}

/// Arguments of `esker report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  esker report study.json -o report.html\n  esker report - < study.json\n  \
        esker report study.json --csv tables/ --markdown study.md\n  esker report run.json -o run.html\n  \
        esker report plan -o plan.html")]
pub(crate) struct ReportArguments {
    /// What `esker study`, `esker sim` or `esker plan` wrote with --json=FILE, or the folder of a plan; `-` reads
    /// standard input
    #[arg(value_name = "RESULTS.json")]
    pub(crate) results: PathBuf,
    /// Where to write the report; `-` is standard output
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// What else to write.
    #[command(flatten)]
    pub(crate) tables: TableArguments,
    /// Replace a file that is there already and is no report; the results are never replaced
    #[arg(long)]
    pub(crate) force: bool,
}
