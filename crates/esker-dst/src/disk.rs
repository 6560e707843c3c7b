//! Virtual disks.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use esker_core::{Bytes, Nanos, Rng};
use esker_volume::{Backend, BlockingBackend, Ended, OpenDevice, Operation};

use crate::image::{Image, SECTOR};

/// A disk in memory with a volatile cache. Its clones are the same disk. Operations are performed when
/// [`Self::perform`] is called, in any order; what was not flushed may be lost with the power, each sector for itself.
#[derive(Clone)]
pub struct VirtualDisk(Arc<Mutex<Disk>>);

/// What is wrong with a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskFault {
    /// Nothing.
    #[default]
    None,
    /// The next flush or durable write fails, and what was not flushed is lost or not, each sector for itself. All
    /// later flushes succeed, as those of Linux do.
    FlushFails,
    /// The same, and then operations never end.
    FlushFailsThenSilent,
    /// Every write is refused for want of space, and touches nothing.
    Full,
    /// Every operation fails.
    Dead,
    /// Operations never end.
    Silent,
    /// Flushes do nothing and succeed: no volume can be trusted on such a disk.
    Lies,
}

/// Operations that a disk was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Writes to the first MiB, where superblock, journal and checkpoints are.
    pub structure_writes: u64,
    /// Writes behind it.
    pub data_writes: u64,
    /// Flushes and durable writes.
    pub syncs: u64,
}

struct Disk {
    /// What a loss of power cannot change.
    durable: Image,
    /// What reads return.
    current: Image,
    /// Sectors that were written since the last flush, with the content of each write, in their order.
    unflushed: Vec<(usize, Box<[u8]>)>,
    waiting: VecDeque<(u64, Operation)>,
    ended: Vec<Ended>,
    fault: DiskFault,
    counts: DiskCounts,
    /// Random numbers for what a failed flush loses.
    rng: Rng,
    /// The power fails once this many more writes and flushes were performed by blocking calls.
    blocking_left: Option<u64>,
}

impl VirtualDisk {
    /// A disk of zeroes.
    pub fn new(capacity: Bytes, seed: u64) -> Self {
        let bytes = Image::zeroes(capacity.0 as usize);
        Self(Arc::new(Mutex::new(Disk {
            durable: bytes.clone(),
            current: bytes,
            unflushed: Vec::new(),
            waiting: VecDeque::new(),
            ended: Vec::new(),
            fault: DiskFault::None,
            counts: DiskCounts::default(),
            rng: Rng::derive(seed, "disk"),
            blocking_left: None,
        })))
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes it larger.
    pub fn enlarge(&self, more: Bytes) {
        let mut disk = self.disk();
        let size = disk.durable.len() + more.0 as usize;
        disk.durable.grow(size);
        disk.current.grow(size);
    }

    /// Another disk in the same state, but for operations under way, which only this one has.
    pub(crate) fn fork(&self) -> Self {
        let disk = self.disk();
        Self(Arc::new(Mutex::new(Disk {
            durable: disk.durable.clone(),
            current: disk.current.clone(),
            unflushed: disk.unflushed.clone(),
            waiting: VecDeque::new(),
            ended: Vec::new(),
            rng: disk.rng.clone(),
            ..*disk
        })))
    }

    /// Has `fault` from now on.
    pub fn set_fault(&self, fault: DiskFault) {
        self.disk().fault = fault;
    }

    /// What is wrong with it now.
    pub fn fault(&self) -> DiskFault {
        self.disk().fault
    }

    /// Has the power fail during the blocking calls to come, after `writes` more of them that change something.
    pub fn cut_power_after(&self, writes: Option<u64>) {
        self.disk().blocking_left = writes;
    }

    /// Returns true if the power has failed during a blocking call.
    pub fn was_cut(&self) -> bool {
        self.disk().blocking_left == Some(0)
    }

    /// Returns what it was asked for since it was made.
    pub fn counts(&self) -> DiskCounts {
        self.disk().counts
    }

    /// Number of operations that can be performed.
    pub fn waiting(&self) -> usize {
        let disk = self.disk();
        if disk.fault == DiskFault::Silent { 0 } else { disk.waiting.len() }
    }

    /// Returns true if the waiting operation at `index` writes a checkpoint, in a volume so small that its journal has
    /// 256 KiB.
    pub(crate) fn writes_checkpoint(&self, index: usize) -> bool {
        self.disk().waiting.get(index).is_some_and(|(_, operation)| {
            operation.length > 0 && ((16 + 256) << 10..1 << 20).contains(&operation.offset)
        })
    }

    /// Returns true if the waiting operation at `index` is a flush.
    #[cfg(test)]
    pub(crate) fn flushes(&self, index: usize) -> bool {
        self.disk().waiting.get(index).is_some_and(|(_, operation)| operation.kind == esker_core::RequestKind::Flush)
    }

    /// Performs the waiting operation at `index`.
    pub fn perform(&self, index: usize) {
        let mut disk = self.disk();
        let (id, operation) = disk.waiting.remove(index).expect("it waits");
        let ended = operation.perform(id, &mut *disk);
        disk.ended.push(ended);
    }

    /// Loses power: of each sector that was not flushed, one of the writes since the last flush remains, or none.
    pub fn lose_power(&self, rng: &mut Rng) {
        let mut disk = self.disk();
        disk.lose(rng);
        disk.waiting.clear();
        disk.ended.clear();
        disk.blocking_left = None;
    }

    /// The process that used it dies, and the power stays: of the operations that wait, some are still performed.
    pub fn kill(&self, rng: &mut Rng) {
        let mut disk = self.disk();
        for (id, operation) in std::mem::take(&mut disk.waiting) {
            if rng.chance(1, 2) {
                _ = operation.perform(id, &mut *disk);
            }
        }
        disk.ended.clear();
        disk.blocking_left = None;
    }

    /// Returns the bytes that are durable.
    pub fn durable(&self) -> Vec<u8> {
        self.disk().durable.to_vec()
    }

    /// Replaces all bytes, as if they had been flushed.
    pub fn set_bytes(&self, bytes: &[u8]) {
        let mut disk = self.disk();
        assert_eq!(bytes.len(), disk.durable.len(), "all bytes");
        disk.durable.write(0, bytes);
        disk.current = disk.durable.clone();
        disk.unflushed.clear();
    }
}

impl Disk {
    /// Keeps each unflushed write with an even chance, sector by sector.
    fn lose(&mut self, rng: &mut Rng) {
        // Now and then nothing or everything remains: these are the likely cases of real disks.
        let kept = [0, 1, 2, 2][rng.below(4) as usize];
        for (sector, bytes) in self.unflushed.drain(..) {
            if rng.chance(kept, 2) {
                self.durable.write(sector * SECTOR, &bytes);
            }
        }
        self.current = self.durable.clone();
    }

