//! `esker fs bench`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use esker_core::{Nanos, words};
use esker_scm::bench::{
    Clock, FolderTarget, LibraryTarget, Pattern, Postmark, Target, TargetError, Transfer, postmark, transfer,
};
use esker_scm::{Caller, FileSystem, Mapped, mkfs};

use super::mount::mode;
use super::{now, unmappable};
use crate::args::{FsBenchArguments, FsWork};
use crate::failure::Failure;
use crate::output;
use crate::table::Table;

/// Where the workloads run: a folder, or a pool in it that exists as long as they run.
struct Place<'a> {
    name: String,
    folder: &'a Path,
    is_library: bool,
}

impl<'a> Place<'a> {
    fn new(folder: &'a Path, is_library: bool) -> Place<'a> {
        let shown = folder.display();
        let name = if is_library { format!("library in {shown}") } else { shown.to_string() };
        Place { name, folder, is_library }
    }
}

/// What one run measures: two rates.
type Rates = [f64; 2];

/// Runs the workloads in each place in turn, and prints medians.
pub(super) fn run(arguments: &FsBenchArguments) -> Result<ExitCode, Failure> {
    let folders = arguments.folders.iter().map(|folder| Place::new(folder, false));
    let places: Vec<Place<'_>> =
        folders.chain(arguments.library.iter().map(|folder| Place::new(folder, true))).collect();
    if places.is_empty() {
        return Err(Failure::input("no folder to work in").with_hint("give one, or --library FOLDER"));
    }
    for work in &arguments.work {
        match work {
            FsWork::Transfer => transfers(arguments, &places)?,
            FsWork::Postmark => postmarks(arguments, &places)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn headers<'a>(first: &'a str, places: &'a [Place<'_>]) -> Vec<&'a str> {
    std::iter::once(first).chain(places.iter().map(|place| place.name.as_str())).collect()
}

fn transfers(arguments: &FsBenchArguments, places: &[Place<'_>]) -> Result<(), Failure> {
    let mut table = Table::new(&headers("GB/s", places));
    for threads in arguments.threads.iter().map(|threads| threads.get()) {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            for &record in &arguments.record {
                let is_durable = arguments.durable;
                let what = Transfer { file: arguments.file, record, pattern, threads, is_durable };
                let total = (arguments.file.0 / record.0).max(1) * record.0 * threads as u64;
                let rate = |took: Nanos| total as f64 / took.0.max(1) as f64;
                let rates =
                    medians(arguments, places, &Workload::Transfer(what), &|one, other| [rate(one), rate(other)])?;
                for (which, verb) in ["write", "read"].into_iter().enumerate() {
                    let order = if pattern == Pattern::Random { "random" } else { "in order" };
                    let name = format!(
                        "{verb} {order}, {}, {}",
                        record,
                        if threads == 1 { "1 thread".to_string() } else { format!("{threads} threads") }
                    );
                    table.row(std::iter::once(name).chain(rates.iter().map(|rates| format!("{:.2}", rates[which]))));
                }
            }
        }
    }
    output::print(&table.render())
}

fn postmarks(arguments: &FsBenchArguments, places: &[Place<'_>]) -> Result<(), Failure> {
    let mut table = Table::new(&headers("Postmark, transactions per second", places));
    for (name, what) in [("reads most", Postmark::READ_INTENSIVE), ("writes most", Postmark::WRITE_INTENSIVE)] {
        let what = Postmark { transactions: arguments.transactions, files: arguments.files, ..what };
        let rate = |took: Nanos| what.transactions as f64 / took.as_secs_f64();
        let rates = medians(arguments, places, &Workload::Postmark(what), &|one, _| [rate(one), 0.0])?;
        let cells = rates.iter().map(|rates| words::count(rates[0].round() as u64));
        table.row(std::iter::once(name.to_string()).chain(cells));
    }
    output::print(&table.render())
}

enum Workload {
    Transfer(Transfer),
    Postmark(Postmark),
}

/// The medians of the runs, for each place. Places take turns.
fn medians(
    arguments: &FsBenchArguments,
    places: &[Place<'_>],
    what: &Workload,
    rates_of: &dyn Fn(Nanos, Nanos) -> Rates,
) -> Result<Vec<Rates>, Failure> {
    let mut all: Vec<Vec<Rates>> = places.iter().map(|_| Vec::new()).collect();
    for _ in 0..arguments.runs {
        for (place, rates) in places.iter().zip(&mut all) {
            let (one, other) = measure(arguments, place, what)?;
            rates.push(rates_of(one, other));
        }
    }
    let median = |rates: &Vec<Rates>, which: usize| {
        let mut values: Vec<f64> = rates.iter().map(|rates| rates[which]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Ok(all.iter().map(|rates| [median(rates, 0), median(rates, 1)]).collect())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn measure(arguments: &FsBenchArguments, place: &Place<'_>, what: &Workload) -> Result<(Nanos, Nanos), Failure> {
    let begun = Instant::now();
    let clock = || Nanos(begun.elapsed().as_nanos() as u64);
    let shown = place.folder.display();
    let folder = tempfile::Builder::new().prefix("esker-fs-bench-").tempdir_in(place.folder).map_err(|error| {
        Failure::input(format!("{shown}: {error}")).with_hint("give a folder in which you may make files")
    })?;
    let failed = |error: TargetError| {
        Failure::work(format!("{shown}: {error}")).with_hint("give it more room, or a smaller --file or --files")
    };
    if !place.is_library {
        return perform(&FolderTarget::new(folder.path().into()), what, &clock).map_err(failed);
    }
    let path = folder.path().join("pool");
    let pool = Mapped::create(&path, arguments.pool.0).map_err(|error| unmappable(&error))?;
    let owner = Caller::root(now());
    mkfs(&pool, [0; 16], &owner).map_err(|error| Failure::input(format!("{shown}: {error}")))?;
    let system =
        FileSystem::mount(pool, mode(arguments.mode)).map_err(|error| Failure::work(format!("{shown}: {error}")))?;
    perform(&LibraryTarget::new(system), what, &clock).map_err(failed)
}

fn perform<T: Target>(target: &T, what: &Workload, clock: Clock<'_>) -> Result<(Nanos, Nanos), TargetError> {
    match what {
        Workload::Transfer(what) => transfer(target, what, clock),
        Workload::Postmark(what) => postmark(target, what, clock).map(|rates| (rates.transactions, rates.making)),
    }
}
