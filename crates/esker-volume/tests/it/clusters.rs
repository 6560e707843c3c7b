//! Clusters of files: drives in one host that balance their wear.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use esker_core::{Bytes, DeviceError, DriveWear, Hint, Lba, Nanos, Request, Rng, Tag};
use esker_volume::{
    ChangedLimits, ChangedSettings, Clock, DeviceIo, DrainProgress, FileBackend, HeldReason, IoChoice, MoveBudget,
    Presence, Volume, VolumeChange, VolumeSettings, WhatIsThere, check, create, remove_lost,
};
use serde_json::{Value, json};

use super::changes::{Open, change, join, until};
use super::on_files::{FLUSH, closed, devices, files, identities, open, request, write};

const OBJECT: u64 = 16 << 10;
const SLICE: u64 = 4 * OBJECT;
const EPOCH: Nanos = Nanos::from_secs(2);

/// Small slices; `more` has further options.
fn cluster(more: Value) -> VolumeSettings {
    let mut options = json!({
        "object": Bytes(OBJECT), "objects_per_slice": 4, "partitions": 256, "reserve": "20%",
        "copied_bytes_per_second": "1GiB", "epoch": "20ms",
    });
    let Value::Object(more) = more else { panic!("a table") };
    more.into_iter().for_each(|(key, value)| options[key] = value);
    VolumeSettings::new("cluster", options)
}

/// Makes a volume of this kind on files of these names.
fn made(folder: &tempfile::TempDir, names: &[&str], settings: &VolumeSettings) -> Vec<PathBuf> {
    let paths = files(folder.path(), names);
    create(&mut closed(&paths), settings, &identities(1, names.len() as u8), WhatIsThere::Stays).unwrap();
    paths
}

/// Writes an object full of a number and flushes it.
fn write_object(volume: &mut Open, object: u64, number: u8) {
    assert_eq!(
        request(volume, write(object * OBJECT / 512, OBJECT as usize), &[number; OBJECT as usize]).result,
        Ok(())
    );
    assert_eq!(request(volume, FLUSH, &[]).result, Ok(()));
}

/// Reads an object, which is full of one number.
fn read_object(volume: &mut Open, object: u64) -> Result<u8, DeviceError> {
    let reply = request(volume, Request::read(Lba(object * OBJECT / 512), Bytes(OBJECT)), &[]);
    reply.result?;
    let bytes = reply.data.to_vec();
    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "object {object} is torn");
    Ok(bytes[0])
}

const OBJECTS: u64 = 60;

fn number(object: u64) -> u8 {
    object as u8 + 1
}

fn check_objects(volume: &mut Open) {
    for object in 0..OBJECTS {
        assert_eq!(read_object(volume, object * 5), Ok(number(object)), "object {}", object * 5);
    }
    assert_eq!(read_object(volume, 1), Ok(0), "what was never written reads as zeroes");
}

#[test]
fn a_drive_joins_and_another_is_drained_and_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let paths = made(&folder, &["first", "second"], &cluster(json!({})));
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    assert!(volume.0.is_empty());
    (0..OBJECTS).for_each(|object| write_object(&mut volume, object * 5, number(object)));
    let written = volume.0.used().iter().map(|used| used.0).sum::<u64>();
    assert_eq!((volume.0.is_empty(), written), (false, OBJECTS * OBJECT));
    assert_eq!(volume.0.written_run(Bytes::ZERO, Bytes(SLICE)), (Bytes(OBJECT), true));
    assert_eq!(volume.0.written_run(Bytes(OBJECT), Bytes(SLICE)), (Bytes(4 * OBJECT), false));

    let error = volume.0.change(VolumeChange::Drain { device: 0 }).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("add a device first")), "{error}");
    let (before, third) = (volume.0.capacity(), folder.path().join("third"));
    FileBackend::create(&third, Bytes::mib(16)).unwrap();
    join(&mut volume, &third, 9).unwrap();
    until(&mut volume.0, &volume.1, |volume| volume.used()[2] > Bytes::ZERO);
    check_objects(&mut volume);
    change(&mut volume, VolumeChange::Drain { device: 0 }).unwrap();
    drop(volume);

    // It goes on when the volume is opened again, also if it was closed in the midst of it.
    let mut all = [&paths[..], &[third]].concat();
    let mut volume = open(&all, IoChoice::Best, false).unwrap();
    until(&mut volume.0, &volume.1, |volume| volume.drain_progress(0) == Some(DrainProgress::Empty));
    check_objects(&mut volume);
    change(&mut volume, VolumeChange::Keep { device: 0 }).unwrap();
    let error = volume.0.change(VolumeChange::Remove { device: 0 }).unwrap_err().to_string();
    assert!(error.contains("was not drained"), "{error}");
    change(&mut volume, VolumeChange::Drain { device: 0 }).unwrap();
    until(&mut volume.0, &volume.1, |volume| volume.drain_progress(0) == Some(DrainProgress::Empty));
    change(&mut volume, VolumeChange::Remove { device: 0 }).unwrap();
    check_objects(&mut volume);
    drop(volume);

    all.remove(0);
    let mut volume = open(&all, IoChoice::Threads, false).unwrap();
    assert_eq!((volume.0.capacity(), volume.0.state().devices[0].presence), (before, Presence::Removed));
    assert_eq!(volume.0.state().missing().count(), 0);
    check_objects(&mut volume);
    write_object(&mut volume, 1, 7);
    drop(volume);
    assert!(check(&mut closed(&all)).unwrap().is_whole());
}

