//! Volumes whose devices have faults when they are opened, and volumes that are opened without one of their devices.

mod leftovers;
mod older;

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use esker_core::{Bytes, Lba, Request, RequestKind, Tag};
use serde_json::{Value, json};

use super::superblocks::find;
use super::*;
use crate::Identity;
use crate::backend::{Backend, BlockingBackend, Direct, MemoryBackend};
use crate::clock::SystemClock;
use crate::format::Layout;

const EXTENT: u64 = 64 << 10;
const SIZE: u64 = 16 << 20;

/// A device in memory that outlives the volume.
#[derive(Clone)]
struct Disk {
    name: &'static str,
    memory: Arc<Mutex<Memory>>,
}

struct Memory {
    size: u64,
    bytes: MemoryBackend,
    /// A durable write to this address is performed, and reports an error, once.
    sync_fails_at: Option<u64>,
    /// Writes that may still be made, together with all who share this; later ones fail.
    writes_left: Option<Arc<AtomicUsize>>,
    /// Whether half of a write is made that fails.
    tears: bool,
    /// Whether it takes neither writes nor flushes.
    only_reads: bool,
    /// Reads of these bytes fail.
    unreadable: Range<u64>,
    /// Number of reads.
    reads: usize,
}

impl Disk {
    fn new(name: &'static str) -> Self {
        let bytes = MemoryBackend::new(Bytes(2 * SIZE));
        let (sync_fails_at, writes_left, unreadable) = (None, None, 0..0);
        let memory = Memory {
            size: SIZE,
            bytes,
            sync_fails_at,
            writes_left,
            tears: false,
            only_reads: false,
            unreadable,
            reads: 0,
        };
        Self { name, memory: Arc::new(Mutex::new(memory)) }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> T {
        change(&mut self.memory.lock().unwrap())
    }

    fn image(&self) -> Vec<u8> {
        let mut bytes = vec![0; SIZE as usize];
        self.change(|memory| memory.bytes.read(0, &mut bytes).unwrap());
        bytes
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        self.change(|memory| memory.bytes.write(at, &mut [IoSlice::new(bytes)], false).unwrap());
    }
}

impl BlockingBackend for Disk {
    fn capacity(&self) -> Bytes {
        self.change(|memory| Bytes(memory.size))
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.change(|memory| {
            memory.reads += 1;
            let Range { start, end } = memory.unreadable;
            match start.max(offset) < end.min(offset + buffer.len() as u64) {
                true => Err(io::Error::other("unreadable")),
                false => memory.bytes.read(offset, buffer),
            }
        })
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        self.change(|memory| {
            if memory.only_reads {
                return Err(io::ErrorKind::ReadOnlyFilesystem.into());
            }
            let one_less = |left: usize| left.checked_sub(1);
            if let Some(left) = &memory.writes_left {
                let taken = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
                if taken.is_err() && memory.tears {
                    let half = data.first().map_or(0, |data| data.len() / 2);
                    memory.bytes.write(offset, &mut [IoSlice::new(&vec![0xee; half])], false)?;
                }
                taken.map_err(|_| io::Error::other("no power"))?;
            }
            memory.bytes.write(offset, data, durable)?;
            match memory.sync_fails_at.take_if(|at| durable && *at == offset) {
                Some(_) => Err(io::Error::other("input/output error")),
                None => Ok(()),
            }
        })
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.change(|memory| memory.bytes.write_zeroes(offset, length, durable))
    }
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.change(|memory| memory.bytes.trim(offset, length))
    }
    fn flush(&mut self) -> io::Result<()> {
        self.change(|memory| match memory.only_reads {
            true => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            false => Ok(()),
        })
    }
}

