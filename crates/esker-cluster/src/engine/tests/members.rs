//! Servers that join, are drained, and leave.

use super::driven::Driven;
use super::*;

/// A large server makes up for no small one: it takes only one copy of each slice.
#[test]
fn what_stays_has_room_for_copies_that_are_apart() {
    let mut settings = ClusterSettings { reserve: Ratio::ZERO, ..settings(3, 2) };
    settings.servers[0].capacity = Bytes(3 * SLICE * 512);
    settings.servers[1].capacity = Bytes(3 * SLICE * 512);
    settings.servers[2].capacity = Bytes(30 * SLICE * 512);
    let engine = ClusterEngine::new(&settings).unwrap().with_changing_members();
    let slices = u64::from(engine.router.map().shape().slices);
    assert!((4..=6).contains(&slices), "{slices}");
    let [wanted, holds] = [slices, 3].map(|slices| Bytes(2 * slices * SLICE * 512));
    for device in (0..3).map(DeviceIndex) {
        assert_eq!(engine.check_reshape(Reshape::Drain { device }), Err(ReshapeError::NoRoom { wanted, holds }));
    }
}

/// To look for places goes through all copies of all slices.
#[test]
fn a_drain_without_room_looks_for_places_only_once_something_has_moved() {
    let settings = ClusterSettings { capacity: Some(Bytes(7 * SLICE * 512)), ..settings(3, 1) };
    let mut driven = Driven::new(&settings);
    for server in [0, 1].map(ServerId) {
        driven.engine.draining.push(server);
        driven.router(RouterInput::Drain(server));
    }
    let copy = |driven: &mut Driven| (0..3).for_each(|_| driven.router(RouterInput::CopyBudget(Bytes(1 << 20))));
    copy(&mut driven);
    let looks = |driven: &mut Driven| {
        driven.engine.tend_moves(&mut Vec::new());
        let looks = driven.engine.inputs.len();
        driven.engine.settle(&mut Vec::new());
        looks
    };
    assert!(driven.engine.router.map().moving_count() == 0 && !driven.engine.draining.is_empty());
    assert_eq!([looks(&mut driven), looks(&mut driven), looks(&mut driven)], [1, 0, 0]);
    let (mut effects, join) = (Vec::new(), Reshape::Join { capacity: Bytes(SLICE * 512) });
    driven.engine.reshape(Nanos(0), join, &mut effects).unwrap();
    driven.perform(effects);
    copy(&mut driven);
    assert!(driven.engine.router.map().moving_count() == 0 && !driven.engine.draining.is_empty());
    assert_eq!([looks(&mut driven), looks(&mut driven)], [1, 0]);
}

/// Otherwise records could say after a loss of power that slices are on a server that has been removed.
#[test]
fn a_server_leaves_once_it_is_durable_that_what_was_on_its_way_there_has_turned_round() {
    let mut driven = Driven::new(&settings(3, 1));
    let slices = u64::from(driven.engine.router.map().shape().slices);
    driven.write(0, slices * SLICE);
    let (device, mut effects) = (DeviceIndex(3), Vec::new());
    let capacity = settings(3, 1).servers[0].capacity;
    driven.engine.reshape(Nanos(0), Reshape::Join { capacity }, &mut effects).unwrap();
    driven.engine.reshape(Nanos(0), Reshape::Drain { device }, &mut effects).unwrap();
    driven.perform(effects);
    assert!(driven.engine.router.servers().get(ServerId(3)).used > 0);
    (driven.refuses, driven.hardenings) = (Some(ServerId(3)), Some(Vec::new()));
    driven.router(RouterInput::CopyBudget(Bytes(SECTORS * 512)));
    assert_eq!(driven.engine.router.servers().get(ServerId(3)).used, 0);
    let error = driven.engine.check_reshape(Reshape::Remove { device });
    assert_eq!(error, Err(ReshapeError::NotDrained { device: 3, extents: 0 }));
    assert_eq!(driven.engine.draining, [ServerId(3)], "it is not reported to be empty");
    driven.harden();
    assert_eq!(driven.engine.draining, []);
    driven.engine.check_reshape(Reshape::Remove { device }).unwrap();
    // What turns round elsewhere keeps it no longer: by the superblocks it may have been removed meanwhile.
    let (other, mut effects) = (DeviceIndex(4), Vec::new());
    driven.engine.reshape(Nanos(0), Reshape::Join { capacity }, &mut effects).unwrap();
    driven.engine.reshape(Nanos(0), Reshape::Drain { device: other }, &mut effects).unwrap();
    driven.perform(effects);
    assert!(driven.engine.router.servers().get(ServerId(4)).used > 0);
    (driven.refuses, driven.hardenings) = (Some(ServerId(4)), Some(Vec::new()));
    driven.router(RouterInput::CopyBudget(Bytes(SECTORS * 512)));
    let error = driven.engine.check_reshape(Reshape::Remove { device: other });
    assert_eq!(error, Err(ReshapeError::NotDrained { device: 4, extents: 0 }));
    driven.engine.check_reshape(Reshape::Remove { device }).unwrap();
}
