//! Postmark, in the paper's sizes (Wu, figure 30), through the library in each mode and on tmpfs: transactions per
//! second. Works in `/dev/shm`, unless `ESKER_BENCH_FOLDER` names another folder.

use esker_core::Nanos;
use esker_scm::bench::{FolderTarget, LibraryTarget, Postmark, PostmarkRates, postmark};
use esker_scm::{Caller, FileSystem, Mapped, Mode, Moment, mkfs};
use std::path::Path;
use std::time::Instant;

fn is_smoke() -> bool {
    std::env::var_os("ESKER_BENCH_SMOKE").is_some()
}

/// Transactions per second in one run on tmpfs, or in a pool.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn run(folder: &Path, mode: Option<Mode>, what: &Postmark) -> f64 {
    let begun = Instant::now();
    let clock = || Nanos(begun.elapsed().as_nanos() as u64);
    let rates: PostmarkRates = match mode {
        None => postmark(&FolderTarget::new(folder.into()), what, &clock).expect("room"),
        Some(mode) => {
            let path = folder.join("pool");
            let pool = Mapped::create(&path, if is_smoke() { 32 << 20 } else { 2 << 30 }).expect("a pool");
            mkfs(&pool, [1; 16], &Caller::root(Moment(1))).expect("a pool");
            let target = LibraryTarget::new(FileSystem::mount(pool, mode).expect("a sound pool"));
            let rates = postmark(&target, what, &clock).expect("room");
            target.into_system().unmount().expect("memory");
            std::fs::remove_file(path).expect("the pool");
            rates
        }
    };
    what.transactions as f64 / rates.transactions.as_secs_f64()
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let folder = std::env::var_os("ESKER_BENCH_FOLDER").unwrap_or_else(|| "/dev/shm".into());
    let folder = tempfile::tempdir_in(folder).expect("a temporary folder");
    let ways = [
        ("tmpfs", None),
        ("library, mode none", Some(Mode::None)),
        ("library, mode metadata", Some(Mode::Metadata)),
        ("library, mode data", Some(Mode::Data)),
    ];
    let runs = if is_smoke() { 1 } else { 5 };
    for (name, what) in [("read-intensive", Postmark::READ_INTENSIVE), ("write-intensive", Postmark::WRITE_INTENSIVE)] {
        let what = if is_smoke() { Postmark { files: 200, transactions: 1000, ..what } } else { what };
        let mut rates = [const { Vec::new() }; 4];
        for _ in 0..runs {
            for ((_, mode), rates) in ways.iter().zip(&mut rates) {
                rates.push(run(folder.path(), *mode, &what));
            }
        }
        for ((way, _), mut rates) in ways.iter().zip(rates) {
            rates.sort_by(f64::total_cmp);
            println!("{name:15} {way:22} {:9.0} transactions per second", rates[runs / 2]);
        }
    }
}
