//! One client: its calls, one after the other.

use crate::server::{Called, ClientFile, Server};
use esker_scm::{Caller, FsError, FsResult};
use esker_scm_channel::{MESSAGE_MAX, PeerIdentity, Purpose, REPLY_MAX, Region, Reply, Request, WINDOW, send_file};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

/// Files that a client may have open.
const FILES_MAX: usize = 65_536;

/// A connected client.
pub(super) struct Client {
    server: Arc<Server>,
    region: Arc<Region>,
    socket: Arc<OwnedFd>,
    number: u32,
    is_trusted: bool,
    identity: PeerIdentity,
    /// Where the pool is mounted.
    directory: PathBuf,
    files: Vec<Option<ClientFile>>,
    free: Vec<u32>,
    buffer: Vec<u8>,
}

impl Drop for Client {
    fn drop(&mut self) {
        // Also if this thread has panicked: nobody would answer any more.
        self.region.close();
        self.server.coherence().take_locks_from(self.number);
        for file in self.files.drain(..).flatten() {
            // A device that fails says so to others.
            let _ = self.server.client_close(file);
        }
    }
}

impl Client {
    pub(super) fn new(
        server: Arc<Server>,
        (region, socket): (Arc<Region>, Arc<OwnedFd>),
        (number, identity, is_trusted): (u32, PeerIdentity, bool),
        directory: PathBuf,
    ) -> Client {
        let buffer = vec![0; WINDOW];
        let (files, free) = (Vec::new(), Vec::new());
        Client { server, region, socket, number, is_trusted, identity, directory, files, free, buffer }
    }

    /// Answers until the client goes.
    pub(super) fn serve(&mut self) {
        let mut message = [0; MESSAGE_MAX];
        let mut answer = [0; REPLY_MAX];
        let region = self.region.clone();
        while !region.is_closed() {
            let Some(slot) = region.take() else { continue };
            let (message, came) = region.message(slot, &mut message);
            let (reply, data) = match Request::decode(message) {
                Ok(request) => self.answer(slot, &request, came),
                Err(_) => (Reply::Failed(Errno::PROTO.raw_os_error()), 0),
            };
            let length = reply.encode(&mut answer);
            region.finish(slot, &answer[..length], data);
        }
    }

    fn file(&self, handle: u32) -> FsResult<&ClientFile> {
        self.files.get(handle as usize).and_then(Option::as_ref).ok_or(FsError::BadHandle)
    }

    /// The file, unless it is left to the kernel.
    fn own_file(&self, handle: u32) -> FsResult<Option<&ClientFile>> {
        let file = self.file(handle)?;
        Ok((!self.server.coherence().is_in_kernel(file.held.handle().number())).then_some(file))
    }

    /// Answers a request that came with `came` bytes in the window: the answer, and how many bytes go back with it.
    fn answer(&mut self, slot: usize, request: &Request<'_>, came: usize) -> (Reply, usize) {
        let answered = match *request {
            Request::Read { handle, offset, length } => return self.read(slot, handle, (offset, length)),
            Request::Share { handle, from, to, wants_pool } => {
                return self.share(slot, handle, (from, to, wants_pool));
            }
            Request::Write { handle, offset } => self.write(slot, handle, (offset, came)),
            Request::Open { path, flags, permissions } => self.open(path, (flags, permissions)),
            Request::Close { handle } => self.close(handle),
            Request::Attributes { handle } => self.with_file(handle, |client, file| {
                Ok(Reply::Found(client.server.attributes(file.held.handle().number())?))
            }),
            Request::SetSize { handle, size } => self.set_size(handle, size),
            Request::Sync { handle, is_data } => self.with_file(handle, |client, file| {
                client.server.sync_held(file.held.handle(), is_data)?;
                Ok(Reply::Done)
            }),
            Request::Kernel { handle, purpose } => self.kernel_file(handle, purpose),
            Request::Expose { handle } => self.expose(handle),
            _ => Ok(self.answer_names(request)),
        };
        (answered.unwrap_or_else(|error| Reply::Failed(error.errno())), 0)
    }

    fn answer_names(&self, request: &Request<'_>) -> Reply {
        let (server, caller) = (&self.server, self.caller());
        let done = |result| Server::reply_of(result, |()| Reply::Done);
        match *request {
            Request::Look { path } => Server::reply_of(server.client_look(&caller, path), Reply::Found),
            Request::Unlink { path } => done(server.client_remove(&caller, path, false)),
            Request::RemoveDirectory { path } => done(server.client_remove(&caller, path, true)),
            Request::MakeDirectory { path, permissions } => {
                done(server.client_make_directory(&caller, path, permissions))
            }
            Request::Rename { from, to } => done(server.client_rename(&caller, from, to)),
            _ => Reply::Failed(Errno::NOSYS.raw_os_error()),
        }
    }

