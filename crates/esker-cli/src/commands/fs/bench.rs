//! `esker fs bench`.

use std::path::Path;
use std::process::ExitCode;

use esker_core::{Bytes, words};
use esker_fs_bench::{
    BenchError, Measured, Pattern, PeerSettings, Place, Postmark, Transfer, Way, Work, load_average, measure,
    with_peers,
};
use esker_results::fs_bench::{
    FS_BENCH_SCHEMA, FsBenchPlace, FsBenchResults, FsPattern, FsPostmarkRates, FsTransferRates,
};

use super::mount::mode;
use super::unmappable;
use crate::args::{FsBenchArguments, FsWork};
use crate::cancel;
use crate::commands::study::quote;
use crate::failure::Failure;
use crate::output::{self, Outputs, json};
use crate::table::Table;

/// Runs the workloads in each place in turn, and prints medians.
pub(super) fn run(arguments: &FsBenchArguments) -> Result<ExitCode, Failure> {
    let mut outputs = Outputs::new(arguments.json.force, &[])?;
    let json = outputs.json(&arguments.json, &json::FS_BENCH)?;
    let own = own_places(arguments);
    if own.is_empty() && !arguments.peers {
        return Err(Failure::input("no folder to work in").with_hint("give one, or --library FOLDER, or --peers"));
    }
    // Each place looks whether it should stop, and removes what it made.
    cancel::ends_by_itself(|| ());
    let results = if arguments.peers {
        let (pool, mode) = (arguments.pool, mode(arguments.mode));
        with_peers(&PeerSettings { size: pool, pool, mode }, |peers| results(arguments, &own, peers.all()))?
    } else {
        results(arguments, &own, &[])?
    };
    if cancel::ends_as_usual() {
        return Err(Failure::cancelled());
    }
    match json {
        Some(json) => json.write_json(&results)?,
        None => output::print(&render(&results))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn own_places(arguments: &FsBenchArguments) -> Vec<Place> {
    let shown = |folder: &Path| folder.display().to_string();
    let library = Way::Library { mode: mode(arguments.mode), pool: arguments.pool };
    let folders = arguments.folders.iter().map(|folder| Place::new(shown(folder), folder, Way::Folder));
    let libraries = arguments.library.iter().map(|folder| {
        let name = format!("library in {}", folder.display());
        Place::new(name, folder, library)
    });
    folders.chain(libraries).collect()
}

/// Measures. The user's own places have to work; a peer that does not is listed with the reason.
fn results(
    arguments: &FsBenchArguments,
    own: &[Place],
    peers: &[(Place, Option<String>)],
) -> Result<FsBenchResults, Failure> {
    let mut places: Vec<(Place, Option<String>)> = own.iter().map(|place| (place.clone(), None)).collect();
    places.extend_from_slice(peers);
    let mut results = FsBenchResults {
        schema: FS_BENCH_SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: command_line(arguments),
        runs: arguments.runs,
        processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
        load_average: load_average(),
        places: Vec::new(),
        transfers: Vec::new(),
        postmarks: Vec::new(),
    };
    for work in works(arguments) {
        let reached: Vec<Place> =
            places.iter().filter(|(_, reason)| reason.is_none()).map(|(place, _)| place.clone()).collect();
        for (place, found) in reached.iter().zip(
            measure(&reached, &work, arguments.runs, cancel::flag()).map_err(|error| refused(Path::new(""), &error))?,
        ) {
            match found {
                Ok(Measured::Transfer(rates)) => results.transfers.push(rates),
                Ok(Measured::Postmark(rates)) => results.postmarks.push(rates),
                Err(error) if own.contains(place) => return Err(refused(&place.folder, &error)),
                Err(error) => {
                    let broken = places.iter_mut().find(|(other, _)| other == place).expect("it was reached");
                    broken.1 = Some(error.to_string());
                }
            }
        }
    }
    results.places = places.into_iter().map(|(place, reason)| place.described(reason)).collect();
    Ok(results)
}

/// Everything that is asked for, in the order of the tables.
fn works(arguments: &FsBenchArguments) -> Vec<Work> {
    let mut works = Vec::new();
    for work in &arguments.work {
        match work {
            FsWork::Transfer => works.extend(transfers(arguments)),
            FsWork::Postmark => works.extend([Postmark::READ_INTENSIVE, Postmark::WRITE_INTENSIVE].map(|what| {
                Work::Postmark(Postmark { transactions: arguments.transactions, files: arguments.files, ..what })
            })),
        }
    }
    works
}

fn transfers(arguments: &FsBenchArguments) -> Vec<Work> {
    let mut works = Vec::new();
    for threads in arguments.threads.iter().map(|threads| threads.get()) {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            for &file in &arguments.file {
                works.extend(arguments.record.iter().map(|&record| {
                    Work::Transfer(Transfer { file, record, pattern, threads, is_durable: arguments.durable })
                }));
            }
        }
    }
    works
}

/// Why one of the user's places does not work.
fn refused(folder: &Path, error: &BenchError) -> Failure {
    match error {
        BenchError::Stopped => Failure::cancelled(),
        BenchError::Map(error) => unmappable(error),
        BenchError::Folder { .. } => Failure::input(error).with_hint("give a folder in which you may make files"),
        BenchError::Target(_) => Failure::work(format!("{}: {error}", folder.display()))
            .with_hint("give it more room, or a smaller --file or --files"),
        _ => Failure::input(format!("{}: {error}", folder.display())),
    }
}

/// The command that repeats it, without options that only name outputs.
fn command_line(arguments: &FsBenchArguments) -> String {
    let FsBenchArguments { runs, files, transactions, pool, .. } = arguments;
    let list = |values: &[Bytes]| values.iter().map(|value| format!("{}B", value.0)).collect::<Vec<_>>().join(",");
    let threads: Vec<String> = arguments.threads.iter().map(ToString::to_string).collect();
    let works = arguments.work.iter().map(|work| if *work == FsWork::Transfer { "transfer" } else { "postmark" });
    let mut line = "esker fs bench".to_string();
    arguments.folders.iter().for_each(|folder| line += &format!(" {}", quote(&folder.display().to_string())));
    for folder in &arguments.library {
        line += &format!(" --library {}", quote(&folder.display().to_string()));
    }
    line += if arguments.peers { " --peers" } else { "" };
    line += if arguments.durable { " --durable" } else { "" };
    line += &format!(" --work {}", works.collect::<Vec<_>>().join(","));
    line += &format!(" --mode {}", format!("{:?}", arguments.mode).to_lowercase());
    line += &format!(" --record {} --file {}", list(&arguments.record), list(&arguments.file));
    line += &format!(" --threads {} --files {files} --transactions {transactions}", threads.join(","));
    line + &format!(" --runs {runs} --pool {}B", pool.0)
}

fn render(results: &FsBenchResults) -> String {
    let reached: Vec<&FsBenchPlace> = results.places.iter().filter(|place| place.unreachable.is_none()).collect();
    let headers = |first: &'static str| -> Vec<&str> {
        std::iter::once(first).chain(reached.iter().map(|place| place.name.as_str())).collect()
    };
    let mut text = String::new();
    if !results.transfers.is_empty() {
        let mut table = Table::new(&headers("GB/s"));
        for (at, same) in alike(&results.transfers, |one| (one.pattern, one.record_bytes, one.file_bytes, one.threads))
        {
            transfer_rows(&mut table, at, &cells(&reached, &same, |rates| &rates.place));
        }
        text += &table.render();
    }
    if !results.postmarks.is_empty() {
        let mut table = Table::new(&headers("Postmark, transactions per second"));
        for (at, same) in alike(&results.postmarks, |one| one.reads_of_ten) {
            let name = if at.reads_of_ten > 5 { "reads most" } else { "writes most" };
            let found = cells(&reached, &same, |rates: &FsPostmarkRates| &rates.place);
            let shown = found.iter().map(|rates| {
                rates.map_or("-".into(), |rates| words::count(rates.transactions_per_s.median.round() as u64))
            });
            table.row(std::iter::once(name.to_string()).chain(shown));
        }
        text += &table.render();
    }
    for place in &results.places {
        if let Some(reason) = &place.unreachable {
            text += &format!("{}: unreachable: {reason}\n", place.name);
        }
    }
    text
}

