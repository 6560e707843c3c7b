//! Clients that have left.

use std::collections::BTreeMap;

use crate::connection::Connection;

/// Connections that are closed, and whose requests are not all answered: how many are left of each. They keep their
/// places: whoever connects and leaves over and over has no more under way than those who stay may have.
#[derive(Debug, Default)]
pub(super) struct Left(BTreeMap<u32, u32>);

impl Left {
    /// A connection is closed.
    pub(super) fn add(&mut self, number: u32, connection: &Connection) {
        if connection.unanswered > 0 {
            self.0.insert(number, connection.unanswered);
        }
    }

    /// A request of a connection is answered that is not open any more.
    pub(super) fn answered(&mut self, number: u32) {
        // Requests of the server itself have none.
        let Some(left) = self.0.get_mut(&number) else { return };
        *left -= 1;
        if *left == 0 {
            self.0.remove(&number);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
