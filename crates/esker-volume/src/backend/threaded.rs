//! A back end that performs operations in threads of its own, for files.

use std::thread::{self, JoinHandle};

use esker_core::{Bytes, Nanos};

use super::{Backend, BlockingBackend, Ended, Operation};
use crate::queue::Queue;
use crate::signal::Signal;

/// A back end whose operations are performed by threads. One thread performs them one after the other. Several report
/// flushes and durable writes in no order: one of those may be under way at a time ([`divide`](crate::divide) sees to
/// that).
#[derive(Debug)]
pub struct Threaded {
    capacity: Bytes,
    work: Queue<(u64, Operation)>,
    ended: Queue<Ended>,
    workers: Vec<JoinHandle<()>>,
}

impl Threaded {
    /// Creates a back end over `store` with one thread. The `signal` is given whenever an operation has ended.
    pub fn new<B: BlockingBackend + 'static>(store: B, signal: Signal) -> Self {
        Self::with_threads(vec![store], &signal)
    }

    /// Creates a back end with a thread for each of `handles`, which are the same store (asserted: there is one).
    pub(crate) fn with_threads<B: BlockingBackend + 'static>(handles: Vec<B>, signal: &Signal) -> Self {
        let capacity = handles.first().expect("a back end has a store").capacity();
        let (work, ended) = (Queue::<(u64, Operation)>::default(), Queue::default());
        let spawn = |mut store: B| {
            let (to_do, done, signal) = (work.clone(), ended.clone(), signal.clone());
            thread::spawn(move || {
                while let Some((id, operation)) = to_do.next() {
                    done.push(operation.perform(id, &mut store));
                    signal.give();
                }
            })
        };
        let workers = handles.into_iter().map(spawn).collect();
        Self { capacity, work, ended, workers }
    }
}

impl Backend for Threaded {
    fn capacity(&self) -> Bytes {
        self.capacity
    }
    fn abandon(&mut self) {
        self.workers.clear();
    }
    fn submit(&mut self, _: Nanos, id: u64, operation: Operation) {
        self.work.push((id, operation));
    }
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        self.ended.take_all(ended);
    }
}

impl Drop for Threaded {
    /// Waits for the operations under way: after this, nothing is written any more. Does not wait if the back end was
    /// abandoned, because an operation may hang forever.
    fn drop(&mut self) {
        self.work.close();
        for worker in self.workers.drain(..) {
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
    use crate::backend::{Gather, MemoryBackend, OperationData};
    use crate::memory::Buffer;

    #[test]
    fn operations_end_in_their_order_and_give_the_signal() {
        let signal = Signal::new().unwrap();
        let mut store = Threaded::new(MemoryBackend::new(Bytes::kib(4)), signal.clone());
        let operation = |kind, data| Operation::new(kind, 100, 5, data);
        let write = OperationData::Take(Gather::whole(Buffer::from(vec![7; 5])));
        store.submit(Nanos::ZERO, 1, operation(RequestKind::Write { fua: true }, write));
        store.submit(Nanos::ZERO, 2, operation(RequestKind::Flush, OperationData::None));
        store.submit(Nanos::ZERO, 3, operation(RequestKind::Read, OperationData::Fill(Buffer::zeroed(5))));
        let mut ended = Vec::new();
        while ended.len() < 3 {
            signal.wait(Some(Duration::from_secs(60)));
            store.take_ended(&mut ended);
        }
        let ids: Vec<u64> = ended.iter().map(|ended| ended.id).collect();
        assert_eq!(ids, [1, 2, 3]);
        assert!(matches!(&ended[2].data, OperationData::Fill(buffer) if buffer[..] == [7; 5]));
        assert!(ended.iter().all(|ended| ended.result.is_ok()));
    }
}