    /// Notes a blocking call that changes something. Fails once the power has failed.
    fn change(&mut self) -> io::Result<()> {
        if self.fault == DiskFault::Dead {
            return Err(io::Error::other("the disk is dead"));
        }
        match &mut self.blocking_left {
            Some(0) => Err(io::Error::other("the power has failed")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Notes a write, which needs space.
    fn change_data(&mut self) -> io::Result<()> {
        if self.fault == DiskFault::Full { Err(io::ErrorKind::StorageFull.into()) } else { self.change() }
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        match offset < 1 << 20 {
            true => self.counts.structure_writes += 1,
            false => self.counts.data_writes += 1,
        }
        assert!(offset.is_multiple_of(SECTOR) && bytes.len().is_multiple_of(SECTOR), "whole sectors");
        self.current.write(offset, bytes);
        let sectors = (offset / SECTOR..).zip(bytes.chunks(SECTOR));
        self.unflushed.extend(sectors.map(|(sector, bytes)| (sector, bytes.into())));
    }

    fn make_durable(&mut self) -> io::Result<()> {
        self.counts.syncs += 1;
        match self.fault {
            DiskFault::FlushFails | DiskFault::FlushFailsThenSilent => {
                self.fault = match self.fault {
                    DiskFault::FlushFails => DiskFault::None,
                    _ => DiskFault::Silent,
                };
                // The cache forgets what it could not write; reads may go on returning it.
                for (sector, bytes) in std::mem::take(&mut self.unflushed) {
                    if self.rng.chance(1, 2) {
                        self.durable.write(sector * SECTOR, &bytes);
                    }
                }
                if self.rng.chance(1, 2) {
                    self.current = self.durable.clone();
                }
                Err(io::Error::other("the flush failed"))
            }
            DiskFault::Lies => Ok(()),
            _ => {
                let Self { durable, current, unflushed, .. } = self;
                for (sector, _) in unflushed.drain(..) {
                    durable.copy_sector(sector, current);
                }
                Ok(())
            }
        }
    }
}

impl BlockingBackend for Disk {
    fn capacity(&self) -> Bytes {
        Bytes(self.current.len() as u64)
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.fault == DiskFault::Dead {
            return Err(io::Error::other("the disk is dead"));
        }
        self.current.read(offset as usize, buffer);
        Ok(())
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        self.change_data()?;
        let bytes = data.iter().map(|slice| &**slice).collect::<Vec<&[u8]>>().concat();
        self.put(offset as usize, &bytes);
        if durable { self.make_durable() } else { Ok(()) }
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.change_data()?;
        self.put(offset as usize, &vec![0; length as usize]);
        if durable { self.make_durable() } else { Ok(()) }
    }
    /// The range then reads as zeroes.
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.change()?;
        self.put(offset as usize, &vec![0; length as usize]);
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.change()?;
        self.make_durable()
    }
}

impl BlockingBackend for VirtualDisk {
    fn capacity(&self) -> Bytes {
        self.disk().capacity()
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.disk().read(offset, buffer)
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        self.disk().write(offset, data, durable)
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.disk().write_zeroes(offset, length, durable)
    }
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.disk().trim(offset, length)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.disk().flush()
    }
}

/// Takes operations, which end once [`VirtualDisk::perform`] has performed them.
impl Backend for VirtualDisk {
    fn capacity(&self) -> Bytes {
        self.disk().capacity()
    }
    fn submit(&mut self, _: Nanos, id: u64, operation: Operation) {
        self.disk().waiting.push_back((id, operation));
    }
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.disk().ended);
    }
    fn abandon(&mut self) {
        let mut disk = self.disk();
        disk.waiting.clear();
        disk.ended.clear();
    }
}

impl OpenDevice for VirtualDisk {
    fn name(&self) -> &'static str {
        "a virtual disk"
    }
    fn blocking(&mut self) -> &mut dyn BlockingBackend {
        self
    }
    fn forget_cached(&mut self) -> io::Result<()> {
        let mut disk = self.disk();
        if disk.unflushed.is_empty() {
            disk.current = disk.durable.clone();
        }
        Ok(())
    }
    fn into_backend(self: Box<Self>) -> Box<dyn Backend> {
        self
    }
}
