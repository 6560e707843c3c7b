//! Batches that a device got when it was about to keep the journal, and that the journal has lost.

use esker_core::{Bytes, Lba, Request, RequestKind};
use serde_json::json;

use super::super::recover::recover;
use super::super::{ChangedSettings, VolumeChange, check};
use super::{Disk, EXTENT, boxed, open, perform, read, settle, written};
use crate::format::Layout;

/// Disks of which the first two keep the map, and the third one holds batches that these have lost.
fn with_leftovers() -> ([Disk; 3], Vec<Layout>) {
    let (disks, layouts) = written(["a", "b", "c"].map(Disk::new), &json!("fast-first"));
    let before = disks.each_ref().map(Disk::image);
    let mut volume = open(&disks).unwrap();
    for extent in 2..6 {
        let write = Request::new(RequestKind::Write { fua: true }, Lba(extent * EXTENT / 512), Bytes(EXTENT));
        assert_eq!(perform(&mut volume, write, vec![1; EXTENT as usize]).result, Ok(()));
    }
    drop(volume);
    let journal = layouts[0].journal_start() as usize..(layouts[0].journal_start() + layouts[0].journal) as usize;
    let leftovers = disks[0].image()[journal].to_vec();
    disks.iter().zip(&before).for_each(|(disk, before)| disk.put(0, before));
    disks[2].put(layouts[2].journal_start(), &leftovers);
    (disks, layouts)
}

/// Opens the volume, has the second disk fail, and returns whether the third one keeps the map then.
pub(super) fn is_replaced(disks: &[Disk; 3], layouts: &[Layout]) -> bool {
    let mut volume = open(disks).unwrap();
    disks[1].change(|memory| memory.sync_fails_at = Some(layouts[1].superblocks()[1]));
    let policy = Some(json!({ "kind": "fast-first", "order": [2] }));
    volume.change(VolumeChange::Set(ChangedSettings { policy, ..ChangedSettings::default() })).unwrap();
    settle(&mut volume);
    assert_eq!([0, 1].map(|extent| read(&mut volume, extent)), [10, 11]);
    drop(volume);
    let keep: Vec<bool> = check(&mut boxed(disks)).unwrap().devices.iter().map(|device| device.keeps_map).collect();
    assert_eq!(keep[..2], [true, false]);
    keep[2]
}

#[test]
fn a_device_with_leftovers_that_cannot_be_erased_does_not_keep_the_map() {
    let (disks, layouts) = with_leftovers();
    assert!(is_replaced(&disks, &layouts), "they were erased");
    let (disks, layouts) = with_leftovers();
    let leftovers = recover(&mut boxed(&disks), true).unwrap().leftovers.blocks;
    assert!(leftovers.iter().all(|(device, _)| *device == 2) && leftovers.len() > 1, "{leftovers:?}");
    disks[2].change(|memory| memory.sync_fails_at = Some(leftovers[0].1));
    assert!(!is_replaced(&disks, &layouts));
}

#[test]
fn a_device_of_which_much_cannot_be_read_is_left_alone_soon() {
    let (disks, layouts) = with_leftovers();
    let journal = layouts[2].journal_start()..layouts[2].journal_start() + layouts[2].journal;
    disks[2].change(|memory| (memory.unreadable, memory.reads) = (journal, 0));
    let leftovers = recover(&mut boxed(&disks), true).unwrap().leftovers;
    assert_eq!((leftovers.blocks, leftovers.stay_on), (vec![], vec![2]));
    assert!(disks[2].change(|memory| memory.reads) < 12);
    assert!(!is_replaced(&disks, &layouts));
}
