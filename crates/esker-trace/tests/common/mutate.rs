//! Valid traces of every format, and mutations of them. Everything follows from a seed.
#![allow(dead_code, reason = "tests and the fuzzer use their parts")]

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

use esker_core::{Nanos, Rng};
use esker_trace::{
    FORMATS, FormatCapability, FormatEntry, Operation, ReadOptions, Record, Responses, Times, TraceReader, TraceWriter,
    VolumeIndex, VolumeNames,
};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A few small valid traces of `format`.
pub(crate) fn corpus(format: &'static FormatEntry) -> Vec<Vec<u8>> {
    let mut rng = Rng::derive(7, format.name);
    let mut traces: Vec<Vec<u8>> = match format.can(FormatCapability::Write) {
        true => [1, 3, 12].map(|records| trace(format, records, &mut rng)).into(),
        false if format.name == "oracle-general" => [1, 3, 12].map(|records| accesses(records, &mut rng)).into(),
        false => [1, 3, 12].map(|numbers| (0..numbers).flat_map(|_| rng.below(1 << 20).to_le_bytes()).collect()).into(),
    };
    // What writers never write, but readers accept.
    for (name, text) in [
        ("spc", "0,20941264,8192,W,0.551706,extra,1e9\r\n1,1,512,r,1e-3\r\n"),
        ("systor", "1455592881.089876,,R,0,32768,4096\n1455592882,1e-05,W,1,0,512"),
        ("blkparse", BLKPARSE),
        ("fio-v2", "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda wait 250\n/dev/sda datasync 0 0\n"),
        ("disksim", "\t0.5\t0\t100\t8\t1a\n 0.75  1  200  16  0\n"),
        ("wiscsee", "39949 D read 299008 4096 0.000000000 0 False\n0 C read 299008 4096 0.000122793 7.3e-05 False\n"),
    ] {
        if format.name == name {
            traces.push(text.into());
        }
    }
    traces
}

const BLKPARSE: &str = "Input file sda.blktrace.0 added
  8,0    3       11     0.009507758   697  Q FWS [jbd2/sda1]
  8,0    3       12     0.009538995   697  A   W 223490 + 8 <- (8,1) 223427
  8,0    3       13     0.009538995   697  Q   W 223490 + 8 [kjournald]
  8,0    3       14     0.009538996   697  M   W 223498 + 8 [kjournald]
  8,0    3       15     0.009538997   697  Q  DS 500000 + 2048 [fstrim]
  8,0    3       16     0.009538999   697  D   W 223490 + 16 [kjournald]
  8,0    3       17     0.009738995     0  C   W 223490 + 16 [0]
  8,0    3        0     0.009838995     0  m   N cfq idle=0
CPU3 (8,0):
 Reads Queued:           0,        0KiB
";

