//! The redo log: all stores to metadata are made by transactions, whole or not at all.
//!
//! A transaction is written to one half of the log, a fence makes it durable, and its stores are made in place and
//! written back. They are durable after the next transaction's fence, which uses the other half. So a crash needs the
//! last two transactions again, in their order; and those two are in the log. One fence for a transaction is all that
//! it costs; one more if it makes something visible that was stored outside the log, which has to be durable first.
//!
//! Data are stored outside transactions, into pages that no transaction in the log touches: a page that is freed is
//! used for data only after the transaction that freed it, and seen by others only after a further one that maps it,
//! which replaces the last but one in the log.
//!
//! | bytes of a half | field |
//! |---|---|
//! | 0-3 | checksum |
//! | 4-7 | magic number |
//! | 8-15 | sequence number, from 1 on; the half is its remainder by 2 |
//! | 16-23 | bytes, with these 32 |
//! | 32- | stores: address, length (eight bytes each), bytes, padding to a multiple of eight |

mod transaction;

pub(crate) use transaction::{Transaction, store_bytes};

use crate::layout::{Geometry, number32, number64, seal};
use crate::persist::{Persist, PersistError};
use std::thread::ThreadId;

/// Bytes before the first store.
const HEADER: usize = 32;
const MAGIC: u32 = 0x4c_4d_43_53;

/// How much is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Nothing before the pool is unmounted: files survive the end of the process, not a loss of power.
    None,
    /// Metadata are durable when a call returns; data after fsync, and within the period of the cleaner.
    #[default]
    Metadata,
    /// Data, too, are durable when a call returns.
    Data,
}

/// The log of a mounted pool.
#[derive(Debug)]
pub(crate) struct Log {
    sequence: u64,
    mode: Mode,
    /// Ranges that the last transaction stored to, and the thread that wrote them back.
    last: Vec<(u64, u64)>,
    last_thread: Option<ThreadId>,
    /// Why a transaction could not be made durable.
    failed: Option<PersistError>,
}

impl Log {
    /// Makes the stores of the transactions that a crash may have left undone, and empties the log.
    pub(crate) fn recover<P: Persist>(persist: &P, plan: &Geometry, mode: Mode) -> Result<Log, PersistError> {
        let mut halves: Vec<(u64, Vec<u8>)> = (0..2).filter_map(|half| read_half(persist, plan, half)).collect();
        halves.sort_unstable();
        let sequence = halves.last().map_or(0, |&(sequence, _)| sequence);
        for (_, image) in &halves {
            for (at, bytes) in transaction::stores(image) {
                persist.write(at, bytes);
                persist.write_back(at, bytes.len() as u64);
            }
        }
        persist.fence()?;
        let mut log = Log { sequence, mode, last: Vec::new(), last_thread: None, failed: None };
        log.empty(persist, plan)?;
        Ok(log)
    }

    /// Two transactions without stores: a mount after them has nothing to do.
    pub(crate) fn empty<P: Persist>(&mut self, persist: &P, plan: &Geometry) -> Result<(), PersistError> {
        for _ in 0..2 {
            self.commit(persist, plan, &mut Transaction::default())?;
        }
        Ok(())
    }

    /// Whether transactions can be made. After one that failed there are no more until the next mount, which may find
    /// that one in the log, and make it: neither what it has in the log nor the pages that it took are used again.
    ///
    /// # Errors
    /// One has failed, for this reason.
    pub(crate) fn check(&self) -> Result<(), PersistError> {
        self.failed.map_or(Ok(()), Err)
    }

    /// Makes the transaction durable, then its stores in place. It is empty afterwards.
    pub(crate) fn commit<P: Persist>(
        &mut self,
        persist: &P,
        plan: &Geometry,
        transaction: &mut Transaction,
    ) -> Result<(), PersistError> {
        self.check()?;
        self.make(persist, plan, transaction).inspect_err(|&error| self.failed = Some(error))
    }

    fn make<P: Persist>(
        &mut self,
        persist: &P,
        plan: &Geometry,
        transaction: &mut Transaction,
    ) -> Result<(), PersistError> {
        if transaction.waits_for_stores() && self.mode != Mode::None {
            persist.fence()?;
        }
        let sequence = self.sequence + 1;
        let at = plan.log_half(sequence % 2);
        let image = transaction.sealed(sequence);
        assert!(image.len() as u64 <= plan.log_half_bytes, "a transaction fits into its half of the log");
        if self.mode == Mode::None {
            persist.write(at, image);
        } else {
            self.harden_other_threads(persist);
            persist.write_streaming(at, image);
            persist.fence()?;
        }
        self.sequence = sequence;
        self.last.clear();
        for (at, bytes) in transaction::stores(image) {
            persist.write(at, bytes);
            if self.mode != Mode::None {
                persist.write_back(at, bytes.len() as u64);
                self.last.push((at, bytes.len() as u64));
            }
        }
        transaction.clear();
        Ok(())
    }

