//! A back end that performs operations during the call, for stores in memory.

use esker_core::{Bytes, Nanos};

use super::{Backend, BlockingBackend, Ended, Operation};

/// A back end that performs an operation when it is submitted. For fast stores only: a slow one would hold up the whole
/// volume.
#[derive(Debug, Default)]
pub struct Direct<B> {
    store: B,
    ended: Vec<Ended>,
}

impl<B: BlockingBackend> Direct<B> {
    /// Creates a back end over `store`.
    pub fn new(store: B) -> Self {
        Self { store, ended: Vec::new() }
    }
}

impl<B: BlockingBackend> Backend for Direct<B> {
    fn capacity(&self) -> Bytes {
        self.store.capacity()
    }
    fn submit(&mut self, _: Nanos, id: u64, operation: Operation) {
        self.ended.push(operation.perform(id, &mut self.store));
    }
    fn is_immediate(&self) -> bool {
        true
    }
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.ended);
    }
}
