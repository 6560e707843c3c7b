//! A server that does nothing but what it has to: one client, requests read together, replies sent together.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use esker_testkit::processor_time;
use esker_volume::{Clock, SystemClock};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::{Cost, Job, client, used};

const UNSUPPORTED: u32 = 1 << 31 | 1;
const HAS_FLAGS: u16 = 1;
const REQUEST: usize = 28;

/// It sleeps until the client has sent something.
pub(crate) fn run(folder: &Path, job: Job) -> Option<Cost> {
    serve_client(folder, job, |stream, space| stream.read(space))
}

/// It looks again and again whether the client has sent something.
pub(crate) fn run_looking(folder: &Path, job: Job) -> Option<Cost> {
    serve_client(folder, job, |stream, space| {
        loop {
            match recv(&*stream, &mut *space, RecvFlags::DONTWAIT) {
                Err(Errno::AGAIN) => std::hint::spin_loop(),
                read => return Ok(read?.0),
            }
        }
    })
}

/// Receives what the client has sent, once it has sent something.
type Receive = fn(&mut UnixStream, &mut [u8]) -> io::Result<usize>;

fn serve_client(folder: &Path, job: Job, receive: Receive) -> Option<Cost> {
    let file = File::options().read(true).write(true).open(folder.join("raw")).expect("the file");
    std::io::copy(&mut &file, &mut std::io::sink()).expect("it is read");
    let socket = folder.join("bare.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let mut child = client::start(&socket, job);
    let (wall, processor) = (SystemClock::start(), processor_time());
    let (mut stream, _) = listener.accept().expect("a client");
    handshake(&mut stream);
    serve(&mut stream, &file, receive);
    let cost = Cost { processor: processor_time() - processor, wall: wall.now() };
    assert!(child.wait().expect("it ends").success(), "the client failed");
    std::fs::remove_file(&socket).expect("it is there");
    Some(cost)
}

/// Refuses all options but the one that every client knows.
fn handshake(stream: &mut UnixStream) {
    stream.write_all(b"NBDMAGICIHAVEOPT\0\x03").expect("the client reads");
    let mut flags = [0; 4];
    stream.read_exact(&mut flags).expect("the client's flags");
    loop {
        let mut header = [0; 16];
        stream.read_exact(&mut header).expect("an option");
        let number = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let (option, length) = (number(8), number(12));
        stream.read_exact(&mut vec![0; length as usize]).expect("its data");
        if option == 1 {
            let answer = [&used().0.to_be_bytes()[..], &HAS_FLAGS.to_be_bytes()].concat();
            return stream.write_all(&answer).expect("the client reads");
        }
        let answer = [0x0003_e889_0455_65a9u64.to_be_bytes(), [0; 8]].concat();
        stream.write_all(&answer[..8]).expect("the client reads");
        stream
            .write_all(&[option.to_be_bytes(), UNSUPPORTED.to_be_bytes(), [0; 4]].concat())
            .expect("the client reads");
    }
}

/// Answers requests until the client leaves.
fn serve(stream: &mut UnixStream, file: &File, receive: Receive) {
    let (mut input, mut filled, mut output) = (vec![0; 8 << 20], 0, Vec::with_capacity(8 << 20));
    loop {
        let Ok(count @ 1..) = receive(stream, &mut input[filled..]) else { return };
        filled += count;
        let mut at = 0;
        while let Some(header) = input[at..filled].first_chunk::<REQUEST>() {
            let length = u32::from_be_bytes(header[24..28].try_into().expect("four bytes")) as usize;
            let offset = u64::from_be_bytes(header[16..24].try_into().expect("eight bytes"));
            let payload = if header[7] == 1 { length } else { 0 };
            if filled - at < REQUEST + payload {
                break;
            }
            output.extend_from_slice(&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
            output.extend_from_slice(&header[8..16]);
            match header[7] {
                0 => {
                    let begin = output.len();
                    output.resize(begin + length, 0);
                    file.read_exact_at(&mut output[begin..], offset).expect("the file is long enough");
                }
                1 => file.write_all_at(&input[at + REQUEST..][..length], offset).expect("the file takes it"),
                _ => return,
            }
            at += REQUEST + payload;
        }
        input.copy_within(at..filled, 0);
        filled -= at;
        if stream.write_all(&output).is_err() {
            return;
        }
        output.clear();
    }
}
