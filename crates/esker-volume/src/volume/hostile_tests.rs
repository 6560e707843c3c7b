//! Structures whose checksums are right and whose contents are not: by a fault of some program, or on purpose. They are
//! refused or make a volume that can be used; nothing panics.

use esker_core::{Bytes, Lba, Request, RequestKind, Rng, Tag};
use serde_json::json;

use super::superblocks::find;
use super::*;
use crate::Identity;
use crate::backend::{BlockingBackend, MemoryBackend};
use crate::clock::SystemClock;
use crate::format::{BLOCK, Header, Kind, SealedBy};

const SIZE: usize = 4 << 20;
const VOLUME: Identity = Identity([7; 16]);

/// Two devices with these bytes.
fn devices(images: &[Vec<u8>]) -> Vec<Box<dyn OpenDevice>> {
    let device = |image: &Vec<u8>| -> Box<dyn OpenDevice> {
        let mut backend = MemoryBackend::new(Bytes(SIZE as u64));
        backend.write(0, &mut [IoSlice::new(image)], false).unwrap();
        Box::new(backend)
    };
    images.iter().map(device).collect()
}

fn bytes_of(devices: &mut [Box<dyn OpenDevice>]) -> Vec<Vec<u8>> {
    let bytes = |device: &mut Box<dyn OpenDevice>| {
        let mut image = vec![0; SIZE];
        device.blocking().read(0, &mut image).unwrap();
        image
    };
    devices.iter_mut().map(bytes).collect()
}

/// Images of a volume with a checkpoint and batches: what its engine would have written.
fn images(settings: &VolumeSettings, records: &[esker_tier::Record]) -> Vec<Vec<u8>> {
    let mut devices = devices(&[vec![0; SIZE], vec![0; SIZE]]);
    create(&mut devices, settings, &[VOLUME, Identity([1; 16]), Identity([2; 16])], WhatIsThere::Stays).unwrap();
    let mut images = bytes_of(&mut devices);
    let layout = find(&mut devices).unwrap().newest.layout;
    let mut writer = crate::format::BatchWriter::default();
    let (mut at, mut number) = (layout.journal_start(), 1);
    for (index, record) in (1..).zip(records) {
        writer.add(esker_tier::RecordNumber(index), 0, record);
        if index % 3 == 0 || index as usize == records.len() {
            let mut bytes = vec![0; writer.bytes(usize::MAX)];
            writer.write(SealedBy { volume: VOLUME, address: at }, 1, number, &mut bytes);
            images.iter_mut().for_each(|image| image[at as usize..][..bytes.len()].copy_from_slice(&bytes));
            (at, number) = (at + bytes.len() as u64, number + 1);
        }
    }
    images
}

/// Changes a structure of one image, or of both in the same way, so that its checksum is right. Returns false if there
/// was none where it looked.
fn change(images: &mut [Vec<u8>], rng: &mut Rng) -> bool {
    let block = match rng.below(4) {
        0 => 0,
        1 => SIZE / BLOCK - 4,
        _ => 4 + rng.below(80) as usize,
    };
    let at = block * BLOCK;
    let kinds = [Kind::Superblock, Kind::Batch, Kind::Piece];
    let Some(header) = kinds.into_iter().find_map(|kind| Header::peek(kind, &images[0][at..]).ok()) else {
        return false;
    };
    let places: Vec<usize> = (0..1 + rng.below(3)).map(|_| 16 + rng.below(200) as usize).collect();
    let values: Vec<u8> =
        places.iter().map(|_| [0, 1, 2, 0x7f, 0x80, 0xff, rng.below(256) as u8][rng.below(7) as usize]).collect();
    let both = rng.chance(1, 2);
    for image in images.iter_mut().take(if both { 2 } else { 1 }) {
        let bytes = &mut image[at..][..header.length as usize];
        places.iter().zip(&values).for_each(|(&place, &value)| bytes[place] = value);
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let header = Header { generation: number(16), number: number(24), ..header };
        // The volume's identity may have been changed: then it is sealed by the new one.
        let volume = if header.kind == Kind::Superblock { Identity(bytes[48..64].try_into().unwrap()) } else { VOLUME };
        header.seal(SealedBy { volume, address: at as u64 }, bytes);
    }
    true
}

