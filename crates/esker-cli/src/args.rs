//! The arguments of the command line. Doc comments are the help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use esker_core::{Bytes, Nanos, Ratio};

use crate::values;

mod cache;
mod catalogue;
mod cluster;
mod devices;
mod emulate;
mod fs;
mod kinds;
mod model;
mod operate;
mod plan;
mod serving;
mod study;
mod trace_record;
mod validate;
mod volume;
mod volume_io;

pub(crate) use cache::{CacheArguments, CacheBy};
pub(crate) use catalogue::{CatalogueArguments, read as read_catalogue};
pub(crate) use cluster::{ClusterAdviseArguments, ClusterCalibrateArguments, ClusterCommand, ClusterSimArguments};
pub(crate) use devices::{ImportArguments, MeasureArguments};
pub(crate) use emulate::{DataPlace, EmulateArguments, EmulateOperation, WriteCacheKind};
pub(crate) use fs::{
    FsBenchArguments, FsCheckArguments, FsCommand, FsMkfsArguments, FsMode, FsMountArguments, FsRunArguments,
    FsStatArguments, FsUnmountArguments, FsWork,
};
pub(crate) use kinds::KindArguments;
pub(crate) use model::{EvaluateArguments, ModelCommand, PredictArguments, TrainArguments};
pub(crate) use operate::{
    VolumeAddDeviceArguments, VolumeDrainArguments, VolumeGrowArguments, VolumeRemoveDeviceArguments,
    VolumeServeArguments, VolumeSetArguments, VolumeStatusArguments,
};
pub(crate) use plan::{Classes, Constraints, PlanArguments};
pub(crate) use serving::{LogForm, ServingArguments, TlsArguments, TlsUse};
pub(crate) use study::{BudgetArguments, DataArguments, ReportArguments, StudyArguments, TableArguments};
pub(crate) use trace_record::RecordArguments;
pub(crate) use validate::ValidateArguments;
pub(crate) use volume::{
    VolumeCheckArguments, VolumeCommand, VolumeCopyArguments, VolumeCreateArguments, VolumeDumpArguments, VolumePart,
    VolumeReplayArguments,
};
pub(crate) use volume_io::VolumeIo;

/// Designs, sizes and verifies storage from your own I/O traces.
///
/// Give it block traces in whatever format you have, and it says what the workload is, which device would carry it, how
/// long the flash would live, and how much cache is worth having.
#[derive(Debug, Parser)]
#[command(
    name = "esker",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  \
        esker study db.blkparse.zst -o report.html\n  \
        esker trace info *.csv.gz\n  \
        esker sim experiment.toml --json\n\
        \n\
        Results go to standard output, progress and errors to standard error.\n\
        Exit status: 0 done, 1 the work or a published claim failed, 2 bad usage or bad input, \
        3 no design keeps every budget (study --require)."
)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// Threads to work on; the results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", help_heading = "Common options", value_parser = values::threads)]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Seed of everything random: the same input and seed give the same bytes [default: the file's, or 1]
    #[arg(long, global = true, value_name = "N", help_heading = "Common options", value_parser = values::count::<u64>)]
    pub(crate) seed: Option<u64>,
    /// No progress bars and no remarks on standard error
    #[arg(long, short, global = true, help_heading = "Common options")]
    pub(crate) quiet: bool,
}

impl Common {
    /// Threads to use.
    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, Into::into), Into::into)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// From traces to a report: characterise, simulate candidate designs, judge
    Study(StudyArguments),
    /// The cheapest mix of devices for traces, with a place for each class of data, simulated
    Plan(PlanArguments),
    /// Draw the page of a study, a run or a plan again, from its JSON
    Report(ReportArguments),
    /// Look at traces, convert, cut or make them
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Run one experiment file
    Sim(SimArguments),
    /// Run a grid of experiments on all cores
    Sweep(SweepArguments),
    /// Miss-ratio curve of a trace: how much cache would help
    Mrc(MrcArguments),
    /// Replacement policies on a trace: what caches of several policies and sizes miss
    Cache(CacheArguments),
    /// List products one can buy and device presets, and show them with their sources
    Devices(DevicesArguments),
    /// Make and look after volumes: hybrids, caches and arrays of files and disks
    #[command(subcommand)]
    Volume(VolumeCommand),
    /// SCMFS, a file system in memory that stays: make a pool, mount it
    #[command(subcommand)]
    Fs(FsCommand),
    /// Servers with flash: how fleets wear, when drives wear out, what balancing is worth
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Have a simulated device serve real data in real time, over NBD
    Emulate(EmulateArguments),
    /// How far a simulated device is from response times that were measured
    Validate(ValidateArguments),
    /// Models of a drive by regression: its response time and erase rate without a simulation
    #[command(subcommand)]
    Model(ModelCommand),
    /// Rerun a table or figure of the papers: published against measured
    Reproduce(ReproduceArguments),
    /// Print the JSON Schema of results
    Schema(SchemaArguments),
    /// Print the shell completion script
    Completions {
        /// Which shell
        #[arg(ignore_case = true)]
        shell: clap_complete::Shell,
    },
    /// Write man pages
    #[command(hide = true)]
    Man {
        /// Folder to write them to
        folder: PathBuf,
    },
}

