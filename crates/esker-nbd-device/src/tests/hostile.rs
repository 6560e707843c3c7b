//! Servers that break the protocol.

use crate::ExportDevice;
use esker_core::{Nanos, RequestKind};
use esker_volume::{BlockingBackend, Buffer, DeviceIo, DeviceLimits, OpenDevice, Operation, OperationData};

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
