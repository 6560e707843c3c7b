//! The socket by which clients find the owner, and by which files go from one to the other.
//!
//! Its name is in the abstract namespace, and random. A client asks the mount for it, by an extended attribute of its
//! root: a name made of the device of the mount, say, could be that of an earlier mount, whose process still answers.
//! Who listens there could be anybody, so a client looks who it is. Who connects could be anybody, too, as names of
//! sockets are no secret: so a client says first what the mount alone told it.

use crate::address::Address;
use crate::peer::PeerIdentity;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What the first message of each side begins with: clients and owners of other versions do not understand each other.
const GREETING: &[u8; 8] = b"SCMFS\x02\0\0";
/// Bytes of a client's first message that are looked at: more than it may have, so that a longer one is known.
const HELLO_MAX: usize = 64;
/// Clients that may wait to be accepted.
const BACKLOG: i32 = 64;

/// What a client gets when it has connected.
#[derive(Debug)]
pub struct Granted {
    /// Its number.
    pub client: u32,
    /// The memory for its calls.
    pub region: OwnedFd,
    /// The board, if the owner trusts it.
    pub board: Option<OwnedFd>,
}

fn socket() -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// Listens for clients.
///
/// # Errors
/// The system refuses.
pub fn listen(address: &Address) -> Result<OwnedFd, Errno> {
    let listener = socket()?;
    rustix::net::bind(&listener, &SocketAddrUnix::new_abstract_name(address.name())?)?;
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// Accepts a client.
///
/// # Errors
/// The system refuses.
pub fn accept(listener: BorrowedFd<'_>) -> Result<(OwnedFd, PeerIdentity), Errno> {
    let socket = rustix::net::accept_with(listener, SocketFlags::CLOEXEC)?;
    let identity = PeerIdentity::of_client(socket.as_fd())?;
    Ok((socket, identity))
}

/// Whether a client that was accepted has said what the mount tells those who reach it.
///
/// # Errors
/// It is gone, or has said nothing so far ([`Errno::AGAIN`]).
pub fn is_let_in(socket: BorrowedFd<'_>, address: &Address) -> Result<bool, Errno> {
    let mut bytes = [0; HELLO_MAX];
    let (_, length) = rustix::net::recv(socket, &mut bytes[..], RecvFlags::DONTWAIT)?;
    Ok(bytes[..length].strip_prefix(GREETING).is_some_and(|said| address.has_secret(said)))
}

/// Connects to an owner that is the administrator or the user of this process, and asks to be let in.
///
/// # Errors
/// Nobody listens, or somebody else does, who is told nothing.
pub fn knock(address: &Address) -> Result<OwnedFd, Errno> {
    let socket = socket()?;
    rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(address.name())?)?;
    let owner = rustix::net::sockopt::socket_peercred(&socket)?.uid.as_raw();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    send(socket.as_fd(), &[&GREETING[..], address.secret()].concat(), &[])?;
    Ok(socket)
}

/// Connects, and takes what the owner grants.
///
/// # Errors
/// Nobody listens, somebody else does, or the owner refuses.
pub(crate) fn connect(address: &Address) -> Result<(OwnedFd, Granted), Errno> {
    let socket = knock(address)?;
    let mut bytes = [0; 12];
    let (length, files) = receive(socket.as_fd(), &mut bytes)?;
    let (greeting, client) = bytes.split_at(8);
    if length != bytes.len() || greeting != GREETING {
        return Err(Errno::PROTO);
    }
    let client = u32::from_le_bytes(client.try_into().map_err(|_| Errno::PROTO)?);
    let mut files = files.into_iter();
    let region = files.next().ok_or(Errno::PROTO)?;
    Ok((socket, Granted { client, region, board: files.next() }))
}

/// Tells a client what it gets.
///
/// # Errors
/// It is gone.
pub fn send_granted(socket: BorrowedFd<'_>, client: u32, files: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(GREETING);
    bytes[8..].copy_from_slice(&client.to_le_bytes());
    send(socket, &bytes, files)
}

/// Sends a file.
///
/// # Errors
/// The other side is gone.
pub fn send_file(socket: BorrowedFd<'_>, file: BorrowedFd<'_>) -> Result<(), Errno> {
    send(socket, &[0], &[file])
}

/// Receives a file.
///
/// # Errors
/// The other side is gone, or sent none.
pub fn receive_file(socket: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    receive(socket, &mut [0])?.1.into_iter().next().ok_or(Errno::PROTO)
}

fn send(socket: BorrowedFd<'_>, bytes: &[u8], files: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}

fn receive(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags)?;
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    if received.bytes == 0 { Err(Errno::CONNRESET) } else { Ok((received.bytes, files)) }
}
