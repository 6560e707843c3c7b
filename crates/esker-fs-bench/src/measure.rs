//! Workloads run in places that take turns.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use esker_core::Nanos;
use esker_results::fs_bench::{FsPattern, FsPostmarkRates, FsRate, FsTransferRates};
use esker_scm::bench::{Clock, FolderTarget, Pattern, Postmark, Target, Transfer, postmark, transfer};

use crate::fio::fio;
use crate::place::library;
use crate::stoppable::Stoppable;
use crate::{BenchError, FioEngine, Place, Way};

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A file for each thread, written and read.
    Transfer(Transfer),
    /// A file for each thread, by the program fio, which can map it. The files are there before: the rate of first
    /// writes is that of writes.
    Fio(Transfer, FioEngine),
    /// Many small files.
    Postmark(Postmark),
}

/// Rates of one run: bytes per second of first writes, writes and reads; or transactions, files made, and bytes per
/// second.
pub type Rates = [f64; 3];

/// What the runs in a place gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Rates of a transfer, our own or fio's.
    Transfer(FsTransferRates),
    /// Rates of Postmark.
    Postmark(FsPostmarkRates),
}

impl Measured {
    /// The median rates.
    pub fn medians(&self) -> Rates {
        match self {
            Self::Transfer(rates) => {
                [rates.first_write_bytes_per_s, rates.write_bytes_per_s, rates.read_bytes_per_s].map(|rate| rate.median)
            }
            Self::Postmark(rates) => {
                [rates.transactions_per_s, rates.made_files_per_s, rates.bytes_per_s].map(|rate| rate.median)
            }
        }
    }
}

/// Runs a workload `runs` times in each place. Places take turns, so that what else the machine does disturbs all of
/// them alike; one that fails is left out from then on.
///
/// # Errors
/// The user stopped it. Why a place failed is in the results.
pub fn measure(
    places: &[Place],
    work: &Work,
    runs: u32,
    stop: &AtomicBool,
) -> Result<Vec<Result<Measured, BenchError>>, BenchError> {
    let mut all: Vec<Result<Vec<Rates>, BenchError>> = places.iter().map(|_| Ok(Vec::new())).collect();
    for _ in 0..runs.max(1) {
        for (place, found) in places.iter().zip(&mut all) {
            let Ok(rates) = found else { continue };
            match perform(place, work, stop) {
                Ok(one) => rates.push(one),
                Err(BenchError::Stopped) => return Err(BenchError::Stopped),
                Err(error) => *found = Err(error),
            }
        }
    }
    Ok(places.iter().zip(all).map(|(place, found)| found.map(|rates| summary(place, work, &rates))).collect())
}

fn summary(place: &Place, work: &Work, runs: &[Rates]) -> Measured {
    let rate = |which: usize| FsRate::of(runs.iter().map(|rates| rates[which]).collect());
    let name = place.name.clone();
    match work {
        Work::Transfer(what) | Work::Fio(what, _) => Measured::Transfer(FsTransferRates {
            place: name,
            pattern: match what.pattern {
                Pattern::Sequential => FsPattern::Sequential,
                Pattern::Random => FsPattern::Random,
            },
            record_bytes: what.record.0,
            file_bytes: what.records() * what.record.0,
            threads: what.threads as u64,
            durable: what.is_durable || place.way == Way::SyncedFolder,
            first_write_bytes_per_s: rate(0),
            write_bytes_per_s: rate(1),
            read_bytes_per_s: rate(2),
        }),
        Work::Postmark(what) => Measured::Postmark(FsPostmarkRates {
            place: name,
            reads_of_ten: what.reads_of_ten,
            files: what.files,
            transactions: what.transactions,
            transactions_per_s: rate(0),
            made_files_per_s: rate(1),
            bytes_per_s: rate(2),
        }),
    }
}

/// Runs a workload once in a place, and removes what it made.
///
/// # Errors
/// The place fails, or the user stopped it.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub fn perform(place: &Place, work: &Work, stop: &AtomicBool) -> Result<Rates, BenchError> {
    let begun = Instant::now();
    let clock = || Nanos(begun.elapsed().as_nanos() as u64);
    let syncs = place.way == Way::SyncedFolder;
    match (place.way, work) {
        (_, Work::Fio(what, engine)) => {
            let (write, read) = place.in_folder(|folder| fio(folder, what, *engine, stop))?;
            Ok([write, write, read])
        }
        (Way::Library { mode, pool }, _) => {
            let folder = place.fresh_folder()?;
            run(&Stoppable { target: library(folder.path(), mode, pool)?, stop, syncs }, work, &clock)
        }
        _ => place.in_folder(|folder| {
            run(&Stoppable { target: FolderTarget::new(folder.into()), stop, syncs }, work, &clock)
        }),
    }
}

fn run<T: Target>(target: &T, work: &Work, clock: Clock<'_>) -> Result<Rates, BenchError> {
    let per_second = |amount: u64, took: Nanos| amount as f64 * 1e9 / took.0.max(1) as f64;
    match work {
        Work::Fio(..) => Err(BenchError::Missing("fio runs in folders".into())),
        Work::Transfer(what) => {
            let times = transfer(target, what, clock)?;
            Ok([times.first_write, times.write, times.read].map(|took| per_second(what.bytes().0, took)))
        }
        Work::Postmark(what) => {
            let rates = postmark(target, what, clock)?;
            // The files at the beginning are no part of the transactions.
            let bytes = rates.bytes_read + rates.bytes_written - rates.bytes_made;
            let transactions = per_second(what.transactions, rates.transactions);
            Ok([transactions, per_second(what.files, rates.making), per_second(bytes, rates.transactions)])
        }
    }
}

/// Programs that ran or waited for a disk in the last minute, on average.
pub fn load_average() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
