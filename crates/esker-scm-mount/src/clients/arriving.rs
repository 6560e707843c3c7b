//! Clients that have connected, and have yet to show that the mount lets them in.

use crate::server::Server;
use esker_scm_channel::{PeerIdentity, is_let_in};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};

/// Most that are waited for. A client speaks as soon as it has connected, so these are many.
const ARRIVING_MAX: usize = 64;

/// Who has connected and said nothing so far, the longest first.
#[derive(Default)]
pub(super) struct Arriving(Vec<(OwnedFd, PeerIdentity)>);

impl Arriving {
    /// Waits for what a client will say, if its user may use the mount. Nobody waits for those that stay silent: if
    /// there are too many, the one that has been silent longest has to go.
    pub(super) fn add(&mut self, server: &Server, socket: OwnedFd, identity: PeerIdentity) {
        if !server.serves(identity.user) {
            return;
        }
        if self.0.len() == ARRIVING_MAX {
            self.0.remove(0);
        }
        self.0.push((socket, identity));
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        self.0.iter().map(|(socket, _)| socket)
    }

    /// Reads what clients have said, by their indices in order. Returns the clients that the mount lets in; the
    /// connections of all others end.
    pub(super) fn hear(&mut self, server: &Server, spoken: &[usize]) -> Vec<(OwnedFd, PeerIdentity)> {
        let mut let_in = Vec::new();
        for &index in spoken.iter().rev() {
            match is_let_in(self.0[index].0.as_fd(), server.address()) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Ok(true) => let_in.push(self.0.remove(index)),
                Ok(false) | Err(_) => drop(self.0.remove(index)),
            }
        }
        let_in.reverse();
        let_in
    }
}
