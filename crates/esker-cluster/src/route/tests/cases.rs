//! Settled points of the thesis, one by one; the numbers are those of docs/cluster.md.

use esker_core::Bytes;

use super::store::PAGES;
use super::world::{Ending, WHOLE, World, spec};
use crate::id::{ObjectId, ServerId, SliceId};
use crate::map::ReplicaPlace;
use crate::plan::{Plan, SliceMove};
use crate::route::{ObjectRange, ObjectRequest, Router, RouterInput, ServerWork};
use crate::shape::{ClusterShape, ShapeError};

const PART: ObjectRange = ObjectRange { begin: 1, end: 2 };

/// Servers in domains of their own, with room for all.
fn world(replicas: u8, servers: u32) -> World {
    let servers: Vec<_> = (0..servers).map(|server| spec(server, 100)).collect();
    World::new(replicas, 4, 3, &servers)
}

fn home(world: &World, slice: u32, replica: u8) -> ServerId {
    match world.map().place(World::replica(slice, replica)) {
        ReplicaPlace::Complete(home) => home,
        place => panic!("slice {slice} is in motion: {place:?}"),
    }
}

/// A server that holds no replica of the slice.
fn other(world: &World, slice: u32) -> ServerId {
    let replicas = world.map().shape().replicas;
    let homes: Vec<_> = (0..replicas).map(|replica| home(world, slice, replica)).collect();
    world.up().into_iter().find(|server| !homes.contains(server)).unwrap()
}

fn works(world: &World) -> Vec<ServerWork> {
    world.pending.iter().map(|pending| pending.work).collect()
}

/// Point 1: a part write moves the whole object, for which the rest is needed. Point 4: the source is told to trim.
#[test]
fn a_part_write_to_an_object_that_has_not_moved_is_a_merge() {
    let mut world = world(1, 2);
    let (from, to, object) = (home(&world, 0, 0), other(&world, 0), ObjectId(0));
    world.request(object, ObjectRequest::Write(WHOLE));
    world.end_all();
    world.plan(0, 0, to);
    world.request(object, ObjectRequest::Write(PART));
    assert_eq!(works(&world), [ServerWork::Merge { from, to, object, range: PART }]);
    world.end(0, Ending::Done);
    assert_eq!(works(&world), [ServerWork::Trim { server: from, object }]);
    world.end_all();
    world.request(object, ObjectRequest::Write(PART));
    assert_eq!(works(&world), [ServerWork::Write { server: to, object, range: PART }], "it has moved");
    world.end_all();
    world.finish();
}

/// A full overwrite and a deletion move an object for nothing: section 4.1.
#[test]
fn a_full_write_and_a_deletion_copy_nothing() {
    let mut world = world(1, 2);
    let (from, to) = (home(&world, 0, 0), other(&world, 0));
    (0..3).for_each(|object| _ = world.request(ObjectId(object), ObjectRequest::Write(WHOLE)));
    world.end_all();
    world.plan(0, 0, to);
    world.request(ObjectId(0), ObjectRequest::Write(WHOLE));
    world.request(ObjectId(1), ObjectRequest::Delete);
    let object = ObjectId(0);
    assert_eq!(works(&world)[0], ServerWork::Write { server: to, object, range: WHOLE });
    assert_eq!(works(&world)[1], ServerWork::Delete { server: to, object: ObjectId(1) });
    world.end_all();
    world.on(RouterInput::EpochEnds);
    world.end_all();
    assert!(world.stores[to.index()].objects[&ObjectId(1)].tombstone, "as long as the slice is in motion");
    assert!(!world.stores[from.index()].objects.contains_key(&ObjectId(1)));
    world.request(ObjectId(2), ObjectRequest::Write(WHOLE));
    world.end_all();
    assert_eq!((home(&world, 0, 0), world.copied), (to, 0));
    assert!(!world.stores[to.index()].objects.contains_key(&ObjectId(1)), "the source is trimmed: no tombstone");
    world.finish();
}

/// Point 7: the cold remainder is copied at the rate that is granted, also where grants are small or come while there
/// is nothing to copy.
#[test]
fn copies_never_exceed_their_rate() {
    let mut world = world(1, 2);
    // 100 objects' worth before there is anything to copy: at most one of them is left later.
    world.on(RouterInput::CopyBudget(Bytes(100 * PAGES as u64)));
    (0..4).for_each(|slice| world.plan(slice, 0, other(&world, slice)));
    assert_eq!(world.map().moving_count(), 1, "only one round at a time");
    for granted in 1..=3u64 {
        world.on(RouterInput::CopyBudget(Bytes(PAGES as u64 / 2)));
        world.on(RouterInput::CopyBudget(Bytes(PAGES as u64 / 2)));
        world.end_all();
        assert!(world.copied <= granted + 1, "{} after {granted} objects' worth", world.copied);
    }
    assert_eq!(world.copied, 3, "all objects of the slice");
    world.finish();
}

