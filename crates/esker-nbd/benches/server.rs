//! What the server's side of a connection costs: batches of 32 requests of 4 KiB, received with one read, answered at
//! once, and sent with one vectored write. And the memory that a connection takes.
#![expect(clippy::print_stdout, reason = "a benchmark's result is its output")]

use std::hint::black_box;
use std::io::IoSlice;
use std::sync::Arc;

use allocation_counter::measure;
use esker_core::Bytes;
use esker_nbd::{Export, Exports, Memory, Outcome, ServerEvent, ServerSession, ServerSettings};
use esker_testkit::Bench;

const BATCH: usize = 32;
const LENGTH: usize = 4096;

/// Buffers are used again; their bytes are not touched.
struct Pool(Vec<Vec<u8>>);

impl Memory for Pool {
    type Payload = Vec<u8>;
    fn take(&mut self, length: usize) -> Vec<u8> {
        self.0.pop().unwrap_or_else(|| vec![0; length])
    }
}

type Session = ServerSession<Vec<u8>, Vec<u8>>;

/// Gives the session `bytes`, as far as there is room; a vectored read would do the same.
fn receive(session: &mut Session, bytes: &[u8]) -> usize {
    let Some(space) = session.space() else { return 0 };
    let count = space.len().min(bytes.len());
    space[..count].copy_from_slice(&bytes[..count]);
    session.received(count);
    count
}

fn send(session: &mut Session, pool: &mut Pool) {
    while session.has_output() {
        let mut slices = [IoSlice::new(&[]); 128];
        let count = session.gather(&mut slices);
        let bytes = black_box(&slices[..count]).iter().map(|slice| slice.len()).sum();
        session.sent(bytes, |data| pool.0.push(data));
    }
}

fn open(structured: bool) -> (Session, Pool) {
    let exports = Exports::new(vec![Export::new("disk", Bytes::gib(1))], Some("disk")).expect("sound exports");
    let (mut session, mut pool) = (Session::new(ServerSettings::default(), Arc::new(exports)), Pool(Vec::new()));
    send(&mut session, &mut pool);
    let option = |number: u32, data: &[u8]| {
        [b"IHAVEOPT", &number.to_be_bytes()[..], &(data.len() as u32).to_be_bytes(), data].concat()
    };
    let agree = if structured { option(8, &[]) } else { Vec::new() };
    for bytes in [vec![0, 0, 0, 3], agree, option(7, &[0; 6])] {
        receive(&mut session, &bytes);
        while session.next_event(&mut pool).is_some() {}
        send(&mut session, &mut pool);
    }
    assert!(!session.is_negotiating());
    (session, pool)
}

/// A batch of requests as it comes from the connection.
fn batch(writes: bool) -> Vec<u8> {
    let request = |number: usize| {
        let (kind, offset) = (u16::from(writes), (number * LENGTH) as u64);
        let mut bytes = 0x2560_9513_0000_u64.to_be_bytes()[2..].to_vec();
        bytes.extend_from_slice(&kind.to_be_bytes());
        bytes.extend_from_slice(&(number as u64).to_be_bytes());
        bytes.extend_from_slice(&offset.to_be_bytes());
        bytes.extend_from_slice(&(LENGTH as u32).to_be_bytes());
        bytes.resize(bytes.len() + if writes { LENGTH } else { 0 }, 7);
        bytes
    };
    (0..BATCH).flat_map(request).collect()
}

fn serve((mut session, mut pool): (Session, Pool), writes: bool) -> u64 {
    let (batch, mut served) = (batch(writes), 0);
    let batches = if Bench::is_smoke() { 100 } else { 100_000 };
    for _ in 0..batches {
        let mut rest = &batch[..];
        while !rest.is_empty() {
            let count = receive(&mut session, rest);
            rest = &rest[count..];
            while let Some(event) = session.next_event(&mut pool) {
                let ServerEvent::Request(request) = event else { panic!("{event:?} is no request") };
                let data = if writes { None } else { Some(pool.take(LENGTH)) };
                session.reply(request.id, Outcome::Done, data);
                pool.0.extend(request.payload);
                served += 1;
            }
        }
        send(&mut session, &mut pool);
    }
    served
}

fn main() {
    for structured in [false, true] {
        let replies = if structured { "structured" } else { "simple" };
        for writes in [false, true] {
            let kind = if writes { "writes" } else { "reads" };
            Bench::new(format!("server session, {kind} of 4 KiB, 32 at a time, {replies} replies")).rate_with_setup(
                "requests",
                || open(structured),
                |session| serve(session, writes),
            );
        }
    }
    let idle = measure(|| drop(black_box(open(true)))).bytes_max;
    println!("{:<64} {idle:>16} bytes", "server session, memory of an idle connection");
    let (settings, exports) = (ServerSettings::default(), Exports::new(vec![Export::new("", Bytes::gib(1))], None));
    let bound = Session::memory_bound(&settings, &exports.expect("sound exports"));
    println!("{:<64} {:>16} bytes", "server session, the most that a client can make of it", bound.0);
}