/// Uses a volume that was opened.
fn use_volume(mut volume: Volume<SystemClock>) {
    let capacity = volume.capacity().0;
    let requests = [
        Request::read(Lba(0), Bytes(capacity.min(1 << 20))),
        Request::new(RequestKind::Write { fua: true }, Lba(8), Bytes(4096)),
        Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
    ];
    for (slot, request) in (0..).zip(requests) {
        let length = if request.kind.is_write() { 4096 } else { 0 };
        volume.submit(Tag::new(slot, 0), request, vec![7; length]);
    }
    // What is under way may be a checkpoint.
    let replies = (0..1000).filter(|_| {
        volume.step();
        volume.next_reply().is_some()
    });
    assert_eq!(replies.count(), 3);
}

fn nothing_panics(settings: &VolumeSettings, records: &[esker_tier::Record]) {
    let original = images(settings, records);
    assert!(check(&mut devices(&original)).unwrap().journal_records > 0 || records.is_empty());
    let (mut opened, mut refused) = (0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng::new(seed);
        let mut images = original.clone();
        if !change(&mut images, &mut rng) {
            continue;
        }
        match Volume::open(devices(&images), SystemClock::start()) {
            Ok(volume) => {
                opened += 1;
                use_volume(volume);
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(opened > 50 && refused > 50, "{opened} {refused}");
}

#[test]
fn a_hybrid_with_odd_structures_is_refused_or_can_be_used() {
    use esker_tier::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent, PhysicalExtent, PlacementRecord};
    let place = |device, extent| ExtentPlace { device: DeviceIndex(device), extent: PhysicalExtent(extent) };
    let blocks = BlockRange { first: 0, count: 4 };
    let records: Vec<esker_tier::Record> = [
        PlacementRecord::Mapped { extent: LogicalExtent(0), place: place(0, 3), blocks },
        PlacementRecord::Mapped { extent: LogicalExtent(1), place: place(1, 0), blocks },
        PlacementRecord::Written { extent: LogicalExtent(0), blocks: BlockRange { first: 5, count: 2 } },
        PlacementRecord::Scattered { extent: LogicalExtent(1), first: 0, blocks: [0xf0f, 0, 0] },
        PlacementRecord::Moved { extent: LogicalExtent(1), place: place(0, 1) },
        PlacementRecord::Freed { extent: LogicalExtent(0) },
        PlacementRecord::Mapped { extent: LogicalExtent(2), place: place(1, 1), blocks },
    ]
    .map(Into::into)
    .into();
    let options = json!({ "extent": "64KiB", "policy": "fast-first" });
    nothing_panics(&VolumeSettings::new("hybrid", options), &records);
}

#[test]
fn a_cache_with_odd_structures_is_refused_or_can_be_used() {
    use esker_tier::{FlashCacheRecord, LogicalExtent, PhysicalExtent};
    let cached =
        |line, slot, dirty| FlashCacheRecord::Cached { line: LogicalExtent(line), slot: PhysicalExtent(slot), dirty };
    let records: Vec<esker_tier::Record> = [
        cached(0, 3, true),
        cached(5, 4, false),
        FlashCacheRecord::Uncached { line: LogicalExtent(5) },
        cached(7, 4, true),
        cached(9, 9, false),
    ]
    .map(Into::into)
    .into();
    nothing_panics(&VolumeSettings::new("cache", json!({ "write": "write-back" })), &records);
}

#[test]
fn an_array_with_odd_structures_is_refused_or_can_be_used() {
    nothing_panics(&VolumeSettings::new("array", json!({})), &[]);
}
