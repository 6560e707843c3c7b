//! Connected sockets that do not block.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use esker_volume::{DeviceIo, Watch};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags};

/// A connected socket that waits watch.
pub(crate) struct Socket {
    file: Arc<OwnedFd>,
    watch: Watch,
    /// Whether the peer sends nothing more.
    has_ended: bool,
    /// Whether nothing can be sent or received.
    is_broken: bool,
}

impl Socket {
    pub(crate) fn new(io: &DeviceIo, file: impl Into<Arc<OwnedFd>>) -> io::Result<Self> {
        let file = file.into();
        let watch = io.watch(Arc::clone(&file))?;
        Ok(Self { file, watch, has_ended: false, is_broken: false })
    }

    /// The socket, which is watched no more.
    pub(crate) fn into_file(self) -> Arc<OwnedFd> {
        self.file
    }

    /// Its number, which no other socket of the server has, had or will have.
    pub(crate) fn number(&self) -> u32 {
        self.watch.number()
    }

    /// Returns true if there may be something to read.
    pub(crate) fn can_read(&self) -> bool {
        self.watch.can_read() && !self.has_ended && !self.is_broken
    }

    /// Returns true if there may be room to write.
    pub(crate) fn can_write(&self) -> bool {
        self.watch.can_write() && !self.is_broken
    }

    /// Returns true if the peer sends nothing more.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended || self.is_broken
    }

    /// Returns true if nothing can be sent or received.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Ends the connection for both sides at once. The kernel may watch the socket for longer than the server holds it,
    /// and the peer would wait for its end until then.
    pub(crate) fn shut_down(&self) {
        let _ = rustix::net::shutdown(&self.file, rustix::net::Shutdown::Both);
    }

    /// Reads into `space`. Returns the number of bytes; 0 if there is nothing, or nothing more.
    pub(crate) fn read(&mut self, space: &mut [u8]) -> usize {
        while self.can_read() {
            match rustix::io::read(&self.file, &mut *space) {
                Ok(0) => self.has_ended = true,
                Ok(count) => {
                    if count < space.len() && !self.watch.peer_has_ended() {
                        // Whatever comes after that is told. The end may have been told already.
                        self.watch.read_blocks();
                    }
                    return count;
                }
                Err(Errno::AGAIN) => self.watch.read_blocks(),
                Err(Errno::INTR) => {}
                Err(_) => self.is_broken = true,
            }
        }
        0
    }

    /// Sends as much of `slices` as there is room for. Returns the number of bytes.
    pub(crate) fn send(&mut self, slices: &[IoSlice<'_>]) -> usize {
        while self.can_write() {
            let mut control = SendAncillaryBuffer::default();
            match rustix::net::sendmsg(&self.file, slices, &mut control, SendFlags::NOSIGNAL) {
                Ok(count) => return count,
                Err(Errno::AGAIN) => self.watch.write_blocks(),
                Err(Errno::INTR) => {}
                Err(_) => self.is_broken = true,
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use esker_volume::IoChoice;

    use super::*;

    #[test]
    fn the_end_is_found_although_it_was_reported_with_the_last_bytes() {
        for choice in [IoChoice::Best, IoChoice::Threads] {
            let io = DeviceIo::start(choice).unwrap();
            let (here, mut peer) = UnixStream::pair().unwrap();
            here.set_nonblocking(true).unwrap();
            let mut socket = Socket::new(&io, OwnedFd::from(here)).unwrap();
            assert_eq!(socket.read(&mut [0; 100]), 0);
            io.wait(Some(Duration::ZERO));
            peer.write_all(b"status").unwrap();
            peer.shutdown(Shutdown::Write).unwrap();
            // Both are reported before anything is read.
            (0..5).for_each(|_| io.wait(Some(Duration::from_millis(5))));
            assert_eq!(socket.read(&mut [0; 100]), 6);
            assert_eq!((socket.read(&mut [0; 100]), socket.has_ended()), (0, true));
        }
    }
}
