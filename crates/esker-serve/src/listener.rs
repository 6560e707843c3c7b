//! Sockets that clients connect to.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use esker_core::Hint;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketAddrUnix, SocketFlags, sockopt};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::address::Address;

/// Why a server cannot listen.
#[derive(Debug, Error)]
#[error("cannot listen at {address}: {error}")]
pub struct ListenError {
    /// Where.
    pub address: String,
    /// The error.
    pub error: io::Error,
}

impl Hint for ListenError {
    fn hint(&self) -> Option<String> {
        let text = match self.error.kind() {
            ErrorKind::AddrInUse => "another program listens there: stop it, or choose another address",
            ErrorKind::PermissionDenied => "choose a folder that you may write to, or a port from 1024 on",
            ErrorKind::NotFound => "make the folder first, or correct the name of the host",
            ErrorKind::AddrNotAvailable => "choose an address of this machine",
            ErrorKind::InvalidFilename => SHORTER,
            _ => return None,
        };
        Some(text.to_string())
    }

    fn work_failed(&self) -> bool {
        true
    }
}

/// The longest path of a Unix socket, in bytes: a zero follows it.
const PATH_MAX: usize = 107;

/// What to do about a longer one.
pub(crate) const SHORTER: &str = "cd to its folder and name it from there, or choose a shorter path";

/// Refuses paths that are too long for a Unix socket.
pub(crate) fn check_length(path: &Path) -> io::Result<()> {
    if path.as_os_str().len() <= PATH_MAX {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidFilename, format!("the path of a socket has at most {PATH_MAX} bytes")))
}

/// A socket that clients connect to. A Unix socket is removed when this is dropped, unless another program has taken
/// its place.
#[derive(Debug)]
pub struct Listener {
    socket: Arc<OwnedFd>,
    address: Address,
    /// The address as it was asked for.
    asked: Address,
    /// Path and inode of a Unix socket.
    file: Option<(PathBuf, u64)>,
    /// Whether the file is removed when this is dropped.
    is_own: bool,
}

/// What a process that takes a listener over has to know of it. Paths begin at the root.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PassedListener {
    pub(crate) address: Address,
    pub(crate) asked: Address,
    /// The file of a Unix socket, if its server removes it in the end, and its inode.
    pub(crate) file: Option<PathBuf>,
    pub(crate) inode: u64,
}

