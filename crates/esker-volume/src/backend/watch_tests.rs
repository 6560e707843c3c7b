use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::device_io::{DeviceIo, IoChoice};

/// Waits until it is so, which takes ten seconds at most.
fn until(io: &DeviceIo, is_so: impl Fn() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        io.wait(Some(Duration::from_millis(10)));
    }
    panic!("nothing is ready");
}

/// Lets everything come that is on its way.
fn quiet(io: &DeviceIo) {
    (0..5).for_each(|_| io.wait(Some(Duration::from_millis(5))));
}

fn check(io: &DeviceIo) {
    let (mut own, mut other) = UnixStream::pair().unwrap();
    own.set_nonblocking(true).unwrap();
    let file = Arc::new(OwnedFd::from(own.try_clone().unwrap()));
    let watch = io.watch(Arc::clone(&file)).unwrap();
    assert!(watch.can_read() && watch.can_write(), "nobody has tried yet");
    quiet(io);
    for _ in 0..3 {
        watch.read_blocks();
        quiet(io);
        assert!(!watch.can_read());
        other.write_all(b"request").unwrap();
        until(io, || watch.can_read());
        assert_eq!(own.read(&mut [0; 100]).unwrap(), 7);
    }
    // Until the peer reads, there is no room.
    while own.write(&[0; 4096]).is_ok() {}
    watch.write_blocks();
    quiet(io);
    assert!(!watch.can_write());
    other.read_exact(&mut vec![0; 64 << 10]).unwrap();
    other.set_nonblocking(true).unwrap();
    while other.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {}
    until(io, || watch.can_write());
    // The end counts as something to read.
    quiet(io);
    watch.read_blocks();
    drop(other);
    until(io, || watch.can_read());
    // A watch that has ended ends no wait, and its number is not used again.
    let number = watch.number();
    drop(watch);
    quiet(io);
    assert!(io.watch(file).unwrap().number() > number);
}

#[test]
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn what_can_be_read_or_written_is_noted() {
    check(&DeviceIo::start(IoChoice::Threads).unwrap());
    match DeviceIo::start(IoChoice::Ring) {
        Ok(io) => check(&io),
        Err(error) => eprintln!("skipped: io_uring: {error}"),
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test is bounded in time")]
fn what_became_ready_between_two_waits_ends_the_next_one() {
    for choice in [IoChoice::Threads, IoChoice::Best] {
        let io = DeviceIo::start(choice).unwrap();
        let (own, mut other) = UnixStream::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        let watch = io.watch(Arc::new(OwnedFd::from(own))).unwrap();
        quiet(&io);
        watch.read_blocks();
        other.write_all(b"request").unwrap();
        let begin = std::time::Instant::now();
        while !watch.can_read() {
            io.wait(Some(Duration::from_secs(20)));
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{choice:?}");
    }
}