#[test]
fn while_a_drive_is_missing_what_lies_elsewhere_is_read_and_nothing_moves() {
    let folder = tempfile::tempdir().unwrap();
    let settings = cluster(json!({ "balancer": { "kind": "ewo", "sigma_c": 0, "eta_c": "0%" } }));
    let paths = made(&folder, &["first", "second", "third"], &settings);
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    (0..OBJECTS).for_each(|object| write_object(&mut volume, object * 5, number(object)));
    drop(volume);
    let mut volume = open(&paths[1..], IoChoice::Best, false).unwrap();
    let read: Vec<_> = (0..OBJECTS).map(|object| read_object(&mut volume, object * 5)).collect();
    assert!(read.iter().zip(0..).all(|(found, object)| found.is_err() || *found == Ok(number(object))), "{read:?}");
    let failed = read.iter().filter(|found| found.is_err()).count();
    assert!(failed > 5 && failed < 40, "a third of them is missing: {failed}");
    assert_eq!(request(&mut volume, write(0, 512), &[1; 512]).result, Err(DeviceError::ReadOnly));
    assert_eq!(volume.0.report().cluster.unwrap().moves_begun, 0);
    drop(volume);
    check_objects(&mut open(&paths, IoChoice::Best, false).unwrap());
}

/// Opens a volume until nothing of it is to be copied.
fn rebuilt(paths: &[PathBuf]) -> Open {
    let mut volume = open(paths, IoChoice::Best, false).unwrap();
    let is_done = |volume: &Volume<_>| {
        let cluster = volume.report().cluster.unwrap();
        cluster.copies_lost > 0 && cluster.moves_done >= cluster.copies_lost
    };
    until(&mut volume.0, &volume.1, is_done);
    volume
}

#[test]
fn copies_outlive_a_drive_that_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let paths = made(&folder, &["first", "second", "third"], &cluster(json!({ "replicas": 2, "reserve": "45%" })));
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    (0..OBJECTS).for_each(|object| write_object(&mut volume, object * 5, number(object)));
    drop(volume);
    let error = remove_lost(&mut closed(&paths), "fourth").unwrap_err();
    assert!(error.to_string().contains("no device fourth") && error.hint().is_some(), "{error}");

    // Without one of them, all is read, and nothing is written.
    let mut volume = open(&paths[1..], IoChoice::Best, false).unwrap();
    check_objects(&mut volume);
    assert_eq!(request(&mut volume, write(0, 512), &[1; 512]).result, Err(DeviceError::ReadOnly));
    assert_eq!(volume.0.background().unwrap().held, Some(HeldReason::OnlyRead));
    let names: Vec<String> = volume.0.state().devices.iter().map(|device| device.name.clone()).collect();
    drop(volume);
    let error = remove_lost(&mut closed(&paths[1..]), &names[1]).unwrap_err();
    assert!(error.to_string().contains("is not lost"), "{error}");

    // It is lost, and so may be another one once there are two copies again.
    remove_lost(&mut closed(&paths[1..]), &names[0]).unwrap();
    let mut volume = rebuilt(&paths[1..]);
    check_objects(&mut volume);
    write_object(&mut volume, 0, number(0));
    drop(volume);
    let mut volume = open(&paths[2..], IoChoice::Best, false).unwrap();
    check_objects(&mut volume);
    drop(volume);
    remove_lost(&mut closed(&paths[2..]), &names[1]).unwrap();
    let mut volume = open(&paths[2..], IoChoice::Best, false).unwrap();
    check_objects(&mut volume);
    write_object(&mut volume, 0, number(0));
}

