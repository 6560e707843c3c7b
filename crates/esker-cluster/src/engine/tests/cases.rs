//! Single cases.

use esker_core::{DeviceError, RequestKind, Telemetry};

use super::driven::Driven;
use super::*;

#[test]
fn nothing_is_written_where_a_trim_is_under_way() {
    for is_wrong in [false, true] {
        let mut driven = Driven::new(&settings(2, 1));
        driven.engine.ignores_trims = is_wrong;
        driven.write(0, SLICE);
        let (from, to) = (driven.home(0).0, 1 - driven.home(0).0);
        driven.move_slice(0, to);
        driven.write(0, SLICE);
        assert_eq!((driven.home(0).0, driven.trims.len()), (to, OBJECTS as usize), "all of it has moved");
        driven.move_slice(0, from);
        driven.writes.clear();
        driven.write(0, SLICE);
        let over = |&(device, first, _): &(u16, u64, u64)| {
            driven.trims.iter().any(|(_, trimmed, request)| trimmed.0 == device && request.start.0 == first)
        };
        assert_eq!(driven.writes.iter().any(over), is_wrong, "{:?}", driven.writes);
        driven.end_trims();
        assert_eq!((driven.home(0).0, driven.writes.len()), (from, OBJECTS as usize));
        assert!(driven.replies.len() == 3 && driven.replies.iter().all(|(_, result)| result.is_ok()));
    }
}

#[test]
fn a_part_write_to_a_moving_object_fetches_the_rest_once() {
    let mut driven = Driven::new(&settings(3, 1));
    driven.write(0, SLICE);
    let to = (driven.home(0).0 + 1) % 3;
    driven.move_slice(0, to);
    driven.writes.clear();
    driven.write(1, 1);
    driven.write(2, 1);
    let sizes: Vec<_> = driven.writes.iter().map(|(device, _, sectors)| (*device, *sectors)).collect();
    assert_eq!(sizes, [(to, SECTORS), (to, 1)]);
    assert_eq!(driven.engine.router.report().merges, 1);
    driven.router(RouterInput::CopyBudget(Bytes(SLICE * 512)));
    assert_eq!((driven.home(0).0, driven.engine.router.report().copies), (to, OBJECTS - 1));
}

/// What a device answered before its failure was told may be older than what the host was promised.
#[test]
fn nothing_is_copied_from_a_server_that_has_failed_meanwhile() {
    let mut driven = Driven::new(&settings(3, 2));
    driven.write(0, SLICE);
    let map = driven.engine.router.map();
    let mut homes = map.replicas_of(SliceId(0)).map(|replica| map.place(replica));
    let (Some(ReplicaPlace::Complete(from)), Some(ReplicaPlace::Complete(other))) = (homes.next(), homes.next()) else {
        panic!("it is in motion")
    };
    drop(homes);
    driven.move_slice(0, 3 - from.0 - other.0);
    driven.writes.clear();
    driven.reads = Some(Vec::new());
    driven.router(RouterInput::CopyBudget(Bytes(SECTORS * 512)));
    let reads = driven.reads.take().unwrap();
    assert_eq!(reads.iter().map(|(_, device)| device.0).collect::<Vec<_>>(), [from.0]);
    let telemetry = Telemetry { state: DeviceState::Failed, ..Telemetry::default() };
    driven.tell(Input::Device { device: DeviceIndex(from.0), telemetry });
    driven.reads = Some(Vec::new());
    reads.into_iter().for_each(|(io, _)| driven.tell(Input::Done { io, at: Nanos(0), result: Ok(()) }));
    assert!(driven.writes.is_empty(), "{:?}", driven.writes);
    driven.router(RouterInput::CopyBudget(Bytes(SECTORS * 512)));
    assert!(driven.reads.unwrap().iter().all(|(_, device)| *device == DeviceIndex(other.0)), "the other copy is read");
}

