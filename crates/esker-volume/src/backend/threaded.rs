//! A back end that performs operations in a thread of its own, for files.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use esker_core::Bytes;

use super::{Backend, BlockingBackend, Ended, Operation};
use crate::signal::Signal;

/// A back end whose operations one thread performs, one after the other.
#[derive(Debug)]
pub struct Threaded {
    capacity: Bytes,
    work: Option<Sender<(u64, Operation)>>,
    ended: Receiver<Ended>,
    worker: Option<JoinHandle<()>>,
}

impl Threaded {
    /// Creates a back end over `store`. The `signal` is given whenever an operation has ended.
    pub fn new<B: BlockingBackend + 'static>(mut store: B, signal: Signal) -> Self {
        let capacity = store.capacity();
        let (work, to_do) = mpsc::channel::<(u64, Operation)>();
        let (done, ended) = mpsc::channel();
        let worker = thread::spawn(move || {
            for (id, operation) in to_do {
                // The receiver is gone if the volume was dropped with operations under way.
                let _ = done.send(operation.perform(id, &mut store));
                signal.give();
            }
        });
        Self { capacity, work: Some(work), ended, worker: Some(worker) }
    }
}

impl Backend for Threaded {
    fn capacity(&self) -> Bytes {
        self.capacity
    }
    fn abandon(&mut self) {
        self.worker = None;
    }
    fn submit(&mut self, id: u64, operation: Operation) {
        let work = self.work.as_ref().expect("it is there until the store is dropped");
        work.send((id, operation)).expect("the thread lives as long as there can be work");
    }
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.extend(self.ended.try_iter());
    }
}

impl Drop for Threaded {
    /// Waits for the operations under way: after this, nothing is written any more. Does not wait if the back end was
    /// abandoned, because an operation may hang forever.
    fn drop(&mut self) {
        drop(self.work.take());
        if let Some(worker) = self.worker.take() {
            // A panic of the thread was reported when it happened.
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use esker_core::RequestKind;

    use super::*;
    use crate::backend::MemoryBackend;

    #[test]
    fn operations_end_in_their_order_and_give_the_signal() {
        let signal = Signal::default();
        let mut store = Threaded::new(MemoryBackend::new(Bytes::kib(4)), signal.clone());
        let operation = |kind, data: Vec<u8>| Operation { kind, offset: 100, length: 5, data };
        store.submit(1, operation(RequestKind::Write { fua: true }, vec![7; 5]));
        store.submit(2, operation(RequestKind::Flush, Vec::new()));
        store.submit(3, operation(RequestKind::Read, vec![0; 5]));
        let mut ended = Vec::new();
        while ended.len() < 3 {
            signal.wait(Some(Duration::from_secs(60)));
            store.take_ended(&mut ended);
        }
        let ids: Vec<u64> = ended.iter().map(|ended| ended.id).collect();
        assert_eq!((ids, &ended[2].data), (vec![1, 2, 3], &vec![7; 5]));
        assert!(ended.iter().all(|ended| ended.result.is_ok()));
    }
}
