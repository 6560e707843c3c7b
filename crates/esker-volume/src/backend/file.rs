//! Stores in files and block devices.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use esker_core::Bytes;
use rustix::fs::{FallocateFlags, FlockOperation, OFlags};

use super::alignment::{Alignment, set_direct};
use super::{BlockingBackend, PlacedError};
use crate::memory::ZEROES;

/// A store in a file. A new file is sparse. Clones share the open file, so that the system reports a failed write-back
/// to one of them only.
#[derive(Clone, Debug)]
pub struct FileBackend {
    file: Arc<File>,
    capacity: Bytes,
    /// Calls begin on multiples of this many bytes of their operation.
    block: u64,
}

/// How often a lock is tried again, and the time between: two seconds together.
const LOCK_TRIES: u32 = if cfg!(test) { 2 } else { 200 };
const LOCK_PAUSE: Duration = Duration::from_millis(10);

impl FileBackend {
    /// Creates a file of `capacity` at `path`, which must not exist.
    pub fn create(path: &Path, capacity: Bytes) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        if let Err(error) = file.set_len(capacity.0) {
            // One that has no size is of no use.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(Self { file: Arc::new(file), capacity, block: 1 })
    }

    /// Opens the file or block device at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        // The metadata of a block device say that it is empty.
        let capacity = Bytes(file.seek(SeekFrom::End(0))?);
        Ok(Self { file: Arc::new(file), capacity, block: 1 })
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
        Self::locked(&options, path, FlockOperation::NonBlockingLockExclusive)
    }

    /// Opens the file or block device at `path` for reading, while no program has it open to write
    /// ([`Self::open_alone`]).
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] if one has.
    pub fn open_to_read(path: &Path) -> io::Result<Self> {
        Self::locked(OpenOptions::new().read(true), path, FlockOperation::NonBlockingLockShared)
    }

    /// Opens a file and locks it.
    fn locked(options: &OpenOptions, path: &Path, lock: FlockOperation) -> io::Result<Self> {
        let mut file = patiently(|| options.open(path))?;
        patiently(|| match rustix::fs::flock(&file, lock) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(io::Error::new(io::ErrorKind::ResourceBusy, "another program uses it"))
            }
            locked => Ok(locked?),
        })?;
        let capacity = Bytes(file.seek(SeekFrom::End(0))?);
        Ok(Self { file: Arc::new(file), capacity, block: 1 })
    }

    /// Has its calls go past the page cache, as `alignment` says that they can ([`Alignment::of`]).
    pub(crate) fn make_direct(&mut self, alignment: Alignment) -> io::Result<()> {
        set_direct(&self.file, true)?;
        self.block = alignment.block;
        Ok(())
    }

    /// The open file.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Has the operating system forget what it keeps of the file in memory and has written out.
    pub fn forget_cached(&self) -> io::Result<()> {
        rustix::fs::fadvise(&*self.file, 0, None, rustix::fs::Advice::DontNeed)?;
        Ok(())
    }

    /// Has the file system zero a range, or make a hole there. Returns false if it cannot.
    fn change_range(&self, how: FallocateFlags, offset: u64, length: u64) -> io::Result<bool> {
        use rustix::io::Errno;
        loop {
            match rustix::fs::fallocate(&*self.file, how | FallocateFlags::KEEP_SIZE, offset, length) {
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

/// Moves `length` bytes by calls of `step`, which gets the number of bytes that were moved, and returns how many it has
/// moved. Calls begin on multiples of `block` bytes. `end` is the error where nothing more can be moved.
fn move_all(
    length: u64,
    block: u64,
    end: io::ErrorKind,
    mut step: impl FnMut(u64) -> io::Result<usize>,
) -> io::Result<()> {
    let mut done = 0;
    while done < length {
        match step(done) {
            Ok(moved) => {
                let (before, reached) = (done, done + moved as u64);
                done = if reached < length { reached - reached % block } else { reached };
                if done == before {
                    return Err(PlacedError::new(reached, end.into()));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(PlacedError::new(done, error)),
        }
    }
    Ok(())
}

/// Tries again for a while if something is in use: a killed process holds its files until the kernel has ended what it
/// had under way.
fn patiently<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..LOCK_TRIES {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(LOCK_PAUSE),
            done => return done,
        }
    }
    work()
}

impl BlockingBackend for FileBackend {
    fn capacity(&self) -> Bytes {
        self.capacity
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        // Also where the system returns only some bytes at a time, as before a bad sector.
        move_all(buffer.len() as u64, self.block, io::ErrorKind::UnexpectedEof, |done| {
            self.file.read_at(&mut buffer[done as usize..], offset + done)
        })
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        let length = data.iter().map(|slice| slice.len() as u64).sum();
        let (mut data, mut taken) = (data, 0);
        move_all(length, self.block, io::ErrorKind::WriteZero, |done| {
            IoSlice::advance_slices(&mut data, (done - taken) as usize);
            taken = done;
            Ok(rustix::io::pwritev(&*self.file, data, offset + done)?)
        })?;
        if durable { self.make_durable() } else { Ok(()) }
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        if !self.change_range(FallocateFlags::ZERO_RANGE, offset, length)? {
            let mut done = 0;
            while done < length {
                let piece = (length - done).min(ZEROES.0.len() as u64);
                self.file.write_all_at(&ZEROES.0[..piece as usize], offset + done)?;
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
    use crate::backend::MemoryBackend;

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
