//! One server hands over to another process: for upgrades, without an end for its clients.
//!
//! ```text
//!  new process                                    server that serves
//!  {"command":"take-over","layout":1,
//!   "exports":["home"]}                ───────►   compares the names with its own
//!                                                 holds: no request is begun, those under way end; flushes
//!                                      ◄───────   {"error":...}: it cannot, and serves on
//!                                                 closes the volumes, so that their devices are free
//!                                      ◄───────   items: listeners, clients, operators, with their sockets;
//!                                                 exports; end
//!  opens the volumes, restores clients
//!  {"ok":null}                         ───────►   ends; the sockets are the new one's
//! ```
//!
//! Both have the sockets for a while, and neither reads them. The line `{"ok":null}` decides: the new process serves
//! only once it is sent, and the server that has it never serves again.
//!
//! | what happens | then |
//! |---|---|
//! | the new process leaves or fails before that line | the server opens the volumes again, and serves on |
//! | it takes longer than the limit | the server says so, and no longer receives: the line can no longer be sent |
//! | the new process is still there then | what no lock protects, as exports elsewhere, waits until it has gone |
//! | the server dies before all items are sent | as after a kill: clients are lost |
//! | the server dies later | the new process finds nobody who has said that it was too late, and serves |

mod items;
mod predecessor;
mod successor;
#[cfg(test)]
mod tests;

pub use predecessor::{Predecessor, take_over};
pub use successor::{FormerSuccessor, Successor};

/// What both have to agree on.
const LAYOUT: u32 = 1;
