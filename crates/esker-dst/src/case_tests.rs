//! Single cases: what requests cost, counted in operations of the disks, and what a failed flush takes with it.

use esker_core::{Bytes, Lba, Request, RequestKind, Rng, Tag};
use esker_volume::{Buffer, MapKeepers, Volume, VolumeError, VolumeSettings, check};
use serde_json::json;

use crate::disk::{DiskCounts, DiskFault, VirtualDisk};
use crate::plan::{Cuts, Plan};
use crate::world::{SetClock, World, boxed};

/// Bytes of a request.
const LENGTH: usize = 4096;

/// A hybrid whose devices take new extents in turn.
fn hybrid() -> VolumeSettings {
    VolumeSettings::new("hybrid", json!({ "extent": "64KiB", "policy": { "kind": "static-split" } }))
}

/// A volume on disks of which the first two keep the journal.
fn volume(disks: u64) -> (World, Volume<SetClock>) {
    let plan = Plan { seed: 1, steps: 0, lives: 0, faults: false, cuts: Cuts::Never, changes: 0, ..Plan::default() };
    let disks = (0..disks).map(|index| VirtualDisk::new(Bytes(8 << 20), index)).collect();
    let mut world = World::create_on(disks, &MapKeepers::Any, &hybrid(), Rng::derive(1, "volume"), &plan).unwrap();
    let volume = world.open().unwrap().unwrap();
    (world, volume)
}

/// Sends these requests together, waits for all replies, and returns what each disk did for them.
fn cost((world, volume): &mut (World, Volume<SetClock>), requests: &[Request]) -> Vec<DiskCounts> {
    let counts = |world: &World| -> Vec<DiskCounts> { world.disks.iter().map(VirtualDisk::counts).collect() };
    let before = counts(world);
    for (slot, request) in requests.iter().enumerate() {
        let data = if request.length.0 > 0 { Buffer::from(vec![7; LENGTH]) } else { Buffer::default() };
        volume.submit(Tag::new(slot as u32, 0), *request, data);
    }
    let mut replies = 0;
    while replies < requests.len() {
        volume.step();
        while let Some(reply) = volume.next_reply() {
            assert_eq!(reply.result, Ok(()));
            replies += 1;
        }
        // All that waits is performed before the volume hears of it.
        for disk in &world.disks {
            (0..disk.waiting()).for_each(|_| disk.perform(0));
        }
    }
    let since = |(after, before): (DiskCounts, &DiskCounts)| DiskCounts {
        structure_writes: after.structure_writes - before.structure_writes,
        data_writes: after.data_writes - before.data_writes,
        syncs: after.syncs - before.syncs,
    };
    counts(world).into_iter().zip(&before).map(since).collect()
}

/// A durable write to the `number`th MiB of the volume.
fn durable(number: u64) -> Request {
    Request::new(RequestKind::Write { fua: true }, Lba(number * 256), Bytes(LENGTH as u64))
}

#[test]
fn a_durable_overwrite_is_one_durable_write() {
    let mut volume = volume(2);
    let first = cost(&mut volume, &[durable(3)]);
    let batches: Vec<u64> = first.iter().map(|counts| counts.structure_writes).collect();
    assert_eq!(batches, [1, 1], "a fresh block is recorded on both copies");
    let again = cost(&mut volume, &[durable(3)]);
    let all = again.iter().fold((0, 0, 0), |(structures, data, syncs), counts| {
        (structures + counts.structure_writes, data + counts.data_writes, syncs + counts.syncs)
    });
    assert_eq!(all, (0, 1, 1), "{again:?}");
}

#[test]
fn durable_writes_that_arrive_together_share_the_journal() {
    let mut volume = volume(2);
    let requests: Vec<Request> = (0..32).map(durable).collect();
    let cost = cost(&mut volume, &requests);
    assert!(cost.iter().all(|counts| (1..=4).contains(&counts.structure_writes)), "{cost:?}");
    assert_eq!(cost.iter().map(|counts| counts.data_writes).sum::<u64>(), 32);
    // Each disk makes its data durable together, then the journal.
    assert!(cost.iter().all(|counts| counts.syncs <= 8), "{cost:?}");
}

