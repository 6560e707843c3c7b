//! Several copies: what has to be durable before the host is answered, and what a restart makes of copies that differ.

use esker_core::{DeviceError, RequestKind, Telemetry};
use esker_tier::HeldReason;

use super::driven::Driven;
use super::*;

const FUA: RequestKind = RequestKind::Write { fua: true };

/// The servers of the copies of a slice.
fn homes(driven: &Driven, slice: u32) -> Vec<ServerId> {
    homes_of(driven, u64::from(slice) * OBJECTS)
}

/// The servers of the copies of an object.
fn homes_of(driven: &Driven, object: u64) -> Vec<ServerId> {
    let map = driven.engine.router.map();
    let (slice, index) = map.slice_of(ObjectId(object));
    map.replicas_of(slice).filter_map(|replica| map.reader(replica, index)).collect()
}

/// A cluster of two copies, in which slice 0 was written and flushed. It is dirty.
fn two_copies() -> (Driven, ClusterSettings) {
    let settings = settings(3, 2);
    let mut driven = Driven::new(&settings);
    driven.request(FUA, 0, SLICE);
    assert_eq!(driven.results(), [Ok(())]);
    (driven, settings)
}

/// Otherwise the copy that has failed would count after a restart.
#[test]
fn a_write_is_answered_once_it_is_durable_that_a_copy_missed_it() {
    for kind in [FUA, RequestKind::Write { fua: false }] {
        let (mut driven, settings) = two_copies();
        let first = homes(&driven, 0)[0];
        (driven.failed, driven.hardenings) = (Some(first), Some(Vec::new()));
        driven.request(kind, 0, SECTORS);
        assert_eq!(driven.results(), [], "{kind:?}");
        driven.harden();
        assert_eq!(driven.results(), [Ok(())], "{kind:?}");
        let restarted = driven.restart(&settings);
        assert!(!homes(&restarted, 0).contains(&first));
    }
}

#[test]
fn a_flush_that_fails_on_one_copy_succeeds_once_that_is_durable() {
    let (mut driven, _) = two_copies();
    driven.write(0, SECTORS);
    assert_eq!(driven.results(), [Ok(())]);
    (driven.failed, driven.hardenings) = (Some(homes(&driven, 0)[0]), Some(Vec::new()));
    driven.request(RequestKind::Flush, 0, 0);
    driven.request(RequestKind::Flush, 0, 0);
    assert_eq!(driven.results(), [], "neither this flush nor a later one");
    driven.harden();
    assert_eq!(driven.results(), [Ok(()), Ok(())]);
}

/// If both copies fail, what was written may be gone.
#[test]
fn a_flush_fails_with_the_last_copy() {
    let (mut driven, _) = two_copies();
    driven.write(0, SECTORS);
    for server in homes(&driven, 0) {
        driven.failed = Some(server);
        driven.write(0, 1);
        driven.results();
    }
    driven.request(RequestKind::Flush, 0, 0);
    assert_eq!(driven.results(), [Err(DeviceError::Failed)]);
}

#[test]
fn a_server_that_has_failed_is_not_drained_but_leaves() {
    let (mut driven, _) = two_copies();
    let failed = homes(&driven, 0)[0];
    driven.failed = Some(failed);
    driven.write(0, 1);
    assert_eq!(driven.results(), [Ok(())]);
    let device = DeviceIndex(failed.0);
    let error = driven.engine.check_reshape(Reshape::Drain { device }).unwrap_err();
    assert!(error.to_string().contains("remove it"), "{error}");
    driven.engine.check_reshape(Reshape::Remove { device }).unwrap();
    // Without it, no other one may leave: two copies need two servers.
    let other = DeviceIndex(homes(&driven, 0)[0].0);
    let error = driven.engine.check_reshape(Reshape::Drain { device: other }).unwrap_err();
    assert!(error.to_string().contains("2 copies of each slice need as many devices"), "{error}");
}

