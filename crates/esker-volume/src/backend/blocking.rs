//! Stores whose calls block until their work is done.

use std::io::{self, IoSlice};

use esker_core::Bytes;

/// A store of bytes whose calls block until their work is done. Bytes that were never written read as zeroes. Ranges
/// lie within the capacity (the engine checks that). [`Direct`](super::Direct) and [`Threaded`](super::Threaded) turn
/// it into a [`Backend`](super::Backend).
pub trait BlockingBackend: Send {
    /// Capacity in bytes.
    fn capacity(&self) -> Bytes;

    /// Fills `buffer` with the bytes from `offset`. An error may say where it is ([`PlacedError`](super::PlacedError)).
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes the bytes of `data`, one slice behind the other, from byte `offset` on. The slices themselves may be
    /// changed. Unless `durable`, the data may be lost with the power until the next
    /// [`flush`](Self::flush). Errors for want of space or rights ([`io::ErrorKind::StorageFull`], `QuotaExceeded`,
    /// `ReadOnlyFilesystem`) say that this write was refused, and nothing of other writes; a durable write has another
    /// kind of error if what it had written could not be made durable.
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()>;

    /// Makes the range read as zeroes; `durable` as in [`write`](Self::write).
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()>;

    /// Discards the content of the range, which may then read as any bytes.
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()>;

    /// Makes all writes that have returned durable. After an error of this call or of a durable write, any of those
    /// writes may be lost, whatever later calls return.
    fn flush(&mut self) -> io::Result<()>;
}

/// A store in memory, which does not outlive the process.
#[derive(Clone, Debug)]
pub struct MemoryBackend {
    bytes: Vec<u8>,
}

impl MemoryBackend {
    /// Creates a store of `capacity` zero bytes.
    pub fn new(capacity: Bytes) -> Self {
        Self { bytes: vec![0; usize::try_from(capacity.0).expect("it fits into memory")] }
    }

    fn range(&mut self, offset: u64, length: usize) -> &mut [u8] {
        &mut self.bytes[offset as usize..offset as usize + length]
    }
}

impl BlockingBackend for MemoryBackend {
    fn capacity(&self) -> Bytes {
        Bytes(self.bytes.len() as u64)
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.copy_from_slice(self.range(offset, buffer.len()));
        Ok(())
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], _: bool) -> io::Result<()> {
        let mut at = offset;
        for slice in data {
            self.range(at, slice.len()).copy_from_slice(slice);
            at += slice.len() as u64;
        }
        Ok(())
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, _: bool) -> io::Result<()> {
        self.range(offset, length as usize).fill(0);
        Ok(())
    }
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.write_zeroes(offset, length, false)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
