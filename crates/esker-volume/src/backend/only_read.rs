//! A back end that changes nothing.

use std::io;

use esker_core::{Bytes, Nanos, RequestKind};

use super::{Backend, Ended, Operation};

/// Reads from a back end, and refuses whatever would change it. The devices of a volume that is only read are used by
/// it, so that no engine can write to them.
pub(crate) struct OnlyRead<B> {
    backend: B,
    refused: Vec<Ended>,
}

impl<B: Backend> OnlyRead<B> {
    pub(crate) fn new(backend: B) -> Self {
        Self { backend, refused: Vec::new() }
    }
}

impl<B: Backend> Backend for OnlyRead<B> {
    fn capacity(&self) -> Bytes {
        self.backend.capacity()
    }

    fn submit(&mut self, now: Nanos, id: u64, operation: Operation) {
        match operation.kind {
            RequestKind::Read => self.backend.submit(now, id, operation),
            RequestKind::Flush => self.refused.push(Ended { id, at: None, result: Ok(()), data: operation.data }),
            RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } | RequestKind::Trim => {
                let result = Err(io::ErrorKind::ReadOnlyFilesystem.into());
                self.refused.push(Ended { id, at: None, result, data: operation.data });
            }
        }
    }

    fn send(&mut self) {
        self.backend.send();
    }

    fn is_immediate(&self) -> bool {
        true
    }

    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.refused);
        self.backend.take_ended(ended);
    }

    fn has_failed(&self) -> bool {
        self.backend.has_failed()
    }

    fn next_event(&self) -> Nanos {
        self.backend.next_event()
    }

    fn advance(&mut self, now: Nanos) {
        self.backend.advance(now);
    }

    fn abandon(&mut self) {
        self.backend.abandon();
    }
}
