//! Wu 2011, chapter IV: SCMFS beside other file systems in memory, measured on this machine and not simulated. So the
//! figures differ from machine to machine, and from run to run. What is claimed, and with which limits, was fixed
//! before the first run; each item runs what it needs, and its claims are computed from that (`Stated::value`).
//!
//! The figures are lost in the text of the paper: panels are read off its sentences on figures 25 and 26, by which
//! those of writes are b, d, j, and those of reads a, c, i.

mod claims;
mod found;
mod iozone;
mod machine;
mod mapped;
mod postmark;
#[cfg(test)]
mod tests;
mod threads;

use esker_core::Bytes;
use esker_fs_bench::{Mode, Pattern, PeerSettings, Transfer, Work, with_peers};

use crate::{Claim, Context, Figure, Item, ItemOutcome, ReproduceError, StatedClaim};
use claims::Stated;
use found::Found;
use machine::{Bench, Here};

/// Where the workloads run. Files of SCMFS are reached through its library, but for [`System::ScmfsFuse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    /// Nothing is durable when a call returns, as in the paper without "file system consistency"; pages of 4 KiB.
    Scmfs,
    /// Nothing is durable when a call returns; pages of 2 MiB.
    ScmfsHuge,
    /// Changes of metadata are durable when a call returns; pages of 4 KiB.
    ScmfsMetadata,
    /// Mounted by FUSE; pages of 2 MiB.
    ScmfsFuse,
    Tmpfs,
    Ramfs,
    /// On a loop device over tmpfs with huge pages, which takes the place of the RAM disk and its pages of 2 MiB.
    Ext2,
}

impl System {
    const fn name(self) -> &'static str {
        match self {
            Self::Scmfs => "SCMFS",
            Self::ScmfsHuge => "SCMFS with 2 MiB pages",
            Self::ScmfsMetadata => "SCMFS with consistency",
            Self::ScmfsFuse => "SCMFS by FUSE",
            Self::Tmpfs => "tmpfs",
            Self::Ramfs => "ramfs",
            Self::Ext2 => "ext2",
        }
    }

    /// The place among those of `esker_fs_bench::Peers`.
    const fn peer(self) -> &'static str {
        match self {
            Self::Scmfs | Self::ScmfsMetadata => "SCMFS, 4 KiB pages",
            Self::ScmfsHuge => "SCMFS, 2 MiB pages",
            Self::ScmfsFuse | Self::Tmpfs | Self::Ramfs | Self::Ext2 => self.name(),
        }
    }
}

/// One of the rates of a run (`esker_fs_bench::Rates`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// IOzone's write: the file is new.
    FirstWrite,
    /// IOzone's rewrite, or random write.
    Write,
    /// IOzone's read, or random read.
    Read,
    /// Postmark's transactions.
    Transactions,
}

impl Part {
    const fn index(self) -> usize {
        match self {
            Self::FirstWrite | Self::Transactions => 0,
            Self::Write => 1,
            Self::Read => 2,
        }
    }
}

/// How much is done.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// The file of one thread in figures 25 to 27.
    file: Bytes,
    /// The file of each thread in figures 28 and 29.
    thread_file: Bytes,
    postmark_files: u64,
    postmark_transactions: u64,
    runs: u32,
    /// Each file system and each pool.
    pool: Bytes,
}

impl Size {
    /// The paper's Postmark. Its files of IOzone are "large"; ours of the threads are larger than most caches.
    const FULL: Self = Self {
        file: Bytes(64 << 20),
        thread_file: Bytes(128 << 20),
        postmark_files: 10_000,
        postmark_transactions: 400_000,
        runs: 3,
        pool: Bytes(1 << 30),
    };
}

/// What is run.
enum Job {
    /// A workload in places that take turns.
    Work(&'static [System], Work),
    /// Copies out of memory without any file system, by as many threads: bytes of each thread, of a piece.
    Memory(usize, Bytes, Bytes),
}

/// What an item runs and claims.
struct Plan {
    item: &'static str,
    jobs: fn(&Size) -> Vec<Job>,
    claims: fn(&Size) -> Vec<Stated>,
    figures: fn(&Size, &Found) -> Vec<Figure>,
}

static PLANS: [Plan; 8] = [
    iozone::FIGURE_25A,
    iozone::FIGURE_25B,
    iozone::FIGURE_26A,
    iozone::FIGURE_26B,
    iozone::FIGURE_27,
    threads::FIGURE_28,
    mapped::FIGURE_29,
    postmark::FIGURE_30,
];

const fn item(
    name: &'static str,
    title: &'static str,
    source: &'static str,
    sections: &'static [&'static str],
) -> Item {
    Item { name, title, source, sections, run }
}

