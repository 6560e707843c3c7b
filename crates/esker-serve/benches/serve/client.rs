//! The client, in a process of its own.

use std::io::{IoSlice, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command as Process};

use esker_core::Rng;
use esker_nbd::{ClientEvent, ClientSession, ClientSettings, Command};

use crate::{Job, used};

/// Names the socket to the client's process.
pub(crate) const SOCKET: &str = "ESKER_BENCH_CLIENT";

/// Starts a client that does `job` at `socket`.
pub(crate) fn start(socket: &Path, job: Job) -> Child {
    let Job { writes, in_order, length, depth, requests, .. } = job;
    let numbers = [u64::from(writes), u64::from(in_order), length.into(), depth as u64, requests];
    Process::new(std::env::current_exe().expect("it runs"))
        .env(SOCKET, socket)
        .args(numbers.map(|number| number.to_string()))
        .spawn()
        .expect("the client starts")
}

/// Keeps requests under way until all have ended.
pub(crate) fn main(socket: &Path) {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let [writes, in_order, length, depth, requests] = numbers[..] else { panic!("five numbers") };
    let mut stream = UnixStream::connect(socket).expect("a server");
    let settings = ClientSettings { structured: false, block_status: false, ..ClientSettings::open("volume") };
    let mut session: ClientSession<Vec<u8>, u64> = ClientSession::new(settings);
    let (mut rng, mut sent, mut ended) = (Rng::new(1), 0, 0);
    let mut spare: Vec<Vec<u8>> = (0..depth).map(|_| vec![7; length as usize]).collect();
    let mut is_open = false;
    while ended < requests {
        while let Some(event) = session.next_event() {
            match event {
                ClientEvent::Opened(_) => is_open = true,
                ClientEvent::Done(end) => {
                    end.result.expect("the server does it");
                    spare.extend(end.buffer);
                    ended += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        while is_open
            && sent < requests
            && let Some(buffer) = spare.pop()
        {
            let place = if in_order == 1 { sent } else { rng.next_u64() } % (used().0 / length);
            let (offset, length) = (place * length, length as u32);
            let command = match writes {
                1 => Command::Write { offset, length, durable: false },
                _ => Command::Read { offset, length, in_one_piece: false },
            };
            assert!(session.submit(command, sent, Some(buffer)).is_ok(), "there is room");
            sent += 1;
        }
        while session.has_output() {
            let mut slices = [IoSlice::new(&[]); 64];
            let count = session.gather(&mut slices);
            let count = stream.write_vectored(&slices[..count]).expect("the server reads");
            session.sent(count);
        }
        if ended < requests {
            let count = stream.read(session.space().expect("it takes bytes")).expect("the server answers");
            assert!(count > 0, "the server has left");
            session.received(count);
        }
    }
}
