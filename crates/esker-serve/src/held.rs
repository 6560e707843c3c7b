//! What a server has that another process can go on with.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::listener::Listener;
use crate::status::RequestCounts;

/// What a server has but what it serves: its sockets, and what its clients have agreed on.
#[derive(Debug, Default)]
pub struct Handover {
    pub(crate) exports: Vec<HeldExport>,
    pub(crate) listeners: Vec<(Role, Listener)>,
    pub(crate) clients: Vec<HeldClient>,
    pub(crate) operators: Vec<HeldOperator>,
    /// Whether clients without TLS are refused.
    pub(crate) requires_tls: bool,
}

/// An export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldExport {
    pub(crate) name: String,
    /// What was served under this name, as lists of exports say it.
    pub(crate) description: String,
    /// What was counted of its requests.
    pub(crate) requests: RequestCounts,
}

/// Who connects at a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    Clients,
    /// Those who operate the export of this index.
    Operators(usize),
    Collectors,
}

/// A client between two requests.
#[derive(Debug)]
pub(crate) struct HeldClient {
    pub(crate) socket: Arc<OwnedFd>,
    pub(crate) peer: String,
    /// Its export, what was agreed on, and bytes that were received and not used: `ServerSession::state`.
    pub(crate) session: Vec<u8>,
}

/// An operator who waits for no answer.
#[derive(Debug)]
pub(crate) struct HeldOperator {
    /// The index of the export that is operated.
    pub(crate) export: usize,
    pub(crate) socket: Arc<OwnedFd>,
    /// Bytes that were received and not used.
    pub(crate) input: Vec<u8>,
}

impl Handover {
    /// Number of clients that are handed over.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Returns true if clients connect at `address` already, as it was asked for or as it is bound.
    pub fn has_clients_at(&self, address: &Address) -> bool {
        self.has(Role::Clients, address)
    }

    /// Returns true if figures are fetched at `address` already.
    pub fn has_metrics_at(&self, address: &Address) -> bool {
        self.has(Role::Collectors, address)
    }

    fn has(&self, role: Role, address: &Address) -> bool {
        self.listeners.iter().any(|(found, listener)| *found == role && listener.is_at(address))
    }

    /// The first address where clients connect.
    pub fn address(&self) -> Option<&Address> {
        let listeners = self.listeners.iter().filter(|(role, _)| *role == Role::Clients);
        listeners.map(|(_, listener)| listener.address()).next()
    }
}

/// The line with which a process asks to take over.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum TakeOverRequest {
    TakeOver {
        layout: u32,
        /// The names of the exports that it would serve, in their order.
        exports: Vec<String>,
    },
}
