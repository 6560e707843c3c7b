//! Devices that join, grow and leave while a volume on files serves.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use esker_core::{Bytes, Hint, Lba, Nanos, Ratio, Request};
use esker_volume::{
    AsleepAfter, ChangeError, ChangedLimits, ChangedSettings, DeviceIo, DrainProgress, FileBackend, HeldReason,
    Identity, IoChoice, MoveBudget, Presence, SystemClock, Volume, VolumeChange, VolumeError, VolumeSettings,
    WhatIsThere, WhatWasLost, check, create, remove_lost,
};
use serde_json::json;

use super::on_files::{FLUSH, SIZE, closed, devices, files, identities, open, request, settings, write};

pub(super) type Open = (Volume<SystemClock>, DeviceIo);

/// Makes a change, and waits for its end.
pub(super) fn change((volume, io): &mut Open, change: VolumeChange) -> Result<(), ChangeError> {
    volume.change(change)?;
    until(volume, io, |volume| !volume.is_changing());
    volume.next_change().expect("it has ended")
}

pub(super) fn until(volume: &mut Volume<SystemClock>, io: &DeviceIo, is_so: impl Fn(&Volume<SystemClock>) -> bool) {
    for _ in 0..10_000 {
        volume.step();
        if is_so(volume) {
            return;
        }
        io.wait(Some(Duration::from_millis(10)));
    }
    panic!("it takes too long");
}

/// Prepares the file at `path`, and has it join.
pub(super) fn join(volume: &mut Open, path: &Path, identity: u8) -> Result<(), ChangeError> {
    let plan = volume.0.join_plan()?;
    let device = devices(&[path.to_path_buf()], &volume.1, false).remove(0);
    let joining = plan.prepare(device, Identity([identity; 16]), WhatIsThere::Stays)?;
    change(volume, VolumeChange::Join(joining))
}

/// Writes an extent full of its number and flushes it, or checks that it has that.
fn write_extent(volume: &mut Open, number: u64) {
    let data = vec![number as u8 + 1; 128 << 10];
    assert_eq!(request(volume, write(number * 256, 128 << 10), &data).result, Ok(()));
    assert_eq!(request(volume, FLUSH, &[]).result, Ok(()));
}

fn check_extent(volume: &mut Open, number: u64) {
    let reply = request(volume, Request::read(Lba(number * 256), Bytes::kib(128)), &[]);
    assert_eq!(reply.data.to_vec(), vec![number as u8 + 1; 128 << 10], "extent {number}");
}

