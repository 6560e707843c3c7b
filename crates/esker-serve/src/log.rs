//! What happens while something is served, for whoever runs the server.

use std::fmt;

use serde::Serialize;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum LogEvent {
    /// A client has connected.
    ClientConnected {
        /// What it is called: its address, or its process.
        peer: String,
    },
    /// A client has opened an export.
    ExportOpened {
        /// The client.
        peer: String,
        /// The name of the export.
        export: String,
    },
    /// A client is connected no more.
    ClientLeft {
        /// The client.
        peer: String,
        /// Why, if it has not left by itself.
        reason: Option<String>,
    },
    /// Clients cannot be accepted, and wait.
    ClientsWait {
        /// Why.
        reason: String,
    },
    /// A device is in another state now.
    DeviceState {
        /// The name of the device.
        device: String,
        /// `online`, `read-only`, `failed`, `missing` or `removed`.
        state: String,
    },
    /// A drain has come to its end.
    DrainEnded {
        /// The name of the device.
        device: String,
        /// Number of extents that cannot be read, and stay.
        unreadable_extents: u32,
    },
    /// Nothing moves in the background although something should, or no longer so.
    Background {
        /// Why nothing moves.
        held: Option<String>,
    },
}

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// It happens all the time.
    Detail,
    /// Worth knowing.
    Information,
    /// Somebody may have to do something.
    Warning,
}

impl LogEvent {
    /// How much it matters.
    pub fn level(&self) -> LogLevel {
        match self {
            Self::ClientConnected { .. } | Self::ExportOpened { .. } | Self::ClientLeft { .. } => LogLevel::Detail,
            Self::ClientsWait { .. } => LogLevel::Warning,
            // An operator has removed it.
            Self::DeviceState { state, .. } if state == "online" || state == "removed" => LogLevel::Information,
            Self::DeviceState { .. } => LogLevel::Warning,
            Self::DrainEnded { unreadable_extents: 1.., .. } => LogLevel::Warning,
            Self::DrainEnded { .. } | Self::Background { .. } => LogLevel::Information,
        }
    }
}

impl fmt::Display for LogEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClientConnected { peer } => write!(f, "{peer} has connected"),
            Self::ExportOpened { peer, export } => write!(f, "{peer} has opened {export}"),
            Self::ClientLeft { peer, reason: None } => write!(f, "{peer} has left"),
            Self::ClientLeft { peer, reason: Some(reason) } => write!(f, "{peer} was disconnected: {reason}"),
            Self::ClientsWait { reason } => write!(f, "clients wait: {reason}"),
            Self::DeviceState { device, state } => write!(f, "device {device} is {state}"),
            Self::DrainEnded { device, unreadable_extents: 0 } => write!(f, "device {device} is empty"),
            Self::DrainEnded { device, unreadable_extents: extents } => {
                write!(f, "device {device} still has {extents} extents that cannot be read")
            }
            Self::Background { held: Some(reason) } => write!(f, "nothing moves in the background: {reason}"),
            Self::Background { held: None } => f.write_str("work in the background goes on"),
        }
    }
}

/// Takes what happens. The thread that serves calls it, so it must not wait for long.
pub trait Log {
    /// Takes one event. `export` is the export that it is about, if a server has several: events of clients are about
    /// none.
    fn log(&mut self, export: Option<&str>, event: &LogEvent);
}