impl Listener {
    /// Listens at `address`. A Unix socket that a killed server has left there is replaced.
    ///
    /// # Errors
    /// If that is not possible.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
        let bound = match address {
            Address::Unix(path) => Self::bind_unix(path),
            Address::Tcp(name) => Self::bind_tcp(name),
        };
        bound.map_err(|error| ListenError { address: address.to_string(), error })
    }

    fn bind_unix(path: &Path) -> io::Result<Self> {
        check_length(path)?;
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && is_abandoned(path) => {
                std::fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            bound => bound?,
        };
        listener.set_nonblocking(true)?;
        let inode = std::fs::symlink_metadata(path)?.ino();
        let socket = Arc::new(OwnedFd::from(listener));
        let address = Address::Unix(path.to_path_buf());
        let file = Some((path.to_path_buf(), inode));
        Ok(Self { socket, asked: address.clone(), address, file, is_own: true })
    }

    fn bind_tcp(name: &str) -> io::Result<Self> {
        let addresses: Vec<_> = name.to_socket_addrs()?.collect();
        let listener = TcpListener::bind(&addresses[..])?;
        listener.set_nonblocking(true)?;
        let address = Address::Tcp(listener.local_addr()?.to_string());
        let asked = Address::Tcp(name.to_string());
        Ok(Self { socket: Arc::new(OwnedFd::from(listener)), address, asked, file: None, is_own: true })
    }

    /// A socket that whoever started the program has bound. It stays there when this is dropped.
    ///
    /// # Errors
    /// If it is neither a Unix nor a TCP socket.
    pub(crate) fn inherited(socket: OwnedFd) -> io::Result<Self> {
        let bound = rustix::net::getsockname(&socket)?;
        let address = match (std::net::SocketAddr::try_from(bound.clone()), SocketAddrUnix::try_from(bound)) {
            (Ok(address), _) => Address::Tcp(address.to_string()),
            (_, Ok(address)) => {
                let path = address.path_bytes().unwrap_or_default();
                Address::Unix(OsStr::from_bytes(path).into())
            }
            _ => return Err(io::Error::other("it is neither a Unix nor a TCP socket")),
        };
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self { socket: Arc::new(socket), asked: address.clone(), address, file: None, is_own: true })
    }

    /// A socket of another process, whose file stays until this one is its [owner](Self::own).
    pub(crate) fn taken_over(socket: OwnedFd, passed: PassedListener) -> Self {
        let PassedListener { address, asked, file, inode } = passed;
        Self { socket: Arc::new(socket), address, asked, file: file.map(|path| (path, inode)), is_own: false }
    }

    /// Has the file removed when this is dropped.
    pub(crate) fn own(&mut self) {
        self.is_own = true;
    }

    /// Leaves the file where it is when this is dropped.
    pub(crate) fn leave(&mut self) {
        self.is_own = false;
    }

    /// Returns true if this listens at `address`, as it was asked for or as it is bound.
    pub(crate) fn is_at(&self, address: &Address) -> bool {
        let [here, asked, wanted] = [&self.address, &self.asked, address].map(|address| address.absolute().ok());
        wanted.is_some() && (here == wanted || asked == wanted)
    }

    /// The address as it was asked for.
    pub(crate) fn asked(&self) -> &Address {
        &self.asked
    }

    /// The file that is removed in the end, and its inode.
    pub(crate) fn file(&self) -> Option<&(PathBuf, u64)> {
        self.file.as_ref()
    }

    /// Where it listens, with the port that it got.
    pub fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn socket(&self) -> &Arc<OwnedFd> {
        &self.socket
    }

    /// Returns true if somebody waits to be accepted.
    pub(crate) fn has_somebody(&self) -> bool {
        let no_time = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&no_time)).is_ok_and(|ready| ready > 0)
    }

    /// Accepts the next client, and returns its socket and what it is called. `None` if nobody waits.
    ///
    /// # Errors
    /// If the process or the system has too many files open.
    pub(crate) fn accept(&self) -> io::Result<Option<(OwnedFd, String)>> {
        use rustix::io::Errno;
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            return match rustix::net::acceptfrom_with(&self.socket, flags) {
                Ok((socket, peer)) => {
                    let name = match &self.address {
                        Address::Unix(_) => pid_of(&socket).map_or("a local client".to_string(), |pid| pid),
                        Address::Tcp(_) => {
                            let _ = sockopt::set_tcp_nodelay(&socket, true);
                            notice_death(&socket);
                            let peer = peer.and_then(|peer| std::net::SocketAddr::try_from(peer).ok());
                            peer.map_or("a client".to_string(), |peer| peer.to_string())
                        }
                    };
                    Ok(Some((socket, name)))
                }
                Err(Errno::AGAIN) => Ok(None),
                // A client that left again.
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => Err(error.into()),
            };
        }
    }
}

/// After how long a peer that says nothing is asked whether it is still there, how often after that, and after how long
/// without an answer its connection is lost. A machine that has lost its power says no good-bye.
const ASKED_AFTER: Duration = Duration::from_secs(60);
const ASKED_EVERY: Duration = Duration::from_secs(30);
const GONE_AFTER: Duration = Duration::from_secs(300);

/// Has the kernel end the connection once the peer is gone. Systems that cannot do so keep it.
fn notice_death(socket: &impl AsFd) {
    let _ = sockopt::set_tcp_keepidle(socket, ASKED_AFTER);
    let _ = sockopt::set_tcp_keepintvl(socket, ASKED_EVERY);
    let _ = sockopt::set_tcp_user_timeout(socket, GONE_AFTER.as_millis() as u32);
    let _ = sockopt::set_socket_keepalive(socket, true);
}

/// The process of a local client.
fn pid_of(socket: &impl AsFd) -> Option<String> {
    let credentials = sockopt::socket_peercred(socket).ok()?;
    Some(format!("process {}", credentials.pid.as_raw_nonzero()))
}