    fn caller(&self) -> Caller<'_> {
        Server::client_caller(self.identity.user, self.identity.group, &self.identity.groups)
    }

    fn with_file(&self, handle: u32, call: impl FnOnce(&Client, &ClientFile) -> FsResult<Reply>) -> FsResult<Reply> {
        match self.own_file(handle)? {
            Some(file) => call(self, file),
            None => Ok(Reply::UseKernel),
        }
    }

    fn open(&mut self, path: &[u8], how: (u32, u16)) -> FsResult<Reply> {
        if self.free.is_empty() && self.files.len() == FILES_MAX {
            return Ok(Reply::Failed(Errno::MFILE.raw_os_error()));
        }
        let file = match self.server.client_open(&self.caller(), path, how)? {
            Called::Done(file) => file,
            Called::UseKernel => return Ok(Reply::UseKernel),
        };
        let number = file.held.handle().number();
        let handle = self.free.pop().unwrap_or_else(|| {
            self.files.push(None);
            (self.files.len() - 1) as u32
        });
        self.files[handle as usize] = Some(file);
        Ok(Reply::Opened { handle, number })
    }

    fn close(&mut self, handle: u32) -> FsResult<Reply> {
        let file = self.files.get_mut(handle as usize).and_then(Option::take).ok_or(FsError::BadHandle)?;
        self.free.push(handle);
        self.server.client_close(file)?;
        Ok(Reply::Done)
    }

    fn read(&mut self, slot: usize, handle: u32, (offset, length): (u64, u32)) -> (Reply, usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let length = (length as usize).min(WINDOW);
        let read = self.own_file(handle).and_then(|file| match file {
            Some(file) if !file.reads => Err(FsError::BadHandle),
            Some(file) => {
                self.server.system().read(&self.caller(), file.held.handle(), offset, &mut buffer[..length]).map(Some)
            }
            None => Ok(None),
        });
        let answer = match read {
            Ok(Some(length)) => {
                self.region.write_window(slot, &buffer[..length]);
                (Reply::Moved { length: length as u32, end: offset + length as u64 }, length)
            }
            Ok(None) => (Reply::UseKernel, 0),
            Err(error) => (Reply::Failed(error.errno()), 0),
        };
        self.buffer = buffer;
        answer
    }

    fn write(&mut self, slot: usize, handle: u32, (offset, came): (Option<u64>, usize)) -> FsResult<Reply> {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.region.read_window(slot, &mut buffer[..came]);
        let written = self.with_file(handle, |client, file| {
            if !file.writes {
                return Err(FsError::BadHandle);
            }
            let (length, end) = client.server.client_write(&client.caller(), &file.held, offset, &buffer[..came])?;
            Ok(Reply::Moved { length: length as u32, end })
        });
        self.buffer = buffer;
        written
    }

    fn set_size(&self, handle: u32, size: u64) -> FsResult<Reply> {
        self.with_file(handle, |client, file| {
            if !file.writes {
                return Err(FsError::Invalid);
            }
            client.server.client_set_size(&client.caller(), &file.held, size)?;
            Ok(Reply::Done)
        })
    }

    fn share(&mut self, slot: usize, handle: u32, (from, to, wants_pool): (u64, u64, bool)) -> (Reply, usize) {
        if !self.is_trusted {
            return (Reply::UseKernel, 0);
        }
        let Some(file) = self.files.get_mut(handle as usize).and_then(Option::as_mut) else {
            return (Reply::Failed(FsError::BadHandle.errno()), 0);
        };
        match self.server.client_share(file, (from, to)) {
            Ok(Called::Done((record, stretches))) => {
                let pool = self.server.system().persist().file().as_fd();
                if wants_pool && let Err(error) = send_file(self.socket.as_fd(), pool) {
                    return (Reply::Failed(error.raw_os_error()), 0);
                }
                let sent = stretches.len().min(WINDOW / 24);
                let numbers = stretches[..sent].iter().flat_map(|s| [s.page, s.physical, s.pages]);
                let bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
                self.region.write_window(slot, &bytes);
                (Reply::Shared { record, stretches: sent as u32 }, bytes.len())
            }
            Ok(Called::UseKernel) => (Reply::UseKernel, 0),
            Err(error) => (Reply::Failed(error.errno()), 0),
        }
    }

    /// Opens the file through the kernel, for the client.
    fn kernel_file(&mut self, handle: u32, purpose: Purpose) -> FsResult<Reply> {
        let file = self.file(handle)?;
        let mode = match (file.reads, file.writes) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            _ => OFlags::RDONLY,
        };
        let number = file.held.handle().number();
        let (opened, for_locks) = self.server.coherence().open(number, purpose, |name| {
            let flags = mode | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            rustix::fs::open(self.directory.join(name), flags, rustix::fs::Mode::empty())
        });
        let sent = opened.and_then(|opened| send_file(self.socket.as_fd(), opened.as_fd()));
        if let Err(error) = sent {
            return Ok(Reply::Failed(error.raw_os_error()));
        }
        if purpose == Purpose::Locks
            && let Some(file) = self.files[handle as usize].as_mut()
        {
            let coherence = self.server.coherence();
            file.for_locks.retain(|&handle| coherence.is_for_locks(handle));
            file.for_locks.push(for_locks);
        }
        Ok(Reply::Done)
    }

    fn expose(&mut self, handle: u32) -> FsResult<Reply> {
        // The client does not say which of them: two of its threads may have asked for one at the same time.
        self.file(handle)?.for_locks.iter().for_each(|&for_locks| self.server.coherence().expose(for_locks));
        Ok(Reply::Done)
    }
}