/// Section 4.2.2: all that was off-loaded is complete before the next round.
#[test]
fn a_round_waits_for_the_one_before() {
    let mut world = world(1, 3);
    let (first, second) = (other(&world, 0), other(&world, 1));
    world.plan(0, 0, first);
    world.plan(1, 0, second);
    assert_eq!((world.router.report().moves_begun, world.router.report().moves_refused), (1, 1));
    world.on(RouterInput::CopyBudget(Bytes(3 * PAGES as u64)));
    world.end_all();
    assert!(world.router.is_settled());
    world.plan(1, 0, second);
    assert_eq!(world.router.report().moves_begun, 2);
    world.finish();
}

/// Point 12: only what a plan names is in motion, and it is complete only once every object has moved.
#[test]
fn untouched_slices_stay_and_touched_ones_wait_for_their_last_object() {
    let mut world = world(1, 2);
    let (from, to) = (home(&world, 0, 0), other(&world, 0));
    world.plan(0, 0, to);
    for object in 0..3 {
        assert_eq!(world.map().moving_count(), 1);
        assert_eq!(
            world.map().place(World::replica(0, 0)),
            ReplicaPlace::Offloading { source: Some(from), destination: Some(to) }
        );
        world.request(ObjectId(object), ObjectRequest::Write(WHOLE));
        world.end_all();
    }
    assert_eq!((home(&world, 0, 0), world.map().moving_count()), (to, 0));
    world.finish();
}

/// Point 15: no destination with another replica, in its failure domain, without room, or unknown.
#[test]
fn moves_that_cannot_be_are_refused() {
    let servers = [spec(0, 100), spec(1, 100), spec(2, 100), spec(2, 0), spec(3, 100)];
    let mut world = World::new(3, 4, 3, &servers[..3]);
    world.join(servers[3]);
    let from = home(&world, 0, 0);
    let plan = |to: u16, slice: u32| {
        let moves = vec![SliceMove { slice: SliceId(slice), from, to: ServerId(to), copied: Bytes::ZERO }];
        RouterInput::Plan(Plan { moves, copy_at_once: false })
    };
    for to in [0, 1, 2, 3, 99] {
        world.on(plan(to, 0));
    }
    world.on(plan(0, 400));
    assert_eq!(world.router.report().moves_refused, 6);
    assert_eq!(world.map().moving_count(), 0);
    world.finish();
}

/// Point 8: a purge that has to wait for older work does not come while the server takes part in the next motion.
#[test]
fn a_purge_that_waits_does_not_hit_the_next_motion() {
    let mut world = world(1, 3);
    (0..3).for_each(|object| _ = world.request(ObjectId(object), ObjectRequest::Write(WHOLE)));
    world.end_all();
    let to = other(&world, 0);
    world.plan(0, 0, to);
    world.request(ObjectId(0), ObjectRequest::Write(WHOLE));
    world.request(ObjectId(1), ObjectRequest::Write(WHOLE));
    world.end_all();
    world.request(ObjectId(2), ObjectRequest::Write(WHOLE));
    // Older work that runs on while the motion is complete and the next one begins.
    world.request(ObjectId(0), ObjectRequest::Write(PART));
    world.end(0, Ending::Done);
    assert_eq!(home(&world, 0, 0), to);
    let next = other(&world, 0);
    world.plan(0, 0, next);
    assert_eq!(world.map().moving_count(), 1);
    world.end_all();
    world.finish();
}

/// Two changes run at once, and each misses another replica: only one of them may count, or no replica would have both.
#[test]
fn changes_that_miss_different_replicas_leave_one_to_read() {
    for order in [[0, 1, 2, 3], [2, 3, 0, 1], [0, 2, 1, 3]] {
        let mut world = world(2, 3);
        let object = ObjectId(0);
        world.request(object, ObjectRequest::Write(WHOLE));
        world.end_all();
        world.request(object, ObjectRequest::Write(ObjectRange { begin: 1, end: 2 }));
        world.request(object, ObjectRequest::Write(ObjectRange { begin: 2, end: 3 }));
        let all = world.pending.clone();
        assert_eq!(all.len(), 4);
        for at in order {
            let index = world.pending.iter().position(|pending| pending.id == all[at].id).unwrap();
            world.end(index, if at == 1 || at == 2 { Ending::Failed } else { Ending::Done });
        }
        world.request(object, ObjectRequest::Read(WHOLE));
        world.end_all();
        assert_eq!(world.lost, 0);
        world.finish();
    }
}