#[test]
fn a_device_is_replaced_by_a_larger_one_while_the_volume_serves() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second"]);
    let large = folder.path().join("large");
    FileBackend::create(&large, Bytes::mib(32)).unwrap();
    create(&mut closed(&paths), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    (0..60).for_each(|number| write_extent(&mut volume, number));
    let before = volume.0.capacity();

    let error = volume.0.change(VolumeChange::Drain { device: 0 }).unwrap_err();
    let text = "the devices that stay hold 7040KiB; 7680KiB are needed";
    assert_eq!((error.to_string().as_str(), error.hint().is_some()), (text, true));
    join(&mut volume, &large, 9).unwrap();
    assert_eq!(volume.0.capacity(), before);
    let capacity = volume.0.capacity_max();
    change(&mut volume, VolumeChange::Offer { capacity }).unwrap();
    assert!(volume.0.capacity() > before + Bytes::mib(25), "{capacity}");
    (60..100).for_each(|number| write_extent(&mut volume, number));
    let error = volume.0.change(VolumeChange::Drain { device: 0 }).unwrap_err();
    assert!(matches!(error, ChangeError::Capacity { .. }), "{error}");
    drop(volume);

    // Everything is as it was before, whichever device is named first; only then the volume can grow by another one.
    let mut all: Vec<PathBuf> = [std::slice::from_ref(&large), &paths[..]].concat();
    let more = files(folder.path(), &["more"]).remove(0);
    let mut volume = open(&all, IoChoice::Best, false).unwrap();
    assert_eq!((volume.0.capacity(), volume.0.state().missing().count()), (capacity, 0));
    join(&mut volume, &more, 10).unwrap();
    all.push(more);
    change(&mut volume, VolumeChange::Drain { device: 0 }).unwrap();
    until(&mut volume.0, &volume.1, |volume| volume.drain_progress(0) == Some(DrainProgress::Empty));
    drop(volume);

    // What was drained stays so.
    let mut volume = open(&all, IoChoice::Threads, false).unwrap();
    until(&mut volume.0, &volume.1, |volume| volume.drain_progress(0) == Some(DrainProgress::Empty));
    change(&mut volume, VolumeChange::Remove { device: 0 }).unwrap();
    assert_eq!(volume.0.state().devices[0].presence, Presence::Removed);
    (0..100).for_each(|number| check_extent(&mut volume, number));
    drop(volume);

    all.retain(|path| *path != paths[0]);
    std::fs::copy(&paths[0], folder.path().join("removed")).unwrap();
    let mut volume = open(&all, IoChoice::Best, false).unwrap();
    assert_eq!(volume.0.state().missing().count(), 0);
    (0..100).for_each(|number| check_extent(&mut volume, number));
    drop(volume);
    // Two devices keep the map again.
    let state = check(&mut closed(&all)).unwrap();
    assert_eq!(state.devices.iter().filter(|device| device.keeps_map).count(), 2, "{state:?}");
    // What was removed can be used again, and is no part of this volume.
    all.push(paths[0].clone());
    assert_eq!(check(&mut closed(&all)).unwrap().unused, ["first"]);
    create(&mut closed(&paths[..1]), &settings(), &identities(40, 1), WhatIsThere::Stays).unwrap();
}

#[test]
fn a_lost_device_with_nothing_on_it_stays_while_the_host_is_offered_its_room() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second"]);
    let options = json!({ "extent": "128KiB", "policy": "fast-first" });
    create(&mut closed(&paths), &VolumeSettings::new("hybrid", options), &identities(1, 2), WhatIsThere::Stays)
        .unwrap();
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    write_extent(&mut volume, 0);
    let (capacity, holds) = (volume.0.capacity(), volume.0.state().devices[0].data);
    assert_eq!(volume.0.used()[1], Bytes::ZERO);
    drop(volume);
    let before = std::fs::read(&paths[0]).unwrap();
    let error = remove_lost(&mut closed(&paths[..1]), "second").unwrap_err();
    let text = format!("without second, the devices hold {holds}, and the volume offers {capacity}");
    assert_eq!((error.to_string(), error.hint().is_some()), (text, true));
    assert!(std::fs::read(&paths[0]).unwrap() == before, "something was written");
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    (0..capacity.0 / (128 << 10)).for_each(|number| write_extent(&mut volume, number));
}

/// Creates a volume of 10 MiB on three devices, and returns their paths.
fn three_of_10_mib(folder: &Path) -> Vec<PathBuf> {
    let paths = files(folder, &["first", "second", "third"]);
    let mut small = settings();
    small.options.insert("capacity".to_string(), json!("10MiB"));
    create(&mut closed(&paths), &small, &identities(1, 3), WhatIsThere::Stays).unwrap();
    paths
}

#[test]
fn a_drain_ends_where_a_lost_device_leaves_no_room_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let paths = three_of_10_mib(folder.path());
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    change(&mut volume, VolumeChange::Drain { device: 1 }).unwrap();
    drop(volume);
    let lost = remove_lost(&mut closed(&paths[..2]), "third").unwrap();
    assert_eq!((lost.what, lost.used_again), (WhatWasLost::Nothing, vec!["second".to_string()]));
    let mut volume = open(&paths[..2], IoChoice::Best, false).unwrap();
    assert!(volume.0.state().missing().next().is_none() && !volume.0.state().devices[1].is_draining);
    (0..80).for_each(|number| write_extent(&mut volume, number));
}

