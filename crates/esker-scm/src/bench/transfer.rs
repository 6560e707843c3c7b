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

/// How long the parts of a transfer took, until the last thread was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferTimes {
    /// Writing new files, in order: what IOzone calls write.
    pub first_write: Nanos,
    /// Writing them again in the pattern's order: rewrite, or random write.
    pub write: Nanos,
    /// Reading them in the same order: read, or random read.
    pub read: Nanos,
}

impl Transfer {
    /// Records of each file.
    pub fn records(&self) -> u64 {
        (self.file.0 / self.record.0).max(1)
    }

    /// Bytes that each part of the transfer moves, of all threads.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.records() * self.record.0 * self.threads as u64)
    }
}

/// Makes a file for each thread, writes it, writes it again, reads it, and removes it.
///
/// # Errors
/// The target fails, or is too small.
pub fn transfer<T: Target>(target: &T, what: &Transfer, clock: Clock<'_>) -> Result<TransferTimes, TargetError> {
    target.make_directory(0)?;
    let files: Vec<T::File> =
        (0..what.threads as u64).map(|thread| target.create(0, thread)).collect::<Result<_, _>>()?;
    let record = what.record.0;
    let orders: Vec<Vec<u64>> =
        (0..what.threads as u64).map(|thread| order(what.pattern, what.records(), thread)).collect();
    let bytes = vec![0x5a; record as usize];
    let write = |thread: usize, at: u64| {
        target.write(&files[thread], at * record, &bytes)?;
        if what.is_durable { target.sync(&files[thread]) } else { Ok(()) }
    };
    let first_write =
        on_threads(what.threads, clock, |thread| (0..what.records()).try_for_each(|at| write(thread, at)))?;
    let rewritten =
        on_threads(what.threads, clock, |thread| orders[thread].iter().try_for_each(|&at| write(thread, at)))?;
    let read = on_threads(what.threads, clock, |thread| {
        let mut buffer = vec![0; record as usize];
        orders[thread].iter().try_for_each(|at| target.read(&files[thread], at * record, &mut buffer).map(drop))
    })?;
    files.into_iter().try_for_each(|file| target.close(file))?;
    (0..what.threads as u64).try_for_each(|thread| target.unlink(0, thread))?;
    target.remove_directory(0)?;
    Ok(TransferTimes { first_write, write: rewritten, read })
}

fn order(pattern: Pattern, records: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..records).collect();
    if pattern == Pattern::Random {
        let mut rng = Rng::new(seed);
        (1..order.len()).for_each(|at| order.swap(at, rng.below(at as u64 + 1) as usize));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::super::target::LibraryTarget;
    use super::*;
    use crate::log::Mode;
    use crate::moment::Moment;
    use crate::persist::Recording;
    use crate::system::{Caller, FileSystem, mkfs};
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn each_part_of_a_transfer_is_timed_and_nothing_is_left() {
        // Miri takes its time.
        let (bytes, file) = if cfg!(miri) { (1 << 20, 64 << 10) } else { (16 << 20, 256 << 10) };
        let pool = Recording::without_crashes(vec![0; bytes]);
        mkfs(&pool, [1; 16], &Caller::root(Moment(1))).unwrap();
        let target = LibraryTarget::new(FileSystem::mount(pool, Mode::None).unwrap());
        let ticks = AtomicU64::new(0);
        let clock = || Nanos(ticks.fetch_add(1, Ordering::SeqCst));
        for pattern in [Pattern::Sequential, Pattern::Random] {
            let what = Transfer { file: Bytes(file), record: Bytes(4096), pattern, threads: 1, is_durable: true };
            let times = transfer(&target, &what, &clock).unwrap();
            assert_eq!(what.bytes(), Bytes(file));
            // The clock is read twice for each part.
            let one = Nanos(1);
            assert_eq!(times, TransferTimes { first_write: one, write: one, read: one });
        }
        assert_eq!(target.into_system().statistics().unwrap().inodes, 1);
    }

    #[test]
    fn a_random_order_has_each_record_once_and_is_the_same_each_time() {
        let drawn = order(Pattern::Random, 1000, 3);
        assert_eq!(drawn, order(Pattern::Random, 1000, 3));
        assert_ne!(drawn, order(Pattern::Random, 1000, 4));
        let mut sorted = drawn.clone();
        sorted.sort_unstable();
        assert!(sorted == order(Pattern::Sequential, 1000, 3) && sorted != drawn);
    }
}