impl OpenDevice for Disk {
    fn name(&self) -> &str {
        self.name
    }
    fn only_reads(&self) -> bool {
        self.change(|memory| memory.only_reads)
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

fn boxed(disks: &[Disk]) -> Vec<Box<dyn OpenDevice>> {
    disks.iter().map(|disk| Box::new(disk.clone()) as Box<dyn OpenDevice>).collect()
}

fn open(disks: &[Disk]) -> Result<Volume<SystemClock>, VolumeError> {
    Volume::open(boxed(disks), SystemClock::start())
}

/// A hybrid over these disks with this policy, whose extents 0 and 1 hold tens and elevens.
fn written<const N: usize>(disks: [Disk; N], policy: &Value) -> ([Disk; N], Vec<Layout>) {
    written_with(disks, json!({ "extent": "64KiB", "policy": policy }))
}

fn written_with<const N: usize>(disks: [Disk; N], options: Value) -> ([Disk; N], Vec<Layout>) {
    let settings = VolumeSettings::new("hybrid", options);
    let identities: Vec<Identity> = (0..=N as u8).map(|id| Identity([id + 1; 16])).collect();
    create(&mut boxed(&disks), &settings, &identities, WhatIsThere::Stays).unwrap();
    let layouts = find(&mut boxed(&disks)).unwrap().own.iter().map(|own| own.as_ref().unwrap().layout).collect();
    let mut volume = open(&disks).unwrap();
    for extent in 0..2 {
        let write = Request::new(RequestKind::Write { fua: true }, Lba(extent * EXTENT / 512), Bytes(EXTENT));
        assert_eq!(perform(&mut volume, write, vec![10 + extent as u8; EXTENT as usize]).result, Ok(()));
    }
    (disks, layouts)
}

fn perform(volume: &mut Volume<SystemClock>, request: Request, data: Vec<u8>) -> Reply {
    volume.submit(Tag::new(0, 0), request, data);
    for _ in 0..1000 {
        volume.step();
        if let Some(reply) = volume.next_reply() {
            return reply;
        }
    }
    panic!("no reply")
}

/// The first byte of an extent.
fn read(volume: &mut Volume<SystemClock>, extent: u64) -> u8 {
    let reply = perform(volume, Request::read(Lba(extent * EXTENT / 512), Bytes(EXTENT)), Vec::new());
    assert_eq!(reply.result, Ok(()));
    reply.data.to_vec()[0]
}

fn settle(volume: &mut Volume<SystemClock>) {
    (0..1000).for_each(|_| volume.step());
}

/// Power is lost while the record of a move is on its way: it has reached `a`, not `b`. Then the volume is opened
/// without `a`, and read. What it reads must not move: the place to which the extent went looks free.
#[test]
fn a_volume_without_one_of_its_devices_moves_nothing() {
    let disks = ["a", "b", "c"].map(Disk::new);
    let (disks, layouts) = written(disks, &json!({ "kind": "fast-first", "order": [2] }));
    let mut volume = open(&disks).unwrap();
    let policy = Some(json!({ "kind": "wardrop", "weights": [0, 1, 0] }));
    volume.change(VolumeChange::Set(ChangedSettings { policy, ..ChangedSettings::default() })).unwrap();
    settle(&mut volume);
    volume.next_change().unwrap().unwrap();
    let before = disks.each_ref().map(Disk::image);
    assert_eq!(read(&mut volume, 0), 10);
    settle(&mut volume);
    drop(volume);
    let Layout { data, data_length, journal, .. } = layouts[1];
    let data = data as usize..(data + data_length) as usize;
    let moved = disks[1].image();
    assert_ne!(moved[data.clone()], before[1][data.clone()], "it has moved");
    let start = layouts[1].journal_start();
    disks[1].put(start, &before[1][start as usize..(start + journal) as usize]);
    disks[2].put(0, &before[2]);

    let mut volume = open(&disks[1..]).unwrap();
    assert_eq!(volume.state().missing().count(), 1);
    for _ in 0..20 {
        assert_eq!(read(&mut volume, 1), 11);
        settle(&mut volume);
    }
    drop(volume);
    assert!(disks[1].image()[data.clone()] == moved[data], "data were written although the volume is only read");
    let mut volume = open(&disks).unwrap();
    assert_eq!([0, 1].map(|extent| read(&mut volume, extent)), [10, 11]);
}

/// Growth that is taken back, although the superblocks of the device say otherwise, leaves a volume that opens again
/// and again, and that may grow later.
#[test]
fn growth_that_was_taken_back_does_no_harm() {
    let (disks, _) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
    let mut volume = open(&disks).unwrap();
    disks[1].change(|memory| (memory.size, memory.sync_fails_at) = (2 * SIZE, Some(0)));
    volume.change(VolumeChange::Grow { device: 1, size: Bytes(2 * SIZE) }).unwrap();
    settle(&mut volume);
    assert!(volume.next_change().unwrap().is_err());
    drop(volume);
    for _ in 0..3 {
        let mut volume = open(&disks).unwrap();
        assert_eq!([0, 1].map(|extent| read(&mut volume, extent)), [10, 11]);
    }
    let mut volume = open(&disks).unwrap();
    let before = volume.capacity_max();
    volume.change(VolumeChange::Grow { device: 1, size: Bytes(2 * SIZE) }).unwrap();
    settle(&mut volume);
    volume.next_change().unwrap().unwrap();
    assert!(volume.capacity_max() > before + Bytes(SIZE / 2));
    drop(volume);
    assert_eq!(read(&mut open(&disks).unwrap(), 1), 11);
}

/// Each device has two superblocks, of which one is enough.
#[test]
fn a_superblock_that_cannot_be_read_is_read_from_the_other_place() {
    for first in [true, false] {
        let (disks, layouts) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
        let at = layouts[0].superblocks()[usize::from(!first)];
        disks[0].change(|memory| memory.unreadable = at..at + 1);
        let mut volume = open(&disks).unwrap();
        assert_eq!([0, 1].map(|extent| read(&mut volume, extent)), [10, 11]);
    }
    let (disks, layouts) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
    // Neither: one is damaged.
    disks[0].put(layouts[0].superblocks()[1], &[0; 512]);
    disks[0].change(|memory| memory.unreadable = 0..1);
    assert_eq!(open(&disks).err().unwrap().to_string(), "a: unreadable");
}

/// Neither what another opening would repair, nor a drain that would go on.
#[test]
fn a_volume_that_is_opened_to_be_read_is_not_written_to() {
    let options = json!({ "extent": "64KiB", "policy": "fast-first", "reserve": "60%" });
    let (disks, layouts) = written_with([Disk::new("fast"), Disk::new("slow")], options);
    let mut volume = open(&disks).unwrap();
    volume.change(VolumeChange::Drain { device: 0 }).unwrap();
    while volume.next_change().is_none() {
        volume.step();
    }
    drop(volume);
    disks[1].put(layouts[1].superblocks()[1], &[0; 512]);
    let before = disks.each_ref().map(Disk::image);
    let mut volume = Volume::open_to_read(boxed(&disks), SystemClock::start()).unwrap();
    assert_eq!((read(&mut volume, 0), read(&mut volume, 1)), (10, 11));
    let write = Request::new(RequestKind::Write { fua: true }, Lba(0), Bytes(512));
    assert_eq!(perform(&mut volume, write, vec![1; 512]).result, Err(DeviceError::ReadOnly));
    let refused = volume.change(VolumeChange::Keep { device: 0 }).unwrap_err();
    assert_eq!(refused.to_string(), "nothing can be written to the volume: it was opened to be read");
    (0..1000).for_each(|_| volume.step());
    assert!(!volume.is_busy());
    drop(volume);
    assert!(disks.each_ref().map(Disk::image) == before, "something was written");
    drop(open(&disks).unwrap());
    assert!(disks.each_ref().map(Disk::image) != before, "there was nothing to repair");
}

/// As those of a file system that became read-only after an error.
#[test]
fn a_disk_that_takes_no_flush_is_read() {
    let (disks, _) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
    disks[1].change(|memory| memory.only_reads = true);
    let mut volume = Volume::open_to_read(boxed(&disks), SystemClock::start()).unwrap();
    assert_eq!([0, 1].map(|extent| read(&mut volume, extent)), [10, 11]);
}

/// A cluster of three disks with two copies.
fn two_copies() -> [Disk; 3] {
    let disks = ["first", "second", "third"].map(Disk::new);
    let options = json!({ "replicas": 2, "reserve": "50%", "object": "4KiB", "objects_per_slice": 16 });
    let identities: Vec<Identity> = (0..4).map(|id| Identity([id + 1; 16])).collect();
    create(&mut boxed(&disks), &VolumeSettings::new("cluster", options), &identities, WhatIsThere::Stays).unwrap();
    disks
}

/// What the engine refuses after the superblocks were written must not stay there: the device is used on.
#[test]
fn a_drain_that_is_refused_once_the_superblocks_say_so_is_taken_back() {
    let disks = two_copies();
    let mut volume = open(&disks).unwrap();
    volume.change(VolumeChange::Drain { device: 0 }).unwrap();
    // Meanwhile another device is emptied, because it takes no more writes.
    volume.driver.reshape(Reshape::Drain { device: DeviceIndex(1) }, None).unwrap();
    let ended = (0..1000).find_map(|_| {
        volume.step();
        volume.next_change()
    });
    let error = ended.expect("it has ended").unwrap_err();
    assert!(error.to_string().contains("copies of each slice need as many devices"), "{error}");
    assert!(!volume.is_changing() && !volume.state().devices[0].is_draining);
    assert_eq!(volume.drain_progress(0), None);
    drop(volume);
    assert!(!check(&mut boxed(&disks)).unwrap().devices[0].is_draining);
}

/// A change of the superblocks had reached the lost device alone, and its removal is cut off anywhere.
#[test]
fn a_lost_device_that_comes_back_never_counts_again() {
    let disks = two_copies();
    let mut volume = open(&disks).unwrap();
    let others = &disks[..2];
    let before: Vec<Vec<u8>> = others.iter().map(Disk::image).collect();
    volume.change(VolumeChange::Drain { device: 0 }).unwrap();
    while volume.next_change().is_none() {
        volume.step();
    }
    drop(volume);
    let addresses = find(&mut boxed(&disks)).unwrap().own[0].as_ref().unwrap().layout.superblocks();
    for (cut, address) in [(0, addresses[1]), (1, addresses[1]), (0, addresses[0]), (1, addresses[0])] {
        others.iter().zip(&before).for_each(|(disk, image)| disk.put(0, image));
        others[cut].change(|memory| memory.sync_fails_at = Some(address));
        remove_lost(&mut boxed(others), "third").unwrap_err();
        for given in [others, &disks[..]] {
            let state = check(&mut boxed(given)).unwrap_or_else(|error| panic!("{cut} at {address}: {error}"));
            assert_eq!((state.devices[2].presence, state.devices[0].is_draining), (Presence::Removed, false));
        }
        drop(open(&disks).unwrap());
        assert_eq!(check(&mut boxed(&disks)).unwrap().unused, ["third"]);
    }
}
