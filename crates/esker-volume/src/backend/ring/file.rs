//! A file of a ring as a back end.

use std::fs::File;
use std::sync::Arc;

use esker_core::{Bytes, Nanos};

use super::{Owner, Ring, RingedFile};
use crate::backend::{Backend, Ended, Operation};

/// A file or block device whose operations a ring performs, many at a time.
///
/// Flushes and durable writes are reported in no order: one may be under way at a time ([`divide`](crate::divide) sees
/// to that).
pub(crate) struct RingFile {
    ring: Ring,
    index: usize,
    capacity: Bytes,
}

impl RingFile {
    /// A back end over `capacity` bytes of `file`. Operations on it begin and end on multiples of `block` bytes.
    pub(crate) fn new(ring: Ring, file: Arc<File>, capacity: Bytes, block: u64) -> Self {
        let new = RingedFile { file, block, under_way: 0, ended: Vec::new(), owner: Owner::Waits };
        let mut state = ring.state();
        let index = state.files.iter().position(Option::is_none).unwrap_or(state.files.len());
        if index == state.files.len() {
            state.files.push(None);
        }
        state.files[index] = Some(new);
        drop(state);
        Self { ring, index, capacity }
    }
}

impl Backend for RingFile {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, _: Nanos, id: u64, operation: Operation) {
        self.ring.state().submit(self.index, id, operation);
    }

    fn send(&mut self) {
        self.ring.send();
    }

    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        self.ring.state().take_ended(self.index, ended);
    }

    fn abandon(&mut self) {
        self.ring.state().disown(self.index, Owner::HasAbandoned);
    }
}

impl Drop for RingFile {
    /// Waits for the operations under way: after this, nothing is written any more. Does not wait if the back end was
    /// abandoned, because an operation may hang forever.
    fn drop(&mut self) {
        let mut state = self.ring.state();
        if state.file(self.index).owner == Owner::Waits {
            state.finish(self.index);
        }
        state.disown(self.index, Owner::IsGone);
    }
}