/// Of a single copy, that is all that is left.
#[test]
fn nothing_is_read_from_a_server_that_has_failed_meanwhile_if_there_is_another_copy() {
    for replicas in [1, 2] {
        let mut driven = Driven::new(&settings(3, replicas));
        driven.write(0, SECTORS);
        driven.reads = Some(Vec::new());
        driven.replies.clear();
        driven.request(RequestKind::Read, 0, SECTORS);
        let [(io, from)] = driven.reads.replace(Vec::new()).unwrap()[..] else { panic!("one copy is read") };
        let telemetry = Telemetry { state: DeviceState::Failed, ..Telemetry::default() };
        driven.tell(Input::Device { device: from, telemetry });
        driven.tell(Input::Done { io, at: Nanos(0), result: Ok(()) });
        if replicas == 2 {
            let [(io, other)] = driven.reads.replace(Vec::new()).unwrap()[..] else {
                panic!("the other copy is not read")
            };
            assert_ne!(other, from);
            assert!(driven.replies.is_empty(), "answered from a server that has failed");
            driven.tell(Input::Done { io, at: Nanos(0), result: Ok(()) });
        }
        assert_eq!(driven.replies.iter().map(|(_, result)| *result).collect::<Vec<_>>(), [Ok(())], "{replicas}");
    }
}

#[test]
fn a_server_that_takes_no_more_writes_is_emptied() {
    for replicas in [1, 2] {
        let mut driven = Driven::new(&settings(4, replicas));
        let slices = u64::from(driven.engine.router.map().shape().slices);
        driven.write(0, slices * SLICE);
        let full = driven.home(0);
        driven.refuses = Some(full);
        driven.replies.clear();
        driven.write(0, SECTORS);
        // Another copy has taken it, if there is one.
        let result = if replicas == 1 { Err(DeviceError::NoSpace) } else { Ok(()) };
        assert_eq!(driven.replies.pop().map(|(_, result)| result), Some(result));
        driven.write(0, SECTORS);
        assert_eq!(driven.replies.pop().map(|(_, result)| result), Some(Ok(())), "it goes elsewhere now");
        driven.router(RouterInput::CopyBudget(Bytes(slices * SLICE * 512)));
        driven.router(RouterInput::EpochEnds);
        driven.router(RouterInput::CopyBudget(Bytes(slices * SLICE * 512)));
        let map = driven.engine.router.map();
        assert!(map.replicas().all(|replica| !map.involves(replica, full)), "{replicas}: something is still there");
        assert!(!driven.engine.router.has_lost_objects());
    }
}

/// Neither writes nor copies could ever complete what is on its way there.
#[test]
fn what_is_on_its_way_to_a_server_that_takes_no_more_writes_comes_back() {
    for (replicas, restarts) in [(1, false), (1, true), (2, false), (2, true)] {
        let settings = settings(4, replicas);
        let mut driven = Driven::new(&settings);
        let slices = u64::from(driven.engine.router.map().shape().slices);
        driven.write(0, slices * SLICE);
        let from = driven.home(0);
        let map = driven.engine.router.map();
        let is_free = |to: &u16| map.replicas_of(SliceId(0)).all(|replica| !map.involves(replica, ServerId(*to)));
        let to = (0..4).find(is_free).unwrap();
        driven.move_slice(0, to);
        driven.write(0, SECTORS);
        driven.end_trims();
        driven.refuses = Some(ServerId(to));
        driven.replies.clear();
        driven.write(SECTORS, SECTORS);
        let refused = if replicas == 1 { Err(DeviceError::NoSpace) } else { Ok(()) };
        assert_eq!(driven.results(), [refused]);
        // What has moved leaves again with its next write, and what has not stays.
        driven.write(0, SLICE);
        assert_eq!(driven.results(), [Ok(())], "{replicas} copies");
        if restarts {
            driven.request(RequestKind::Flush, 0, 0);
            driven = driven.restart(&settings);
            driven.refuses = Some(ServerId(to));
        }
        for _ in 0..2 {
            driven.router(RouterInput::CopyBudget(Bytes(slices * SLICE * 512)));
            driven.router(RouterInput::EpochEnds);
        }
        let map = driven.engine.router.map();
        let is_there = |replica: &SliceReplica| map.involves(*replica, ServerId(to));
        assert!(!map.replicas_of(SliceId(0)).any(|replica| is_there(&replica)), "{replicas} copies");
        assert_eq!(driven.home(0), from, "{replicas} copies");
        driven.engine.check();
    }
}