/// How long a socket of a killed server may stay, because the kernel ends what was under way there.
const LINGERS: Duration = Duration::from_millis(if cfg!(test) { 200 } else { 2000 });

/// Returns true if a socket is there, and nobody listens at it.
fn is_abandoned(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    // Connecting to a file is refused, too.
    let is_refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
    is_socket
        && match UnixStream::connect(path) {
            Err(error) => is_refused(error),
            Ok(stream) => is_closed(stream) && UnixStream::connect(path).is_err_and(is_refused),
        }
}

/// Returns true if the kernel closes a connection that nobody accepts. A server says something, or waits.
fn is_closed(mut stream: UnixStream) -> bool {
    let waits = stream.set_read_timeout(Some(LINGERS)).is_ok();
    waits && matches!(stream.read(&mut [0]).map_err(|error| error.kind()), Ok(0) | Err(ErrorKind::ConnectionReset))
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, inode)) = &self.file
            && self.is_own
            && std::fs::symlink_metadata(path).is_ok_and(|found| found.ino() == *inode)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abandoned_socket_is_replaced_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let address = Address::Unix(path.clone());
        // As a killed server leaves it.
        drop(UnixListener::bind(&path).unwrap());
        let first = Listener::bind(&address).unwrap();
        let error = Listener::bind(&address).unwrap_err();
        assert_eq!(error.error.kind(), ErrorKind::AddrInUse);
        assert!(error.hint().unwrap().starts_with("another program"));
        // Whoever looks whether somebody listens has connected.
        assert!(first.accept().unwrap().is_some());
        let _client = UnixStream::connect(&path).unwrap();
        let (_, name) = first.accept().unwrap().unwrap();
        assert_eq!(name, format!("process {}", std::process::id()));
        assert!(first.accept().unwrap().is_none());
        drop(first);
        assert!(!path.exists());
        // What is no socket stays.
        std::fs::write(&path, "notes").unwrap();
        assert!(Listener::bind(&address).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"notes");
    }

    #[test]
    fn a_socket_that_a_killed_server_keeps_for_a_moment_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let lingers = UnixListener::bind(&path).unwrap();
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            drop(lingers);
        });
        let listener = Listener::bind(&Address::Unix(path.clone())).unwrap();
        ends.join().unwrap();
        let _client = UnixStream::connect(&path).unwrap();
        assert!(listener.accept().unwrap().is_some());
    }

    #[test]
    fn a_socket_that_was_inherited_is_used_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = Listener::inherited(UnixListener::bind(&path).unwrap().into()).unwrap();
        assert_eq!(listener.address(), &Address::Unix(path.clone()));
        assert!(listener.accept().unwrap().is_none());
        let _client = UnixStream::connect(&path).unwrap();
        assert!(listener.accept().unwrap().is_some());
        drop(listener);
        assert!(path.exists());
        let listener = Listener::inherited(TcpListener::bind("127.0.0.1:0").unwrap().into()).unwrap();
        assert!(listener.address().to_string().starts_with("127.0.0.1:"));
    }

    #[test]
    fn a_path_that_is_too_long_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let bind = |length: usize| {
            let name = "s".repeat(length - folder.path().as_os_str().len() - 1);
            Listener::bind(&Address::Unix(folder.path().join(name)))
        };
        assert!(bind(PATH_MAX).is_ok());
        let error = bind(PATH_MAX + 1).unwrap_err();
        assert!(error.to_string().ends_with("the path of a socket has at most 107 bytes"), "{error}");
        assert!(error.hint().unwrap().starts_with("cd to its folder"));
    }

    #[test]
    fn a_free_port_is_told() {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let Address::Tcp(address) = listener.address().clone() else { panic!("{listener:?}") };
        assert!(!address.ends_with(":0"));
        let _client = std::net::TcpStream::connect(&address).unwrap();
        let (socket, name) = listener.accept().unwrap().unwrap();
        assert!(name.starts_with("127.0.0.1:"));
        // Peers that are gone are noticed.
        assert!(sockopt::socket_keepalive(&socket).unwrap());
        assert_eq!(sockopt::tcp_user_timeout(&socket).unwrap(), 300_000);
    }
}
