//! The socket by which clients find the owner, and by which files go from one to the other.
//!
//! Its name is in the abstract namespace, and random. A client asks the mount for it, by an extended attribute of its
//! root: a name made of the device of the mount, say, could be that of an earlier mount, whose process still answers.
//! Who listens there could be anybody, so a client looks who it is.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What the first message of an owner begins with: clients and owners of other versions do not understand each other.
const GREETING: &[u8; 8] = b"SCMFS\x01\0\0";
/// Clients that may wait to be accepted.
const BACKLOG: i32 = 64;
/// Random bytes of the socket's name.
const RANDOM: usize = 16;

/// The extended attribute of a mount's root that holds the name of its owner's socket. Everybody may read attributes of
/// the class `system`.
pub const ADDRESS_ATTRIBUTE: &str = "system.esker-scmfs.address";

/// Who is at the other end, as the system says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerIdentity {
    /// The process that connected, or listens.
    pub process: i32,
    /// Its effective user then.
    pub user: u32,
    /// Its effective group then.
    pub group: u32,
}

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

/// A name for the socket of an owner, unlike those of all others.
///
/// # Errors
/// The system has no random numbers.
pub fn new_address() -> Result<String, Errno> {
    let mut random = [0; RANDOM];
    let length = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    if length < RANDOM {
        return Err(Errno::IO);
    }
    Ok(random.iter().fold("esker-scmfs-".into(), |name, byte| format!("{name}{byte:02x}")))
}

/// The name of the socket of the owner whose pool is mounted at `directory`.
///
/// # Errors
/// No pool is mounted there, or this process may not use it.
pub fn address_at(directory: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut name = [0; 108];
    let length = rustix::fs::getxattr(directory, ADDRESS_ATTRIBUTE, &mut name)?;
    Ok(name[..length].to_vec())
}

fn socket() -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// Listens for clients.
///
/// # Errors
/// The system refuses.
pub fn listen(address: &str) -> Result<OwnedFd, Errno> {
    let listener = socket()?;
    rustix::net::bind(&listener, &SocketAddrUnix::new_abstract_name(address.as_bytes())?)?;
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// Accepts a client.
///
/// # Errors
/// The system refuses.
pub fn accept(listener: BorrowedFd<'_>) -> Result<(OwnedFd, PeerIdentity), Errno> {
    let socket = rustix::net::accept_with(listener, SocketFlags::CLOEXEC)?;
    let identity = identity_of(socket.as_fd())?;
    Ok((socket, identity))
}

fn identity_of(socket: BorrowedFd<'_>) -> Result<PeerIdentity, Errno> {
    let peer = rustix::net::sockopt::socket_peercred(socket)?;
    Ok(PeerIdentity { process: peer.pid.as_raw_pid(), user: peer.uid.as_raw(), group: peer.gid.as_raw() })
}

/// Connects to an owner that is the administrator or the user of this process, and takes what it grants.
///
/// # Errors
/// Nobody listens, somebody else does, or the owner refuses.
pub(crate) fn connect(address: &[u8]) -> Result<(OwnedFd, Granted), Errno> {
    let socket = socket()?;
    rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(address)?)?;
    let owner = identity_of(socket.as_fd())?.user;
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(Errno::PERM);
    }
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
    control.push(SendAncillaryMessage::ScmRights(files));
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
