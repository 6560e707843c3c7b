//! A client's socket, in plain text or inside of TLS.

use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::socket::Socket;
use crate::tls::{Tls, TlsSession};

/// A client's socket. In plain text, data go between it and the session without a copy.
pub(crate) struct Stream {
    socket: Socket,
    tls: Option<Box<TlsSession>>,
}

impl Stream {
    /// Begins in plain text.
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, tls: None }
    }

    /// Begins TLS: whatever is read and sent from now on is inside of it.
    pub(crate) fn start_tls(&mut self, tls: &Tls) {
        self.tls = Some(Box::new(TlsSession::new(&tls.config)));
    }

    /// Returns true if the handshake of TLS may go on.
    pub(crate) fn is_starting_tls(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_starting(&self.socket))
    }

    /// The socket, which is watched no more.
    pub(crate) fn into_file(self) -> Arc<OwnedFd> {
        self.socket.into_file()
    }

    /// Ends the connection for both sides at once.
    pub(crate) fn shut_down(&self) {
        self.socket.shut_down();
    }

    /// Returns true if there may be something to read.
    pub(crate) fn can_read(&self) -> bool {
        match &self.tls {
            Some(tls) => tls.can_read(&self.socket),
            None => self.socket.can_read(),
        }
    }

    /// Returns true if there may be room to write.
    pub(crate) fn can_write(&self) -> bool {
        match &self.tls {
            Some(tls) => tls.can_write(&self.socket),
            None => self.socket.can_write(),
        }
    }

    /// Reads into `space`. Returns the number of bytes; 0 if there is nothing now, or nothing more.
    pub(crate) fn read(&mut self, space: &mut [u8]) -> usize {
        match &mut self.tls {
            Some(tls) => tls.read(&mut self.socket, space),
            None => self.socket.read(space),
        }
    }

    /// Sends as much of `slices` as there is room for. Returns the number of bytes.
    pub(crate) fn send(&mut self, slices: &[IoSlice<'_>]) -> usize {
        match &mut self.tls {
            Some(tls) => tls.send(&mut self.socket, slices),
            None => self.socket.send(slices),
        }
    }

    /// Sends what was encrypted before, as far as there is room. Returns true if something was sent.
    pub(crate) fn flush(&mut self) -> bool {
        self.tls.as_mut().is_some_and(|tls| tls.flush(&mut self.socket))
    }

    /// Returns true if encrypted bytes are to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_output())
    }

    /// Tells a client inside of TLS that nothing more comes.
    pub(crate) fn close(&mut self) {
        self.tls.iter_mut().for_each(|tls| tls.close());
    }

    /// Why the connection is closed, if the client broke the rules of TLS or has no right to connect.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.tls.as_ref()?.failure()
    }

    /// Returns true if there is nothing more to be read.
    pub(crate) fn has_ended(&self) -> bool {
        self.socket.has_ended() || self.tls.as_ref().is_some_and(|tls| tls.has_ended())
    }
}
