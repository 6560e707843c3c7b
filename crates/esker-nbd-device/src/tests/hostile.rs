//! Servers that break the protocol.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use crate::backend::{Abilities, ExportBackend};
use crate::connection::{ConnectError, Connection};
use crate::{ExportDevice, NbdUri};
use esker_core::{Nanos, RequestKind};
use esker_volume::{Backend, BlockingBackend, Buffer, DeviceIo, DeviceLimits, OpenDevice, Operation, OperationData};

use super::driver::{PATIENCE, WAYS};
use super::plain_server::{FLUSH, FUA, Offer, PlainServer, TRIM, ZEROES};

#[test]
fn lies_are_errors_and_nothing_else() {
    let offer =
        Offer { size: 1 << 20, flags: FLUSH | FUA | TRIM | ZEROES, blocks: Some([512, 512, 65536]), lies: None };
    let (mut opened, mut failed) = (0, 0);
    for choice in WAYS {
        let io = DeviceIo::start(choice).unwrap();
        for seed in 0..60 {
            let server = PlainServer::new(Offer { lies: Some(1000 * seed), ..offer });
            // Where a reply is cut short, the client waits for the rest until the server goes.
            let killer = {
                let socket = server.killer();
                std::thread::spawn(move || {
                    std::thread::sleep(std::time::Duration::from_millis(60));
                    socket.kill();
                })
            };
            let device = ExportDevice::open("far", &server.uri(), &io, DeviceLimits::default());
            if let Ok(mut device) = device {
                opened += 1;
                let _ = device.read(0, &mut [0; 4096]);
                let mut backend = Box::new(device).into_backend();
                let mut ended = Vec::new();
                for id in 0..200 {
                    let data = OperationData::Fill(Buffer::zeroed(100 * 512));
                    let read = Operation::new(RequestKind::Read, id * 512, 100 * 512, data);
                    backend.submit(Nanos::ZERO, 2 * id, read);
                    let flush = Operation::new(RequestKind::Flush, 0, 0, OperationData::None);
                    backend.submit(Nanos::ZERO, 2 * id + 1, flush);
                    backend.send();
                }
                while ended.len() < 400 {
                    backend.take_ended(&mut ended);
                    if ended.len() < 400 {
                        io.wait(Some(PATIENCE));
                    }
                }
                // Each operation ends once.
                let mut ids: Vec<u64> = ended.iter().map(|ended| ended.id).collect();
                ids.sort_unstable();
                assert!(ids == (0..400).collect::<Vec<u64>>());
                failed += usize::from(backend.has_failed());
            }
            killer.join().unwrap();
        }
    }
    assert!(opened > 40 && failed > 20, "{opened} opened, {failed} of them failed");
}

/// Has a server send `first` at once, and then `rest` over and over, a byte every few milliseconds. Returns where.
fn dribbling(folder: &tempfile::TempDir, first: Vec<u8>, rest: &'static [u8]) -> NbdUri {
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = stream.try_clone().unwrap();
        std::thread::spawn(move || while asked.read(&mut [0; 64]).is_ok_and(|count| count > 0) {});
        let sends = |stream: &mut UnixStream, bytes: &[u8]| stream.write_all(bytes).is_ok();
        let mut goes_on = sends(&mut stream, &first);
        for byte in rest.iter().cycle() {
            std::thread::sleep(Duration::from_millis(5));
            goes_on = goes_on && sends(&mut stream, &[*byte]);
            if !goes_on {
                return;
            }
        }
    });
    format!("nbd+unix:///?socket={}", socket.display()).parse().unwrap()
}

#[test]
fn a_server_that_dribbles_is_left_when_its_time_is_over() {
    // To the choice of an export: its name, over and over.
    let name = b"\0\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x07\0\0\0\x03\0\0\0\x03\0\x01a";
    let folder = tempfile::tempdir().unwrap();
    let refused = b"\0\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x08\x80\0\0\x01\0\0\0\0";
    let greeting = b"NBDMAGICIHAVEOPT\0\x03";
    let uri = dribbling(&folder, [&greeting[..], refused].concat(), name);
    let error = Connection::open_within(&uri, Nanos::from_millis(300)).err().unwrap();
    assert!(matches!(&error, ConnectError::Lost(error) if error.kind() == ErrorKind::TimedOut), "{error}");
    assert!(error.to_string().ends_with("it has not answered within 300ms"), "{error}");
    // To a read: its bytes, which take longer than an answer may.
    let folder = tempfile::tempdir().unwrap();
    let old = [b"NBDMAGICIHAVEOPT\0\x02", &(1u64 << 20).to_be_bytes()[..], &(FLUSH | 1).to_be_bytes()].concat();
    let reply = b"\x67\x44\x66\x98\0\0\0\0\0\0\0\x01\0\0\0\0";
    let uri = dribbling(&folder, [&old[..], reply].concat(), b"a");
    let (connection, info) = Connection::open_within(&uri, Nanos::from_millis(300)).unwrap();
    let mut backend = ExportBackend::new(connection, Abilities::of(&info));
    let read = Operation::new(RequestKind::Read, 0, 1 << 20, OperationData::Fill(Buffer::zeroed(1 << 20)));
    backend.submit(Nanos::ZERO, 0, read);
    let mut ended = Vec::new();
    backend.take_ended(&mut ended);
    let error = ended.remove(0).result.unwrap_err();
    assert!(error.to_string().ends_with("it has not answered within 300ms"), "{error}");
}