/// Records of 24 bytes in the layout of libCacheSim.
fn accesses(records: u64, rng: &mut Rng) -> Vec<u8> {
    let record = |number: u64| {
        let (seconds, object, next) = (number as u32 / 3, rng.below(8) << 30, number + 1 + rng.below(9));
        [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &4096u32.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    (0..records).flat_map(record).collect()
}

fn trace(format: &'static FormatEntry, records: u64, rng: &mut Rng) -> Vec<u8> {
    let holds = format.build.holds;
    let names: Vec<String> = match holds.volumes {
        VolumeNames::One => vec!["0".into()],
        VolumeNames::Number(_) => vec!["0".into(), "3".into()],
        VolumeNames::HostAndNumber => vec!["prxy.0".into(), "usr.1".into()],
        VolumeNames::MajorMinor => vec!["8,0".into(), "259,2".into()],
        VolumeNames::Word | VolumeNames::Text => vec!["/dev/sda".into(), "b".into()],
    };
    let output = Shared::default();
    let mut writer = TraceWriter::create(format.name, Box::new(output.clone()), &names).unwrap();
    let mut at = if format.build.times == Times::Absolute { 1_172_163_102_000_000_000 } else { 0 };
    for _ in 0..records {
        at += rng.below(100_000_000);
        let operation = holds.operations[rng.below(holds.operations.len() as u64) as usize];
        let unit = u64::from(holds.offset_unit.max(holds.length_unit).max(512));
        let length = unit * (1 + rng.below(8));
        let record = Record {
            at: Nanos(at),
            offset: unit * rng.below(1 << 20),
            length: length as u32,
            volume: VolumeIndex(rng.below(names.len() as u64) as u32),
            operation,
            response: (format.build.responses != Responses::Never).then(|| Nanos(rng.below(50_000_000))),
        };
        writer.push(&record).unwrap();
    }
    writer.finish().unwrap();
    std::mem::take(&mut *output.0.lock().unwrap())
}

/// Numbers at some limit.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "255",
    "512",
    "4096",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999",
    "0.0000000001",
    "1e400",
    "1e-400",
    "NaN",
    ".5",
    "5.",
    "0x10",
    "184467440737.09551615",
];

/// Changes `bytes` in a few random places.
pub(crate) fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], rng: &mut Rng) {
    for _ in 0..1 + rng.below(4) {
        let length = bytes.len() as u64;
        let at = rng.below(length + 1) as usize;
        let end = at + rng.below((length - at as u64).min(24) + 1) as usize;
        match rng.below(13) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 if at < bytes.len() => bytes[at] = rng.next_u64() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = rng.below(length + 1) as usize;
                bytes.splice(to..to, copy);
            }
            5 => {
                let byte = b"\n\0,. \t\r-+eE\x0c\xff:"[rng.below(14) as usize];
                bytes.insert(at, byte);
            }
            6 | 7 => {
                // Replace a number by another one.
                let digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
                let Some(start) = bytes[at..].iter().position(digit).map(|skip| at + skip) else { continue };
                let end = bytes[start..].iter().position(|byte| !digit(byte)).map_or(bytes.len(), |skip| start + skip);
                let number = NUMBERS[rng.below(NUMBERS.len() as u64) as usize];
                bytes.splice(start..end, number.bytes());
            }
            8 => {
                let other = &others[rng.below(others.len() as u64) as usize];
                let from = rng.below(other.len() as u64 + 1) as usize;
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            9 => {
                // Replace a binary number by an extreme one.
                let value = [0, u64::MAX, 1 << 63, 1 << 32, 0x7fff_ffff, 0xff][rng.below(6) as usize];
                let value = if rng.chance(1, 2) { value.to_le_bytes() } else { value.to_be_bytes() };
                let width = [1, 2, 4, 8][rng.below(4) as usize].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&value[..width]);
            }
            10 => {
                // Swap lines.
                let mut lines: Vec<Vec<u8>> =
                    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                if lines.len() > 1 {
                    let (a, b) = (rng.below(lines.len() as u64) as usize, rng.below(lines.len() as u64) as usize);
                    lines.swap(a, b);
                    *bytes = lines.concat();
                }
            }
            11 if rng.chance(1, 50) => {
                let byte = b"1 x\n"[rng.below(4) as usize];
                bytes.splice(at..at, std::iter::repeat_n(byte, 70_000));
            }
            _ => bytes.extend((0..rng.below(40)).map(|_| rng.next_u64() as u8)),
        }
    }
}

/// One mutated input of `format`: number `case` of `seed`.
pub(crate) fn case(format: &'static FormatEntry, corpus: &[Vec<u8>], seed: u64, case: u64) -> (Vec<u8>, ReadOptions) {
    let mut rng = Rng::derive(seed.wrapping_add(case.wrapping_mul(0x9E37_79B9_7F4A_7C15)), format.name);
    let mut bytes = match rng.below(40) {
        0 => (0..rng.below(300)).map(|_| rng.next_u64() as u8).collect(),
        _ => corpus[rng.below(corpus.len() as u64) as usize].clone(),
    };
    mutate(&mut bytes, corpus, &mut rng);
    let options = ReadOptions {
        format: rng.chance(4, 5).then(|| format.name.to_string()),
        lenient: [None, Some(1), Some(1000)][rng.below(3) as usize],
        reorder_time: [Nanos::from_secs(1), Nanos(0), Nanos::NEVER][rng.below(3) as usize],
        ..ReadOptions::default()
    };
    (bytes, options)
}

/// Reads `bytes`, which may be refused but nothing worse; checks the records. Returns whether all was read.
pub(crate) fn check(bytes: Vec<u8>, options: &ReadOptions) -> bool {
    let Ok(mut reader) = TraceReader::from_reader("mutated", Box::new(Cursor::new(bytes)), options) else {
        return false;
    };
    let (mut batch, mut latest, mut count) = (Vec::new(), Nanos::ZERO, 0);
    loop {
        match reader.next_batch(&mut batch) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return false;
            }
        }
        for record in &batch {
            assert!(record.at >= latest, "out of order");
            latest = record.at;
            assert!(record.offset.checked_add(u64::from(record.length)).is_some(), "a range that overflows");
            assert!((record.length == 0) == (record.operation == Operation::Flush), "an empty request");
            assert!((record.volume.0 as usize) < reader.volumes().len(), "a volume without a name");
        }
        count += batch.len() as u64;
    }
    assert_eq!(reader.notes().records, count);
    true
}

/// All formats, or the one called `name`.
pub(crate) fn formats(name: Option<&str>) -> impl Iterator<Item = &'static FormatEntry> {
    FORMATS.iter().filter(move |format| name.is_none_or(|name| name == format.name))
}
