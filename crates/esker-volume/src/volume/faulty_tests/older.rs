//! Disks that were put back from a copy, and disks that only look like it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use serde_json::json;

use super::super::{Volume, VolumeError, check, remove_lost};
use super::leftovers::is_replaced;
use super::{Disk, Memory, SIZE, boxed, open, read, two_copies, written};
use crate::clock::SystemClock;
use crate::format::SUPERBLOCK;

/// What is read from a disk that was put back would be old, and nobody would know.
#[test]
fn a_disk_that_was_put_back_from_a_copy_is_refused() {
    let (disks, _) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
    for older in 0..2 {
        let before = disks[older].image();
        drop(open(&disks).unwrap());
        let now = disks[older].image();
        disks[older].put(0, &before);
        let images = disks.each_ref().map(Disk::image);
        for error in [open(&disks).err().unwrap(), check(&mut boxed(&disks)).unwrap_err()] {
            assert!(matches!(&error, VolumeError::OlderCopy { device } if device == disks[older].name), "{error}");
        }
        assert!(disks.each_ref().map(Disk::image) == images, "something was written");
        disks[older].put(0, &now);
    }
    // All of them are as old: that is how the volume was.
    let before = disks.each_ref().map(Disk::image);
    drop(open(&disks).unwrap());
    disks.iter().zip(&before).for_each(|(disk, image)| disk.put(0, image));
    let mut volume = open(&disks).unwrap();
    assert_eq!([0, 1].map(|extent| read(&mut volume, extent)), [10, 11]);
}

/// The others have copies.
#[test]
fn a_disk_that_was_put_back_is_taken_out_as_lost() {
    let disks = two_copies();
    let before = disks[1].image();
    drop(open(&disks).unwrap());
    assert!(matches!(remove_lost(&mut boxed(&disks), "second"), Err(VolumeError::NotLost(_))));
    disks[1].put(0, &before);
    // It has another name by now.
    let renamed = [disks[0].clone(), Disk { name: "2nd", ..disks[1].clone() }, disks[2].clone()];
    assert!(!remove_lost(&mut boxed(&renamed), "2nd").unwrap().shows_its_end);
    drop(open(&disks).unwrap());
    assert_eq!(check(&mut boxed(&disks)).unwrap().unused, ["second"]);
}

/// Power is lost before each write of an opening, and then a disk is away for a while. None was put back.
#[test]
fn an_opening_that_was_cut_off_makes_no_disk_older() {
    for (cut, away) in (0..=6).flat_map(|cut| [None, Some(0), Some(1)].map(|away| (cut, away))) {
        let disks = cut_off_after(cut);
        assert!(!check(&mut boxed(&disks)).unwrap().was_damaged, "after {cut} writes");
        if let Some(away) = away {
            drop(open(&disks[1 - away..2 - away]).unwrap());
        }
        reads_all(&mut open(&disks).unwrap_or_else(|error| panic!("after {cut} writes, {away:?} away: {error}")));
    }
}

/// Nor does the damage to a superblock that comes later.
#[test]
fn a_damaged_superblock_makes_no_disk_older() {
    for (cut, damaged, last) in
        (0..=6).flat_map(|cut| [(cut, 0, true), (cut, 0, false), (cut, 1, true), (cut, 1, false)])
    {
        let disks = cut_off_after(cut);
        disks[damaged].put(if last { SIZE - SUPERBLOCK as u64 } else { 0 }, &[0; SUPERBLOCK]);
        let mut volume = open(&disks).unwrap_or_else(|error| panic!("after {cut}, disk {damaged}, {last}: {error}"));
        reads_all(&mut volume);
    }
}

/// The others still know that, although one of their superblocks was not written, or is damaged.
#[test]
fn a_disk_that_was_put_back_is_found_out_by_one_superblock() {
    for (damaged, cut) in [(0, None), (SIZE - SUPERBLOCK as u64, None), (0, Some(1)), (0, Some(2))] {
        let (disks, _) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
        let before = disks[1].image();
        let left = cut.map(|cut| Arc::new(AtomicUsize::new(cut)));
        disks[0].change(|memory| memory.writes_left = left);
        drop(open(&disks).unwrap());
        disks[0].change(|memory| memory.writes_left = None);
        if cut.is_none() {
            disks[0].put(damaged, &[0; SUPERBLOCK]);
        }
        disks[1].put(0, &before);
        let found = matches!(open(&disks).err(), Some(VolumeError::OlderCopy { device }) if device == "b");
        // A disk that got nothing but the new generation cannot know.
        assert_eq!(found, cut != Some(1), "{damaged} {cut:?}");
    }
}

