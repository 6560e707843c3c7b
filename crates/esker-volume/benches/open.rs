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
    start: Arc<Mutex<Vec<u8>>>,
    end: Arc<Mutex<Vec<u8>>>,
}

/// Bytes that are kept at the end.
const END: usize = 64 << 10;

impl WithoutData {
    fn new(capacity: u64, kept: usize) -> Self {
        let bytes = |length| Arc::new(Mutex::new(vec![0; length]));
        Self { capacity, start: bytes(kept), end: bytes(END) }
    }

    /// Calls `work` with the kept bytes from `offset` on, if any are kept there.
    fn with(&self, offset: u64, length: usize, work: impl FnOnce(&mut [u8])) {
        let end_at = self.capacity - END as u64;
        let (kept, from) = if offset >= end_at { (&self.end, offset - end_at) } else { (&self.start, offset) };
        let mut kept = kept.lock().expect("no panic");
        if let Some(bytes) = kept.get_mut(from as usize..from as usize + length) {
            work(bytes);
        }
    }
}

impl BlockingBackend for WithoutData {
    fn capacity(&self) -> Bytes {
        Bytes(self.capacity)
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.with(offset, buffer.len(), |bytes| buffer.copy_from_slice(bytes));
        Ok(())
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], _: bool) -> io::Result<()> {
        let mut at = offset;
        for slice in data {
            self.with(at, slice.len(), |bytes| bytes.copy_from_slice(slice));
            at += slice.len() as u64;
        }
        Ok(())
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, _: bool) -> io::Result<()> {
        self.with(offset, length as usize, |bytes| bytes.fill(0));
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
    extents: u64,
    checkpoints: u64,
}

fn measure(capacity: u64) -> Found {
    // Structures take 48 bytes an extent, twice 24, and the journal.
    let kept = (capacity / EXTENT * 50) as usize + (80 << 20);
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
    let volume = Volume::open(boxed(), SystemClock::start()).expect("it can be opened again");
    let open = processor_time() - begin;
    assert!(volume.state().checkpoint > checkpoints || Bench::is_smoke(), "checkpoints were written while it served");
    Found { steps, open, extents, checkpoints: volume.state().checkpoint }
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let only = std::env::var("ESKER_BENCH_ONLY").unwrap_or_default();
    let sizes: &[(&str, u64)] = match Bench::is_smoke() {
        true => &[("4 GiB", 4 << 30)],
        false => &[("1 TiB", 1 << 40), ("8 TiB", 8 << 40)],
    };
    for (name, capacity) in sizes.iter().filter(|(name, _)| name.contains(&only) || Bench::is_smoke()) {
        let Found { mut steps, open, extents, checkpoints } = measure(*capacity);
        steps.sort_unstable();
        let terabytes = (extents * EXTENT) as f64 / 1e12;
        println!(
            "{name} in extents of 128 KiB, all in use: opened in {:.2} s of processor time, {:.2} s per TB; {} steps, \
             the longest {:.1} ms, 99.99 % within {:.2} ms; {checkpoints} checkpoints",
            open.as_secs_f64(),
            open.as_secs_f64() / terabytes,
            steps.len(),
            steps.last().expect("there were steps").as_secs_f64() * 1e3,
            steps[steps.len() - 1 - steps.len() / 10_000].as_secs_f64() * 1e3,
        );
    }
}