#[test]
fn a_device_that_is_lost_can_be_taken_out_once_nothing_is_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let paths = three_of_10_mib(folder.path());
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    (0..80).for_each(|number| write_extent(&mut volume, number));
    let lost = (0..3).rev().find(|&device| volume.0.used()[device] > Bytes::ZERO).unwrap();
    drop(volume);
    let (name, mut left) = (["first", "second", "third"][lost], paths.clone());
    left.remove(lost);
    let error = remove_lost(&mut closed(&left), name).unwrap_err();
    assert!(error.to_string().contains("nowhere else"), "{error}");

    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    change(&mut volume, VolumeChange::Drain { device: lost }).unwrap();
    until(&mut volume.0, &volume.1, |volume| volume.drain_progress(lost) == Some(DrainProgress::Empty));
    assert_eq!(request(&mut volume, FLUSH, &[]).result, Ok(()));
    drop(volume);
    assert_eq!(remove_lost(&mut closed(&left), name).unwrap().what, WhatWasLost::Nothing);
    let mut volume = open(&left, IoChoice::Best, false).unwrap();
    assert_eq!(volume.0.state().missing().count(), 0);
    (0..80).for_each(|number| check_extent(&mut volume, number));
    write_extent(&mut volume, 0);
}

#[test]
fn a_file_grows_and_the_volume_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second"]);
    create(&mut closed(&paths), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    let before = volume.0.capacity();
    write_extent(&mut volume, 0);
    let size = Bytes::mib(40);
    OpenOptions::new().write(true).open(&paths[1]).unwrap().set_len(size.0).unwrap();
    change(&mut volume, VolumeChange::Grow { device: 1, size }).unwrap();
    assert_eq!(volume.0.state().devices[1].data, Bytes::mib(40) - Bytes::mib(1) - Bytes::kib(128));
    let capacity = volume.0.capacity_max();
    change(&mut volume, VolumeChange::Offer { capacity }).unwrap();
    let last = capacity.0 / (128 << 10) - 1;
    [1, last].iter().for_each(|&number| write_extent(&mut volume, number));
    drop(volume);
    let mut volume = open(&paths, IoChoice::Threads, false).unwrap();
    assert_eq!(volume.0.capacity(), capacity);
    assert!(capacity > before + Bytes::mib(28), "{capacity}");
    [0, 1, last].iter().for_each(|&number| check_extent(&mut volume, number));
    // A map of four times the size has its place, as far as that is a small part of the devices.
    let size = Bytes::mib(4096);
    OpenOptions::new().write(true).open(&paths[0]).unwrap().set_len(size.0).unwrap();
    change(&mut volume, VolumeChange::Grow { device: 0, size }).unwrap();
    let error = volume.0.change(VolumeChange::Offer { capacity: volume.0.capacity_max() }).unwrap_err();
    assert!(matches!(error, ChangeError::MapRoom { holds, .. } if holds >= Bytes::mib(56)), "{error}");
}

#[test]
fn changes_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second", "third", "fourth"]);
    create(&mut closed(&paths[..2]), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths[..2], IoChoice::Best, false).unwrap();
    let error = |change: VolumeChange, volume: &mut Open| volume.0.change(change).unwrap_err().to_string();
    assert_eq!(error(VolumeChange::Drain { device: 7 }, &mut volume), "there is no device 7");
    assert_eq!(error(VolumeChange::Grow { device: 7, size: SIZE }, &mut volume), "there is no device 7");
    let text = "device 1 still holds 0 extents, or was not drained";
    assert_eq!(error(VolumeChange::Remove { device: 1 }, &mut volume), text);
    let text = "the volume has 13MiB, and cannot shrink to 1MiB";
    assert_eq!(error(VolumeChange::Offer { capacity: Bytes::mib(1) }, &mut volume), text);
    // A device that is a part of the volume already, and one that was prepared before another has joined.
    let plan = volume.0.join_plan().unwrap();
    let member = devices(&paths[1..2], &volume.1, false).remove(0);
    let refused = plan.clone().prepare(member, Identity([9; 16]), WhatIsThere::Stays);
    assert!(matches!(refused, Err(VolumeError::Holds { .. })));
    let third = devices(&paths[2..3], &volume.1, false).remove(0);
    let early = plan.prepare(third, Identity([9; 16]), WhatIsThere::Stays).unwrap();
    join(&mut volume, &paths[3], 10).unwrap();
    let text = "third was not prepared for the volume as it is now";
    assert_eq!(error(VolumeChange::Join(early), &mut volume), text);
    drop(volume);
    // What was prepared and has not joined is no part of any volume, and can join later.
    let alone = check(&mut closed(&paths[2..3])).unwrap_err().to_string();
    assert_eq!(alone, "third was to join a volume, and did not: it holds nothing of it");
    let all = [&paths[..2], &paths[3..]].concat();
    let mut volume = open(&all, IoChoice::Best, false).unwrap();
    join(&mut volume, &paths[2], 11).unwrap();
    drop(volume);
    let mut volume = open(&paths[..3], IoChoice::Best, false).unwrap();
    let text = "nothing can be written to the volume: missing: fourth";
    assert_eq!(error(VolumeChange::Drain { device: 0 }, &mut volume), text);
}

