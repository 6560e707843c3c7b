//! Back ends whose calls block until their work is done: memory and files.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use esker_core::Bytes;
use rustix::fs::{FallocateFlags, FlockOperation, OFlags};

use super::PlacedError;

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

/// A store in a file. A new file is sparse.
#[derive(Debug)]
pub struct FileBackend {
    file: File,
    capacity: Bytes,
}

/// Zeroes are written in chunks of this size.
static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

impl FileBackend {
    /// Creates a file of `capacity` at `path`, which must not exist.
    pub fn create(path: &Path, capacity: Bytes) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.set_len(capacity.0)?;
        Ok(Self { file, capacity })
    }

    /// Opens the file or block device at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        // The metadata of a block device say that it is empty.
        let capacity = Bytes(file.seek(SeekFrom::End(0))?);
        Ok(Self { file, capacity })
    }

    /// Opens the file or block device at `path`, and keeps other programs that do the same from opening it. A block
    /// device must not be mounted, nor in use by the system in another way.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] if it is in use.
    pub fn open_alone(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        if std::fs::metadata(path)?.file_type().is_block_device() {
            // Linux refuses this for a device that is mounted or belongs to another one.
            options.custom_flags(OFlags::EXCL.bits().cast_signed());
        }
        Self::locked(options.open(path)?, FlockOperation::NonBlockingLockExclusive)
    }

    /// Opens the file or block device at `path` for reading, while no program has it open to write
    /// ([`Self::open_alone`]).
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] if one has.
    pub fn open_to_read(path: &Path) -> io::Result<Self> {
        Self::locked(File::open(path)?, FlockOperation::NonBlockingLockShared)
    }

    fn locked(mut file: File, lock: FlockOperation) -> io::Result<Self> {
        match rustix::fs::flock(&file, lock) {
            Ok(()) => {
                let capacity = Bytes(file.seek(SeekFrom::End(0))?);
                Ok(Self { file, capacity })
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(io::Error::new(io::ErrorKind::ResourceBusy, "another program uses it"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Has the operating system forget what it keeps of the file in memory and has written out.
    pub fn forget_cached(&self) -> io::Result<()> {
        rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed)?;
        Ok(())
    }

    /// Has the file system zero a range, or make a hole there. Returns false if it cannot.
    fn change_range(&self, how: FallocateFlags, offset: u64, length: u64) -> io::Result<bool> {
        use rustix::io::Errno;
        loop {
            match rustix::fs::fallocate(&self.file, how | FallocateFlags::KEEP_SIZE, offset, length) {
                Ok(()) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes the written data durable. The file system may only now find that it has no space for data that it has
    /// accepted: that is not a refusal of this write.
    fn make_durable(&self) -> io::Result<()> {
        self.file.sync_data().map_err(|error| io::Error::other(format!("written data cannot be made durable: {error}")))
    }
}

/// Writes all bytes of `data`, also where the system takes only some at a time.
fn write_all_at(file: &File, mut data: &mut [IoSlice<'_>], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while !data.is_empty() {
        match rustix::io::pwritev(file, data, offset + done) {
            Ok(0) => return Err(PlacedError::new(done, io::ErrorKind::WriteZero.into())),
            Ok(written) => {
                IoSlice::advance_slices(&mut data, written);
                done += written as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(PlacedError::new(done, error.into())),
        }
    }
    Ok(())
}

/// Fills `buffer`, also where the system returns only some bytes at a time, as before a bad sector.
fn read_all_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => return Err(PlacedError::new(done as u64, io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(PlacedError::new(done as u64, error)),
        }
    }
    Ok(())
}

impl BlockingBackend for FileBackend {
    fn capacity(&self) -> Bytes {
        self.capacity
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_all_at(&self.file, buffer, offset)
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        write_all_at(&self.file, data, offset)?;
        if durable { self.make_durable() } else { Ok(()) }
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        if !self.change_range(FallocateFlags::ZERO_RANGE, offset, length)? {
            let mut done = 0;
            while done < length {
                let piece = (length - done).min(ZEROES.len() as u64);
                self.file.write_all_at(&ZEROES[..piece as usize], offset + done)?;
                done += piece;
            }
        }
        if durable { self.make_durable() } else { Ok(()) }
    }
    /// Makes a hole, where the file system can.
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.change_range(FallocateFlags::PUNCH_HOLE, offset, length).map(drop)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaves_like_bytes(backend: &mut dyn BlockingBackend) {
        let read = |backend: &mut dyn BlockingBackend, offset, length| {
            let mut buffer = vec![7; length];
            backend.read(offset, &mut buffer).unwrap();
            buffer
        };
        assert_eq!(backend.capacity(), Bytes::mib(1));
        assert_eq!(read(backend, 0, 3), [0; 3]);
        backend.write(1000, &mut [IoSlice::new(&[1, 2]), IoSlice::new(&[3, 4])], false).unwrap();
        backend.write_zeroes(1001, 2, true).unwrap();
        assert_eq!(read(backend, 999, 6), [0, 1, 0, 0, 4, 0]);
        backend.write(0, &mut [IoSlice::new(&vec![9; 200_000])], true).unwrap();
        backend.write_zeroes(10, 150_000, false).unwrap();
        backend.trim(0, 5).unwrap();
        backend.flush().unwrap();
        assert_eq!(read(backend, 9, 2), [9, 0]);
        assert_eq!(read(backend, 150_009, 2), [0, 9]);
    }

    #[test]
    fn memory_and_files_behave_alike() {
        behaves_like_bytes(&mut MemoryBackend::new(Bytes::mib(1)));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        behaves_like_bytes(&mut FileBackend::create(&path, Bytes::mib(1)).unwrap());
        assert!(FileBackend::create(&path, Bytes::mib(1)).is_err(), "what is there is not overwritten");
        let alone = FileBackend::open_alone(&path).unwrap();
        assert_eq!(FileBackend::open_alone(&path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(FileBackend::open_to_read(&path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        drop(alone);
        let mut readers = [(); 2].map(|()| FileBackend::open_to_read(&path).unwrap());
        assert_eq!(FileBackend::open_alone(&path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        assert!(readers[0].write(0, &mut [IoSlice::new(&[1])], false).is_err());
        drop(readers);
        FileBackend::open_alone(&path).unwrap();
        let mut byte = [0];
        FileBackend::open(&path).unwrap().read(150_010, &mut byte).unwrap();
        assert_eq!(byte, [9], "it is still there");
        let mut reads = FileBackend::open(&path).unwrap();
        let beyond = reads.read((1 << 20) - 1000, &mut [0; 2000]).unwrap_err();
        assert_eq!((beyond.kind(), PlacedError::place_of(&beyond)), (io::ErrorKind::UnexpectedEof, Bytes(1000)));
    }
}
