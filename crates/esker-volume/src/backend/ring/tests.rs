use std::io::Read;
use std::time::Duration;

use esker_core::{Bytes, Nanos};

use super::*;
use crate::backend::{Backend, Gather, OperationData};
use crate::memory::Buffer;

/// More than a pipe holds.
const LENGTH: usize = 1 << 20;

/// A ring with a pipe that nobody reads, and a write to it that hangs. `None` where io_uring is forbidden.
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn hung() -> Option<(Ring, RingFile, std::io::PipeReader, Buffer)> {
    let ring = match Ring::new(Signal::new().unwrap()) {
        Ok(ring) => ring,
        Err(error) => {
            eprintln!("skipped: io_uring: {error}");
            return None;
        }
    };
    let (reader, writer) = std::io::pipe().unwrap();
    let file = Arc::new(File::from(std::os::fd::OwnedFd::from(writer)));
    let mut device = RingFile::new(ring.clone(), file, Bytes(1 << 30), 1);
    let buffer = Buffer::zeroed(LENGTH);
    let write = OperationData::Take(Gather::whole(buffer.clone()));
    device.submit(Nanos::ZERO, 7, Operation::new(RequestKind::Write { fua: false }, 0, LENGTH as u64, write));
    device.send();
    let mut ended = Vec::new();
    ring.wait(Some(Duration::from_millis(10)));
    device.take_ended(&mut ended);
    assert!(ended.is_empty(), "{ended:?}");
    Some((ring, device, reader, buffer))
}

#[test]
fn memory_of_an_abandoned_device_is_kept_until_the_kernel_returns_it() {
    let Some((ring, mut device, mut reader, mut buffer)) = hung() else { return };
    device.abandon();
    // This waits for nothing.
    drop(device);
    ring.wait(Some(Duration::from_millis(1)));
    assert!(buffer.get_mut().is_none(), "the kernel may still read it");
    let read = std::thread::spawn(move || {
        let mut all = Vec::new();
        // It ends once nobody can write to the pipe any more.
        reader.read_to_end(&mut all).unwrap();
        all.len()
    });
    for _ in 0..60_000 {
        ring.wait(Some(Duration::from_millis(1)));
        if buffer.get_mut().is_some() {
            let read = read.join().unwrap();
            assert!((1..LENGTH).contains(&read), "{read} bytes: the rest was not written once nobody waited");
            return;
        }
    }
    panic!("the memory was not returned within a minute");
}

#[test]
fn memory_that_the_kernel_has_is_not_freed_with_the_ring() {
    let Some((ring, mut device, reader, mut buffer)) = hung() else { return };
    device.abandon();
    drop((ring, device));
    assert!(buffer.get_mut().is_none());
    drop(reader);
}

#[test]
fn a_signal_of_another_thread_ends_a_wait() {
    let Some((ring, mut device, ..)) = hung() else { return };
    let signal = ring.state().signal.clone();
    for _ in 0..100 {
        let giver = signal.clone();
        let other = std::thread::spawn(move || giver.give());
        // Without the signal, this would never end.
        ring.wait(None);
        other.join().unwrap();
    }
    device.abandon();
}
