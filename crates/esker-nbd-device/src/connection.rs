//! One connection to a server.

use std::io::{self, ErrorKind, IoSlice};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use esker_core::Tag;
use esker_nbd::{ClientError, ClientEvent, ClientSession, ClientSettings, Command, ExportInfo, RequestEnd};
use esker_volume::Watch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, Shutdown, shutdown};
use thiserror::Error;

use crate::payload::Payload;
use crate::uri::{NbdServer, NbdUri};

/// Slices of one call of the operating system.
const SLICES: usize = 128;

/// How long a server may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How long a server may say nothing while its answer is waited for: as long as the devices of a volume that serves.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Why an export cannot be reached.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// Nobody answers there.
    #[error("{0}")]
    Unreachable(io::Error),
    /// The server has ended the connection, or does not go on.
    #[error("the server was lost before it opened the export: {0}")]
    Lost(io::Error),
    /// The server has no such export, or breaks the protocol.
    #[error(transparent)]
    Refused(ClientError),
}

/// The end of a request.
pub(crate) type Done = RequestEnd<Payload, Tag>;

/// Where the watch of a connection is put once waits of the driver watch it. Until then, calls wait themselves.
pub(crate) type WatchPlace = Arc<OnceLock<Watch>>;

/// A connection on which an export is open.
pub(crate) struct Connection {
    socket: Arc<OwnedFd>,
    session: ClientSession<Payload, Tag>,
    watch: WatchPlace,
}

impl Connection {
    /// Connects and opens the export.
    pub(crate) fn open(uri: &NbdUri) -> Result<(Self, ExportInfo), ConnectError> {
        let socket = connect(&uri.server).map_err(ConnectError::Unreachable)?;
        let settings =
            ClientSettings { block_status: false, requests_max: u32::MAX, ..ClientSettings::open(&uri.export) };
        let session = ClientSession::new(settings);
        let mut connection = Self { socket: Arc::new(socket), session, watch: WatchPlace::default() };
        loop {
            match connection.session.next_event() {
                Some(ClientEvent::Opened(info)) => return Ok((connection, info)),
                Some(ClientEvent::Failed(error)) => {
                    // It leaves in order.
                    let _ = connection.send();
                    return Err(ConnectError::Refused(error));
                }
                Some(_) => unreachable!("neither TLS nor a list is asked for, and nothing is under way"),
                None => {
                    connection.send().map_err(ConnectError::Lost)?;
                    connection.wait(ANSWER_LIMIT).map_err(ConnectError::Lost)?;
                    connection.read().map_err(ConnectError::Lost)?;
                }
            }
        }
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

    /// Begins a request; an error if the session takes none.
    pub(crate) fn submit(&mut self, command: Command, tag: Tag, payload: Option<Payload>) -> io::Result<()> {
        self.session.submit(command, tag, payload).map_err(|rejection| io::Error::other(rejection.why))
    }

    /// Requests under way.
    pub(crate) fn under_way(&self) -> usize {
        self.session.under_way()
    }

    /// Sends what is to be sent, as far as there is room.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        while self.watch.get().is_none_or(Watch::can_write) && self.session.has_output() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = self.session.gather(&mut slices);
            let mut control = SendAncillaryBuffer::default();
            match rustix::net::sendmsg(&self.socket, &slices[..count], &mut control, SendFlags::NOSIGNAL) {
                Ok(count) => self.session.sent(count),
                Err(Errno::AGAIN) => {
                    self.watch.get().inspect(|watch| watch.write_blocks());
                    break;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes what the server has sent, and appends the requests that this ends.
    pub(crate) fn receive(&mut self, ended: &mut Vec<Done>) -> io::Result<()> {
        loop {
            let may_go_on = self.read();
            while let Some(event) = self.session.next_event() {
                match event {
                    ClientEvent::Done(done) => ended.push(done),
                    ClientEvent::Failed(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
                    _ => return Err(io::Error::new(ErrorKind::InvalidData, "the server goes back to the handshake")),
                }
            }
            if !may_go_on? {
                break;
            }
        }
        if self.session.is_finished() {
            return Err(io::Error::new(ErrorKind::ConnectionAborted, "the server is being shut down"));
        }
        Ok(())
    }

    /// Reads once. Returns false if nothing is there.
    fn read(&mut self) -> io::Result<bool> {
        if !self.watch.get().is_none_or(Watch::can_read) {
            return Ok(false);
        }
        let Some(space) = self.session.space() else { return Ok(false) };
        let length = space.len();
        match rustix::io::read(&self.socket, space) {
            Ok(0) => Err(io::Error::new(ErrorKind::ConnectionAborted, "the server has closed the connection")),
            Ok(count) => {
                self.session.received(count);
                // Whatever comes after that is told, but for the end, which may have been told already.
                let is_all = count < length && !self.watch.get().is_some_and(Watch::peer_has_ended);
                if is_all {
                    self.watch.get().inspect(|watch| watch.read_blocks());
                }
                Ok(!is_all)
            }
            Err(Errno::AGAIN) => {
                self.watch.get().inspect(|watch| watch.read_blocks());
                Ok(false)
            }
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until there is something to read, or room for what is to be sent. May end early.
    pub(crate) fn wait(&self, limit: Duration) -> io::Result<()> {
        let room = if self.session.has_output() { PollFlags::OUT } else { PollFlags::empty() };
        let limit = Timespec::try_from(limit).expect("a limit of less than 2^63 seconds");
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN | room)], Some(&limit)) {
            Ok(0) => Err(io::Error::new(ErrorKind::TimedOut, "the server does not answer")),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the connection at once. Returns the requests that have no answer, with the buffers that the session does
    /// not use.
    pub(crate) fn lose(&mut self) -> impl Iterator<Item = (Tag, Option<Payload>)> {
        // It may have ended already.
        let _ = shutdown(&self.socket, Shutdown::Both);
        self.session.abandon()
    }

    /// Has calls wait themselves from now on.
    pub(crate) fn unwatch(&mut self) {
        self.watch = WatchPlace::default();
    }

    /// Tells the server that nothing more comes.
    pub(crate) fn leave(&mut self) {
        self.session.disconnect();
        // Whether it learns that, or sees the end of the connection, is the same to it.
        let _ = self.send();
        let _ = shutdown(&self.socket, Shutdown::Both);
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
