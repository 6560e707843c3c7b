//! A file that a client has opened through the owner.

use crate::board::Record;
use crate::connection::{Connection, Gone};
use crate::kept::Kept;
use crate::message::{Reply, Request};
use crate::region::WINDOW;
use esker_scm::{Attributes, PAGE, Stretch, View};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// How a call on a file went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<T> {
    /// It is done.
    Done(T),
    /// It has to be done by a file of the kernel; nothing was done.
    UseKernel,
    /// It failed.
    Failed(Errno),
}

/// Calls on a file that go to the owner before its pages are mapped: that costs as much as some calls.
const CALLS_BEFORE_VIEW: u32 = 4;
/// Bytes of a call from which on pages are mapped at once: it would take more than one call to the owner.
const LARGE: usize = WINDOW + 1;
/// Fewest pages that a view has room for.
const VIEW_PAGES_MIN: u64 = 512;

/// An open file. It is closed when this is dropped.
#[derive(Debug)]
pub struct RemoteFile {
    connection: Arc<Connection>,
    handle: u32,
    number: u64,
    is_writable: bool,
    /// Calls that went to the owner because pages were not mapped.
    missed: AtomicU32,
    view: RwLock<Option<Mapping>>,
}

/// Pages of the file, and its record.
#[derive(Debug)]
struct Mapping {
    view: View,
    record: Record,
    pool: Arc<Kept>,
}

impl<T> Outcome<T> {
    /// What was done, as something else.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Outcome::Done(value) => Outcome::Done(change(value)),
            Outcome::UseKernel => Outcome::UseKernel,
            Outcome::Failed(error) => Outcome::Failed(error),
        }
    }

    fn of(answer: Result<(Reply, usize), Gone>, take: impl FnOnce(Reply, usize) -> Option<T>) -> Outcome<T> {
        match answer {
            Ok((Reply::UseKernel, _)) => Outcome::UseKernel,
            Ok((Reply::Failed(error), _)) => Outcome::Failed(Errno::from_raw_os_error(error)),
            Ok((reply, came)) => take(reply, came).map_or(Outcome::Failed(Errno::PROTO), Outcome::Done),
            Err(Gone) => Outcome::Failed(Errno::NOTCONN),
        }
    }
}

impl RemoteFile {
    /// Opens `path`, which begins at the root of the pool, by the flags of open(2). For a new file, `permissions` are
    /// those that the umask leaves.
    pub fn open(connection: &Arc<Connection>, path: &[u8], flags: u32, permissions: u16) -> Outcome<RemoteFile> {
        let request = Request::Open { path, flags, permissions };
        Outcome::of(connection.call(&request, &[], &mut []), |reply, _| match reply {
            Reply::Opened { handle, number } => Some(RemoteFile {
                connection: connection.clone(),
                handle,
                number,
                is_writable: flags & rustix::fs::OFlags::ACCMODE.bits() != rustix::fs::OFlags::RDONLY.bits(),
                missed: AtomicU32::new(0),
                view: RwLock::new(None),
            }),
            _ => None,
        })
    }

    /// How the owner calls it.
    pub fn handle(&self) -> u32 {
        self.handle
    }