/// Options for reading traces.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReadArguments {
    /// Force the format instead of finding it (see `esker trace formats`)
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    pub(crate) format: Option<String>,
    /// Skip up to N broken lines, count and report them [default: the first broken line is an error]
    #[arg(long, value_name = "N", help_heading = "Reading", value_parser = values::count::<u64>)]
    pub(crate) lenient: Option<u64>,
    /// Sort records whose times go back by at most this [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Reading", value_parser = values::time)]
    pub(crate) reorder: Option<Nanos>,
    /// How many records the sorting may look ahead [default: 65536]
    #[arg(long, value_name = "N", help_heading = "Reading", value_parser = values::at_least_one::<usize>)]
    pub(crate) reorder_records: Option<usize>,
}

/// The option `--json[=FILE]`.
#[derive(Clone, Debug, Args)]
pub(crate) struct JsonArguments {
    /// Print the result as JSON, or write it to FILE (with `=`, so that no trace is taken for it)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// Replace a file that is there already and is no such result of esker; an input is never replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// The commands of `esker trace`.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Characterise traces
    Info(InfoArguments),
    /// Write a trace in another format
    Convert(ConvertArguments),
    /// Cut, shift or rescale a trace
    Filter(FilterArguments),
    /// Record what is asked of block devices of this machine
    Record(RecordArguments),
    /// Make a synthetic trace, free or fitted to a real one
    Generate(GenerateArguments),
    /// List the formats
    Formats,
}

/// Arguments of `esker trace info`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  esker trace info web.spc.zst\n  zcat t.csv.gz | esker trace info - --json")]
pub(crate) struct InfoArguments {
    /// Traces; `-` reads standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// Options for writing a trace.
#[derive(Debug, Args)]
pub(crate) struct WriteArguments {
    /// Where to write; `-` is standard output. A name that ends in .zst or .gz is compressed
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Format to write [default: what the output's name ends in, such as .spc; for standard output esker's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Replace a file that is there already; an input is never replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// Arguments of `esker trace convert`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  esker trace convert db.blkparse.zst --to fio -o db.iolog")]
pub(crate) struct ConvertArguments {
    /// The trace; `-` reads standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Leave out names of volumes and the date; addresses and the times between requests stay
    #[arg(long)]
    pub(crate) anonymise: bool,
    /// Options for writing.
    #[command(flatten)]
    pub(crate) write: WriteArguments,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// Kinds of requests to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperationKind {
    /// Reads
    Read,
    /// Writes
    Write,
    /// Trims
    Trim,
    /// Flushes
    Flush,
}

/// Arguments of `esker trace filter`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker trace filter day.csv.zst --from 9h --until 10h --volume prxy.0 --to msr -o morning.csv\n  \
        esker trace filter vm.vscsi --shift 512 -o aligned.esker")]
pub(crate) struct FilterArguments {
    /// The trace; `-` reads standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Keep requests from this time after the trace's start
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) from: Option<Nanos>,
    /// Keep requests before this time after the trace's start
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) until: Option<Nanos>,
    /// Keep these volumes (as `esker trace info` names them)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) volume: Vec<String>,
    /// Keep these kinds of requests
    #[arg(long, value_enum, ignore_case = true, value_delimiter = ',')]
    pub(crate) kind: Vec<OperationKind>,
    /// Keep requests that begin at or after this byte
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) address_from: Option<Bytes>,
    /// Keep requests that end at or before this byte
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) address_to: Option<Bytes>,
    /// Make time run FACTOR times as fast: 2 doubles the load
    #[arg(long, value_name = "FACTOR", value_parser = values::factor)]
    pub(crate) speed: Option<f64>,
    /// Add this many bytes to every address (may be negative): mends a constant misalignment
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = values::shift)]
    pub(crate) shift: Option<i64>,
    /// Keep the first N requests that pass
    #[arg(long, value_name = "N", value_parser = values::at_least_one::<u64>)]
    pub(crate) head: Option<u64>,
    /// Leave out names of volumes and the date; addresses and the times between requests stay
    #[arg(long)]
    pub(crate) anonymise: bool,
    /// Options for writing.
    #[command(flatten)]
    pub(crate) write: WriteArguments,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// Arguments of `esker trace generate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker trace generate --like oltp.spc.zst --requests 5000000 --seed 7 -o big.esker\n  \
        esker trace generate --requests 1000000 --set read_fraction=70% -o mixed.esker\n  \
        esker trace generate --requests 1000000 --set 'address={kind=\"zipf\",exponent=1.0}' -o zipf.esker")]