/// A slice that was being changed when power was lost: only the first copy counts, until the second is the same again.
#[test]
fn after_a_restart_only_one_copy_of_a_dirty_slice_is_read() {
    let (driven, settings) = two_copies();
    let both = homes(&driven, 0);
    let mut driven = driven.restart(&settings);
    driven.request(RequestKind::Read, 0, 1);
    assert_eq!((driven.results(), homes(&driven, 0)), (vec![Ok(())], both[..1].to_vec()));
    driven.writes.clear();
    driven.router(RouterInput::CopyBudget(Bytes(SLICE * 512)));
    let copied: Vec<(u16, u64)> = driven.writes.iter().map(|(device, _, sectors)| (*device, *sectors)).collect();
    assert_eq!((copied, homes(&driven, 0)), (vec![(both[1].0, SECTORS); OBJECTS as usize], both));
}

/// What is durable and quiet is not copied after a restart.
#[test]
fn a_slice_that_was_flushed_and_is_quiet_needs_no_resync() {
    let (mut driven, settings) = two_copies();
    driven.write(1, 1);
    driven.request(RequestKind::Flush, 0, 0);
    for second in 1..4 {
        driven.now = Nanos::from_secs(second).0;
        driven.tell(Input::Timer);
    }
    // A record of something else carries it along.
    driven.write(SLICE, 1);
    let mut driven = driven.restart(&settings);
    driven.request(RequestKind::Read, 0, 1);
    assert_eq!(homes(&driven, 0).len(), 2);
}

/// What was under way on the only copy that counts goes to the other one.
#[test]
fn a_write_during_which_the_copy_that_counts_fails_succeeds() {
    let settings = settings(3, 2);
    for (start, sectors) in [(0, SECTORS), (1, 1)] {
        let mut driven = Driven::new(&settings);
        driven.request(FUA, 0, SLICE);
        let both = homes(&driven, 0);
        let mut driven = driven.restart(&settings);
        driven.failed = Some(both[0]);
        driven.write(start, sectors);
        assert_eq!(driven.results(), [Ok(())], "{start}");
        let now = homes(&driven, 0);
        assert!(now.contains(&both[1]) && !now.contains(&both[0]), "{start}: {now:?}");
    }
}

/// A copy that may differ is better than none, unless it is known to miss a change.
#[test]
fn if_the_copy_that_counts_fails_the_other_one_does_unless_it_is_older() {
    for is_older in [false, true] {
        let (driven, settings) = two_copies();
        let both = homes(&driven, 0);
        let mut driven = driven.restart(&settings);
        if is_older {
            driven.refuses = Some(both[1]);
            driven.write(0, SECTORS);
            assert_eq!(driven.results(), [Ok(())]);
        }
        driven.failed = Some(both[0]);
        driven.write(SECTORS, 1);
        driven.results();
        driven.request(RequestKind::Read, 0, 1);
        let expected = if is_older { Err(DeviceError::Failed) } else { Ok(()) };
        assert_eq!(driven.results(), [expected], "{is_older}");
    }
}

/// An operator has to know that only another device brings the second copy back.
#[test]
fn copies_that_have_nowhere_to_go_are_reported() {
    let held = |servers: u32| {
        let mut driven = Driven::new(&settings(servers, 2));
        driven.request(FUA, 0, SLICE);
        assert_eq!(driven.engine.background(Nanos(driven.now)).unwrap().held, None);
        driven.failed = Some(homes(&driven, 0)[0]);
        driven.write(0, 1);
        assert_eq!(driven.results(), [Ok(()), Ok(())]);
        driven.engine.background(Nanos(driven.now)).unwrap().held
    };
    assert_eq!((held(2), held(3)), (Some(HeldReason::TooFewDevices), None));
}

