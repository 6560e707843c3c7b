//! The arguments of `esker cache`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use esker_core::{Nanos, Ratio};

use super::{CurveObject, JsonArguments, ReadArguments};
use crate::values;

/// Arguments of `esker cache`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker cache oltp.lis\n  \
        esker cache oltp.lis --policy lru,clock --size 1000,16MiB,10%\n  \
        esker cache cdn.oracleGeneral.zst --object start-block -o cache.html\n  \
        esker cache cdn.oracleGeneral.zst --sized --policy lru,gdsf --size 10GiB,5%\n  \
        esker cache oltp.lis --policy lru,arc --admission none,second-hit\n  \
        esker cache oltp.lis --hit-cost 100us --miss-cost 5ms --price-per-gib 0.1\n  \
        esker cache oltp.spc.zst --size 10% --by volume\n  \
        esker cache oltp.spc.zst --warm-up 20% --drive-writes-per-day 1\n  \
        esker cache huge.csv.zst --sample 1% --seeds 10 --json=cache.json")]
pub(crate) struct CacheArguments {
    /// Traces; `-` reads standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Replacement policies, with parameters in brackets: `NAME(KEY=VALUE,...)`; `all` for all there are [default: some
    /// that are much used, and the bound]
    #[arg(long, value_name = "POLICY,...")]
    pub(crate) policy: Vec<String>,
    /// Admission policies, which choose what of the objects that miss may enter, written as --policy has it: each
    /// policy is simulated with each of them; `all` for all there are [default: none, every object enters]
    #[arg(long, value_name = "ADMISSION,...")]
    pub(crate) admission: Vec<String>,
    /// Sizes of the cache: numbers of objects, bytes with their unit, or shares of the distinct objects such as 10%
    /// [default: 1%,2%,5%,10%,20%,50%]
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',')]
    pub(crate) size: Vec<String>,
    /// What the cache holds: pieces of this size, or requests named by their first block, whatever their size
    #[arg(long, value_name = "OBJECT", value_enum, ignore_case = true, default_value_t = CurveObject::Page)]
    pub(crate) object: CurveObject,
    /// The cache holds requests named by their first block, each with the room of its bytes. Sizes are bytes, or shares
    /// of the bytes of all objects; for policies that do not count objects, such as lru and gdsf
    #[arg(long, conflicts_with_all = ["object", "admission"])]
    pub(crate) sized: bool,
    /// Also show what each volume of the trace gets out of the cache, which all of them share
    #[arg(long, value_name = "WHAT", value_enum, ignore_case = true)]
    pub(crate) by: Option<CacheBy>,
    /// Simulate this share of the objects, in caches that are smaller by the same share, instead of all of them
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) sample: Option<Ratio>,
    /// With --sample: repeat with this many seeds and show the spread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::at_least_one::<u32>)]
    pub(crate) seeds: u32,
    /// Let this share of the requests, the first ones, only warm the cache: they are counted nowhere
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) warm_up: Option<Ratio>,
    /// Drive writes a day that the cache's drive is rated for: adds how often a day the cache is written as a whole
    #[arg(long, value_name = "RATING", value_parser = values::amount)]
    pub(crate) drive_writes_per_day: Option<f64>,
    /// How long an access takes that misses: adds the mean time of an access
    #[arg(long, value_name = "TIME", value_parser = values::time, requires = "hit_cost", help_heading = "Costs")]
    pub(crate) miss_cost: Option<Nanos>,
    /// How long an access takes that hits
    #[arg(long, value_name = "TIME", value_parser = values::time, requires = "miss_cost", help_heading = "Costs")]
    pub(crate) hit_cost: Option<Nanos>,
    /// What a GiB of cache costs, in any currency: adds the price of each millisecond that the mean access saves
    #[arg(long, value_name = "PRICE", value_parser = values::amount, requires = "miss_cost", help_heading = "Costs")]
    pub(crate) price_per_gib: Option<f64>,
    /// Write one page with curves to FILE
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// What results of `esker cache` are split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheBy {
    /// Disks of the traced system, each with addresses of its own
    Volume,
}
