//! How fast traces are read and written: every format in memory, some from zstd, and packed records.

use std::cell::OnceCell;
use std::io::{self, Cursor};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use esker_core::{Nanos, Rng};
use esker_testkit::Bench;
use esker_trace::{
    FORMATS, FormatCapability, FormatEntry, Operation, ReadOptions, Record, Responses, Spool, SpoolWriter, Times,
    TraceReader, TraceWriter, VolumeIndex, VolumeNames,
};

fn record_count() -> u64 {
    if Bench::is_smoke() { 10_000 } else { 1_000_000 }
}

/// Mixed sizes, a third sequential, a few volumes, 100 ns steps.
fn records(volumes: u64) -> Vec<Record> {
    let mut rng = Rng::new(1);
    let (mut at, mut end) = (1_172_163_102_415_432_900, 0);
    (0..record_count())
        .map(|_| {
            at += 100 * (1 + rng.below(20_000));
            let offset = if rng.below(3) == 0 { end } else { rng.below(1 << 28) * 512 };
            let length = 512 * (1 + rng.below(128) as u32);
            end = offset + u64::from(length);
            Record {
                at: Nanos(at),
                offset,
                length,
                volume: VolumeIndex(rng.below(volumes) as u32),
                operation: if rng.below(2) == 0 { Operation::Read } else { Operation::Write },
                response: Some(Nanos(100 * (1 + rng.below(100_000)))),
            }
        })
        .collect()
}

/// A buffer that can be read after the writer is gone.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts bytes and drops them, so that the time to allocate memory for them is not measured.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicU64>);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::hint::black_box(bytes);
        self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(format: &str, records: &[Record], volumes: &[String], output: impl io::Write + Send + 'static) {
    let mut writer = TraceWriter::create(format, Box::new(output), volumes).unwrap();
    for record in records {
        writer.push(record).unwrap();
    }
    writer.finish().unwrap();
}

fn written(format: &str, records: &[Record], volumes: &[String]) -> Vec<u8> {
    let output = Shared::default();
    write(format, records, volumes, output.clone());
    std::mem::take(&mut *output.0.lock().unwrap())
}

fn bench_write(name: String, format: &str, records: &[Record], volumes: &[String]) {
    Bench::new(name).rate("bytes", || {
        let output = Counted::default();
        write(format, records, volumes, output.clone());
        output.0.load(Ordering::Relaxed)
    });
}

fn read(bytes: &'static [u8]) -> u64 {
    let options = ReadOptions::default();
    let mut reader = TraceReader::from_reader("memory", Box::new(Cursor::new(bytes)), &options).unwrap();
    let (mut batch, mut count, mut sum) = (Vec::new(), 0, 0u64);
    while reader.next_batch(&mut batch).unwrap() {
        count += batch.len() as u64;
        sum = batch.iter().fold(sum, |sum, record| sum.wrapping_add(record.offset));
    }
    assert_eq!(count, record_count());
    std::hint::black_box(sum)
}

/// The given records, changed as far as `format` cannot hold them.
fn legal(format: &FormatEntry, records: &[Record]) -> Vec<Record> {
    let one_volume = format.build.holds.volumes == VolumeNames::One;
    let start = if format.build.times == Times::Absolute { 0 } else { records[0].at.0 };
    // Microseconds, except for the format with a finer clock.
    let step = if format.name == "msr" { 100 } else { 1000 };
    let legal = records.iter().map(|record| Record {
        at: Nanos((record.at.0 - start) / step * step),
        offset: record.offset % (format.build.holds.end_max / 2),
        volume: if one_volume { VolumeIndex(0) } else { record.volume },
        operation: if format.name == "arc" { Operation::Read } else { record.operation },
        ..*record
    });
    legal.collect()
}

fn main() {
    let records = records(4);
    let volumes: Vec<String> = (0..4).map(|disk| format!("host.{disk}")).collect();
    for format in FORMATS.iter().filter(|format| format.can(FormatCapability::Write)) {
        let one_volume = format.build.holds.volumes == VolumeNames::One;
        let records = legal(format, &records);
        let names = if one_volume { &volumes[..1] } else { &volumes[..] };
        let optional = format.build.responses == Responses::Optional;
        let format = format.name;
        // Never freed, so that the time to free memory is not measured.
        let bytes = OnceCell::<&'static [u8]>::new();
        let bytes = &|| -> &'static [u8] { bytes.get_or_init(|| written(format, &records, names).leak()) };
        let packed = OnceCell::<&'static [u8]>::new();
        let packed = &|| -> &'static [u8] { packed.get_or_init(|| zstd::encode_all(bytes(), 3).unwrap().leak()) };
        Bench::new(format!("read {format} from memory")).rate_with_setup("bytes", bytes, |bytes| {
            read(bytes);
            bytes.len() as u64
        });
        if matches!(format, "spc" | "msr") {
            Bench::new(format!("read {format} from zstd, both threads")).rate_with_setup("bytes", packed, |packed| {
                read(packed);
                bytes().len() as u64
            });
        }
        bench_write(format!("write {format}"), format, &records, names);
        if optional {
            let open: Vec<Record> = records.iter().map(|record| Record { response: None, ..*record }).collect();
            bench_write(format!("write {format}, no response times"), format, &open, names);
        }
    }
    Bench::new("pack into a spool").rate("records", || {
        let mut writer = SpoolWriter::default();
        records.iter().for_each(|record| writer.push(record).unwrap());
        writer.finish(volumes.clone()).unwrap().len()
    });
    let spool = Spool::from_records(records.iter().copied(), volumes.clone()).unwrap();
    Bench::new("unpack a spool").rate("records", || {
        let sum = spool.records().fold(0u64, |sum, record| sum.wrapping_add(record.offset));
        std::hint::black_box(sum);
        spool.len()
    });
    Bench::new("unpack a spool, record by record").rate("records", || {
        let mut sum = 0u64;
        for record in spool.records() {
            sum = sum.wrapping_add(record.offset ^ record.at.0);
        }
        std::hint::black_box(sum);
        spool.len()
    });
}
