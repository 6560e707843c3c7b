//! Contents in a sparse file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use esker_core::{Bytes, Hint};
use rustix::fs::{FallocateFlags, FlockOperation, SeekFrom};
use rustix::io::Errno;
use thiserror::Error;

use super::Contents;

/// Contents in a file, at the same places as on the device. Nothing is synced: what was written outlives the emulation,
/// however it ends, but not a loss of power of the machine that it runs on.
#[derive(Debug)]
pub struct FileContents {
    file: File,
}

/// Why a file cannot hold the data of a device.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It cannot be opened or made.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It has another size than the device.
    #[error("it has {found} bytes, but the device has {capacity}")]
    OtherSize {
        /// Bytes of the file.
        found: u64,
        /// Bytes of the device.
        capacity: u64,
    },
    /// It is no regular file.
    #[error("it is no regular file")]
    NoFile,
    /// Another program has locked it.
    #[error("another program uses it")]
    InUse,
}

impl Hint for OpenError {
    fn hint(&self) -> Option<String> {
        matches!(self, Self::OtherSize { .. } | Self::NoFile).then(|| {
            "name a file that is not there yet, or one that an emulation of the same size has made".to_string()
        })
    }
}

impl FileContents {
    /// Opens the file at `path`, whose size is `capacity`, and keeps other emulations from opening it. Makes a sparse
    /// file if there is none.
    ///
    /// # Errors
    /// If the file cannot be opened, is in use, or has another size.
    pub fn open(path: &Path, capacity: Bytes) -> Result<Self, OpenError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let (file, is_new) = match options.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => (options.create_new(true).open(path)?, true),
            opened => (opened?, false),
        };
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(OpenError::NoFile);
        }
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(OpenError::InUse),
            locked => locked.map_err(io::Error::from)?,
        }
        if is_new {
            if let Err(error) = file.set_len(capacity.0) {
                // One that has no size is of no use.
                let _ = std::fs::remove_file(path);
                return Err(error.into());
            }
        } else if found.len() != capacity.0 {
            return Err(OpenError::OtherSize { found: found.len(), capacity: capacity.0 });
        }
        Ok(Self { file })
    }

    /// Returns where the file has the next byte that may be other than zero, from `at` on.
    fn next_written(&self, at: u64) -> Option<u64> {
        match rustix::fs::seek(&self.file, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => None,
            // A file system that does not know: all of it may be.
            found => Some(found.unwrap_or(at)),
        }
    }
}

/// What is written where the file system makes no holes.
static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

impl Contents for FileContents {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn clear(&mut self, at: u64, length: u64) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        loop {
            match rustix::fs::fallocate(&self.file, hole, at, length) {
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => break,
                made => return Ok(made?),
            }
        }
        let mut done = 0;
        while done < length {
            let piece = (length - done).min(ZEROES.len() as u64);
            self.file.write_all_at(&ZEROES[..piece as usize], at + done)?;
            done += piece;
        }
        Ok(())
    }

    fn written_run(&self, at: u64, length: u64) -> (u64, bool) {
        let end = at + length;
        match self.next_written(at).filter(|&next| next < end) {
            None => (length, false),
            Some(next) if next > at => (next - at, false),
            Some(_) => {
                let hole = rustix::fs::seek(&self.file, SeekFrom::Hole(at)).unwrap_or(end);
                (hole.clamp(at + 1, end) - at, true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_size_or_in_use_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let mut first = FileContents::open(&path, Bytes::kib(64)).unwrap();
        assert!(matches!(FileContents::open(&path, Bytes::kib(64)), Err(OpenError::InUse)));
        first.write(512, &[7; 512]).unwrap();
        drop(first);
        let other = FileContents::open(&path, Bytes::kib(128));
        assert!(matches!(other, Err(OpenError::OtherSize { found: 65_536, capacity: 131_072 })), "{other:?}");
        let again = FileContents::open(&path, Bytes::kib(64)).unwrap();
        let mut read = [0; 512];
        again.read(512, &mut read).unwrap();
        assert_eq!((read, std::fs::metadata(&path).unwrap().len()), ([7; 512], 65_536));
        assert!(matches!(FileContents::open(folder.path(), Bytes::kib(64)), Err(OpenError::Io(_))));
        assert!(matches!(FileContents::open(Path::new("/dev/null"), Bytes::kib(64)), Err(OpenError::NoFile)));
    }
}
