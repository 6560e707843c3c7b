//! Reads and writes of a file for each thread, one record after the other: the patterns of IOzone that figures 25 to 28
//! of Wu use.

use super::target::{Target, TargetError};
use super::{Clock, on_threads};
use esker_core::{Bytes, Nanos, Rng};

/// The order of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// One behind the other, from the beginning.
    Sequential,
    /// Each record once, in random order.
    Random,
}

/// What is transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes of the file of each thread.
    pub file: Bytes,
    /// Bytes of a record.
    pub record: Bytes,
    /// The order of records.
    pub pattern: Pattern,
    /// Threads, each with a file of its own.
    pub threads: usize,
    /// Whether each written record is made durable before the next one.
    pub is_durable: bool,
}

/// Writes each file, then reads it, and removes it: times of the writes and of the reads. Files are written once
/// before, so that the writes that are timed overwrite.
///
/// # Errors
/// The target fails, or is too small.
pub fn transfer<T: Target>(target: &T, what: &Transfer, clock: Clock<'_>) -> Result<(Nanos, Nanos), TargetError> {
    target.make_directory(0)?;
    let files: Vec<T::File> =
        (0..what.threads as u64).map(|thread| target.create(0, thread)).collect::<Result<_, _>>()?;
    let record = what.record.0;
    let records = (what.file.0 / record).max(1);
    let orders: Vec<Vec<u64>> = (0..what.threads as u64).map(|thread| order(what.pattern, records, thread)).collect();
    let bytes = vec![0x5a; record as usize];
    for file in &files {
        (0..records).try_for_each(|at| target.write(file, at * record, &bytes))?;
    }
    let written = on_threads(what.threads, clock, |thread| {
        orders[thread].iter().try_for_each(|at| {
            target.write(&files[thread], at * record, &bytes)?;
            if what.is_durable { target.sync(&files[thread]) } else { Ok(()) }
        })
    })?;
    let read = on_threads(what.threads, clock, |thread| {
        let mut buffer = vec![0; record as usize];
        orders[thread].iter().try_for_each(|at| target.read(&files[thread], at * record, &mut buffer).map(drop))
    })?;
    files.into_iter().try_for_each(|file| target.close(file))?;
    (0..what.threads as u64).try_for_each(|thread| target.unlink(0, thread))?;
    target.remove_directory(0)?;
    Ok((written, read))
}

fn order(pattern: Pattern, records: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..records).collect();
    if pattern == Pattern::Random {
        let mut rng = Rng::new(seed);
        (1..order.len()).for_each(|at| order.swap(at, rng.below(at as u64 + 1) as usize));
    }
    order
}
