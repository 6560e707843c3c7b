//! How files are read and written: by io_uring, or by threads where that is forbidden.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl};

use super::alignment::Alignment;
use super::poller::Poller;
use super::ring::{Ring, RingFile};
use super::watch::{Waiter, Watch};
use super::whole_blocks::WholeBlocks;
use super::{Backend, BlockingBackend, DeviceLimits, FileBackend, OpenDevice, Threaded};
use crate::signal::Signal;

/// Threads that a file has without io_uring.
const THREADS: usize = 8;

/// Which way is wanted to read and write files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoChoice {
    /// io_uring where the kernel allows it, otherwise threads.
    #[default]
    Best,
    /// io_uring, or an error.
    Ring,
    /// Threads.
    Threads,
}

/// Reads and writes the files of a volume, and is what the thread of its driver waits for. Clones are the same one.
#[derive(Clone)]
pub struct DeviceIo {
    waiter: Waiter,
    signal: Signal,
    name: Arc<str>,
}

impl DeviceIo {
    /// Chooses a way.
    ///
    /// # Errors
    /// If io_uring is asked for and the kernel has none, one that is older than Linux 5.13, or forbids it; if the
    /// process has too many files open.
    pub fn start(choice: IoChoice) -> io::Result<Self> {
        let signal = Signal::new()?;
        let ring = match choice {
            IoChoice::Threads => None,
            IoChoice::Best | IoChoice::Ring => Some(Ring::new(signal.clone())),
        };
        let (waiter, name) = match ring {
            Some(Ok(ring)) => (Waiter::Ring(ring), "io_uring".to_string()),
            Some(Err(error)) if choice == IoChoice::Ring => return Err(error),
            Some(Err(error)) => (Waiter::Poller(Poller::new(&signal)?), format!("threads (io_uring: {error})")),
            None => (Waiter::Poller(Poller::new(&signal)?), "threads".to_string()),
        };
        Ok(Self { waiter, signal, name: name.into() })
    }

    /// The way that was chosen, and why it is not io_uring if that was wanted: `io_uring`, `threads`,
    /// `threads (io_uring: Operation not permitted)`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A signal with which other threads end a wait.
    pub fn signal(&self) -> Signal {
        self.signal.clone()
    }

    /// Waits until an operation of any device has ended, a watched file can be read or written that could not, or the
    /// signal was given, for at most `limit`. May end early. Only the thread that steps the driver may wait.
    pub fn wait(&self, limit: Option<Duration>) {
        match &self.waiter {
            Waiter::Ring(ring) => ring.wait(limit),
            Waiter::Poller(poller) => poller.wait(&self.signal, limit),
        }
    }

    /// Has waits also end when `file`, which does not block, can be read or written. Called by the thread that steps
    /// the driver, and so is the watch.
    ///
    /// # Errors
    /// If the kernel does not watch such a file, or too many.
    pub fn watch(&self, file: Arc<OwnedFd>) -> io::Result<Watch> {
        Watch::new(self.waiter.clone(), file)
    }

    fn ring(&self) -> Option<&Ring> {
        match &self.waiter {
            Waiter::Ring(ring) => Some(ring),
            Waiter::Poller(_) => None,
        }
    }

    /// A device in `file`, for a volume. Errors call it `name`.
    pub fn device(&self, name: impl Into<String>, file: FileBackend, settings: DeviceSettings) -> FileDevice {
        let alignment = settings.is_direct.then(|| Alignment::of(file.file(), file.capacity().0)).flatten();
        FileDevice {
            name: name.into(),
            file,
            alignment,
            limits: settings.limits,
            ring: self.ring().cloned(),
            signal: self.signal.clone(),
        }
    }
}

/// How a file or block device is used.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSettings {
    /// Whether operations go past the page cache (`O_DIRECT`), if the file system allows that.
    pub is_direct: bool,
    /// How much it does at a time.
    pub limits: DeviceLimits,
}

impl Default for DeviceSettings {
    /// The page cache; 128 operations at a time.
    fn default() -> Self {
        Self { is_direct: false, limits: DeviceLimits { depth: 128, background: None } }
    }
}

/// A file or block device that a volume is opened on.
pub struct FileDevice {
    name: String,
    file: FileBackend,
    /// What direct I/O asks for; `None` if the page cache is used.
    alignment: Option<Alignment>,
    limits: DeviceLimits,
    ring: Option<Ring>,
    signal: Signal,
}

impl FileDevice {
    /// Returns true if it will be used past the page cache, once it serves.
    pub fn is_direct(&self) -> bool {
        self.alignment.is_some()
    }
}

impl OpenDevice for FileDevice {
    fn name(&self) -> &str {
        &self.name
    }
    fn blocking(&mut self) -> &mut dyn BlockingBackend {
        &mut self.file
    }
    fn forget_cached(&mut self) -> io::Result<()> {
        self.file.forget_cached()
    }
    fn only_reads(&self) -> bool {
        fcntl_getfl(self.file.file()).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDONLY)
    }
    /// Threads take operations in the order in which they come: what is to go first must not be behind others.
    fn limits(&self) -> DeviceLimits {
        let depth = if self.ring.is_some() { usize::MAX } else { THREADS };
        DeviceLimits { depth: self.limits.depth.min(depth), ..self.limits }
    }
    fn into_backend(self: Box<Self>) -> Box<dyn Backend> {
        let Self { mut file, alignment, ring, signal, .. } = *self;
        // It has worked before; if it does not now, the page cache takes all operations.
        let alignment = alignment.filter(|&alignment| file.make_direct(alignment).is_ok());
        let block = alignment.map_or(1, |alignment| alignment.block);
        let backend: Box<dyn Backend> = match ring {
            Some(ring) => Box::new(RingFile::new(ring, Arc::clone(file.file()), file.capacity(), block)),
            None => Box::new(Threaded::with_threads(vec![file; THREADS], &signal)),
        };
        // Requests are whole sectors, in memory that is aligned to them.
        match alignment {
            Some(alignment) if !alignment.takes_sectors() => Box::new(WholeBlocks::new(backend, alignment)),
            _ => backend,
        }
    }
}
