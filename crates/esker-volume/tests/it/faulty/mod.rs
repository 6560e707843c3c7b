//! Stores that refuse requests, fail flushes, drop data that they had to write, or answer late.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::{Bytes, Nanos, Rng};
use esker_volume::{Backend, BlockingBackend, Ended, FileBackend, MemoryBackend, Operation, PlacedError};

const SECTOR: usize = 512;

/// A file behind a page cache like that of Linux. Dirty sectors reach the file when it is flushed, and some earlier. A
/// failed flush leaves some of them out but marks all of them as clean, and they still read as before: the next flush
/// finds nothing to do and succeeds.
pub(super) struct CachedFile {
    pub(super) file: FileBackend,
    pub(super) cache: BTreeMap<u64, Vec<u8>>,
    pub(super) dirty: BTreeSet<u64>,
    /// One in this many flushes fails; none if 0.
    pub(super) failures: u64,
    pub(super) rng: Rng,
}

impl CachedFile {
    fn write_back(&mut self, sector: u64) -> io::Result<()> {
        self.file.write(sector * SECTOR as u64, &mut [IoSlice::new(&self.cache[&sector])], false)
    }
}

impl BlockingBackend for CachedFile {
    fn capacity(&self) -> Bytes {
        self.file.capacity()
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, buffer)?;
        for (sector, part) in (offset / SECTOR as u64..).zip(buffer.chunks_mut(SECTOR)) {
            if let Some(cached) = self.cache.get(&sector) {
                part.copy_from_slice(cached);
            }
        }
        Ok(())
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        let data: Vec<u8> = data.iter().flat_map(|slice| slice.iter().copied()).collect();
        for (sector, part) in (offset / SECTOR as u64..).zip(data.chunks(SECTOR)) {
            self.cache.insert(sector, part.to_vec());
            self.dirty.insert(sector);
            if self.rng.chance(1, 8) {
                self.dirty.remove(&sector);
                self.write_back(sector)?;
            }
        }
        if durable { self.flush() } else { Ok(()) }
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.write(offset, &mut [IoSlice::new(&vec![0; length as usize])], durable)
    }
    fn trim(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        let fails = !self.dirty.is_empty() && self.failures > 0 && self.rng.chance(1, self.failures);
        for sector in std::mem::take(&mut self.dirty) {
            if !fails || self.rng.chance(1, 2) {
                self.write_back(sector)?;
            }
        }
        if fails { Err(io::Error::other("input/output error")) } else { Ok(()) }
    }
}

/// Retries a failed flush: the fault that this test has to find.
pub(super) struct RetryingFile(pub(super) CachedFile);

impl BlockingBackend for RetryingFile {
    fn capacity(&self) -> Bytes {
        self.0.capacity()
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, buffer)
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        self.0.write(offset, data, false)?;
        if durable { self.flush() } else { Ok(()) }
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.write(offset, &mut [IoSlice::new(&vec![0; length as usize])], durable)
    }
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.0.trim(offset, length)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().or_else(|_| self.0.flush())
    }
}

/// The fault of a store.
#[derive(Clone, Copy)]
pub(super) enum StoreFault {
    /// It has no space for writes.
    Full,
    /// It cannot be read.
    Unreadable,
    /// The sector that begins at this byte cannot be read.
    BadSector(u64),
}

/// A store with a fault, while its switch is on.
pub(super) struct FaultyBackend {
    pub(super) memory: MemoryBackend,
    pub(super) fault: StoreFault,
    pub(super) on: Arc<AtomicBool>,
}

impl FaultyBackend {
    /// Returns the fault, if the switch is on.
    fn fault(&self) -> Option<StoreFault> {
        self.on.load(Ordering::Relaxed).then_some(self.fault)
    }
}

impl BlockingBackend for FaultyBackend {
    fn capacity(&self) -> Bytes {
        self.memory.capacity()
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let unreadable = || io::Error::other("unreadable sector");
        match self.fault() {
            Some(StoreFault::Unreadable) => Err(unreadable()),
            Some(StoreFault::BadSector(bad)) if (offset..offset + buffer.len() as u64).contains(&bad) => {
                Err(PlacedError::new(bad - offset, unreadable()))
            }
            _ => self.memory.read(offset, buffer),
        }
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        match self.fault() {
            Some(StoreFault::Full) => Err(io::ErrorKind::StorageFull.into()),
            _ => self.memory.write(offset, data, durable),
        }
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.memory.write_zeroes(offset, length, durable)
    }
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.memory.trim(offset, length)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.memory.flush()
    }
}

/// A store that performs its operations later, and in any order.
pub(super) struct LateBackend {
    pub(super) store: Box<dyn BlockingBackend>,
    pub(super) waiting: Vec<(u64, Operation)>,
    pub(super) rng: Rng,
}

impl Backend for LateBackend {
    fn capacity(&self) -> Bytes {
        self.store.capacity()
    }
    fn submit(&mut self, _: Nanos, id: u64, operation: Operation) {
        self.waiting.push((id, operation));
    }
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        while !self.waiting.is_empty() && self.rng.chance(1, 3) {
            let next = self.rng.below(self.waiting.len() as u64) as usize;
            let (id, operation) = self.waiting.swap_remove(next);
            ended.push(operation.perform(id, &mut *self.store));
        }
    }
}
