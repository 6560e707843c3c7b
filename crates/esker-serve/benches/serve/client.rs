//! The client, in a process of its own.

use std::collections::BTreeMap;
use std::io::{IoSlice, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};

use esker_core::{Nanos, Rng};
use esker_nbd::{ClientEvent, ClientSession, ClientSettings, Command};

use esker_volume::{Clock, SystemClock};

use crate::{Job, used};

/// Names the socket to the client's process.
pub(crate) const SOCKET: &str = "ESKER_BENCH_CLIENT";

/// Has the client's process say how long it waited.
const TIMED: &str = "ESKER_BENCH_TIMED";

/// Starts a client that does `job` at `socket`.
pub(crate) fn start(socket: &Path, job: Job) -> Child {
    process(socket, job).spawn().expect("the client starts")
}

/// Starts a client that prints the 99th percentile of its response times, in us.
pub(crate) fn start_timed(socket: &Path, job: Job) -> Child {
    process(socket, job).env(TIMED, "1").stdout(Stdio::piped()).spawn().expect("the client starts")
}

fn process(socket: &Path, job: Job) -> Process {
    let Job { writes, in_order, length, depth, requests, .. } = job;
    let numbers = [u64::from(writes), u64::from(in_order), length.into(), depth as u64, requests];
    let mut process = Process::new(std::env::current_exe().expect("it runs"));
    process.env(SOCKET, socket).args(numbers.map(|number| number.to_string()));
    process
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
    let (is_timed, clock) = (std::env::var_os(TIMED).is_some(), SystemClock::start());
    let (mut is_open, mut begins, mut waits) = (false, BTreeMap::<u64, Nanos>::new(), Vec::new());
    while ended < requests {
        while let Some(event) = session.next_event() {
            match event {
                ClientEvent::Opened(_) => is_open = true,
                ClientEvent::Done(end) => {
                    end.result.expect("the server does it");
                    spare.extend(end.buffer);
                    if let Some(begin) = begins.remove(&end.id) {
                        waits.push(clock.now() - begin);
                    }
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
            if is_timed {
                begins.insert(sent, clock.now());
            }
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
    if is_timed {
        waits.sort_unstable();
        println!("{:.3}", waits[waits.len() * 99 / 100].0 as f64 / 1e3);
    }
}
