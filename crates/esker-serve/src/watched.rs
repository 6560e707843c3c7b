//! Sockets that a server waits for.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use esker_volume::DeviceIo;

use crate::listener::Listener;

/// Gives numbers to sockets that are waited for, none of them twice.
#[derive(Default)]
pub(crate) struct Watches(u32);

/// A listener, and whether somebody may be waiting there.
pub(crate) struct WatchedListener {
    pub(crate) watch: u32,
    pub(crate) listener: Listener,
    pub(crate) may_accept: bool,
}

impl Watches {
    /// Begins to wait for `socket`. Returns its number.
    pub(crate) fn watch(&mut self, io: &DeviceIo, socket: &Arc<OwnedFd>) -> io::Result<u32> {
        self.0 += 1;
        io.watch(self.0, Arc::clone(socket))?;
        Ok(self.0)
    }

    pub(crate) fn watch_listener(&mut self, io: &DeviceIo, listener: Listener) -> io::Result<WatchedListener> {
        let watch = self.watch(io, listener.socket())?;
        Ok(WatchedListener { watch, listener, may_accept: true })
    }
}

impl WatchedListener {
    /// Accepts the next client, and returns its socket and what it is called.
    pub(crate) fn accept(&mut self) -> Option<(Arc<OwnedFd>, String)> {
        if !self.may_accept {
            return None;
        }
        match self.listener.accept() {
            Ok(Some((socket, peer))) => Some((Arc::new(socket), peer)),
            // Without room for another file, the client waits until one is closed.
            Ok(None) | Err(_) => {
                self.may_accept = false;
                None
            }
        }
    }
}