/// With two replicas every server fails in turn, at every step of a move of one of its slices: nothing is lost, and
/// nothing is copied faster than granted.
#[test]
fn one_failure_at_any_step_loses_nothing() {
    for steps in 0..14 {
        for victim in 0..4u16 {
            let mut world = world(2, 4);
            (0..12).for_each(|object| _ = world.request(ObjectId(object), ObjectRequest::Write(WHOLE)));
            world.end_all();
            let to = other(&world, 1);
            world.plan(1, 0, to);
            let mut granted = 0;
            for step in 0..14 {
                if step == steps {
                    world.fail(ServerId(victim));
                }
                match step % 3 {
                    0 => _ = world.request(ObjectId(3 + step % 5), ObjectRequest::Write(PART)),
                    1 => {
                        granted += 1;
                        world.on(RouterInput::CopyBudget(Bytes(PAGES as u64)));
                    }
                    _ if !world.pending.is_empty() => world.end(0, Ending::Done),
                    _ => {}
                }
                assert!(world.copied <= granted);
            }
            world.finish();
            assert_eq!(world.lost, 0, "server {victim} at step {steps}");
        }
    }
}

/// Lets one object be copied. Rebuilds of which `fails` says so fail, and all else ends well.
fn copy_one(world: &mut World, fails: impl Fn(ServerId) -> bool) {
    world.on(RouterInput::CopyBudget(Bytes(PAGES as u64)));
    while let Some(pending) = world.pending.first() {
        let fails = match pending.work {
            ServerWork::Copy { to, object, .. } => {
                let (map, rebuilt) = (world.map(), ReplicaPlace::Offloading { source: None, destination: Some(to) });
                fails(to) && map.replicas_of(map.slice_of(object).0).any(|replica| map.place(replica) == rebuilt)
            }
            _ => false,
        };
        world.end(0, if fails { Ending::Failed } else { Ending::Done });
    }
}

/// What was on the first server is rebuilt on the third, which then takes no more writes, and may go nowhere else. What
/// goes from the second to another one in its domain is copied all the same.
#[test]
fn nothing_is_copied_to_a_server_that_takes_no_writes_until_another_one_joins() {
    let mut world = World::new(2, 8, 3, &[0, 1, 2].map(|domain| spec(domain, 100)));
    (0..24).for_each(|object| _ = world.request(ObjectId(object), ObjectRequest::Write(WHOLE)));
    world.end_all();
    let (gone, full) = (ServerId(0), ServerId(2));
    world.fail(gone);
    world.on(RouterInput::Refuse(full));
    world.join(spec(1, 100));
    world.on(RouterInput::Drain(ServerId(1)));
    let wait = |world: &World| {
        let place = |replica| world.map().place(replica);
        let is_waiting = |place| place == ReplicaPlace::Offloading { source: None, destination: Some(full) };
        world.map().replicas().filter(|replica| is_waiting(place(*replica))).count()
    };
    let waiting = wait(&world);
    assert!(waiting > 0 && world.router.report().moves_begun > 0, "{:?}", world.map());
    (0..48).for_each(|_| copy_one(&mut world, |to| to == full));
    assert_eq!((world.router.report().copies_failed, world.map().moving_count()), (0, waiting));
    assert!(world.router.is_settled());
    assert_eq!(world.router.waits_for(), Some(full));
    world.join(spec(4, 100));
    assert_eq!((wait(&world), world.router.waits_for()), (0, None), "at once");
    world.finish();
    assert_eq!(world.lost, 0);
}

/// Rebuilds go first, but not for ever if none of them succeeds.
#[test]
fn rebuilds_that_fail_take_turns_with_other_copies() {
    let mut world = world(2, 5);
    (0..12).for_each(|object| _ = world.request(ObjectId(object), ObjectRequest::Write(WHOLE)));
    world.end_all();
    let gone = home(&world, 0, 0);
    world.fail(gone);
    let is_complete = |server: &ServerId| {
        let mut places = world.map().replicas().map(|replica| world.map().place(replica));
        places.any(|place| place == ReplicaPlace::Complete(*server))
    };
    let drained = world.up().into_iter().find(is_complete).unwrap();
    world.on(RouterInput::Drain(drained));
    let begun = world.router.report().moves_begun;
    assert!(begun > 0);
    (0..48).for_each(|_| copy_one(&mut world, |_| true));
    let report = *world.router.report();
    assert!(report.moves_done == begun && report.copies_failed > 3, "{report:?}");
    // Now they can be made, and go first again: only one other copy comes before.
    world.join(spec(5, 100));
    (0..=3 * report.replicas_lost).for_each(|_| copy_one(&mut world, |_| false));
    assert!(
        world
            .map()
            .replicas()
            .all(|replica| { !matches!(world.map().place(replica), ReplicaPlace::Offloading { source: None, .. }) })
    );
    world.finish();
    assert_eq!(world.lost, 0);
}

#[test]
fn clusters_that_cannot_be_are_refused() {
    let shape = ClusterShape { slices: 40, objects_per_slice: 1, object: Bytes(4), partitions: 8, replicas: 2 };
    let same = Router::new(shape, &[spec(1, 100), spec(1, 100)]).err();
    assert_eq!(same, Some(ShapeError::TooFewDomains { replicas: 2, domains: 1 }));
    let full = Router::new(shape, &[spec(1, 100), spec(2, 39)]).err();
    assert_eq!(full, Some(ShapeError::NoRoom { server: 1, room: 39, share: 40 }));
}
