//! One export as a device.

use std::io::{ErrorKind, IoSlice};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use crate::{ExportDevice, ExportError};
use esker_core::{Nanos, RequestKind, Rng};
use esker_volume::{
    Backend, BlockingBackend, Buffer, DeviceIo, DeviceLimits, Ended, Gather, IoChoice, OpenDevice, Operation,
    OperationData,
};

use super::driver::{PATIENCE, WAYS, open};
use super::plain_server::{FLUSH, FUA, Offer, PlainServer, READ_ONLY, TRIM, ZEROES};

const SIZE: u64 = 4 << 20;
const ALL: u16 = FLUSH | FUA | TRIM | ZEROES;

fn offer(flags: u16, blocks: Option<[u32; 3]>) -> Offer {
    Offer { size: SIZE, flags, blocks, lies: None }
}

/// Submits operations, and waits until all of them have ended well. Returns their memory by their numbers.
fn perform(backend: &mut dyn Backend, io: &DeviceIo, operations: Vec<Operation>) -> Vec<OperationData> {
    let mut data: Vec<_> = operations.iter().map(|_| None).collect();
    (0..).zip(operations).for_each(|(id, operation)| backend.submit(Nanos::ZERO, id, operation));
    backend.send();
    let (begin, mut ended) = (Instant::now(), Vec::new());
    loop {
        backend.take_ended(&mut ended);
        for ended in ended.drain(..) {
            ended.result.unwrap();
            data[ended.id as usize] = Some(ended.data);
        }
        if data.iter().all(Option::is_some) {
            return data.into_iter().flatten().collect();
        }
        assert!(begin.elapsed() < PATIENCE, "there is no answer");
        io.wait(Some(PATIENCE));
    }
}

/// A random operation on whole sectors within `from..to`, which `model` performs at once.
fn operation(rng: &mut Rng, model: &mut [u8], from: u64, to: u64) -> Operation {
    let sectors = (to - from) / 512;
    let first = rng.below(sectors);
    let (offset, length) = (from + first * 512, (1 + rng.below(sectors - first)) * 512);
    let range = offset as usize..(offset + length) as usize;
    let fua = rng.chance(1, 4);
    match rng.below(8) {
        0..3 => Operation::new(RequestKind::Read, offset, length, OperationData::Fill(Buffer::zeroed(length as usize))),
        3 => {
            model[range].fill(0);
            Operation::new(RequestKind::WriteZeroes { fua }, offset, length, OperationData::None)
        }
        _ => {
            // A part of something longer.
            let mut bytes: Vec<u8> = (0..length + 1000).map(|_| rng.next_u64() as u8).collect();
            bytes[0] = 0;
            model[range].copy_from_slice(&bytes[700..700 + length as usize]);
            let gather = Gather::whole(Buffer::from(bytes)).part(700, length as usize);
            Operation::new(RequestKind::Write { fua }, offset, length, OperationData::Take(gather))
        }
    }
}

/// Random operations while the device is opened, and many at a time while it serves.
fn behaves_like_bytes(flags: u16, blocks: Option<[u32; 3]>, choice: IoChoice, seed: u64) {
    let server = PlainServer::new(offer(flags, blocks));
    let io = DeviceIo::start(choice).unwrap();
    let mut device = open(&server.uri(), &io);
    let (mut rng, mut model) = (Rng::new(seed), vec![0; SIZE as usize]);
    let blocking = device.blocking();
    assert_eq!(blocking.capacity().0, SIZE);
    for round in 0..20u8 {
        let (offset, length) = (rng.below(200) * 512, 512 * (1 + rng.below(300)));
        let range = offset as usize..(offset + length) as usize;
        let (first, second) = (vec![round + 1; 100], vec![round + 2; length as usize - 100]);
        match round % 4 {
            3 => {
                blocking.write_zeroes(offset, length, round > 10).unwrap();
                model[range.clone()].fill(0);
            }
            _ => {
                blocking.write(offset, &mut [IoSlice::new(&first), IoSlice::new(&second)], round > 10).unwrap();
                model[range.clone()].copy_from_slice(&[first, second].concat());
            }
        }
        let mut found = vec![0; length as usize];
        blocking.read(offset, &mut found).unwrap();
        assert!(found == model[range], "{round}");
    }
    blocking.flush().unwrap();
    let mut backend = Box::new(device).into_backend();
    for round in 0..20 {
        let part = SIZE / 16;
        let before = model.clone();
        let operations: Vec<_> =
            (0..16).map(|index| operation(&mut rng, &mut model, index * part, (index + 1) * part)).collect();
        let places: Vec<_> = operations.iter().map(|operation| (operation.kind, operation.offset)).collect();
        let ended = perform(&mut *backend, &io, operations);
        for ((kind, offset), data) in places.into_iter().zip(ended) {
            if let (RequestKind::Read, OperationData::Fill(found)) = (kind, data) {
                assert!(found[..] == before[offset as usize..][..found.len()], "{round}");
            }
        }
        let flush = Operation::new(RequestKind::Flush, 0, 0, OperationData::None);
        perform(&mut *backend, &io, vec![flush]);
    }
    drop(backend);
    assert!(server.bytes() == model, "{flags:#x}, {blocks:?}");
    let asked = server.asked();
    let [block, _, longest] = blocks.unwrap_or([512, 512, 32 << 20]);
    for &(kind, durable, offset, length) in &asked {
        assert!(offset.is_multiple_of(block.into()) && length.is_multiple_of(block.max(512)), "{offset}, {length}");
        assert!(kind >= 2 || length <= longest, "{length}");
        assert!(!durable || flags & FUA != 0);
    }
    let has = |wanted: u16| asked.iter().any(|&(kind, ..)| kind == wanted);
    assert_eq!((has(6), has(3)), (flags & ZEROES != 0, true));
}