/// Disks of which the writes of the second opening were cut off after `cut` of them.
fn cut_off_after(cut: usize) -> [Disk; 2] {
    let (disks, _) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
    let left = Arc::new(AtomicUsize::new(cut));
    disks.iter().for_each(|disk| disk.change(|memory| memory.writes_left = Some(Arc::clone(&left))));
    drop(open(&disks).unwrap());
    disks.iter().for_each(|disk| disk.change(|memory| memory.writes_left = None));
    disks
}

fn reads_all(volume: &mut Volume<SystemClock>) {
    assert_eq!([0, 1].map(|extent| read(volume, extent)), [10, 11]);
}

/// It may still be read, and be emptied, and is no older once it takes writes again. The same goes for all of them.
#[test]
fn a_disk_that_takes_no_writes_does_not_keep_a_volume_closed() {
    for fails in [0..1, 1..2, 0..2] {
        let (disks, _) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
        let refuse = |left: Option<usize>| {
            let left = |memory: &mut Memory| memory.writes_left = left.map(|left| Arc::new(AtomicUsize::new(left)));
            disks[fails.clone()].iter().for_each(|disk| disk.change(left));
        };
        refuse(Some(0));
        for _ in 0..2 {
            reads_all(&mut open(&disks).unwrap());
        }
        refuse(None);
        reads_all(&mut open(&disks).unwrap());
    }
}

/// Its copy of the map does not count any more, and it has to know that before the others are lost.
#[test]
fn a_disk_that_cannot_learn_that_its_map_is_old_keeps_a_volume_closed() {
    let (disks, layouts) = written(["a", "b", "c"].map(Disk::new), &json!("fast-first"));
    assert!(!is_replaced(&disks, &layouts) || check(&mut boxed(&disks)).unwrap().devices[2].keeps_map);
    disks[1].change(|memory| memory.writes_left = Some(Arc::new(AtomicUsize::new(0))));
    assert_eq!(open(&disks).err().unwrap().to_string(), "b: no power");
    disks[1].change(|memory| memory.writes_left = None);
    reads_all(&mut open(&disks).unwrap());
}

/// An opening was cut off when it had reached the first disk alone, which fails from then on. It went nowhere without
/// the others.
#[test]
fn a_disk_that_an_opening_has_reached_alone_may_be_left_out() {
    let disks = two_copies();
    drop(open(&disks).unwrap());
    let left = Arc::new(AtomicUsize::new(1));
    disks.iter().for_each(|disk| disk.change(|memory| memory.writes_left = Some(Arc::clone(&left))));
    drop(open(&disks).unwrap());
    disks.iter().for_each(|disk| disk.change(|memory| memory.writes_left = None));
    disks[0].change(|memory| memory.only_reads = true);
    assert!(remove_lost(&mut boxed(&disks), "first").unwrap().shows_its_end);
    drop(open(&disks[1..]).unwrap());
}

/// The disk begins to fail while it is opened, and leaves half of what it was to write.
#[test]
fn a_disk_that_tears_what_it_refuses_keeps_a_superblock() {
    for cut in 0..3 {
        let (disks, _) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
        let left = Some(Arc::new(AtomicUsize::new(cut)));
        disks[1].change(|memory| (memory.writes_left, memory.tears) = (left, true));
        drop(open(&disks).unwrap());
        disks[1].change(|memory| (memory.writes_left, memory.tears) = (None, false));
        reads_all(&mut open(&disks).unwrap_or_else(|error| panic!("after {cut} writes: {error}")));
    }
}

/// One of its superblocks was damaged before.
#[test]
fn a_disk_with_one_superblock_keeps_it_when_a_write_is_torn() {
    for (damaged, cut) in [0, SIZE - SUPERBLOCK as u64].into_iter().flat_map(|at| (0..5).map(move |cut| (at, cut))) {
        let (disks, _) = written(["a", "b"].map(Disk::new), &json!("fast-first"));
        disks[1].put(damaged, &[0; SUPERBLOCK]);
        let left = Some(Arc::new(AtomicUsize::new(cut)));
        disks[1].change(|memory| (memory.writes_left, memory.tears) = (left, true));
        drop(open(&disks).unwrap());
        disks[1].change(|memory| (memory.writes_left, memory.tears) = (None, false));
        reads_all(&mut open(&disks).unwrap_or_else(|error| panic!("{damaged}, after {cut} writes: {error}")));
    }
}