/// A copy that is made up for on a server which then takes no more writes is made up for on another one.
#[test]
fn a_rebuild_on_a_server_that_takes_no_more_writes_goes_to_another_one() {
    let mut driven = Driven::new(&settings(5, 2));
    driven.write(0, SLICE);
    let failed = driven.home(0);
    driven.failed = Some(failed);
    driven.write(0, 1);
    let map = driven.engine.router.map();
    let rebuilt = map.moving_from(SliceReplica { slice: SliceId(0), replica: 0 }).next().unwrap();
    let ReplicaPlace::Offloading { source: None, destination: Some(to) } = map.place(rebuilt) else {
        panic!("{map:?}")
    };
    driven.router(RouterInput::CopyBudget(Bytes(SECTORS * 512)));
    driven.refuses = Some(to);
    for _ in 0..3 {
        driven.router(RouterInput::CopyBudget(Bytes(100 * SLICE * 512)));
        driven.router(RouterInput::EpochEnds);
    }
    let map = driven.engine.router.map();
    assert!(map.moving_count() == 0 && map.replicas().all(|replica| !map.involves(replica, to)), "{map:?}");
    driven.engine.check();
}

#[test]
fn what_was_never_written_takes_no_writes_to_move() {
    let mut driven = Driven::new(&settings(3, 1));
    let to = (driven.home(0).0 + 1) % 3;
    driven.move_slice(0, to);
    driven.router(RouterInput::CopyBudget(Bytes(SLICE * 512)));
    assert_eq!((driven.home(0).0, driven.writes.len()), (to, 0));
}

/// In the first half of an epoch only writes move objects; then the rest is copied, an object each second.
#[test]
fn the_rest_is_copied_late_in_an_epoch_and_within_its_rate() {
    let mut paced = settings(3, 1);
    paced.pace = ClusterPace {
        epoch: Nanos::from_secs(20),
        copies_after: Ratio::percent(50),
        copied_bytes_per_second: Bytes(SECTORS * 512),
    };
    let mut driven = Driven::new(&paced);
    driven.write(0, SLICE);
    let mut copied = Vec::new();
    for second in 1..=40 {
        driven.now = Nanos::from_secs(second).0;
        driven.tell(Input::Timer);
        if second == 20 {
            let to = (driven.home(0).0 + 1) % 3;
            driven.move_slice(0, to);
        }
        // The host writes elsewhere, so that time goes on.
        driven.request(RequestKind::Read, SLICE, 1);
        copied.push(driven.engine.router.report().copies);
    }
    assert!(copied[..29].iter().all(|&copies| copies == 0), "{copied:?}");
    let rises = copied.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(rises.clone().all(|rise| rise <= 1) && rises.sum::<u64>() == OBJECTS, "{copied:?}");
}

#[test]
fn a_drained_server_is_reported_empty_once_its_slices_are_elsewhere() {
    let mut engine = ClusterEngine::new(&settings(3, 1)).unwrap().with_changing_members();
    let mut effects = Vec::new();
    let capacity = settings(3, 1).servers[0].capacity;
    engine.reshape(Nanos(0), Reshape::Join { capacity }, &mut effects).unwrap();
    for device in [3, 1] {
        engine.reshape(Nanos(0), Reshape::Drain { device: DeviceIndex(device) }, &mut effects).unwrap();
    }
    let mut left = vec![DeviceIndex(1), DeviceIndex(3)];
    for _ in 0..20 {
        engine.inputs.push_back(RouterInput::CopyBudget(Bytes(1 << 20)));
        engine.settle(&mut effects);
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Harden { through } => engine.on(Nanos(0), Input::Durable { through }, &mut effects),
                Effect::Drained(device) => left.retain(|other| *other != device),
                _ => {}
            }
        }
    }
    assert_eq!(left, [], "these are never empty");
}

#[test]
fn impossible_clusters_say_what_is_wrong() {
    let error = |change: fn(&mut ClusterSettings)| {
        let mut wrong = settings(3, 1);
        change(&mut wrong);
        ClusterEngine::new(&wrong).unwrap_err().to_string()
    };
    assert_eq!(error(|wrong| wrong.servers.clear()), "there are 0 servers; a cluster has 1 to 65,535");
    assert_eq!(error(|wrong| wrong.object = Bytes(1000)), "`object` is 1kB; it has to be whole sectors of 512B");
    assert_eq!(error(|wrong| wrong.replicas = 4), "the number of replicas has to be from 1 to 3, not 4");
    assert_eq!(
        error(|wrong| wrong.servers[1].capacity = Bytes(512)),
        "server 1 holds 512B, less than one slice of 6KiB"
    );
    assert_eq!(
        error(|wrong| wrong.capacity = Some(Bytes::kib(600))),
        "`capacity` 600KiB is too much: the servers hold 30KiB with what the ring gives to each"
    );
    assert!(error(|wrong| wrong.balancer = Choice::named("lfie")).contains("lfie"));
}