    /// A fence orders the write-backs of its own thread only: those of the last transaction are repeated if another
    /// thread made them.
    fn harden_other_threads<P: Persist>(&mut self, persist: &P) {
        let this = std::thread::current().id();
        if self.last_thread.replace(this) != Some(this) {
            self.last.iter().for_each(|&(at, length)| persist.write_back(at, length));
        }
    }
}

/// The transaction in a half; none if it was not written whole.
pub(crate) fn read_half<P: Persist>(persist: &P, plan: &Geometry, half: u64) -> Option<(u64, Vec<u8>)> {
    let mut header = [0; HEADER];
    persist.read(plan.log_half(half), &mut header);
    let (sequence, length) = (number64(&header, 8), number64(&header, 16));
    let is_possible = number32(&header, 4) == MAGIC
        && sequence % 2 == half
        && (HEADER as u64..=plan.log_half_bytes).contains(&length);
    if !is_possible {
        return None;
    }
    let mut image = vec![0; length as usize];
    persist.read(plan.log_half(half), &mut image);
    let is_whole = seal::is_sound(&image, half) && transaction::is_well_formed(&image, plan);
    is_whole.then_some((sequence, image))
}

#[cfg(test)]
mod tests {
    use crate::persist::{Persist, PersistError, Recording};
    use crate::system::{Caller, FileSystem, NewFile, ROOT, mkfs};
    use crate::{FsError, Kind, Mode, Moment};
    use std::sync::atomic::{AtomicI64, Ordering};

    /// A device that fails for good.
    struct Failing {
        below: Recording,
        /// How many fences succeed before that.
        fences: AtomicI64,
    }

    const FAILED: PersistError = PersistError { code: 5 };

    impl Persist for Failing {
        fn len(&self) -> u64 {
            self.below.len()
        }

        fn read(&self, at: u64, into: &mut [u8]) {
            self.below.read(at, into);
        }

        fn write(&self, at: u64, bytes: &[u8]) {
            self.below.write(at, bytes);
        }

        fn write_streaming(&self, at: u64, bytes: &[u8]) {
            self.below.write_streaming(at, bytes);
        }

        fn zero_streaming(&self, at: u64, length: u64) {
            self.below.zero_streaming(at, length);
        }

        fn write_back(&self, at: u64, length: u64) {
            self.below.write_back(at, length);
        }

        fn fence(&self) -> Result<(), PersistError> {
            let has_failed = self.fences.fetch_sub(1, Ordering::Relaxed) <= 0;
            if has_failed { Err(FAILED) } else { self.below.fence() }
        }
    }

    /// A transaction that failed may be in the log all the same, and be made by the next mount. What it has mapped is
    /// nobody else's until then.
    #[test]
    fn pages_of_a_transaction_that_failed_are_given_to_no_other() {
        const PAGE: usize = 4096;
        let caller = Caller::root(Moment(1));
        for fences in 0..3 {
            let below = Recording::without_crashes(vec![0; 256 * PAGE]);
            mkfs(&below, [7; 16], &caller).unwrap();
            let pool = Failing { below, fences: AtomicI64::new(i64::MAX) };
            let system = FileSystem::mount(pool, Mode::Metadata).unwrap();
            let open = |name: &[u8]| {
                let made = system.make(&caller, ROOT, name, &NewFile::new(Kind::File, 0o600)).unwrap();
                system.open(made.number).unwrap()
            };
            let (first, second) = (open(b"first"), open(b"second"));
            system.persist().fences.store(fences, Ordering::Relaxed);
            let written = system.write(&caller, &first, 0, &[1; PAGE]);
            for _ in 0..2 {
                assert_eq!(system.write(&caller, &second, 0, &[2; PAGE]), Err(FsError::Persist(FAILED)));
            }
            let (number, image) = (first.number(), system.persist().below.image());
            let again = FileSystem::mount(Recording::without_crashes(image), Mode::Metadata).unwrap();
            let first = again.open(number).unwrap();
            let mut bytes = [0; PAGE];
            let length = again.read(&caller, &first, 0, &mut bytes).unwrap();
            assert!(bytes[..length].iter().all(|&byte| byte == 1), "after {fences} fences: {}", bytes[0]);
            assert!(length == PAGE || written.is_err(), "what was told is there");
        }
    }
}
