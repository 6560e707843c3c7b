//! All back ends hold bytes alike.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use esker_core::{Bytes, Nanos, RequestKind};
use esker_volume::{
    Backend, Buffer, Clock, DeviceIo, DeviceSettings, Direct, FileBackend, Gather, IoChoice, MemoryBackend, OpenDevice,
    Operation, OperationData, PlacedError, SystemClock,
};
use proptest::prelude::*;
use tempfile::TempDir;

const CAPACITY: u64 = 1 << 20;
const SECTOR: u64 = 512;

/// A back end, and what its thread waits for.
struct UnderTest {
    name: String,
    backend: Box<dyn Backend>,
    io: Option<DeviceIo>,
}

impl UnderTest {
    /// Waits until all operations have ended, of which there are `count`.
    fn end(&mut self, count: usize) -> Vec<(u64, std::io::Result<()>, OperationData)> {
        let (mut ended, clock) = (Vec::new(), SystemClock::start());
        loop {
            self.backend.take_ended(&mut ended);
            if ended.len() == count {
                ended.sort_by_key(|ended| ended.id);
                return ended.into_iter().map(|ended| (ended.id, ended.result, ended.data)).collect();
            }
            // What has ended may have to go on.
            self.backend.send();
            // A wait that misses an end would take until its limit.
            self.io.as_ref().expect("stores in memory answer at once").wait(Some(Duration::from_secs(60)));
            assert!(clock.now() < Nanos::from_secs(50), "{}: {} of {count} have ended", self.name, ended.len());
        }
    }
}

/// A back end in memory, and one in a file for each way to read and write files. If `ESKER_TEST_DEVICE` names a block
/// device, its first bytes are overwritten as well.
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn back_ends(folder: &TempDir) -> Vec<UnderTest> {
    let memory = Box::new(Direct::new(MemoryBackend::new(Bytes(CAPACITY))));
    let mut all = vec![UnderTest { name: "memory".to_string(), backend: memory, io: None }];
    let ways = [IoChoice::Threads, IoChoice::Ring].map(|choice| [false, true].map(|is_direct| (choice, is_direct)));
    for (choice, is_direct) in ways.into_iter().flatten() {
        let io = match DeviceIo::start(choice) {
            Ok(io) => io,
            Err(error) => {
                eprintln!("skipped: io_uring: {error}");
                continue;
            }
        };
        let name = format!("{}, direct: {is_direct}", io.name());
        let file = folder.path().join(&name);
        FileBackend::create(&file, Bytes(CAPACITY)).unwrap();
        let block_device = std::env::var_os("ESKER_TEST_DEVICE").map(PathBuf::from);
        for path in std::iter::once(file).chain(block_device) {
            let io = DeviceIo::start(choice).unwrap();
            let device = io.device(
                "a file",
                FileBackend::open(&path).unwrap(),
                DeviceSettings { is_direct, ..DeviceSettings::default() },
            );
            if is_direct && !device.is_direct() {
                eprintln!("skipped: direct I/O: {} has none", path.display());
                continue;
            }
            let name = format!("{name}, {}", path.display());
            all.push(UnderTest { name, backend: Box::new(device).into_backend(), io: Some(io) });
        }
    }
    all
}

/// Writes, zeroes, trims and reads of sectors.
fn operations() -> impl Strategy<Value = Vec<(RequestKind, u64, u64)>> {
    let kind = prop_oneof![
        3 => any::<bool>().prop_map(|fua| RequestKind::Write { fua }),
        1 => any::<bool>().prop_map(|fua| RequestKind::WriteZeroes { fua }),
        1 => Just(RequestKind::Trim),
        1 => Just(RequestKind::Flush),
        3 => Just(RequestKind::Read),
    ];
    let length = prop_oneof![1..10u64, 1..300u64];
    let operation = (kind, 0..CAPACITY / SECTOR, length);
    proptest::collection::vec(
        operation
            .prop_map(|(kind, start, length)| (kind, start * SECTOR, length.min(CAPACITY / SECTOR - start) * SECTOR)),
        1..60,
    )
}

/// Sends operations together that do not overlap, as far as one flush or durable write is among them.
fn group(operations: &[(RequestKind, u64, u64)]) -> usize {
    let is_sync = |kind: RequestKind| kind == RequestKind::Flush || kind.is_fua();
    let fits = |&count: &usize| {
        let (kind, start, length) = operations[count];
        let before = &operations[..count];
        before.iter().all(|&(_, other, other_length)| start + length <= other || other + other_length <= start)
            && !(is_sync(kind) && before.iter().any(|&(kind, ..)| is_sync(kind)))
    };
    (1..operations.len()).take_while(fits).count() + 1
}