#[test]
fn a_drive_with_the_only_copy_cannot_be_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let paths = made(&folder, &["first", "second"], &cluster(json!({})));
    let missing = check(&mut closed(&paths[1..])).unwrap().missing().next().unwrap().name.clone();
    let error = remove_lost(&mut closed(&paths[1..]), &missing).unwrap_err();
    assert!(error.to_string().contains("one copy") && error.hint().is_some(), "{error}");
    assert!(check(&mut closed(&paths)).unwrap().is_whole());
}

#[test]
fn what_a_cluster_cannot_do_is_refused_with_what_to_do_instead() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |settings: &VolumeSettings| {
        let folder = tempfile::tempdir().unwrap();
        let paths = files(folder.path(), &["first", "second"]);
        let error = create(&mut closed(&paths), settings, &identities(1, 2), WhatIsThere::Stays).unwrap_err();
        (error.to_string(), error.hint().unwrap_or_default())
    };
    let (error, hint) = refused(&cluster(json!({ "replicas": 3 })));
    assert!(error.contains("3 copies of each slice need as many devices") && hint.contains("fewer"), "{error}; {hint}");
    let (error, hint) = refused(&cluster(json!({ "object": "1MiB", "objects_per_slice": 64 })));
    assert!(error.contains("slice") || error.contains("no room"), "{error}; {hint}");
    let (error, _) = refused(&cluster(json!({ "balancer": "lfie" })));
    assert!(error.contains("lfie"), "{error}");

    let paths = made(&folder, &["third", "fourth"], &cluster(json!({})));
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    let mut error = |change: VolumeChange| volume.0.change(change).unwrap_err().to_string();
    let text = error(VolumeChange::Grow { device: 0, size: Bytes::mib(16) });
    assert!(text.contains("have a larger device join, and drain this one"), "{text}");
    let text = error(VolumeChange::Offer { capacity: Bytes::mib(64) });
    assert!(text.contains("make a larger volume, and copy this one"), "{text}");
    let limits = BTreeMap::from([("first".to_string(), ChangedLimits::default())]);
    let text = error(VolumeChange::Set(ChangedSettings { limits, ..ChangedSettings::default() }));
    assert_eq!(text, "this kind of volume has no limits of its devices");
    let policy = ChangedSettings { policy: Some("ewo".into()), ..ChangedSettings::default() };
    let text = error(VolumeChange::Set(policy));
    assert!(text.contains("policy"), "{text}");
}

#[test]
fn a_pause_and_a_budget_stay_when_the_volume_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let paths = made(&folder, &["first", "second", "third"], &cluster(json!({ "reserve": "60%" })));
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    (0..OBJECTS).for_each(|object| write_object(&mut volume, object * 5, number(object)));
    let set = |paused| {
        let moved_bytes_per_day = Some(MoveBudget::Bytes(OBJECT));
        VolumeChange::Set(ChangedSettings { paused: Some(paused), moved_bytes_per_day, ..ChangedSettings::default() })
    };
    change(&mut volume, set(true)).unwrap();
    change(&mut volume, VolumeChange::Drain { device: 0 }).unwrap();
    let used = volume.0.used();
    drop(volume);
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    for _ in 0..20 {
        volume.0.step();
        volume.1.wait(Some(Duration::from_millis(2)));
    }
    let background = volume.0.background().unwrap();
    assert_eq!((background.held, background.moved), (Some(HeldReason::Paused), Bytes::ZERO));
    assert_eq!((volume.0.used(), background.settings.moved_bytes_per_day), (used, Some(Bytes(OBJECT))));
    // A budget holds up no drain.
    change(&mut volume, set(false)).unwrap();
    until(&mut volume.0, &volume.1, |volume| volume.drain_progress(0) == Some(DrainProgress::Empty));
    assert!(volume.0.background().unwrap().moved > Bytes(OBJECT));
    check_objects(&mut volume);
}

/// A clock that a test sets.
#[derive(Clone, Default)]
pub(super) struct SetClock(pub(super) Arc<AtomicU64>);

impl Clock for SetClock {
    fn now(&self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }
}

/// A volume whose time passes with its writes.
struct Timed {
    volume: Volume<SetClock>,
    io: DeviceIo,
    clock: SetClock,
}

const WRITES_AN_EPOCH: u64 = 200;

impl Timed {
    fn open(paths: &[PathBuf]) -> Self {
        let (io, clock) = (DeviceIo::start(IoChoice::Best).unwrap(), SetClock::default());
        let volume = Volume::open(devices(paths, &io, false), clock.clone()).unwrap();
        Self { volume, io, clock }
    }

