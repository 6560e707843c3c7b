//! Serves volumes: clients over NBD, and operations over a control socket, in one thread with the volume.
//!
//! ```text
//!  clients ──► Listener ──► Connection ──► ServerSession (esker-nbd) ──► Requests ──► Volume (esker-volume)
//!                               ▲                                           │            ▲
//!                               └──────────────── replies ──────────────────┘            │
//!  operators ──► ControlConnection ──► Changes ──────────────────────────────────────────┘
//! ```
//!
//! A [`Server`] takes turns: it takes what its sockets have, steps the volume, and sends replies; then it waits for
//! sockets and devices together.

mod address;
mod changes;
mod clients;
mod connection;
mod control;
mod listener;
mod memory;
mod metrics;
mod operators;
mod requests;
mod server;
mod status;
mod systemd;
mod watched;

pub use address::{Address, AddressError};
pub use changes::{Opening, VolumeFile};
pub use control::{ControlError, ControlRequest, call};
pub use listener::{ListenError, Listener};
pub use server::{ServeSettings, Server};
pub use status::{ConnectionStatus, DeviceStatus, DrainStatus, RequestCounts, Status};
pub use systemd::{inherited_listeners, tell_ready, tell_stopping};
