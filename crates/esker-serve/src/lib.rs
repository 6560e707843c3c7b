//! Serves volumes, or whatever else is [`Served`], one or several under their names: clients over NBD, and operations
//! over a control socket for each, in one thread.
//!
//! ```text
//!  clients ──► Connection ──► ServerSession (esker-nbd) ──► Requests ──► Served: ServedVolume ──► Volume
//!                  ▲                                           │            ▲         ▲
//!                  └──────────────── replies ──────────────────┘            │      Changes
//!  operators ──► ControlConnection ──► operations ──────────────────────────┘
//! ```
//!
//! A [`Server`] takes turns: it takes what its sockets have, steps the volumes, and sends replies; then it waits for
//! sockets and devices together. Each connection has the index of the export that it has opened, whose requests and
//! replies are its own. Clients speak in plain text, or over [`Tls`].

mod address;
mod admission;
mod background;
mod changes;
mod clients;
mod connection;
mod connections;
mod control;
mod export;
mod held;
mod listener;
mod log;
mod memory;
mod metrics;
mod news;
mod observer;
mod operators;
mod requests;
mod served;
mod server;
mod socket;
mod status;
mod stream;
mod systemd;
mod take_over;
#[cfg(test)]
mod testing;
mod tls;
mod turns;
mod volume;
mod waiting;

pub use address::{Address, AddressError};
pub use background::{BackgroundStatus, LifeStatus};
pub use changes::{Opening, VolumeFile};
pub use control::{ControlError, VolumeOperation, call};
pub use esker_nbd::Command;
pub use esker_volume::{AsleepAfter, ChangedLimits, ChangedSettings, MoveBudget, MoveLimits};
pub use held::Handover;
pub use listener::{ListenError, Listener};
pub use log::{Log, LogEvent, LogLevel};
pub use metrics::Metrics;
pub use observer::Observer;
pub use served::Served;
pub use server::{HandOver, LastWork, ServeSettings, Server};
pub use status::{ConnectionStatus, DeviceStatus, DrainStatus, RequestCounts, ServingStatus, VolumeStatus};
pub use systemd::{inherited_listeners, tell_ready, tell_stopping};
pub use take_over::{FormerSuccessor, Predecessor, Successor, take_over};
pub use tls::{Tls, TlsClients, TlsError};
pub use volume::ServedVolume;