    /// Writes an object, and lets as much of an epoch pass as that takes.
    fn write(&mut self, object: u64) {
        self.clock.0.fetch_add(EPOCH.0 / WRITES_AN_EPOCH, Ordering::Relaxed);
        let request = write(object * OBJECT / 512, OBJECT as usize);
        self.volume.submit(Tag::new(0, 0), request, vec![1; OBJECT as usize]);
        loop {
            self.volume.step();
            if let Some(reply) = self.volume.next_reply() {
                return assert_eq!(reply.result, Ok(()));
            }
            self.io.wait(Some(Duration::from_secs(1)));
        }
    }

    /// Bytes that were written to each device since measuring started, copies included.
    fn written(&self) -> Vec<u64> {
        let servers = self.volume.report().cluster.unwrap().servers;
        servers.iter().map(|server| server.written_bytes + server.copied_bytes).collect()
    }
}

/// The share of the first device in all bytes that were written in the second half of `epochs`. Slices are written by
/// Zipf's law with exponent `skew`.
fn share_of_first(paths: &[PathBuf], epochs: u64, skew: f64, wear: Option<u64>) -> f64 {
    let mut timed = Timed::open(paths);
    if let Some(percent) = wear {
        timed.volume.learn_wear(0, &DriveWear { used_percent: percent, written: None, capacity: None });
    }
    let slices = timed.volume.capacity().0 / SLICE;
    let sums: Vec<f64> = (1..=slices)
        .scan(0.0, |sum, rank| {
            *sum += (rank as f64).powf(-skew);
            Some(*sum)
        })
        .collect();
    let mut rng = Rng::new(3);
    for epoch in 0..epochs {
        if epoch == epochs / 2 {
            timed.volume.start_measuring();
        }
        for _ in 0..WRITES_AN_EPOCH {
            let at = rng.below(1 << 32) as f64 / (1u64 << 32) as f64 * sums[slices as usize - 1];
            let slice = sums.partition_point(|sum| *sum < at) as u64;
            timed.write(slice * 4 + rng.below(4));
        }
    }
    let written = timed.written();
    written[0] as f64 / written.iter().sum::<u64>() as f64
}

#[test]
fn two_drives_that_are_written_unevenly_even_their_writes() {
    let share = |balancer: Value| {
        let folder = tempfile::tempdir().unwrap();
        let settings = cluster(json!({ "epoch": EPOCH, "balancer": balancer, "rated_fills": 100 }));
        let paths = made(&folder, &["first", "second"], &settings);
        share_of_first(&paths, 24, 1.3, None)
    };
    let uneven = (share("none".into()) - 0.5).abs();
    assert!(uneven > 0.1, "without balancing, one drive gets {uneven} more than half");
    for balancer in [
        json!({ "kind": "life", "warm_up_epochs": 2, "tolerance": "1%", "gain": "1%" }),
        json!({ "kind": "ewo", "sigma_c": 0, "eta_c": "0%" }),
    ] {
        let left = (share(balancer.clone()) - 0.5).abs();
        assert!(left < uneven / 2.0, "{balancer}: {left} more than half, {uneven} without balancing");
    }
}

/// A drive that says that it is nearly worn out gets less than half of an even load.
#[test]
fn what_a_drive_says_of_its_wear_counts() {
    let share = |wear| {
        let folder = tempfile::tempdir().unwrap();
        let balancer = json!({ "kind": "life", "warm_up_epochs": 2, "tolerance": "1%", "gain": "1%" });
        let settings = cluster(json!({ "epoch": EPOCH, "balancer": balancer, "reserve": "40%", "rated_fills": 100 }));
        share_of_first(&made(&folder, &["first", "second"], &settings), 24, 0.0, wear)
    };
    let (alike, worn) = (share(None), share(Some(80)));
    assert!(worn < alike - 0.1, "{worn} of a drive that is worn, {alike} of one that is not");
}

#[test]
fn what_was_written_to_a_drive_is_known_when_the_volume_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let paths = made(&folder, &["first", "second"], &cluster(json!({ "epoch": EPOCH, "balancer": "none" })));
    let mut timed = Timed::open(&paths);
    (0..3 * WRITES_AN_EPOCH).for_each(|number| timed.write(number % 300));
    let erases = |timed: &Timed| -> Vec<f64> {
        timed.volume.report().cluster.unwrap().servers.iter().map(|server| server.erases).collect()
    };
    // An epoch ends before this. What is recorded then goes with the next record that has to be durable: of an object.
    timed.write(301);
    let before = erases(&timed);
    assert!(before.iter().all(|erases| *erases >= 1.0), "{before:?}");
    timed.write(302);
    drop(timed);
    let after = erases(&Timed::open(&paths));
    assert_eq!(after, before.iter().map(|erases| erases.floor()).collect::<Vec<_>>());
}
