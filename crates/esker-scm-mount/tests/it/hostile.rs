//! Clients that store into the memory of their calls what they like.

use crate::ground::Ground;
use esker_scm_channel::{Address, MESSAGE_MAX, Outcome, RemoteFile, Request, SharedMemory, knock, receive_file};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType};
use rustix::thread::futex;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes before the first slot, from one slot to the next, and from a slot to its message.
const SLOTS_AT: usize = 4096;
const SLOT: usize = (12 << 10) + (256 << 10);
const MESSAGE: usize = 64;
const POSTED: u32 = 2;
const FINISHED: u32 = 4;

fn address(ground: &Ground) -> Address {
    Address::at(&ground.path("").into_os_string().into_encoded_bytes()).unwrap()
}

fn connect(ground: &Ground) -> (OwnedFd, SharedMemory) {
    let socket = knock(&address(ground)).unwrap();
    let memory = SharedMemory::open(receive_file(socket.as_fd()).unwrap().as_fd()).unwrap();
    (socket, memory)
}

/// Connects as somebody who has found the name of the socket in `/proc/net/unix`.
fn connect_by_name(ground: &Ground) -> OwnedFd {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(address(ground).name()).unwrap()).unwrap();
    socket
}

/// Whether the owner answers before long.
fn is_answered(state: &AtomicU32) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_micros(100));
        state.load(Ordering::SeqCst) == FINISHED
    })
}

#[test]
fn wild_stores_of_a_client_harm_nobody_else() {
    let Some(mut ground) = Ground::new() else { return };
    let client = ground.connect();
    let Outcome::Done(file) = RemoteFile::open(&client, b"good", (OFlags::RDWR | OFlags::CREATE).bits(), 0o644) else {
        panic!("it is made")
    };
    let mut state = 99_u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let mut answered = 0;
    for round in 0..20_u8 {
        let (_socket, memory) = connect(&ground);
        let mut is_served = true;
        for _ in 0..150 {
            let slot = SLOTS_AT + random(8) * SLOT;
            match random(4) {
                // Anything anywhere.
                0 => memory
                    .word(random(memory.length() as usize / 4) * 4)
                    .store(random(1 << 31) as u32, Ordering::SeqCst),
                // A state, or a length.
                1 => memory.word(slot + random(4) * 4).store(random(6) as u32, Ordering::SeqCst),
                // Half a message is changed as it is read.
                2 => memory.word(slot + MESSAGE + random(4) * 4).store(random(1 << 31) as u32, Ordering::SeqCst),
                // A call that could be a good one, on files that this client has not.
                _ => {
                    let request = Request::Write { handle: random(3) as u32, offset: Some(random(1 << 40) as u64) };
                    let mut message = [0; MESSAGE_MAX];
                    let length = request.encode(&mut message);
                    memory.write(slot + MESSAGE, &message[..length]);
                    memory.word(slot + 8).store(length as u32, Ordering::SeqCst);
                    memory.word(slot + 12).store(u32::MAX, Ordering::SeqCst);
                    memory.word(slot).store(POSTED, Ordering::SeqCst);
                    memory.word(0).fetch_add(1, Ordering::SeqCst);
                    let _ = futex::wake(memory.word(0), futex::Flags::empty(), 1);
                    // A wild store may have ended the connection: then nobody answers any more.
                    is_served = is_served && is_answered(memory.word(slot));
                    answered += u32::from(is_served);
                }
            }
        }
        // Others are served as before, with calls and with pages.
        let content = vec![round; 50_000];
        assert_eq!(file.write(Some(0), &content), Outcome::Done((50_000, 50_000)));
        let mut found = vec![0; 50_000];
        assert_eq!(file.read(0, &mut found), Outcome::Done(50_000));
        assert!(found == content, "round {round}");
    }
    drop(file);
    assert!(answered > 20, "the owner looked at what was stored: {answered} answers");
    assert_eq!(std::fs::read_dir(ground.path("")).unwrap().count(), 1, "no call of theirs made a file");
    ground.remount();
}

#[test]
fn who_has_not_reached_the_mount_by_the_kernel_is_granted_nothing() {
    let Some(ground) = Ground::new() else { return };
    let silent = connect_by_name(&ground);
    let good = [b"SCMFS\x02\0\0", &address(&ground).to_bytes()[address(&ground).name().len()..]].concat();
    let mut wrong = good.clone();
    wrong[good.len() - 1] ^= 1;
    let long = [&good[..], b"x"].concat();
    let longer = [&good[..], &[0; 300]].concat();
    for said in [&wrong, &good[..good.len() - 1], &good[8..], &long, &longer, b"x"] {
        let socket = connect_by_name(&ground);
        rustix::net::send(&socket, said, SendFlags::NOSIGNAL).unwrap();
        assert_eq!(receive_file(socket.as_fd()).unwrap_err(), Errno::CONNRESET, "{said:?}");
    }
    // All of them came later than this one.
    let mut polled = [PollFd::new(&silent, PollFlags::IN)];
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut polled, Some(&now)), Ok(0), "nothing is granted before anything is said");
    rustix::net::send(&silent, &good, SendFlags::NOSIGNAL).unwrap();
    assert!(receive_file(silent.as_fd()).is_ok());
}

#[test]
fn silent_strangers_keep_nobody_out() {
    let Some(ground) = Ground::new() else { return };
    let strangers: Vec<OwnedFd> = (0..200).map(|_| connect_by_name(&ground)).collect();
    drop(ground.connect());
    drop(strangers);
}