#[test]
fn an_array_keeps_its_devices() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second", "third"]);
    let settings = VolumeSettings::new("array", json!({}));
    create(&mut closed(&paths[..2]), &settings, &identities(1, 2), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths[..2], IoChoice::Best, false).unwrap();
    let error = join(&mut volume, &paths[2], 9).unwrap_err().to_string();
    assert_eq!(error, "this kind of volume cannot change its devices");
}

/// A volume of three files, of which the first one holds extents and is to be drained.
fn to_be_drained(folder: &Path) -> (Vec<PathBuf>, Open) {
    let paths = files(folder, &["first", "second"]);
    create(&mut closed(&paths), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    (0..20).for_each(|number| write_extent(&mut volume, number));
    let large = folder.join("large");
    FileBackend::create(&large, Bytes::mib(32)).unwrap();
    join(&mut volume, &large, 9).unwrap();
    (vec![paths[0].clone(), paths[1].clone(), large], volume)
}

#[test]
fn a_pause_moves_nothing_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (paths, mut volume) = to_be_drained(folder.path());
    let paused = |paused| VolumeChange::Set(ChangedSettings { paused: Some(paused), ..ChangedSettings::default() });
    change(&mut volume, paused(true)).unwrap();
    change(&mut volume, VolumeChange::Drain { device: 0 }).unwrap();
    for choice in [IoChoice::Best, IoChoice::Threads] {
        drop(volume);
        volume = open(&paths, choice, false).unwrap();
        let used = volume.0.used()[0];
        assert!(used > Bytes::ZERO);
        write_extent(&mut volume, 3);
        for _ in 0..20 {
            volume.0.step();
            volume.1.wait(Some(Duration::from_millis(5)));
        }
        let now = volume.0.background().unwrap();
        assert_eq!((now.settings.paused, now.copies, now.moved), (true, 0, Bytes::ZERO));
        assert_eq!((now.held, volume.0.drain_progress(0)), (Some(HeldReason::Paused), Some(DrainProgress::Moving)));
        assert!(volume.0.used()[0] <= used);
    }
    change(&mut volume, paused(false)).unwrap();
    until(&mut volume.0, &volume.1, |volume| volume.drain_progress(0) == Some(DrainProgress::Empty));
    assert!(volume.0.background().unwrap().moved > Bytes::ZERO);
    (0..20).for_each(|number| check_extent(&mut volume, number));
}

