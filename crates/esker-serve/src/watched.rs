//! Listeners that a server waits for.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use esker_volume::{DeviceIo, Watch};

use crate::listener::Listener;

/// A listener that waits watch.
pub(crate) struct WatchedListener {
    watch: Watch,
    pub(crate) listener: Listener,
    /// Whether somebody may be waiting there of whom no watch tells.
    pub(crate) may_accept: bool,
}

impl WatchedListener {
    pub(crate) fn new(io: &DeviceIo, listener: Listener) -> io::Result<Self> {
        let watch = io.watch(Arc::clone(listener.socket()))?;
        Ok(Self { watch, listener, may_accept: false })
    }

    /// Accepts the next client, and returns its socket and what it is called.
    pub(crate) fn accept(&mut self) -> Option<(Arc<OwnedFd>, String)> {
        if !self.may_accept && !self.watch.can_read() {
            return None;
        }
        match self.listener.accept() {
            Ok(Some((socket, peer))) => Some((Arc::new(socket), peer)),
            // Without room for another file, the client waits until one is closed.
            Ok(None) | Err(_) => {
                self.watch.read_blocks();
                self.may_accept = false;
                None
            }
        }
    }
}
