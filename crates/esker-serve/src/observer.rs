//! Who is told of the requests of clients.

use esker_core::Nanos;
use esker_nbd::Command;

/// Is told of requests of clients for data, and of flushes, in the thread that serves: it must not block.
pub trait Observer {
    /// A request to the export of this index begins. Returns the request's number.
    fn begins(&mut self, at: Nanos, export: usize, command: Command) -> u64;

    /// The request of this number has ended.
    fn ends(&mut self, number: u64, at: Nanos);

    /// Does what is due.
    fn step(&mut self, now: Nanos);

    /// When it has to be stepped next.
    fn next_event(&self) -> Nanos;
}
