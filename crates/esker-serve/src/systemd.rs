//! What systemd gives a service, and what it wants to know.

use std::io;

use listenfd::ListenFd;
use sd_notify::NotifyState;

use crate::listener::Listener;

/// Takes the sockets that systemd has bound for this program (`systemd.socket`). Empty if it was started in another
/// way. Call it once, before the program starts others.
///
/// # Errors
/// If one of them is no socket that clients can connect to.
pub fn inherited_listeners() -> io::Result<Vec<Listener>> {
    let mut given = ListenFd::from_env();
    let mut listeners = Vec::new();
    for index in 0..given.len() {
        let socket = match given.take_unix_listener(index) {
            Ok(Some(listener)) => listener.into(),
            _ => match given.take_tcp_listener(index)? {
                Some(listener) => listener.into(),
                None => continue,
            },
        };
        listeners.push(Listener::inherited(socket)?);
    }
    Ok(listeners)
}

/// Tells systemd that clients can connect (`Type=notify`). Without systemd, tells nobody.
pub fn tell_ready() {
    // Nobody may be listening any more.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
}

/// Tells systemd that `process` is the service from now on, and not the one that it took for it, which is about to end:
/// with the main process of a service, systemd ends all others.
pub(crate) fn tell_main_process(process: u32) {
    let _ = sd_notify::notify(&[NotifyState::MainPid(process)]);
}

/// Tells systemd that the service is ending.
pub fn tell_stopping() {
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
}
