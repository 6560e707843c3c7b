//! Who is at the other end of a socket.

use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Supplementary groups that most have at most.
const GROUPS: usize = 64;

/// Who has connected, as the system says. All of it is what it was then: the process may be somebody else by now, or
/// gone, and its number be that of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerIdentity {
    /// Its effective user.
    pub user: u32,
    /// Its effective group.
    pub group: u32,
    /// Its supplementary groups.
    pub groups: Vec<u32>,
}

impl PeerIdentity {
    /// Of the client behind a socket that was accepted.
    pub(crate) fn of_client(socket: BorrowedFd<'_>) -> Result<PeerIdentity, Errno> {
        let peer = rustix::net::sockopt::socket_peercred(socket)?;
        Ok(PeerIdentity { user: peer.uid.as_raw(), group: peer.gid.as_raw(), groups: groups_of(socket)? })
    }
}

/// Supplementary groups of who has connected (`SO_PEERGROUPS`, which rustix does not have).
fn groups_of(socket: BorrowedFd<'_>) -> Result<Vec<u32>, Errno> {
    let mut groups = vec![0_u32; GROUPS];
    loop {
        let room = size_of_val(&*groups);
        let mut length = room as libc::socklen_t;
        // SAFETY: the descriptor is open while it is borrowed. The system writes at most `length` bytes to `groups`,
        // which has as many, and then how many it has, or needs, to `length`; any bytes are numbers.
        let got = unsafe {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERGROUPS);
            libc::getsockopt(socket.as_raw_fd(), level, option, groups.as_mut_ptr().cast(), &raw mut length)
        };
        let length = length as usize;
        let error = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
        match got {
            0 => {
                groups.truncate(length / size_of::<u32>());
                return Ok(groups);
            }
            _ if error == Errno::RANGE && length > room => groups.resize(length / size_of::<u32>(), 0),
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Address, accept, listen};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
    use rustix::process::{Gid, geteuid, getgroups};
    use std::os::fd::AsFd;

    /// The groups of a thread may change at any time after it has connected; each thread has its own.
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no such sockets")]
    fn groups_are_those_that_a_client_had_when_it_connected() {
        let address = Address::random().unwrap();
        let listener = listen(&address).unwrap();
        let socket = || rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        let place = SocketAddrUnix::new_abstract_name(address.name()).unwrap();
        let own = socket();
        rustix::net::connect(&own, &place).unwrap();
        let (_accepted, identity) = accept(listener.as_fd()).unwrap();
        assert_eq!(identity.user, geteuid().as_raw());
        assert_eq!(identity.groups, getgroups().unwrap().into_iter().map(Gid::as_raw).collect::<Vec<u32>>());
        if !geteuid().is_root() {
            return;
        }
        for count in [0, 1, 64, 65, 1000_u32] {
            let socket = socket();
            let had: Vec<u32> = (7000..7000 + count).collect();
            std::thread::scope(|scope| {
                let connected = scope.spawn(|| {
                    let set = |groups: &[u32]| {
                        let groups: Vec<Gid> = groups.iter().map(|&group| Gid::from_raw(group)).collect();
                        rustix::thread::set_thread_groups(&groups).unwrap();
                    };
                    set(&had);
                    rustix::net::connect(&socket, &place).unwrap();
                    set(&[1]);
                });
                connected.join().unwrap();
            });
            let (_accepted, identity) = accept(listener.as_fd()).unwrap();
            assert_eq!(identity.groups, had);
        }
    }
}