#[test]
fn whatever_a_server_offers_it_holds_bytes() {
    let small = Some([512, 512, 4096]);
    for (seed, choice) in (1..).zip(WAYS) {
        for (flags, blocks) in [
            (ALL, None),
            (FLUSH, None),
            (FLUSH, small),
            (ALL, small),
            (FLUSH | FUA, Some([1, 4096, 1 << 20])),
            (ALL, Some([4096, 4096, 1 << 20])),
            (FLUSH, Some([16384, 16384, 65536])),
        ] {
            behaves_like_bytes(flags, blocks, choice, seed);
        }
    }
}

#[test]
fn a_durable_write_survives_the_server_with_and_without_fua() {
    for flags in [ALL, FLUSH] {
        let server = PlainServer::new(offer(flags, Some([512, 512, 4096])));
        let io = DeviceIo::start(IoChoice::Threads).unwrap();
        let mut backend = Box::new(open(&server.uri(), &io)).into_backend();
        let write = |fua, offset| {
            let data = OperationData::Take(Gather::whole(Buffer::from(vec![7; 20_480])));
            Operation::new(RequestKind::Write { fua }, offset, 20_480, data)
        };
        perform(&mut *backend, &io, vec![write(true, 0)]);
        let kinds: Vec<_> = server.asked().into_iter().map(|(kind, durable, ..)| (kind, durable)).collect();
        let expected = if flags == ALL { vec![(1, true); 5] } else { [vec![(1, false); 5], vec![(3, false)]].concat() };
        assert_eq!(kinds, expected);
        perform(&mut *backend, &io, vec![write(false, 40_960)]);
        server.kill();
        let bytes = server.bytes();
        assert!(bytes[..20_480].iter().all(|&byte| byte == 7) && bytes[20_480..].iter().all(|&byte| byte == 0));
    }
}

#[test]
fn trims_do_nothing_where_the_server_has_none() {
    for flags in [ALL, FLUSH] {
        let server = PlainServer::new(offer(flags, None));
        let mut device = open(&server.uri(), &DeviceIo::start(IoChoice::Threads).unwrap());
        device.trim(0, 8192).unwrap();
        let asked = if flags == ALL { vec![(4, false, 0, 8192)] } else { Vec::new() };
        assert_eq!(server.asked(), asked);
    }
}

#[test]
fn what_cannot_be_a_device_is_refused() {
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    let error = |server: &PlainServer| ExportDevice::open("far", &server.uri(), &io, DeviceLimits::default()).err();
    let read_only = error(&PlainServer::new(offer(ALL | READ_ONLY, None)));
    assert!(matches!(read_only, Some(ExportError::ReadOnly)), "{read_only:?}");
    let forgetful = error(&PlainServer::new(offer(FUA | TRIM, None)));
    assert!(matches!(forgetful, Some(ExportError::NoFlush)), "{forgetful:?}");
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let uri = format!("nbd+unix:///?socket={}", socket.display()).parse().unwrap();
    let missing = || ExportDevice::open("far", &uri, &io, DeviceLimits::default()).err().unwrap();
    assert!(missing().is_missing(), "nothing is there");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(missing().is_missing(), "nobody listens there");
}

