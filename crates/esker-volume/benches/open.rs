//! How long opening a volume takes after a kill, and the longest step while it served: a volume with all its extents in
//! use, on a device that keeps what lies before its data, and drops the data.

use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use esker_core::{Bytes, Lba, Request, RequestKind, Tag};
use esker_testkit::{Bench, processor_time};
use esker_volume::{
    Backend, BlockingBackend, Direct, Identity, OpenDevice, SystemClock, Volume, VolumeSettings, WhatIsThere, create,
};
use serde_json::json;

/// Extents have this size.
const EXTENT: u64 = 128 << 10;

/// Requests sent before each step.
const DEPTH: u64 = 32;

/// Superblock, journal and checkpoints of a device; its data are dropped. Clones are the same device.
#[derive(Clone)]
struct WithoutData {
    capacity: u64,
    /// The beginning, as far as it was written, in chunks.
    start: Arc<Mutex<Vec<Chunk>>>,
    end: Arc<Mutex<Vec<u8>>>,
}

/// Bytes that are kept, once any of them was written.
type Chunk = Option<Box<[u8]>>;

/// Bytes of a chunk.
const CHUNK: usize = 64 << 10;

/// Bytes that are kept at the end.
const END: usize = 64 << 10;

impl WithoutData {
    /// Keeps the first `kept` bytes.
    fn new(capacity: u64, kept: usize) -> Self {
        let start = vec![None; kept.div_ceil(CHUNK)];
        Self { capacity, start: Arc::new(Mutex::new(start)), end: Arc::new(Mutex::new(vec![0; END])) }
    }

    /// Calls `work` with the kept bytes from `offset` on, and where they are among `length` bytes; with those that were
    /// never written only if it `writes`.
    fn with(&self, offset: u64, length: usize, writes: bool, mut work: impl FnMut(&mut [u8], usize)) {
        let end_at = self.capacity - END as u64;
        if offset >= end_at {
            let from = (offset - end_at) as usize;
            return work(&mut self.end.lock().expect("no panic")[from..from + length], 0);
        }
        let mut start = self.start.lock().expect("no panic");
        let mut done = 0;
        while done < length {
            let at = offset as usize + done;
            let count = (CHUNK - at % CHUNK).min(length - done);
            let Some(chunk) = start.get_mut(at / CHUNK) else { return };
            if writes {
                chunk.get_or_insert_with(|| vec![0; CHUNK].into());
            }
            if let Some(chunk) = chunk {
                work(&mut chunk[at % CHUNK..at % CHUNK + count], done);
            }
            done += count;
        }
    }
}

impl BlockingBackend for WithoutData {
    fn capacity(&self) -> Bytes {
        Bytes(self.capacity)
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        self.with(offset, buffer.len(), false, |bytes, at| buffer[at..at + bytes.len()].copy_from_slice(bytes));
        Ok(())
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], _: bool) -> io::Result<()> {
        let mut at = offset;
        for slice in data {
            self.with(at, slice.len(), true, |bytes, from| bytes.copy_from_slice(&slice[from..from + bytes.len()]));
            at += slice.len() as u64;
        }
        Ok(())
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, _: bool) -> io::Result<()> {
        self.with(offset, length as usize, false, |bytes, _| bytes.fill(0));
        Ok(())
    }
    fn trim(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OpenDevice for WithoutData {
    fn name(&self) -> &'static str {
        "a device without data"
    }
    fn blocking(&mut self) -> &mut dyn BlockingBackend {
        self
    }
    fn forget_cached(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn into_backend(self: Box<Self>) -> Box<dyn Backend> {
        Box::new(Direct::new(*self))
    }
}

/// What serving and opening took.
struct Found {
    steps: Vec<Duration>,
    open: Duration,
    /// Bytes of memory of the open volume.
    memory: i64,
    extents: u64,
    checkpoints: u64,
}

fn measure(capacity: u64) -> Found {
    // The two areas for checkpoints have room for four times the map: 8 times two records of 24 bytes an extent, and a
    // little for the headers of pieces. The journal has up to 64 MiB.
    let kept = (capacity / EXTENT * 390) as usize + (80 << 20);
    let device = WithoutData::new(capacity, kept.min(capacity as usize / 2));
    let boxed = || vec![Box::new(device.clone()) as Box<dyn OpenDevice>];
    let settings = json!({ "extent": Bytes(EXTENT), "policy": { "kind": "static-split" }, "reserve": "0%" });
    let settings = VolumeSettings::new("hybrid", settings);
    let identities = [Identity([1; 16]), Identity([2; 16])];
    create(&mut boxed(), &settings, &identities, WhatIsThere::Stays).expect("a volume");
    let mut volume = Volume::open(boxed(), SystemClock::start()).expect("it was just created");
    let extents = volume.capacity().0 / EXTENT;
    let mut steps = Vec::with_capacity((extents / DEPTH) as usize + 1);
    for first in (0..extents).step_by(DEPTH as usize) {
        for extent in first..extents.min(first + DEPTH) {
            let request =
                Request::new(RequestKind::Write { fua: false }, Lba::containing(extent * EXTENT), Bytes(4096));
            let data = volume.buffer(4096);
            volume.submit(Tag::new((extent - first) as u32, 0), request, data);
        }
        if first % (1 << 15) == 0 {
            volume.submit(Tag::new(DEPTH as u32, 0), Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO), Vec::new());
        }
        let mut left = extents.min(first + DEPTH) - first + u64::from(first % (1 << 15) == 0);
        while left > 0 {
            let begin = processor_time();
            volume.step();
            steps.push(processor_time() - begin);
            while let Some(reply) = volume.next_reply() {
                assert!(reply.result.is_ok(), "{reply:?}");
                volume.recycle(reply.data);
                left -= 1;
            }
        }
    }
    let checkpoints = volume.state().checkpoint;
    drop(volume);
    let begin = processor_time();
    let mut opened = None;
    let memory =
        allocation_counter::measure(|| opened = Volume::open(boxed(), SystemClock::start()).ok()).bytes_current;
    let open = processor_time() - begin;
    let volume = opened.expect("it can be opened again");
    assert!(volume.state().checkpoint > checkpoints || Bench::is_smoke(), "checkpoints were written while it served");
    Found { steps, open, memory, extents, checkpoints: volume.state().checkpoint }
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let only = std::env::var("ESKER_BENCH_ONLY").unwrap_or_default();
    let sizes: &[(&str, u64)] = match Bench::is_smoke() {
        true => &[("4 GiB", 4 << 30)],
        false => &[("1 TiB", 1 << 40), ("8 TiB", 8 << 40)],
    };
    for (name, capacity) in sizes.iter().filter(|(name, _)| name.contains(&only) || Bench::is_smoke()) {
        let Found { mut steps, open, memory, extents, checkpoints } = measure(*capacity);
        steps.sort_unstable();
        let terabytes = (extents * EXTENT) as f64 / 1e12;
        println!(
            "{name} in extents of 128 KiB, all in use: opened in {:.2} s of processor time, {:.2} s per TB; {} steps, \
             the longest {:.1} ms, 99.99 % within {:.2} ms; {checkpoints} checkpoints; {:.1} bytes of memory an extent",
            open.as_secs_f64(),
            open.as_secs_f64() / terabytes,
            steps.len(),
            steps.last().expect("there were steps").as_secs_f64() * 1e3,
            steps[steps.len() - 1 - steps.len() / 10_000].as_secs_f64() * 1e3,
            memory as f64 / extents as f64,
        );
    }
}