    /// Its inode.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The connection.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Reads from `offset` on; how many bytes there were.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Outcome<usize> {
        if let Some(outcome) = self.read_view(offset, into) {
            return outcome;
        }
        // What lies behind the end needs no pages.
        self.note_miss(0, into.len());
        let mut done = 0;
        while done < into.len() {
            let piece = (into.len() - done).min(WINDOW);
            let Some(at) = offset.checked_add(done as u64) else { break };
            let target = &mut into[done..done + piece];
            let request = Request::Read { handle: self.handle, offset: at, length: piece as u32 };
            let read = Outcome::of(self.connection.call(&request, &[], target), |reply, came| match reply {
                Reply::Moved { length, .. } if length as usize <= came => Some(length as usize),
                _ => None,
            });
            match read {
                Outcome::Done(read) => done += read,
                outcome if done == 0 => return outcome,
                _ => break,
            }
            if read != Outcome::Done(piece) {
                break;
            }
        }
        Outcome::Done(done)
    }

    fn read_view(&self, offset: u64, into: &mut [u8]) -> Option<Outcome<usize>> {
        let mapping = self.view.read().unwrap_or_else(PoisonError::into_inner);
        let Mapping { view, record, .. } = mapping.as_ref()?;
        if record.is_in_kernel() {
            return Some(Outcome::UseKernel);
        }
        let length = record.size().saturating_sub(offset).min(into.len() as u64);
        if length > 0 && !view.has(offset, length) {
            return None;
        }
        if length > 0 {
            view.read(offset, &mut into[..length as usize]);
            record.note_accessed();
        }
        Some(Outcome::Done(length as usize))
    }

    /// Writes at `offset`, or at the end if that is none; how many bytes were written, and the byte behind the last.
    pub fn write(&self, offset: Option<u64>, bytes: &[u8]) -> Outcome<(usize, u64)> {
        if let Some(offset) = offset {
            if let Some(outcome) = self.write_view(offset, bytes) {
                return outcome;
            }
            // The owner says which size is too large.
            self.note_miss(offset.saturating_add(bytes.len() as u64), bytes.len());
        }
        let (mut done, mut at, mut reached) = (0, offset, 0);
        loop {
            let piece = &bytes[done..bytes.len().min(done + WINDOW)];
            let request = Request::Write { handle: self.handle, offset: at };
            let written = Outcome::of(self.connection.call(&request, piece, &mut []), |reply, _| match reply {
                Reply::Moved { length, end } if length as usize <= piece.len() => Some((length as usize, end)),
                _ => None,
            });
            match written {
                Outcome::Done((length, end)) => {
                    done += length;
                    reached = end;
                    // What is appended goes to the end each time: others may have appended meanwhile.
                    at = offset.map(|_| end);
                    if done == bytes.len() || length < piece.len() {
                        return Outcome::Done((done, end));
                    }
                }
                _ if done > 0 => return Outcome::Done((done, reached)),
                outcome => return outcome,
            }
        }
    }

    fn write_view(&self, offset: u64, bytes: &[u8]) -> Option<Outcome<(usize, u64)>> {
        let mapping = self.view.read().unwrap_or_else(PoisonError::into_inner);
        let Mapping { view, record, .. } = mapping.as_ref()?;
        let end = offset.checked_add(bytes.len() as u64)?;
        if !self.is_writable || bytes.is_empty() || end > record.size() || !view.has(offset, bytes.len() as u64) {
            return None;
        }
        let lock = record.lock_by(self.connection.client())?;
        if record.is_in_kernel() {
            return Some(Outcome::UseKernel);
        }
        // The file may have become shorter, or have got set-user-id, before it was locked.
        if end > record.size() || record.has_set_id() {
            return None;
        }
        view.write(offset, bytes);
        record.note_modified(end.div_ceil(PAGE) - offset / PAGE);
        drop(lock);
        Some(Outcome::Done((bytes.len(), end)))
    }

    /// A call of `length` bytes goes to the owner, after which the file has `least` bytes. After some of them, or a
    /// large one, pages are mapped for the next.
    fn note_miss(&self, least: u64, length: usize) {
        let Some(board) = self.connection.board() else { return };
        let missed = self.missed.fetch_add(1, Ordering::Relaxed) + 1;
        if missed < CALLS_BEFORE_VIEW && length < LARGE {
            return;
        }
        // Not with every call on a file that grows, or has holes: with the fourth, the eighth, the sixteenth...
        if missed >= CALLS_BEFORE_VIEW && !missed.is_power_of_two() {
            return;
        }
        // Room for all of the file: pages that are mapped anew are slow once more.
        let size = match self.attributes() {
            Outcome::Done(attributes) => attributes.size,
            _ => return,
        };
        let mut mapping = self.view.write().unwrap_or_else(PoisonError::into_inner);
        let wanted = size.max(least).div_ceil(PAGE);
        let has_room = mapping.as_ref().is_some_and(|mapping| wanted <= mapping.view.pages());
        let (from, room) = match mapping.as_ref() {
            Some(mapping) if has_room => (0, mapping.view.pages()),
            // At most 2^53: a number of bytes has 64 bits. `View` makes none that is larger than files can be.
            _ => (0, (2 * wanted).next_power_of_two().max(VIEW_PAGES_MIN)),
        };
        let mut bytes = vec![0; WINDOW];
        let Ok((record, came, pool)) = self.connection.share((self.handle, from, room), &mut bytes) else { return };
        let Some(record) = Record::new(board, record) else { return };
        if !has_room {
            let Ok(view) = View::new(room, self.is_writable) else { return };
            *mapping = Some(Mapping { view, record, pool });
        }
        let Some(Mapping { view, pool, .. }) = mapping.as_mut() else { return };
        for stretch in bytes[..came].chunks_exact(24).map(decode_stretch) {
            let is_new = !view.has_pages(stretch.page, stretch.page.saturating_add(stretch.pages).min(room));
            if is_new && view.map(pool.as_fd(), stretch).is_err() {
                break;
            }
        }
    }

    /// Its attributes.
    pub fn attributes(&self) -> Outcome<Attributes> {
        let request = Request::Attributes { handle: self.handle };
        Outcome::of(self.connection.call(&request, &[], &mut []), |reply, _| match reply {
            Reply::Found(attributes) => Some(attributes),
            _ => None,
        })
    }

    /// Bytes of it.
    pub fn size(&self) -> Outcome<u64> {
        if let Some(Mapping { record, .. }) = self.view.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            return if record.is_in_kernel() { Outcome::UseKernel } else { Outcome::Done(record.size()) };
        }
        self.attributes().map(|attributes| attributes.size)
    }

    /// Sets its size.
    pub fn set_size(&self, size: u64) -> Outcome<()> {
        self.done(&Request::SetSize { handle: self.handle, size })
    }

    /// Makes it durable: fsync.
    pub fn sync(&self) -> Outcome<()> {
        self.done(&Request::Sync { handle: self.handle, is_data: false })
    }

    /// Makes its data durable: fdatasync.
    pub fn sync_data(&self) -> Outcome<()> {
        self.done(&Request::Sync { handle: self.handle, is_data: true })
    }

    /// The file of the kernel for locks is used for anything from now on.
    pub fn expose(&self) -> Outcome<()> {
        self.done(&Request::Expose { handle: self.handle })
    }

    fn done(&self, request: &Request<'_>) -> Outcome<()> {
        Outcome::of(self.connection.call(request, &[], &mut []), |reply, _| (reply == Reply::Done).then_some(()))
    }
}

fn decode_stretch(bytes: &[u8]) -> Stretch {
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
    Stretch { page: number(0), physical: number(8), pages: number(16) }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        // Pages are unmapped before the owner may give them away.
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = self.connection.call(&Request::Close { handle: self.handle }, &[], &mut []);
    }
}