#[test]
fn an_export_that_is_only_read_is_asked_for_nothing_else() {
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    for flags in [ALL | READ_ONLY, READ_ONLY, ALL] {
        let server = PlainServer::new(offer(flags, None));
        let mut device = ExportDevice::open_to_read("far", &server.uri(), &io, DeviceLimits::default()).unwrap();
        assert!(device.only_reads());
        device.read(0, &mut [0; 512]).unwrap();
        device.flush().unwrap();
        let refused = [
            device.write(0, &mut [IoSlice::new(&[1; 512])], true),
            device.write_zeroes(0, 512, false),
            device.trim(0, 512),
        ];
        for error in refused.map(Result::unwrap_err) {
            assert_eq!(error.kind(), ErrorKind::ReadOnlyFilesystem);
        }
        let kinds: Vec<_> = server.asked().into_iter().map(|(kind, ..)| kind).collect();
        assert_eq!(kinds, if flags == ALL { vec![0, 3] } else { vec![0] });
    }
}

#[test]
fn a_lost_connection_fails_all_operations() {
    for choice in WAYS {
        let server = PlainServer::new(offer(ALL, None));
        let io = DeviceIo::start(choice).unwrap();
        let mut backend = Box::new(open(&server.uri(), &io)).into_backend();
        server.kill();
        let begin = Instant::now();
        for id in 0..3 {
            backend.submit(Nanos::ZERO, id, Operation::new(RequestKind::Flush, 0, 0, OperationData::None));
            let fill = OperationData::Fill(Buffer::zeroed(512));
            backend.submit(Nanos::ZERO, id + 10, Operation::new(RequestKind::Read, 0, 512, fill));
            backend.send();
            let mut ended = Vec::new();
            while ended.len() < 2 {
                backend.take_ended(&mut ended);
                if ended.len() < 2 {
                    io.wait(Some(PATIENCE));
                }
            }
            for ended in ended {
                let error = ended.result.unwrap_err();
                assert!(error.to_string().starts_with("the connection to the NBD server is lost"), "{error}");
            }
        }
        assert!(backend.has_failed());
        drop(backend);
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn operations_allocate_nothing_once_as_many_have_been_under_way() {
    let server = PlainServer::new(offer(FLUSH, None));
    let io = DeviceIo::start(IoChoice::Best).unwrap();
    let mut backend = Box::new(open(&server.uri(), &io)).into_backend();
    let bytes = Buffer::zeroed(32 << 10);
    let mut memory: Vec<Buffer> = (0..8).map(|_| Buffer::zeroed(32 << 10)).collect();
    let mut ended = Vec::new();
    let mut run = || {
        for id in 0..8 {
            let fill = OperationData::Fill(memory.pop().unwrap());
            backend.submit(Nanos::ZERO, id, Operation::new(RequestKind::Read, id << 15, 32 << 10, fill));
            let (write, take) = (RequestKind::Write { fua: false }, OperationData::Take(Gather::whole(bytes.clone())));
            backend.submit(Nanos::ZERO, 8 + id, Operation::new(write, (8 + id) << 15, 32 << 10, take));
        }
        backend.submit(Nanos::ZERO, 16, Operation::new(RequestKind::Flush, 0, 0, OperationData::None));
        backend.send();
        while ended.len() < 17 {
            backend.take_ended(&mut ended);
            if ended.len() < 17 {
                io.wait(Some(PATIENCE));
            }
        }
        for Ended { data, result, .. } in ended.drain(..) {
            result.unwrap();
            if let OperationData::Fill(buffer) = data {
                memory.push(buffer);
            }
        }
    };
    (0..50).for_each(|_| run());
    assert_eq!(allocation_counter::measure(|| (0..100).for_each(|_| run())).count_total, 0);
}

#[test]
fn a_device_that_was_given_up_is_dropped_at_once() {
    // It takes connections, opens the export, and says nothing more.
    let server = PlainServer::new(offer(ALL, None));
    let io = DeviceIo::start(IoChoice::Best).unwrap();
    let mut backend = Box::new(open(&server.uri(), &io)).into_backend();
    let hold = server.hold();
    backend.submit(Nanos::ZERO, 1, Operation::new(RequestKind::Flush, 0, 0, OperationData::None));
    backend.send();
    let begin = Instant::now();
    backend.abandon();
    drop(backend);
    assert!(begin.elapsed() < Duration::from_secs(5));
    drop(hold);
}