/// A copy is made up for on a drive that then takes no more writes, and no other one may have it.
#[test]
fn copies_that_wait_for_a_drive_which_takes_no_writes_are_reported() {
    let mut settings = settings(3, 2);
    settings.pace.copied_bytes_per_second = Bytes::mib(1);
    let mut driven = Driven::new(&settings);
    driven.write(0, SLICE);
    let both = homes(&driven, 0);
    let third = ServerId(3 - both[0].0 - both[1].0);
    driven.failed = Some(both[0]);
    driven.write(0, 1);
    driven.refuses = Some(third);
    driven.pass(2);
    let failed = driven.engine.router.report().copies_failed;
    driven.pass(5);
    assert_eq!(driven.engine.router.report().copies_failed, failed, "it is not tried for ever");
    let held = driven.engine.background(Nanos(driven.now)).unwrap().held;
    assert_eq!(held, Some(HeldReason::Refused(DeviceIndex(third.0))));
    // Somebody has made room. The drive is still left out of what can go elsewhere.
    let state = |driven: &mut Driven, state| {
        let telemetry = Telemetry { state, ..Telemetry::default() };
        driven.tell(Input::Device { device: DeviceIndex(third.0), telemetry });
    };
    state(&mut driven, DeviceState::Online);
    driven.pass(2);
    assert!(driven.engine.router.report().copies_failed > failed, "it is tried again");
    let failed = driven.engine.router.report().copies_failed;
    driven.pass(5);
    assert_eq!(driven.engine.router.report().copies_failed, failed, "and again it takes none");
    driven.refuses = None;
    state(&mut driven, DeviceState::Online);
    driven.pass(5);
    assert!(homes(&driven, 0).contains(&third), "{:?}", homes(&driven, 0));
    assert_eq!(driven.engine.background(Nanos(driven.now)).unwrap().held, None);
}

/// A drive that only fails reads is no failed one: what is there has to come from the other copies.
#[test]
fn what_cannot_be_read_where_it_leaves_is_copied_from_the_other_copy() {
    for is_part_write in [false, true] {
        let mut driven = Driven::new(&settings(4, 2));
        let slices = u64::from(driven.engine.router.map().shape().slices);
        driven.write(0, slices * SLICE);
        let bad = homes(&driven, 0)[0];
        driven.unreadable = Some(bad);
        driven.router(RouterInput::Drain(bad));
        driven.results();
        if is_part_write {
            driven.write(1, 1);
            assert_eq!((driven.results(), driven.engine.router.report().merges), (vec![Ok(())], 1));
            assert!(!homes(&driven, 0).contains(&bad) && homes(&driven, 0).len() == 2, "the first object has moved");
        }
        for _ in 0..2 {
            driven.router(RouterInput::CopyBudget(Bytes(slices * SLICE * 512)));
            driven.router(RouterInput::EpochEnds);
        }
        let (map, report) = (driven.engine.router.map(), driven.engine.router.report());
        assert!(map.replicas().all(|replica| !map.involves(replica, bad)), "something is still there");
        assert_eq!((report.copies_failed, report.merges), (0, u64::from(is_part_write)));
    }
}

/// An operator who drains a drive that takes no more writes has to know that its drain does not end, although copies
/// have failed long before.
#[test]
fn a_drain_that_is_asked_for_after_copies_have_failed_is_reported_to_be_stuck() {
    let mut settings = settings(3, 1);
    settings.pace.copied_bytes_per_second = Bytes::mib(1);
    let mut driven = Driven::new(&settings);
    driven.write(0, SLICE);
    let bad = driven.home(0);
    driven.unreadable = Some(bad);
    driven.router(RouterInput::Drain(bad));
    let held = |driven: &Driven| driven.engine.background(Nanos(driven.now)).unwrap().held;
    assert_eq!(held(&driven), None);
    driven.pass(10);
    let device = DeviceIndex(bad.0);
    assert_eq!((held(&driven), &driven.stuck[..]), (Some(HeldReason::Unreadable(device)), &[][..]));
    let mut effects = Vec::new();
    driven.engine.reshape(Nanos(driven.now), Reshape::Drain { device }, &mut effects).unwrap();
    driven.perform(effects);
    driven.pass(10);
    assert_eq!(driven.stuck, [device]);
    // Once it can be read, it goes on.
    driven.unreadable = None;
    driven.pass(2);
    assert_eq!((held(&driven), driven.home(0) == bad), (None, false));
}