/// Neighbours of which `key` is the same, with the first of them.
fn alike<T, K: PartialEq>(all: &[T], key: impl Fn(&T) -> K) -> Vec<(&T, Vec<&T>)> {
    all.chunk_by(|one, next| key(one) == key(next)).map(|same| (&same[0], same.iter().collect())).collect()
}

/// The rates of each place; none of one that failed meanwhile.
fn cells<'a, T>(places: &[&FsBenchPlace], rates: &[&'a T], place: impl Fn(&T) -> &String) -> Vec<Option<&'a T>> {
    places.iter().map(|wanted| rates.iter().find(|one| *place(one) == wanted.name).copied()).collect()
}

fn transfer_rows(table: &mut Table, at: &FsTransferRates, found: &[Option<&FsTransferRates>]) {
    let order = if at.pattern == FsPattern::Random { "random" } else { "in order" };
    let threads = if at.threads == 1 { "1 thread".to_string() } else { format!("{} threads", at.threads) };
    let of = format!("{}, {threads}", Bytes(at.record_bytes));
    let mut row = |name: String, rate: &dyn Fn(&FsTransferRates) -> f64| {
        let shown = found.iter().map(|rates| rates.map_or("-".into(), |rates| format!("{:.2}", rate(rates) / 1e9)));
        table.row(std::iter::once(name).chain(shown));
    };
    if at.pattern == FsPattern::Sequential {
        row(format!("first write, {of}"), &|rates| rates.first_write_bytes_per_s.median);
    }
    row(format!("write {order}, {of}"), &|rates| rates.write_bytes_per_s.median);
    row(format!("read {order}, {of}"), &|rates| rates.read_bytes_per_s.median);
}
