//! A client's connection to the owner.

use crate::address::Address;
use crate::board::Board;
use crate::kept::{Kept, Numbers};
use crate::message::{MESSAGE_MAX, Purpose, REPLY_MAX, Reply, Request};
use crate::region::{Region, WINDOW};
use crate::socket::{Granted, connect, receive_file};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::StatVfsMountFlags;
use rustix::io::{Errno, retry_on_intr};
use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The owner has gone, or does not keep to the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

/// A connection. Many threads may call at the same time.
#[derive(Debug)]
pub struct Connection {
    device: (u32, u32),
    client: u32,
    region: Region,
    board: Option<Arc<Board>>,
    socket: Kept,
    /// The pool, as long as pages of it are mapped: who has it keeps others from mounting it. Locked while a file comes
    /// through the socket.
    pool: Mutex<Weak<Kept>>,
    numbers: Numbers,
}

/// Bytes of paths up to which a message is short.
const SHORT: usize = 448;

static NEXT_HINT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The slot that this thread tries first.
    static HINT: Cell<usize> = Cell::new(NEXT_HINT.fetch_add(1, Ordering::Relaxed));
}

/// Whether the other end of a socket is gone, or the socket itself.
fn has_ended(found: PollFlags) -> bool {
    found.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

impl Connection {
    /// Connects to the owner of the pool that is mounted at `directory`. Its files say that they are on `device`.
    ///
    /// # Errors
    /// It is not there, or refuses; or the pool is read-only at `directory` ([`Errno::ROFS`]).
    pub fn new(directory: &[u8], device: (u32, u32), numbers: Numbers) -> Result<Connection, Errno> {
        // The owner knows nothing of that: another place, or another container, may have the same mount for writing.
        if rustix::fs::statvfs(directory)?.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Err(Errno::ROFS);
        }
        let (socket, Granted { client, region, board }) = connect(&Address::at(directory)?)?;
        let socket = Kept::new(&socket, numbers)?;
        let region = Region::open(region.as_fd())?;
        let board = board.map(|board| Board::open(board.as_fd())).transpose()?.map(Arc::new);
        Ok(Connection { device, client, region, board, socket, pool: Mutex::default(), numbers })
    }

    /// The device that files of the mount say that they are on.
    pub fn device(&self) -> (u32, u32) {
        self.device
    }

    /// The number that the owner gave this client.
    pub fn client(&self) -> u32 {
        self.client
    }

    /// The board, if the owner trusts this client.
    pub fn board(&self) -> Option<&Arc<Board>> {
        self.board.as_ref()
    }

    /// Shares a file: its record, and the pool to map pages from. Where pages `from` to `to` lie is written to `into`.
    ///
    /// # Errors
    /// The owner has gone, or leaves the file to the kernel.
    pub(crate) fn share(
        &self,
        (handle, from, to): (u32, u64, u64),
        into: &mut [u8],
    ) -> Result<(u32, usize, Arc<Kept>), Gone> {
        let mut known = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = known.upgrade();
        let request = Request::Share { handle, from, to, wants_pool: pool.is_none() };
        let (Reply::Shared { record, stretches }, came) = self.call(&request, &[], into)? else { return Err(Gone) };
        let pool = match pool {
            Some(pool) => pool,
            None => {
                let pool = receive_file(self.socket.as_fd()).map_err(|_| Gone)?;
                Arc::new(Kept::new(&pool, self.numbers).map_err(|_| Gone)?)
            }
        };
        *known = Arc::downgrade(&pool);
        Ok((record, came.min(stretches as usize * 24), pool))
    }

    /// Whether the owner is still there.
    pub fn lives(&self) -> bool {
        let mut polled = [PollFd::new(&self.socket, PollFlags::HUP)];
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 };
        // A signal, or whatever else keeps the system from looking, says nothing of the owner.
        let _ = retry_on_intr(|| rustix::event::poll(&mut polled, Some(&now)));
        !self.region.is_closed() && !has_ended(polled[0].revents())
    }

    /// Ends the connection, as the end of this process would. Whoever calls from now on is told that the owner has
    /// gone.
    pub fn abandon(&self) {
        self.region.close();
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }

    /// Makes a call with `data`, of at most [`WINDOW`] bytes, and takes what comes with the answer into `into`; the
    /// answer, and how many bytes came.
    ///
    /// # Errors
    /// The owner has gone.
    pub fn call(&self, request: &Request<'_>, data: &[u8], into: &mut [u8]) -> Result<(Reply, usize), Gone> {
        if !request.fits() {
            return Ok((Reply::UseKernel, 0));
        }
        let slot = self.region.claim(HINT.get()).ok_or(Gone)?;
        slot.write(&data[..data.len().min(WINDOW)]);
        let mut answer = [0; REPLY_MAX];
        // Room for long paths is not filled with zeroes for each call.
        let called = if request.paths_length() <= SHORT {
            let mut bytes = [0; SHORT + 64];
            let length = request.encode(&mut bytes);
            slot.call(&bytes[..length], data.len(), &mut answer, || self.lives())
        } else {
            let mut bytes = [0; MESSAGE_MAX];
            let length = request.encode(&mut bytes);
            slot.call(&bytes[..length], data.len(), &mut answer, || self.lives())
        };
        let (length, data) = called.ok_or(Gone)?;
        let reply = Reply::decode(&answer[..length]).map_err(|_| Gone)?;
        let taken = data.min(into.len());
        slot.read(&mut into[..taken]);
        Ok((reply, taken))
    }

    /// Asks for a file of the kernel.
    ///
    /// # Errors
    /// The owner has gone, or has none.
    pub fn kernel_file(&self, handle: u32, purpose: Purpose) -> Result<OwnedFd, Errno> {
        let _receiving = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        match self.call(&Request::Kernel { handle, purpose }, &[], &mut []) {
            Ok((Reply::Done, _)) => receive_file(self.socket.as_fd()),
            Ok((Reply::Failed(error), _)) => Err(Errno::from_raw_os_error(error)),
            _ => Err(Errno::IO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_socket_is_its_end() {
        // What a poll leaves that was interrupted, or found something else.
        for alive in [PollFlags::empty(), PollFlags::IN, PollFlags::OUT | PollFlags::PRI] {
            assert!(!has_ended(alive), "{alive:?}");
        }
        for dead in [PollFlags::HUP, PollFlags::ERR, PollFlags::NVAL, PollFlags::HUP | PollFlags::IN] {
            assert!(has_ended(dead), "{dead:?}");
        }
    }
}