/// The flush of the journal takes with it what the host had written to the same disk: its place holds old bytes.
#[test]
fn what_a_failed_flush_of_the_journal_has_lost_cannot_be_read() {
    let (world, mut volume) = volume(1);
    let disk = &world.disks[0];
    let mut send = |slot, request: Request, operations: usize| {
        let data = if request.kind == RequestKind::Read { Buffer::default() } else { Buffer::from(vec![7; LENGTH]) };
        volume.submit(Tag::new(slot, 0), request, data);
        volume.step();
        assert_eq!(disk.waiting(), operations);
        (0..operations).for_each(|_| disk.perform(0));
        volume.step();
        volume.next_reply()
    };
    // The durable write ends, and its record is to be written.
    assert_eq!(send(0, durable(1), 1), None);
    let plain = Request::new(RequestKind::Write { fua: false }, Lba(2 * 256), Bytes(LENGTH as u64));
    assert_eq!(send(1, plain, 2).map(|reply| reply.result), Some(Ok(())));
    disk.set_fault(DiskFault::FlushFails);
    let read = Request::read(plain.start, plain.length);
    // The read is performed before the flush of the journal, or after it.
    assert!(send(2, read, 2).is_some_and(|reply| reply.result.is_err()));
    assert!(send(3, read, 0).is_none_or(|reply| reply.result.is_err()));
}

