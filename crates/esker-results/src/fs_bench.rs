//! Results of `esker fs bench`: how fast file systems are, side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the JSON schema of [`FsBenchResults`].
pub const FS_BENCH_SCHEMA: u32 = 1;

/// Result of `esker fs bench`. Its tables are drawn from this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsBenchResults {
    /// Version of this schema.
    pub schema: u32,
    /// Version of esker that wrote it.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// How often each workload ran in each place. Places take turns.
    pub runs: u32,
    /// Processors that the program may use.
    pub processors: u64,
    /// Programs that ran or waited for a disk in the minute before, on average (`/proc/loadavg`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load_average: Option<f64>,
    /// Where the workloads ran, in the order of the columns of the tables.
    pub places: Vec<FsBenchPlace>,
    /// Rates of transfers, for each place that can be reached.
    pub transfers: Vec<FsTransferRates>,
    /// Rates of Postmark, for each place that can be reached.
    pub postmarks: Vec<FsPostmarkRates>,
}

/// Where a workload ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsBenchPlace {
    /// Its name: "/dev/shm", "tmpfs, huge pages".
    pub name: String,
    /// How files were reached there.
    pub way: FsWay,
    /// Why nothing could be measured there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unreachable: Option<String>,
}

/// How files are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FsWay {
    /// By system calls, in a folder.
    Folder,
    /// By system calls, in a folder, with an fsync after each write.
    SyncedFolder,
    /// By calls of the library, in a pool of SCMFS.
    Library,
    /// By system calls, in a pool of SCMFS that is mounted by FUSE.
    Mount,
}

/// The order of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FsPattern {
    /// One behind the other.
    Sequential,
    /// Each record once, at random.
    Random,
}

/// Rates of reads and writes of a file for each thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsTransferRates {
    /// Where.
    pub place: String,
    /// The order of records.
    pub pattern: FsPattern,
    /// Bytes of a record.
    pub record_bytes: u64,
    /// Bytes of the file of each thread.
    pub file_bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Whether each written record was made durable before the next one.
    pub durable: bool,
    /// Writes of new files, always in order: IOzone's write.
    pub first_write_bytes_per_s: FsRate,
    /// Writes of files that are there: IOzone's rewrite and random write.
    pub write_bytes_per_s: FsRate,
    /// Reads: IOzone's read and random read.
    pub read_bytes_per_s: FsRate,
}

/// Rates of Postmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsPostmarkRates {
    /// Where.
    pub place: String,
    /// How many of ten reads and appends are reads.
    pub reads_of_ten: u64,
    /// Files at the beginning.
    pub files: u64,
    /// Transactions: a read or an append, and a file made or unlinked.
    pub transactions: u64,
    /// Transactions per second.
    pub transactions_per_s: FsRate,
    /// Files made per second, at the beginning.
    pub made_files_per_s: FsRate,
    /// Bytes read and written per second of the transactions.
    pub bytes_per_s: FsRate,
}

/// A rate over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsRate {
    /// The median; of an even number of runs the upper one.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl FsRate {
    /// The rate of at least one run.
    ///
    /// # Panics
    /// There is none.
    pub fn of(mut runs: Vec<f64>) -> Self {
        runs.sort_by(f64::total_cmp);
        let median = *runs.get(runs.len() / 2).expect("there was a run");
        Self { median, least: runs[0], most: runs[runs.len() - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_median_of_its_runs() {
        assert_eq!(FsRate::of(vec![3.0, 9.0, 1.0]), FsRate { median: 3.0, least: 1.0, most: 9.0 });
        assert_eq!(FsRate::of(vec![2.0]), FsRate { median: 2.0, least: 2.0, most: 2.0 });
    }
}
