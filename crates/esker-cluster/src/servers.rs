//! The server list.

use crate::id::{FailureDomain, ServerId};
use crate::shape::ServerSpec;

/// Whether a server takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It holds data and takes more.
    Up,
    /// It holds data, which leave it.
    Draining,
    /// It is gone, with what it held.
    Failed,
}

/// A server of the list.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    /// What it offers.
    pub spec: ServerSpec,
    /// Whether it takes part.
    pub state: ServerState,
    /// Replicas that are there, are on their way there, or have not left it yet.
    pub used: u32,
}

/// All servers that ever took part, by number.
#[derive(Clone, Debug, Default)]
pub struct ServerList(Vec<Server>);

impl ServerList {
    pub(crate) fn add(&mut self, spec: ServerSpec) -> ServerId {
        self.0.push(Server { spec, state: ServerState::Up, used: 0 });
        ServerId((self.0.len() - 1) as u16)
    }

    /// Returns a server.
    pub fn get(&self, server: ServerId) -> &Server {
        &self.0[server.index()]
    }

    pub(crate) fn get_mut(&mut self, server: ServerId) -> &mut Server {
        &mut self.0[server.index()]
    }

    /// Returns all servers with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (ServerId, &Server)> {
        self.0.iter().enumerate().map(|(index, server)| (ServerId(index as u16), server))
    }

    /// Returns whether there is such a server, and it serves requests.
    pub fn serves(&self, server: ServerId) -> bool {
        self.0.get(server.index()).is_some_and(|server| server.state != ServerState::Failed)
    }

    /// Returns whether a server may be the destination of one more replica.
    pub fn takes_more(&self, server: ServerId) -> bool {
        let found = self.0.get(server.index());
        found.is_some_and(|server| server.state == ServerState::Up && server.used < server.spec.room)
    }

    /// Returns the failure domain of a server.
    pub fn domain(&self, server: ServerId) -> FailureDomain {
        self.get(server).spec.domain
    }

    /// The number of servers that ever took part.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no server ever took part.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
