//! What requests cost, counted in operations of the disks.

use esker_core::{Bytes, Lba, Request, RequestKind, Rng, Tag};
use esker_volume::{Buffer, Volume};

use crate::disk::{DiskCounts, DiskFault, VirtualDisk};
use crate::world::{Plan, SetClock, World};

/// Bytes of a request.
const LENGTH: usize = 4096;

/// A volume on two disks that both keep the journal.
fn volume() -> (World, Volume<SetClock>) {
    let plan = Plan { seed: 1, steps: 0, lives: 0, faults: false, wrong: DiskFault::None };
    let disks = (0..2).map(|index| VirtualDisk::new(Bytes(8 << 20), index)).collect();
    let mut world = World::create_on(disks, Rng::derive(1, "volume"), &plan).unwrap();
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
    let mut volume = volume();
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
    let mut volume = volume();
    let requests: Vec<Request> = (0..32).map(durable).collect();
    let cost = cost(&mut volume, &requests);
    assert!(cost.iter().all(|counts| (1..=4).contains(&counts.structure_writes)), "{cost:?}");
    assert_eq!(cost.iter().map(|counts| counts.data_writes).sum::<u64>(), 32);
    // Each disk makes its data durable together, then the journal.
    assert!(cost.iter().all(|counts| counts.syncs <= 8), "{cost:?}");
}