#[test]
fn a_policy_and_a_budget_are_kept_and_the_capacity_stays() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second"]);
    let options = json!({"policy": "static-split", "extent": "128KiB"});
    let made = VolumeSettings::new("hybrid", options);
    create(&mut closed(&paths), &made, &identities(1, 2), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    let capacity = volume.0.capacity();
    let last = capacity.0 / (128 << 10) - 1;
    write_extent(&mut volume, last);
    let policy = Some("wardrop".into());
    let moved_bytes_per_day = Some(MoveBudget::Bytes(10 << 20));
    change(
        &mut volume,
        VolumeChange::Set(ChangedSettings { policy, moved_bytes_per_day, ..ChangedSettings::default() }),
    )
    .unwrap();
    for _ in 0..2 {
        let state = volume.0.state();
        assert_eq!(state.settings.options["policy"]["kind"], "wardrop");
        assert_eq!(state.settings.options["background"], json!({"moved_bytes_per_day": "10MiB"}));
        let now = volume.0.background().unwrap().settings;
        assert_eq!((now.paused, now.moved_bytes_per_day), (false, Some(Bytes::mib(10))));
        assert_eq!(volume.0.capacity(), capacity, "wardrop keeps some extents free, and the host has all of them");
        check_extent(&mut volume, last);
        drop(volume);
        volume = open(&paths, IoChoice::Best, false).unwrap();
    }
    let unlimited = Some(MoveBudget::Unlimited);
    let set = |changed| VolumeChange::Set(changed);
    change(&mut volume, set(ChangedSettings { moved_bytes_per_day: unlimited, ..ChangedSettings::default() })).unwrap();
    assert!(volume.0.state().settings.options.get("background").is_none(), "nothing is limited");
    let small = Some(MoveBudget::Bytes(1));
    let error = set(ChangedSettings { moved_bytes_per_day: small, ..ChangedSettings::default() });
    let error = volume.0.change(error).unwrap_err();
    assert_eq!(error.to_string(), "1B a day are less than one extent of 128KiB, so nothing could move");
    let unknown = set(ChangedSettings { policy: Some("wardrob".into()), ..ChangedSettings::default() });
    let error = volume.0.change(unknown).unwrap_err();
    let said = format!("{error} {}", error.hint().unwrap_or_default());
    assert!(said.contains("wardrob") && said.contains("wardrop"), "{said}");
}

#[test]
fn limits_of_devices_are_kept_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second"]);
    create(&mut closed(&paths), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    let set = |name: &str, changed| {
        let limits = BTreeMap::from([(name.to_string(), changed)]);
        VolumeChange::Set(ChangedSettings { limits, ..ChangedSettings::default() })
    };
    let names: Vec<String> = volume.0.state().devices.iter().map(|device| device.name.clone()).collect();
    let asleep_after = Some(AsleepAfter::Time(Nanos::from_secs(60)));
    change(&mut volume, set(&names[1], ChangedLimits { asleep_after, ..ChangedLimits::default() })).unwrap();
    let leave_above = Some(Ratio::percent(50));
    change(&mut volume, set(&names[1], ChangedLimits { leave_above, ..ChangedLimits::default() })).unwrap();
    drop(volume);
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    let both = json!([{}, {"leave_above": "50%", "asleep_after": "1min"}]);
    assert_eq!(volume.0.state().settings.options["limits"], both);
    let whole = ChangedLimits { leave_above: Some(Ratio::ONE), ..ChangedLimits::default() };
    let error = volume.0.change(set(&names[0], whole)).unwrap_err();
    assert!(error.to_string().contains("nothing could leave the device"), "{error}");
    let error = volume.0.change(set("third", ChangedLimits::default())).unwrap_err();
    assert!(error.to_string().contains("third"), "{error}");
    let none = ChangedLimits { leave_above: Some(Ratio::ZERO), asleep_after: Some(AsleepAfter::Never) };
    change(&mut volume, set(&names[1], none)).unwrap();
    assert!(volume.0.state().settings.options.get("limits").is_none(), "nothing is limited");
}

#[test]
fn an_engine_that_moves_nothing_takes_no_limits() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second"]);
    let made = VolumeSettings::new("array", json!({}));
    create(&mut closed(&paths), &made, &identities(1, 2), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    let paused = ChangedSettings { paused: Some(true), ..ChangedSettings::default() };
    let error = volume.0.change(VolumeChange::Set(paused)).unwrap_err();
    assert_eq!(error.to_string(), "this kind of volume moves nothing in the background");
    assert!(volume.0.background().is_none() && error.hint().is_some());
}
