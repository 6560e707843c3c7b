//! The socket of a connection.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use esker_volume::Watch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, Shutdown, shutdown};

use crate::uri::NbdServer;

/// How long a server may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Where the watch of a connection is put once waits of the driver watch it. Until then, calls wait themselves.
pub(crate) type WatchPlace = Arc<OnceLock<Watch>>;

/// A connected socket that does not block. What would have to wait is the error [`ErrorKind::WouldBlock`].
pub(crate) struct Wire {
    socket: Arc<OwnedFd>,
    watch: WatchPlace,
}

impl Wire {
    /// Connects to a server.
    pub(crate) fn connect(server: &NbdServer) -> io::Result<Self> {
        Ok(Self { socket: Arc::new(connect(server)?), watch: WatchPlace::default() })
    }

    pub(crate) fn socket(&self) -> &Arc<OwnedFd> {
        &self.socket
    }

    pub(crate) fn watch_place(&self) -> &WatchPlace {
        &self.watch
    }

    /// Returns true if calls wait for answers themselves.
    pub(crate) fn waits_itself(&self) -> bool {
        self.watch.get().is_none()
    }

    /// Has calls wait themselves from now on.
    pub(crate) fn unwatch(&mut self) {
        self.watch = WatchPlace::default();
    }

    /// Waits until there is something to read, or, if `sends`, room to send. May end early.
    pub(crate) fn wait(&self, sends: bool, limit: Duration) -> io::Result<()> {
        let room = if sends { PollFlags::OUT } else { PollFlags::empty() };
        let limit = Timespec::try_from(limit).expect("a limit of less than 2^63 seconds");
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN | room)], Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the connection at once.
    pub(crate) fn end(&self) {
        // It may have ended already.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }

    /// Reads once. Returns the number of bytes, and whether more may be there.
    pub(crate) fn read_some(&self, space: &mut [u8]) -> io::Result<(usize, bool)> {
        loop {
            if !self.watch.get().is_none_or(Watch::can_read) {
                return Err(ErrorKind::WouldBlock.into());
            }
            match rustix::io::read(&self.socket, &mut *space) {
                Ok(count) => {
                    // Whatever comes after that is told, but for the end, which may have been told already.
                    let is_all = count < space.len() && !self.watch.get().is_some_and(Watch::peer_has_ended);
                    if is_all {
                        self.watch.get().inspect(|watch| watch.read_blocks());
                    }
                    return Ok((count, !is_all));
                }
                Err(Errno::AGAIN) => {
                    self.watch.get().inspect(|watch| watch.read_blocks());
                    return Err(ErrorKind::WouldBlock.into());
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for &Wire {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.read_some(space).map(|(count, _)| count)
    }
}

impl Write for &Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        loop {
            if !self.watch.get().is_none_or(Watch::can_write) {
                return Err(ErrorKind::WouldBlock.into());
            }
            let mut control = SendAncillaryBuffer::default();
            match rustix::net::sendmsg(&self.socket, slices, &mut control, SendFlags::NOSIGNAL) {
                Ok(count) => return Ok(count),
                Err(Errno::AGAIN) => {
                    self.watch.get().inspect(|watch| watch.write_blocks());
                    return Err(ErrorKind::WouldBlock.into());
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket that is connected, and does not block any more.
fn connect(server: &NbdServer) -> io::Result<OwnedFd> {
    match server {
        NbdServer::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_nonblocking(true)?;
            Ok(stream.into())
        }
        NbdServer::Tcp(host, port) => {
            let mut error = io::Error::new(ErrorKind::NotFound, "the host has no address");
            for address in (&**host, *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        stream.set_nonblocking(true)?;
                        return Ok(stream.into());
                    }
                    Err(found) => error = found,
                }
            }
            Err(error)
        }
    }
}