/// Records of another cluster, or none at all, are an error and never a panic.
#[test]
fn records_that_make_no_sense_are_refused() {
    use crate::id::SliceReplica;
    let replica = |slice| SliceReplica { slice: SliceId(slice), replica: 0 };
    let place = |server, slot| SlotPlace { server: ServerId(server), slot };
    for records in [
        vec![ClusterRecord::Written { replica: replica(4000), first: 0, count: 1 }],
        vec![ClusterRecord::Written { replica: replica(0), first: 2, count: 9 }],
        vec![ClusterRecord::Written { replica: replica(0), first: u32::MAX, count: 1 }],
        vec![ClusterRecord::Moved { replica: replica(0), first: 0, count: 1, written: true }],
        vec![ClusterRecord::Begun { replica: replica(0), place: place(9, 0) }],
        vec![ClusterRecord::Placed { replica: replica(0), place: place(0, 77) }],
        vec![
            ClusterRecord::Placed { replica: replica(0), place: place(0, 4) },
            ClusterRecord::Placed { replica: replica(1), place: place(0, 4) },
        ],
    ] {
        let records: Vec<Record> = records.into_iter().map(Record::from).collect();
        let restored = ClusterEngine::restore(&settings(3, 1), &esker_tier::Checkpoint::default(), &records);
        assert!(restored.is_err(), "{records:?}");
    }
}

/// Tells the engine what every device counts; `None` for devices that count nothing.
fn look(driven: &mut Driven, erases: Option<u64>) {
    for device in 0..driven.engine.stores.len() as u16 {
        let telemetry =
            Telemetry { counts_erases: erases.is_some(), erases: erases.unwrap_or(0), ..Telemetry::default() };
        driven.tell(Input::Device { device: DeviceIndex(device), telemetry });
    }
}

/// Ends an epoch of a thousand nanoseconds in which a slice was written as a whole.
fn end_epoch(driven: &mut Driven, erases: Option<u64>) {
    driven.write(0, SLICE);
    let end = (driven.now / 1000 + 1) * 1000;
    driven.now = end;
    look(driven, erases);
    driven.tell(Input::Timer);
    driven.now = end + 1;
    driven.tell(Input::Timer);
}

fn short_epochs() -> Driven {
    let mut settings = settings(2, 1);
    settings.pace.epoch = Nanos(1000);
    Driven::new(&settings)
}

/// A drive erases nothing before it is full. The model is for devices that count no erases at all.
#[test]
fn a_drive_that_counts_has_erased_what_it_says_from_the_first_epoch_on() {
    for (told, counted) in [(None, None), (Some(0), Some(0.0)), (Some(7), Some(7.0))] {
        let mut driven = short_epochs();
        end_epoch(&mut driven, told);
        let known = &driven.engine.epochs.servers[driven.home(0).index()];
        match counted {
            Some(counted) => assert_eq!(known.erases(), counted),
            None => assert!(known.erases() > 0.0, "the model knows"),
        }
    }
}

/// 3 erases of the epoch in which cleaning begins are too few, so they do not count. Then older epochs count half.
#[test]
fn what_a_page_costs_is_what_a_drive_counts_while_it_cleans() {
    let mut driven = short_epochs();
    let server = driven.home(0).index();
    let mut found = Vec::new();
    for told in [0, 3, 27, 39] {
        end_epoch(&mut driven, Some(told));
        found.push(driven.engine.epochs.servers[server].erases_per_page().map(|rate| rate * SLICE as f64));
    }
    assert_eq!(found, [None, None, Some(24.0), Some((24.0 / 2.0 + 12.0) / 1.5)]);
}

/// Devices that are looked at just as an epoch is over are heard before it ends.
#[test]
fn an_epoch_ends_after_the_look_at_the_same_moment() {
    let mut driven = short_epochs();
    assert_eq!(driven.engine.look_period(), Some(Nanos(50)));
    driven.write(0, SLICE);
    for (now, ended) in [(999, 0), (1000, 0), (1001, 1), (2000, 1), (2001, 2)] {
        driven.now = now;
        driven.tell(Input::Timer);
        assert_eq!(driven.engine.epochs.timeline.len(), ended, "at {now}");
        driven.write(0, 1);
    }
}
