use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::device_io::{DeviceIo, IoChoice};
use super::watch::Ready;

/// Waits for the next news of watches, which come within ten seconds.
fn next_ready(io: &DeviceIo) -> Vec<Ready> {
    let mut ready = Vec::new();
    for _ in 0..1000 {
        io.take_ready(&mut ready);
        if !ready.is_empty() {
            return ready;
        }
        io.wait(Some(Duration::from_millis(10)));
    }
    panic!("nothing is ready");
}

/// Lets everything come that is on its way.
fn quiet(io: &DeviceIo) {
    let mut ready = Vec::new();
    for _ in 0..5 {
        io.wait(Some(Duration::from_millis(5)));
        io.take_ready(&mut ready);
        ready.clear();
    }
}

fn check(io: &DeviceIo) {
    let (mut own, mut other) = UnixStream::pair().unwrap();
    own.set_nonblocking(true).unwrap();
    let file = Arc::new(OwnedFd::from(own.try_clone().unwrap()));
    io.watch(7, file).unwrap();
    quiet(io);
    let to_read = Ready { watch: 7, to_read: true };
    for round in 0..3 {
        other.write_all(b"request").unwrap();
        assert!(next_ready(io).contains(&to_read), "{round}");
        assert_eq!(own.read(&mut [0; 100]).unwrap(), 7);
        quiet(io);
    }
    // Until the peer reads, there is no room.
    while own.write(&[0; 4096]).is_ok() {}
    io.await_room(7);
    other.read_exact(&mut vec![0; 64 << 10]).unwrap();
    other.set_nonblocking(true).unwrap();
    while other.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {}
    assert!(next_ready(io).contains(&Ready { watch: 7, to_read: false }));
    // Ends are told as something to read.
    quiet(io);
    drop(other);
    assert!(next_ready(io).contains(&to_read));
    io.unwatch(7);
    quiet(io);
    let mut ready = Vec::new();
    io.wait(Some(Duration::from_millis(5)));
    io.take_ready(&mut ready);
    assert_eq!(ready, []);
}

#[test]
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn what_can_be_read_or_written_is_told_once() {
    check(&DeviceIo::start(IoChoice::Threads).unwrap());
    match DeviceIo::start(IoChoice::Ring) {
        Ok(io) => check(&io),
        Err(error) => eprintln!("skipped: io_uring: {error}"),
    }
}