/// A disk that keeps the journal fails, and the third one takes its place. Whenever the other keeper is lost meanwhile,
/// the two that are left show all that was promised, or nothing.
#[test]
fn a_disk_that_takes_another_ones_place_is_believed_once_it_has_everything() {
    let mut both = volume(3);
    cost(&mut both, &[durable(1)]);
    let (world, volume) = &mut both;
    world.disks[0].set_fault(DiskFault::FlushFails);
    volume.submit(Tag::new(0, 0), durable(2), Buffer::from(vec![7; LENGTH]));
    let before = volume.state().generation;
    let (mut opened, mut refused, mut generation) = (0, 0, 0);
    loop {
        volume.step();
        let Some(disk) = world.disks.iter().find(|disk| disk.waiting() > 0) else { break };
        disk.perform(0);
        let left = [0, 2].map(|index: usize| {
            let copy = VirtualDisk::new(Bytes(8 << 20), 9);
            copy.set_bytes(&world.disks[index].durable());
            copy
        });
        let mut again = match Volume::open(boxed(&left), world.clock.clone()) {
            Ok(again) => again,
            Err(VolumeError::NoJournal(_)) => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        opened += 1;
        generation = again.state().generation;
        again.submit(Tag::new(0, 0), Request::read(durable(1).start, Bytes(LENGTH as u64)), Buffer::default());
        let reply = loop {
            again.step();
            if let Some(reply) = again.next_reply() {
                break reply;
            }
            left.iter().for_each(|disk| (0..disk.waiting()).for_each(|_| disk.perform(0)));
        };
        assert!(reply.result.is_err() || reply.data.to_vec() == [7; LENGTH], "it reads as something else");
    }
    assert!(opened > 0 && refused > 0, "{opened} {refused}");
    assert_eq!(generation, before + 2, "the failed disk was given up, then the third one is believed");
}

/// A crash leaves a checkpoint on one of two disks. Until the other one has it, too, it still needs the journal before
/// it: if that were used again, the loss of the first disk would take the map with it.
#[test]
fn a_checkpoint_that_one_disk_lacks_does_not_count() {
    let (world, mut volume) = volume(2);
    let is_held = |disk: usize, index: usize| disk == 1 && world.disks[disk].writes_checkpoint(index);
    let mut held = false;
    for number in 0..60 {
        volume.submit(Tag::new(0, 0), durable(number), Buffer::from(vec![7; LENGTH]));
        loop {
            volume.step();
            if volume.next_reply().is_some() {
                break;
            }
            for (index, disk) in world.disks.iter().enumerate() {
                let can = (0..disk.waiting()).find(|&operation| !is_held(index, operation));
                can.into_iter().for_each(|operation| disk.perform(operation));
                held |= can.is_none() && disk.waiting() > 0;
            }
        }
    }
    assert!(held, "a checkpoint was begun");
    let left = [0, 1].map(|index: usize| {
        let copy = VirtualDisk::new(Bytes(8 << 20), 9);
        copy.set_bytes(&world.disks[index].durable());
        copy
    });
    let on = |disks: &[VirtualDisk]| check(&mut boxed(disks)).unwrap();
    assert_eq!(on(&left[..1]).checkpoint, 2, "the first disk has it whole");
    let both = on(&left);
    assert_eq!((both.checkpoint, both.was_damaged, both.journal_records), (1, false, 60));
}

/// Copies of the disks as they are after a loss of power: nothing that was not flushed is left.
fn after_power_loss(disks: &[VirtualDisk]) -> Vec<VirtualDisk> {
    let copy = |disk: &VirtualDisk| {
        let copy = VirtualDisk::new(Bytes(8 << 20), 9);
        copy.set_bytes(&disk.durable());
        copy
    };
    disks.iter().map(copy).collect()
}

/// Performs what waits, until nothing does or `ends` is true, which is asked before each operation.
fn run(disks: &[VirtualDisk], volume: &mut Volume<SetClock>, mut ends: impl FnMut(&VirtualDisk) -> bool) {
    loop {
        volume.step();
        let Some(disk) = disks.iter().find(|disk| disk.waiting() > 0) else { return };
        if ends(disk) {
            return;
        }
        disk.perform(0);
    }
}

/// Returns what a volume reads where [`durable`] writes.
fn read(disks: &[VirtualDisk], volume: &mut Volume<SetClock>, number: u64) -> Vec<u8> {
    let request = Request::read(durable(number).start, Bytes(LENGTH as u64));
    volume.submit(Tag::new(7, 0), request, Buffer::default());
    loop {
        volume.step();
        if let Some(reply) = volume.next_reply() {
            assert_eq!(reply.result, Ok(()));
            return reply.data.to_vec();
        }
        disks.iter().for_each(|disk| (0..disk.waiting()).for_each(|_| disk.perform(0)));
    }
}

/// A volume on three disks of which the first has failed and the third is about to keep the journal. The power fails
/// when the third disk has the record of the last write, and the second one, which alone is believed, lost it.
fn disks_with_a_batch_that_the_journal_lost() -> Vec<VirtualDisk> {
    let mut both = volume(3);
    cost(&mut both, &[durable(1)]);
    let (world, mut volume) = both;
    world.disks[0].set_fault(DiskFault::FlushFails);
    volume.submit(Tag::new(0, 0), durable(2), Buffer::from(vec![7; LENGTH]));
    run(&world.disks, &mut volume, |disk| disk.writes_checkpoint(0));
    assert!(world.disks[2].writes_checkpoint(0), "the third disk gets a checkpoint");
    while volume.next_reply().is_some() {}
    volume.submit(Tag::new(1, 0), durable(3), Buffer::from(vec![7; LENGTH]));
    let before = world.disks[2].counts().structure_writes;
    // The second disk flushes nothing any more.
    loop {
        volume.step();
        let can = |disk: &VirtualDisk| (0..disk.waiting()).find(|&at| !disk.flushes(at));
        let second = can(&world.disks[1]);
        let other = [0, 2].into_iter().find(|&index| world.disks[index].waiting() > 0);
        match (second, other) {
            (Some(at), _) => world.disks[1].perform(at),
            (None, Some(index)) => world.disks[index].perform(0),
            (None, None) => break,
        }
    }
    assert!(world.disks[2].counts().structure_writes > before + 1, "the third disk has the checkpoint and the batch");
    assert_eq!(volume.next_reply(), None, "the last write was never answered");
    after_power_loss(&world.disks)
}

/// A write that was lost with the power is not there after it, and does not come back: neither when the disk that has
/// its record keeps the journal in the end, nor after the next loss of power.
#[test]
fn a_batch_that_the_journal_lost_does_not_come_back_with_its_disk() {
    let disks = disks_with_a_batch_that_the_journal_lost();
    let clock = volume(1).0.clock;
    let mut second = Volume::open(boxed(&disks), clock.clone()).unwrap();
    assert!(read(&disks, &mut second, 3) == [0; LENGTH], "the last write is lost");
    let keeps_map = |disks: &[VirtualDisk]| -> Vec<bool> {
        check(&mut boxed(disks)).unwrap().devices.iter().map(|device| device.keeps_map).collect()
    };
    assert_eq!(keeps_map(&after_power_loss(&disks)), [false, true, false]);
    // The first disk fails once more, so that the third one takes its place, with no batch written meanwhile.
    disks[0].set_fault(DiskFault::FlushFails);
    run(&disks, &mut second, |_| false);
    let disks = after_power_loss(&disks);
    assert_eq!(keeps_map(&disks), [false, true, true]);
    let mut third = Volume::open(boxed(&disks), clock).unwrap();
    assert!(read(&disks, &mut third, 3) == [0; LENGTH], "the last write has come back");
}
