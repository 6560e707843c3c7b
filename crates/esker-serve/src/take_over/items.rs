//! The items of a hand-over: lines of JSON, some with bytes behind them, most with a socket.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};

use crate::held::{Handover, HeldClient, HeldExport, HeldOperator, Role};
use crate::listener::{Listener, PassedListener};

/// An item, without its socket and its bytes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Item {
    Listener { role: Role, listener: PassedListener },
    Client { peer: String, bytes: usize },
    Operator { export: usize, bytes: usize },
    Export(HeldExport),
    End { requires_tls: bool },
    Error { message: String, hint: Option<String> },
}

/// The longest line, and the most bytes behind one.
const LINE_MAX: usize = 64 << 10;
const BYTES_MAX: usize = 16 << 20;

/// Sends all items of `handover`.
pub(super) fn send(stream: &mut UnixStream, handover: &Handover) -> io::Result<()> {
    for (role, listener) in &handover.listeners {
        let item = Item::Listener { role: *role, listener: listener.passed()? };
        send_item(stream, &item, Some(listener.socket().as_fd()), &[])?;
    }
    for HeldClient { socket, peer, session } in &handover.clients {
        let item = Item::Client { peer: peer.clone(), bytes: session.len() };
        send_item(stream, &item, Some(socket.as_fd()), session)?;
    }
    for HeldOperator { export, socket, input } in &handover.operators {
        let item = Item::Operator { export: *export, bytes: input.len() };
        send_item(stream, &item, Some(socket.as_fd()), input)?;
    }
    for export in &handover.exports {
        send_item(stream, &Item::Export(export.clone()), None, &[])?;
    }
    send_item(stream, &Item::End { requires_tls: handover.requires_tls }, None, &[])
}

/// Sends the line of an item, its socket with the first byte, and its bytes.
fn send_item(
    stream: &mut UnixStream,
    item: &Item,
    socket: Option<std::os::fd::BorrowedFd<'_>>,
    bytes: &[u8],
) -> io::Result<()> {
    let line = format!("{}\n", serde_json::to_string(item).map_err(io::Error::other)?);
    let sockets: Vec<_> = socket.into_iter().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !sockets.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&sockets));
    }
    let sent = loop {
        match rustix::net::sendmsg(&*stream, &[IoSlice::new(line.as_bytes())], &mut control, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => {}
            sent => break sent?,
        }
    };
    stream.write_all(&line.as_bytes()[sent..])?;
    stream.write_all(bytes)
}

/// Receives items.
#[derive(Debug)]
pub(super) struct Receiver {
    stream: UnixStream,
    bytes: Vec<u8>,
    /// Sockets that came, of items that are not read yet.
    sockets: VecDeque<OwnedFd>,
}

/// Why there is no handover.
pub(super) enum NoHandover {
    /// The server says why.
    Refused {
        message: String,
        hint: Option<String>,
    },
    Broken(io::Error),
}

impl From<io::Error> for NoHandover {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl Receiver {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self { stream, bytes: Vec::new(), sockets: VecDeque::new() }
    }

    /// Sends a line.
    pub(super) fn send(&mut self, line: &str) -> io::Result<()> {
        self.stream.write_all(line.as_bytes())
    }

    /// Receives all items, to the last one.
    pub(super) fn handover(&mut self) -> Result<Handover, NoHandover> {
        let mut handover = Handover::default();
        loop {
            match self.item()? {
                Item::Listener { role, listener } => {
                    handover.listeners.push((role, Listener::taken_over(self.socket()?, listener)));
                }
                Item::Client { peer, bytes } => {
                    let (socket, session) = (Arc::new(self.socket()?), self.take(bytes)?);
                    handover.clients.push(HeldClient { socket, peer, session });
                }
                Item::Operator { export, bytes } => {
                    let (socket, input) = (Arc::new(self.socket()?), self.take(bytes)?);
                    handover.operators.push(HeldOperator { export, socket, input });
                }
                Item::Export(export) => handover.exports.push(export),
                Item::End { requires_tls } => return Ok(Handover { requires_tls, ..handover }),
                Item::Error { message, hint } => return Err(NoHandover::Refused { message, hint }),
            }
        }
    }

    /// What the server says when it has taken everything back.
    pub(super) fn refusal(&mut self) -> Option<String> {
        match self.item() {
            Ok(Item::Error { message, .. }) => Some(message),
            _ => None,
        }
    }

    fn item(&mut self) -> io::Result<Item> {
        let end = loop {
            match self.bytes.iter().position(|&byte| byte == b'\n') {
                Some(end) => break end + 1,
                None if self.bytes.len() > LINE_MAX => return Err(malformed("an item has no end")),
                None => self.receive()?,
            }
        };
        let line = self.take(end)?;
        serde_json::from_slice(&line).map_err(|error| malformed(&error.to_string()))
    }

    fn socket(&mut self) -> io::Result<OwnedFd> {
        self.sockets.pop_front().ok_or_else(|| malformed("a socket is missing"))
    }

    /// The next `count` bytes.
    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        if count > BYTES_MAX {
            return Err(malformed("an item is too long"));
        }
        while self.bytes.len() < count {
            self.receive()?;
        }
        let rest = self.bytes.split_off(count);
        Ok(std::mem::replace(&mut self.bytes, rest))
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut bytes = [0; 16 << 10];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let slices = &mut [IoSliceMut::new(&mut bytes)];
        let received = loop {
            match rustix::net::recvmsg(&self.stream, slices, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Err(rustix::io::Errno::INTR) => {}
                received => break received?,
            }
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(sockets) = message {
                self.sockets.extend(sockets);
            }
        }
        if received.bytes == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.bytes.extend_from_slice(&bytes[..received.bytes]);
        Ok(())
    }
}

fn malformed(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("it is no hand-over: {why}"))
}

impl Listener {
    /// What another process has to know of it.
    fn passed(&self) -> io::Result<PassedListener> {
        let (file, inode) = self.file().map_or((None, 0), |(path, inode)| (Some(path.clone()), *inode));
        let file: Option<PathBuf> = file.map(std::path::absolute).transpose()?;
        Ok(PassedListener { address: self.address().absolute()?, asked: self.asked().absolute()?, file, inode })
    }
}