/// Two part writes of an object that was never written: one copy misses the first one while the second one waits there.
/// To write the second one with zeroes around it would put zeroes in place of the first one.
#[test]
fn a_part_write_that_waited_does_not_make_a_copy_count_that_has_missed_another_one() {
    let settings = settings(2, 2);
    let mut driven = Driven::new(&settings);
    let both = homes(&driven, 0);
    (driven.refuses, driven.refuses_once) = (Some(both[1]), true);
    // Both wait until it is durable that the slice is dirty, and then begin together.
    driven.hardenings = Some(Vec::new());
    driven.write(0, 1);
    driven.write(2, 1);
    driven.harden();
    assert_eq!((driven.results(), driven.refuses), (vec![Ok(()), Ok(())], None));
    assert!(driven.writes.iter().all(|(device, ..)| *device == both[0].0), "{:?}", driven.writes);
    assert_eq!(homes(&driven, 0), both[..1]);
    driven.engine.check();
    let mut driven = driven.restart(&settings);
    driven.request(RequestKind::Read, 0, 1);
    assert_eq!((driven.results(), homes(&driven, 0)), (vec![Ok(())], both[..1].to_vec()));
}

/// Has the servers fail that have copies of slice 0, before anything is copied.
fn fail_homes(driven: &mut Driven) {
    for server in homes(driven, 0) {
        let telemetry = Telemetry { state: DeviceState::Failed, ..Telemetry::default() };
        driven.tell(Input::Device { device: DeviceIndex(server.0), telemetry });
    }
}

/// What was never written is zeroes, whoever has failed.
#[test]
fn only_what_was_written_is_lost_with_its_last_copy() {
    for (is_written, restarts) in [(false, false), (false, true), (true, false), (true, true)] {
        let settings = settings(3, 2);
        let mut driven = Driven::new(&settings);
        if is_written {
            driven.write(0, 1);
        }
        fail_homes(&mut driven);
        driven.results();
        if restarts {
            driven = driven.restart(&settings);
        }
        driven.reads = Some(Vec::new());
        let of_written = if is_written { Err(DeviceError::Failed) } else { Ok(()) };
        let expected = [of_written, Ok(()), of_written];
        driven.request(RequestKind::Read, 0, 1);
        driven.request(RequestKind::Read, SECTORS, 1);
        driven.request(RequestKind::Flush, 0, 0);
        assert_eq!(driven.results(), expected, "{is_written}, {restarts}");
        // Part writes go to the server that is left, and so does the rest.
        driven.write(SECTORS, 1);
        assert_eq!(driven.results(), [Ok(())], "{is_written}, {restarts}");
        driven.router(RouterInput::CopyBudget(Bytes(SLICE * 512)));
        let known = homes_of(&driven, 2);
        assert!(known.len() == 1 && homes_of(&driven, 1) == known, "{is_written}, {restarts}: {known:?}");
        assert_eq!(homes_of(&driven, 0).len(), usize::from(!is_written), "{is_written}, {restarts}");
        driven.request(RequestKind::Read, 2 * SECTORS, 1);
        driven.request(RequestKind::Read, 0, 1);
        assert_eq!((driven.results(), driven.reads.take()), (vec![Ok(()), of_written], Some(Vec::new())));
        driven.engine.check();
    }
}

/// Of a slice with one object that was written, one copy writes anything.
#[test]
fn what_was_never_written_does_not_use_up_the_rate_of_copies() {
    let mut settings = settings(3, 1);
    settings.pace.copied_bytes_per_second = Bytes(SECTORS * 512);
    let mut driven = Driven::new(&settings);
    driven.write(2 * SECTORS, SECTORS);
    let to = (driven.home(0).0 + 1) % 3;
    driven.move_slice(0, to);
    driven.pass(1);
    let report = driven.engine.router.report();
    assert_eq!((driven.home(0), report.copies), (ServerId(to), OBJECTS));
    // They are no gift for what was written.
    driven.write(0, SLICE);
    driven.move_slice(0, (to + 1) % 3);
    driven.pass(1);
    assert_eq!(driven.engine.router.report().copies, OBJECTS + 1);
}
