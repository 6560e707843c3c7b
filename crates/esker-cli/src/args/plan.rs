//! The arguments of `esker plan`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use esker_core::Power;
use esker_plan::{ClassSettings, Sharing};
use esker_study::{InUse, PlanSettings};

use super::{BudgetArguments, CatalogueArguments, DataArguments, JsonArguments, KindArguments, ReadArguments};
use crate::values;

/// Arguments of `esker plan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  esker plan db.blkparse.zst --capacity 40TB\n  \
        esker plan db.blkparse.zst --capacity 40TB --p99 5ms -o plan --report plan.html\n  \
        esker plan vol1.csv.gz vol2.csv.gz --together --years 3 --growth 20%\n  \
        esker plan db.blkparse.zst --hybrids --caches --capacity 40TB\n  \
        esker plan db.blkparse.zst --have 4xtoshiba-mg10:20TB")]
pub(crate) struct PlanArguments {
    /// Traces with times; `-` reads standard input. Compressed files (.gz, .zst, .xz) are read as they are
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// A new folder for the plan of one workload: the experiment that repeats it, maps for volumes, and its figures
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Where to write the plan as a page
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
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
    /// Exit with 3 if a plan does not keep every budget
    #[arg(long, help_heading = "Budgets")]
    pub(crate) require: bool,
    /// What has to be stored.
    #[command(flatten)]
    pub(crate) data: DataArguments,
    /// Classes of data: at most 33 as in Kim 2009, 17 without intensity, or those that the data suggest
    #[arg(long, value_name = "NAME", value_enum, default_value = "33", help_heading = "Planning")]
    pub(crate) classes: Classes,
    /// Whether classes on a device share its time, or each has all of it, as the paper writes
    #[arg(long, value_name = "FORM", value_enum, default_value = "summed", help_heading = "Planning")]
    pub(crate) constraints: Constraints,
    /// What all devices together may draw while they work: 200W
    #[arg(long, value_name = "POWER", help_heading = "Budgets", value_parser = values::power)]
    pub(crate) power: Option<Power>,
    /// Plans that are simulated at most, each corrected by what the one before it missed
    #[arg(
        long,
        value_name = "N",
        default_value_t = PlanSettings::ROUNDS,
        help_heading = "Planning",
        value_parser = values::count::<usize>
    )]
    pub(crate) rounds: usize,
    /// Allow drives made for desktops, which lose what their buffer holds when power fails
    #[arg(long, help_heading = "Products")]
    pub(crate) consumer: bool,
    /// Devices that you have already, which cost only electricity and stay: micron-7450-pro:3.84TB, or 4xNAME:SIZE
    #[arg(long, value_name = "NAME:SIZE", help_heading = "Products", value_parser = values::in_use)]
    pub(crate) have: Vec<InUse>,
    /// The kinds of designs to find beside the plan.
    #[command(flatten)]
    pub(crate) kinds: KindArguments,
    /// The products to choose from, and their prices.
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArguments,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// How records of the address space become classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Classes {
    /// By reads, sizes and intensity.
    #[value(name = "33")]
    ThirtyThree,
    /// By reads and sizes.
    #[value(name = "17")]
    Seventeen,
    /// By finer bins, of which neighbours become one that are planned for the same devices.
    Merged,
}

impl Classes {
    pub(crate) fn settings(self) -> ClassSettings {
        match self {
            Self::ThirtyThree => ClassSettings::kim_33(),
            Self::Seventeen => ClassSettings::kim_17(),
            Self::Merged => ClassSettings::fine(),
        }
    }
}

/// How classes on the same devices are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Constraints {
    /// All together may keep a device busy for its share of the time, second by second.
    Summed,
    /// Each class by itself may, as in Kim 2009, (4.6).
    Paper,
}

impl Constraints {
    pub(crate) fn sharing(self) -> Sharing {
        match self {
            Self::Summed => Sharing::Summed,
            Self::Paper => Sharing::PerClass,
        }
    }
}