pub(crate) struct GenerateArguments {
    /// Fit the trace to this real one
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["spec", "set"])]
    pub(crate) like: Option<PathBuf>,
    /// Read the keys of `synthetic` from this TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
    /// Set a key of `synthetic`, as in an experiment file
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// How many requests
    #[arg(long, value_name = "N", value_parser = values::at_least_one::<u64>)]
    pub(crate) requests: Option<u64>,
    /// Options for writing.
    #[command(flatten)]
    pub(crate) write: WriteArguments,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// Arguments of `esker sim`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker sim experiment.toml\n  \
        esker sim experiment.toml --json --no-cost | jq .requests.all\n  \
        esker sim examples/slow-disk.toml -o run.html   (with `series` in [run]: charts over time)")]
pub(crate) struct SimArguments {
    /// The experiment
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Write one page to FILE: response times, the run over time, of a hybrid the map of its extents
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
    /// Leave out what the simulation itself cost, so that repeated runs give the same bytes
    #[arg(long)]
    pub(crate) no_cost: bool,
}

/// Arguments of `esker sweep`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker sweep grid.toml -o results/\n  \
        esker sweep grid.toml -o results/ --shard 2/8   (the second of eight machines)")]
pub(crate) struct SweepArguments {
    /// The experiment with its `sweep` table
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Folder for one JSON per point; points that are there already are not run again
    #[arg(long, short, value_name = "FOLDER", default_value = "results")]
    pub(crate) output: PathBuf,
    /// Run only every n-th point, the i-th share, with a table of its own (sweep-I-of-N.csv): for many machines
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<String>,
    /// Where to write the table as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

/// Arguments of `esker mrc`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker mrc oltp.lis\n  \
        esker mrc oltp.lis --object 512B --at 1000,16MiB\n  \
        esker mrc cdn.oracleGeneral.zst --object start-block\n  \
        esker mrc oltp.lis --method aet\n  \
        esker mrc oltp.lis --warm-up 20%\n  \
        esker mrc huge.csv.zst --sample 1% --seeds 10 --json=curve.json")]
pub(crate) struct MrcArguments {
    /// Traces; `-` reads standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// How to compute the curve [default: exact; with --sample: shards]
    #[arg(long, value_name = "METHOD", value_enum, ignore_case = true)]
    pub(crate) method: Option<CurveMethodName>,
    /// Sample this share of pages (SHARDS) instead of computing the exact curve
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) sample: Option<Ratio>,
    /// With --sample: repeat with this many seeds and show the spread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::at_least_one::<u32>)]
    pub(crate) seeds: u32,
    /// What the cache holds: pieces of this size, or requests named by their first block, whatever their size
    #[arg(long, value_name = "OBJECT", value_enum, ignore_case = true, default_value_t = CurveObject::Page)]
    pub(crate) object: CurveObject,
    /// Means `--object start-block`
    #[arg(long, conflicts_with = "object")]
    pub(crate) start_block: bool,
    /// Let this share of the requests, the first ones, only warm the cache: they are counted nowhere
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) warm_up: Option<Ratio>,
    /// Show these cache sizes instead of a curve: numbers of objects, or bytes with their unit
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', conflicts_with = "points")]
    pub(crate) at: Vec<String>,
    /// Points of the curve
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = values::count::<usize>)]
    pub(crate) points: usize,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// The methods of `esker mrc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CurveMethodName {
    /// From the stack distance of every access
    Exact,
    /// From a sample of the objects; its size is that of --sample
    Shards,
    /// From the times between accesses to the same object: faster, and near for workloads that stay the same
    Aet,
}

/// The objects of a cache in `esker mrc` and `esker cache`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CurveObject {
    /// 512 bytes each, as in the ARC paper
    #[value(name = "512B")]
    Sector,
    /// 4 KiB each
    #[value(name = "4KiB")]
    Page,
    /// Requests, named by their first block
    #[value(name = "start-block")]
    StartBlock,
}