macro_rules! iozone_source {
    ($figure:literal) => {
        concat!("Wu, dissertation, Texas A&M University, 2011, section IV.C.2 (4.3.2), figure ", $figure)
    };
}

pub(in crate::items) const FIGURE_25A: Item =
    item("wu/figure-25a", "IOzone: reads in order", iozone_source!("25(a)"), &["4.3.2"]);
pub(in crate::items) const FIGURE_25B: Item =
    item("wu/figure-25b", "IOzone: writes in order", iozone_source!("25(b)"), &["4.3.2"]);
pub(in crate::items) const FIGURE_26A: Item =
    item("wu/figure-26a", "IOzone: random reads", iozone_source!("26(a)"), &["4.3.2"]);
pub(in crate::items) const FIGURE_26B: Item =
    item("wu/figure-26b", "IOzone: random writes", iozone_source!("26(b)"), &["4.3.2"]);
pub(in crate::items) const FIGURE_27: Item =
    item("wu/figure-27", "IOzone: writes with small and large pages", iozone_source!("27"), &["4.3.2"]);
pub(in crate::items) const FIGURE_28: Item =
    item("wu/figure-28", "IOzone with one and two threads", iozone_source!("28"), &["4.3.2"]);
pub(in crate::items) const FIGURE_29: Item =
    item("wu/figure-29", "IOzone with mapped files", iozone_source!("29"), &["4.3.2"]);
pub(in crate::items) const FIGURE_30: Item = item(
    "wu/figure-30",
    "Postmark",
    "Wu, dissertation, Texas A&M University, 2011, section IV.C.3 (4.3.3), figure 30",
    &["4.3.3"],
);

/// The claims of an item that measures this machine, as they are stated before it runs. None of a simulated item.
pub(crate) fn stated(item: &Item) -> Option<Vec<StatedClaim>> {
    Some((plan(item)?.claims)(&Size::FULL).iter().map(Stated::in_words).collect())
}

fn plan(item: &Item) -> Option<&'static Plan> {
    PLANS.iter().find(|plan| plan.item == item.name)
}

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure_here(item, &Size::FULL, context)
}

/// Mounts the file systems, measures them, and takes them away.
fn measure_here(item: &Item, size: &Size, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let plan = plan(item).expect("each item has a plan");
    let settings = PeerSettings { size: size.pool, pool: size.pool, mode: Mode::None };
    let found = with_peers(&settings, |peers| {
        let here = Here { peers, runs: size.runs, cancel: context.cancel };
        measure(plan, size, &here, context.progress)
    })?;
    Ok(outcome(item, plan, size, &found))
}

fn measure(
    plan: &Plan,
    size: &Size,
    bench: &dyn Bench,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Found, ReproduceError> {
    let jobs = (plan.jobs)(size);
    let mut found = Found::default();
    for (done, job) in jobs.iter().enumerate() {
        progress(done as f64 / jobs.len() as f64);
        match job {
            Job::Work(systems, work) => found.add(systems, work, bench.rates(systems, work)?),
            &Job::Memory(threads, bytes, piece) => found.add_memory(threads, bench.memory(threads, bytes, piece)?),
        }
    }
    Ok(found)
}

fn outcome(item: &Item, plan: &Plan, size: &Size, found: &Found) -> ItemOutcome {
    let claims: Vec<Claim> = (plan.claims)(size).iter().map(|stated| stated.judged(item.name, found)).collect();
    ItemOutcome { claims, figures: (plan.figures)(size, found) }
}

/// A transfer of IOzone.
const fn transfer(file: Bytes, record_kib: u64, pattern: Pattern, threads: usize) -> Transfer {
    Transfer { file, record: Bytes(record_kib << 10), pattern, threads, is_durable: false }
}
