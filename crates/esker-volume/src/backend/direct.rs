//! Operations that are done before they are asked about: for memory.

use esker_core::Bytes;

use super::{Backend, BlockingBackend, Ended, Operation};

/// A store that does its work when it takes it. For stores that answer at once; a slow one holds up the whole volume.
#[derive(Debug, Default)]
pub struct Direct<B> {
    store: B,
    ended: Vec<Ended>,
}

impl<B: BlockingBackend> Direct<B> {
    /// Over `store`.
    pub fn new(store: B) -> Self {
        Self { store, ended: Vec::new() }
    }
}

impl<B: BlockingBackend> Backend for Direct<B> {
    fn capacity(&self) -> Bytes {
        self.store.capacity()
    }
    fn submit(&mut self, id: u64, operation: Operation) {
        self.ended.push(operation.perform(id, &mut self.store));
    }
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.ended);
    }
}