fn same_as_bytes(under_test: &mut UnderTest, mut operations: &[(RequestKind, u64, u64)]) {
    let all = Operation::new(RequestKind::WriteZeroes { fua: false }, 0, CAPACITY, OperationData::None);
    under_test.backend.submit(Nanos::ZERO, 0, all);
    under_test.end(1).pop().unwrap().1.unwrap();
    // What was trimmed may read as any bytes.
    let mut bytes = vec![Some(0u8); CAPACITY as usize];
    let mut seed = 0u8;
    while !operations.is_empty() {
        let (now, later) = operations.split_at(group(operations));
        operations = later;
        for (id, &(kind, start, length)) in now.iter().enumerate() {
            let range = start as usize..(start + length) as usize;
            let data = match kind {
                RequestKind::Read => OperationData::Fill(Buffer::from(vec![0xee; length as usize])),
                RequestKind::Write { .. } => {
                    seed = seed.wrapping_add(1);
                    let data: Vec<u8> = (0..length).map(|at| (at / 100) as u8 ^ seed).collect();
                    bytes[range].copy_from_slice(&data.iter().copied().map(Some).collect::<Vec<_>>());
                    OperationData::Take(Gather::whole(Buffer::from(data)))
                }
                RequestKind::WriteZeroes { .. } => {
                    bytes[range].fill(Some(0));
                    OperationData::None
                }
                RequestKind::Trim => {
                    bytes[range].fill(None);
                    OperationData::None
                }
                RequestKind::Flush => OperationData::None,
            };
            under_test.backend.submit(Nanos::ZERO, id as u64, Operation::new(kind, start, length, data));
        }
        for (id, result, data) in under_test.end(now.len()) {
            let (kind, start, length) = now[id as usize];
            assert!(result.is_ok(), "{}: {kind:?} of {length} at {start}: {result:?}", under_test.name);
            let OperationData::Fill(read) = data else { continue };
            let expected = &bytes[start as usize..(start + length) as usize];
            let wrong =
                expected.iter().zip(&*read).position(|(expected, read)| expected.is_some_and(|byte| byte != *read));
            assert_eq!(wrong, None, "{}: byte of {length} at {start}", under_test.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_back_ends_read_as_byte_arrays(operations in operations()) {
        let folder = tempfile::tempdir().unwrap();
        for mut under_test in back_ends(&folder) {
            same_as_bytes(&mut under_test, &operations);
        }
    }
}

/// How one operation on `file` ends: the kind of the error and its place.
fn result_of(choice: IoChoice, path: &Path, shorten: Option<u64>, kind: RequestKind) -> Option<(ErrorKind, Bytes)> {
    let io = DeviceIo::start(choice).unwrap();
    let file = FileBackend::open(path).unwrap();
    let backend = Box::new(io.device("a file", file, DeviceSettings::default())).into_backend();
    let mut under_test = UnderTest { name: io.name().to_string(), backend, io: Some(io) };
    if let Some(length) = shorten {
        std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
    }
    let data = match kind {
        RequestKind::Read => OperationData::Fill(Buffer::zeroed(8192)),
        _ => OperationData::Take(Gather::whole(Buffer::zeroed(8192))),
    };
    under_test.backend.submit(Nanos::ZERO, 1, Operation::new(kind, 4096, 8192, data));
    let (_, result, _) = under_test.end(1).pop().unwrap();
    result.err().map(|error| (error.kind(), PlacedError::place_of(&error)))
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for choice in [IoChoice::Threads, IoChoice::Best] {
        std::fs::write(&path, vec![7; 16 << 10]).unwrap();
        assert_eq!(result_of(choice, &path, None, RequestKind::Read), None);
        let short = result_of(choice, &path, Some(9000), RequestKind::Read);
        assert_eq!(short, Some((ErrorKind::UnexpectedEof, Bytes(9000 - 4096))), "{choice:?}");
        for fua in [false, true] {
            let full = result_of(choice, Path::new("/dev/full"), None, RequestKind::Write { fua });
            assert_eq!(full, Some((ErrorKind::StorageFull, Bytes::ZERO)), "{choice:?}");
        }
    }
}
