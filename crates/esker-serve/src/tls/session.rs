//! One connection's TLS.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};

use crate::socket::Socket;

/// Reads of the socket, of 4 KiB each, before it is the turn of others, if the client sends nothing for the session: no
/// flood of empty records keeps the server busy.
const READS: usize = 32;

/// The server's side of TLS on a socket. It holds at most a handshake message of 64 KiB or a record of 16 KiB that is
/// not whole yet, what is decrypted of two records, and 64 KiB to be sent.
pub(crate) struct TlsSession {
    connection: ServerConnection,
    /// Bytes that are decrypted and not read yet.
    decrypted: usize,
    /// How the client broke the protocol, or why it has no right to connect.
    failure: Option<String>,
    /// Whether the client sends nothing more; what it has sent may still be read.
    is_over: bool,
    is_closing: bool,
}

impl TlsSession {
    /// Begins with the handshake, in which the client speaks first.
    pub(crate) fn new(config: &Arc<ServerConfig>) -> Self {
        let connection = ServerConnection::new(Arc::clone(config)).expect("records have their usual length");
        Self { connection, decrypted: 0, failure: None, is_over: false, is_closing: false }
    }

    /// Returns true if there may be something to read.
    pub(crate) fn can_read(&self, socket: &Socket) -> bool {
        !self.has_ended() && (self.decrypted > 0 || socket.can_read())
    }

    /// Returns true if the handshake may go on.
    pub(crate) fn is_starting(&self, socket: &Socket) -> bool {
        self.connection.is_handshaking() && self.can_read(socket)
    }

    /// Returns true if there may be room to write.
    pub(crate) fn can_write(&self, socket: &Socket) -> bool {
        socket.can_write() && !self.has_ended() && !self.connection.is_handshaking() && !self.has_output()
    }

    /// Returns true if there is nothing more to be read.
    pub(crate) fn has_ended(&self) -> bool {
        self.failure.is_some() || (self.is_over && self.decrypted == 0)
    }

    /// Why the connection is closed, if the client is at fault.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Returns true if bytes are to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.connection.wants_write()
    }

    /// Reads what the client has encrypted. Returns the number of bytes; 0 if there is nothing now.
    pub(crate) fn read(&mut self, socket: &mut Socket, space: &mut [u8]) -> usize {
        let mut reads = 0;
        while self.decrypted == 0 && reads < READS && self.can_read(socket) {
            reads += 1;
            self.decrypt(socket);
        }
        if self.decrypted == 0 || self.failure.is_some() {
            return 0;
        }
        let count = self.connection.reader().read(space).unwrap_or(0);
        self.decrypted -= count;
        count
    }

    /// Takes what the socket has.
    fn decrypt(&mut self, socket: &mut Socket) {
        match self.connection.read_tls(&mut SocketBytes(socket)) {
            Ok(0) => self.is_over = true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // A handshake message that is too long.
            Err(error) => return self.failure = Some(format!("TLS: {error}")),
        }
        match self.connection.process_new_packets() {
            Ok(state) => {
                self.decrypted = state.plaintext_bytes_to_read();
                self.is_over |= state.peer_has_closed();
            }
            // An alert says so to the client.
            Err(error) => self.failure = Some(format!("TLS: {error}")),
        }
    }

    /// Encrypts and sends as much of `slices` as there is room for. Returns the number of bytes.
    pub(crate) fn send(&mut self, socket: &mut Socket, slices: &[IoSlice<'_>]) -> usize {
        if !self.can_write(socket) {
            return 0;
        }
        let count = self.connection.writer().write_vectored(slices).unwrap_or(0);
        self.flush(socket);
        count
    }

    /// Sends what is encrypted, as far as there is room. Returns true if something was sent.
    pub(crate) fn flush(&mut self, socket: &mut Socket) -> bool {
        let mut was_sent = false;
        while self.has_output() && socket.can_write() {
            was_sent |= self.connection.write_tls(&mut SocketBytes(socket)).is_ok();
        }
        was_sent
    }

    /// Tells the client that nothing more comes.
    pub(crate) fn close(&mut self) {
        if !self.is_closing {
            self.is_closing = true;
            self.connection.send_close_notify();
        }
    }
}

/// A socket as rustls reads and writes it.
struct SocketBytes<'a>(&'a mut Socket);

impl Read for SocketBytes<'_> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        match self.0.read(space) {
            0 if !self.0.has_ended() => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }
}

impl Write for SocketBytes<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.0.send(slices) {
            0 => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