/// Arguments of `esker devices`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        esker devices micron-7450-pro\n  \
        esker devices --catalogue kim-2009\n  \
        esker devices --only micron-7450-pro,toshiba-mg10 --currency EUR=0.92\n  \
        esker devices import atlas10k.parv -o atlas10k.toml\n  \
        esker devices measure /dev/sdb -o mine.toml"
)]
pub(crate) struct DevicesArguments {
    /// What else to do.
    #[command(subcommand)]
    pub(crate) command: Option<DevicesCommand>,
    /// Show this product or preset whole, with its sources
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The products, and their prices.
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArguments,
    /// Where to write the list as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

/// The commands of `esker devices`.
#[derive(Debug, Subcommand)]
pub(crate) enum DevicesCommand {
    /// Check a catalogue of your own
    Check {
        /// The catalogue, .toml or .csv (docs/catalogue.md)
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Make a preset of a drive's extracted parameters, in DiskSim's files
    Import(ImportArguments),
    /// Make a preset of a disk of your own, by reading it
    Measure(MeasureArguments),
}

/// Arguments of `esker reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker reproduce agrawal/table-3\n  \
        esker reproduce kim/ch3.5\n  \
        esker reproduce --all --traces traces -o reproduction.html\n  \
        esker reproduce kim/figure-3.12 -o figure.html")]
pub(crate) struct ReproduceArguments {
    /// PAPER, PAPER/chN[.M], PAPER/ITEM..., tournament; everything where none is given
    #[arg(value_name = "ITEM")]
    pub(crate) items: Vec<String>,
    /// Everything, as without an ITEM, but for tournament/full, which takes a day
    #[arg(long, conflicts_with = "items")]
    pub(crate) all: bool,
    /// Write one page to FILE: every claim, and every figure drawn beside the published values
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Folder with the traces that the papers used (docs/reproduction.md and docs/tournament.md name the files)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) traces: Option<PathBuf>,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

/// Arguments of `esker schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// Of what
    #[arg(value_enum, ignore_case = true)]
    pub(crate) of: SchemaOf,
}

/// The subject of a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Results of `esker sim`
    Results,
    /// Results of `esker study`
    Study,
    /// Results of `esker plan`
    Plan,
    /// Results of `esker trace info`
    Trace,
    /// Results of `esker cache`
    Cache,
    /// Results of `esker validate`
    Validation,
    /// Results of `esker fs bench`
    FsBench,
    /// Results of `esker cluster sim`
    Fleet,
    /// Results of `esker cluster advise`
    Advice,
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::path::PathBuf;

    use super::Arguments;
    use crate::values::{DevicePlace, Export};
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    /// A narrower terminal breaks a sentence that has a line break of its own once more, and a word stands alone.
    #[test]
    fn the_terminal_breaks_the_lines_of_help() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().collect();
            for (line, next) in lines.iter().zip(&lines[1.min(lines.len())..]) {
                let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
                let goes_on = is_text(line) && is_text(next) && !line.ends_with(['.', ':']);
                assert!(!goes_on, "{}: {line} / {next}", command.get_name());
                assert!(!line.starts_with("esker "), "{}: examples begin with two spaces: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Arguments::command());
    }

    /// Appends what the command and those below it take as a text or a path: "trace convert --output".
    fn taken(command: &clap::Command, path: &str, all: &mut Vec<String>) {
        let places = [TypeId::of::<DevicePlace>(), TypeId::of::<Export>()];
        let texts = [&[TypeId::of::<PathBuf>(), TypeId::of::<String>()], &places[..]].concat();
        let is_text = |argument: &&clap::Arg| {
            let found = argument.get_value_parser().type_id();
            argument.get_action().takes_values() && texts.iter().any(|text| found == *text)
        };
        for argument in command.get_arguments().filter(is_text) {
            let name = match (argument.get_long(), argument.get_value_names()) {
                (Some(long), _) => format!("--{long}"),
                (None, Some([name, ..])) => name.to_string(),
                (None, _) => argument.get_id().to_string().to_uppercase(),
            };
            all.push(format!("{path} {name}").trim().to_string());
        }
        for below in command.get_subcommands() {
            taken(below, format!("{path} {}", below.get_name()).trim(), all);
        }
    }

    #[test]
    fn every_file_is_in_the_table() {
        let table = include_str!("../tests/files.txt");
        let rows = table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(": "));
        let rows: Vec<(&str, &str)> = rows.map(|row| row.expect("a row is `COMMAND OPTION: WHAT`")).collect();
        let mut all = Vec::new();
        taken(&Arguments::command(), "", &mut all);
        all.sort();
        let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, all, "tests/files.txt has a row for each of these, in order");
        let known = ["reads", "reads in a folder", "writes", "-"];
        assert!(rows.iter().all(|(_, what)| known.contains(what)), "a row says one of {known:?}");
    }
}
