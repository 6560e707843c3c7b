//! Which devices keep the map of a volume on files.

use std::path::PathBuf;

use esker_core::{Bytes, Lba, Request, RequestKind};
use esker_volume::{
    Identity, IoChoice, MapKeepers, VolumeChange, VolumeError, VolumeSettings, WhatIsThere, check, create_with_map_on,
};
use serde_json::{Value, json};

use super::changes::change;
use super::on_files::{FLUSH, closed, devices, files, identities, open, request, write};

/// Makes a volume on two files.
fn made(paths: &[PathBuf], kind: &str, options: Value, keepers: &MapKeepers) -> Result<(), VolumeError> {
    let settings = VolumeSettings::new(kind, options);
    create_with_map_on(keepers, &mut closed(paths), &settings, &identities(1, 2), WhatIsThere::Stays)
}

fn fast_first() -> Value {
    json!({ "extent": "128KiB", "policy": "fast-first" })
}

#[test]
fn a_device_that_keeps_no_map_is_left_alone_by_its_changes() {
    for (keepers, is_left_alone) in [(MapKeepers::Only(vec![0]), true), (MapKeepers::Any, false)] {
        let folder = tempfile::tempdir().unwrap();
        let paths = files(folder.path(), &["flash", "disk"]);
        made(&paths, "hybrid", fast_first(), &keepers).unwrap();
        let keep: Vec<bool> = check(&mut closed(&paths)).unwrap().devices.iter().map(|one| one.keeps_map).collect();
        assert_eq!(keep, [true, !is_left_alone]);
        let mut volume = open(&paths, IoChoice::Best, false).unwrap();
        let before = std::fs::read(&paths[1]).unwrap();
        // Each first write and each trim changes the map, often enough for several checkpoints.
        for _ in 0..200 {
            for extent in 0..20 {
                assert_eq!(request(&mut volume, write(extent * 256, 4096), &[7; 4096]).result, Ok(()));
            }
            assert_eq!(request(&mut volume, FLUSH, &[]).result, Ok(()));
            assert_eq!(
                request(&mut volume, Request::new(RequestKind::Trim, Lba(0), Bytes::kib(20 * 128)), &[]).result,
                Ok(())
            );
        }
        assert_eq!(std::fs::read(&paths[1]).unwrap() == before, is_left_alone);
        drop(volume);
        assert!(check(&mut closed(&paths)).unwrap().checkpoint > 1);
    }
}

#[test]
fn data_on_a_device_without_the_map_are_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["flash", "disk"]);
    made(&paths, "hybrid", fast_first(), &MapKeepers::Only(vec![0])).unwrap();
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    let extents = volume.0.capacity().0 / (128 << 10);
    for extent in 0..extents {
        let data = [extent as u8; 4096];
        assert_eq!(request(&mut volume, write(extent * 256, 4096), &data).result, Ok(()));
    }
    assert_eq!(request(&mut volume, FLUSH, &[]).result, Ok(()));
    drop(volume);
    let mut volume = open(&paths, IoChoice::Best, false).unwrap();
    for extent in 0..extents {
        let reply = request(&mut volume, Request::read(Lba(extent * 256), Bytes(4096)), &[]);
        assert_eq!(reply.data.to_vec(), [extent as u8; 4096], "{extent}");
        volume.0.recycle(reply.data);
    }
    drop(volume);
    // Without the only device that keeps the map there is no volume, and nothing wrong is read.
    assert!(open(&paths[1..], IoChoice::Best, false).is_err());
}

#[test]
fn a_device_that_joins_keeps_the_map_unless_it_may_not() {
    for may_keep in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let paths = files(folder.path(), &["flash", "disk", "more"]);
        made(&paths[..2], "hybrid", fast_first(), &MapKeepers::Only(vec![0])).unwrap();
        let mut volume = open(&paths[..2], IoChoice::Best, false).unwrap();
        let plan = volume.0.join_plan().unwrap();
        let plan = if may_keep { plan } else { plan.without_map() };
        let device = devices(&paths[2..], &volume.1, false).remove(0);
        let joining = plan.prepare(device, Identity([9; 16]), WhatIsThere::Stays).unwrap();
        change(&mut volume, VolumeChange::Join(joining)).unwrap();
        // Wherever there is room for it, a copy of the map is made.
        for _ in 0..100 {
            assert_eq!(request(&mut volume, write(0, 4096), &[7; 4096]).result, Ok(()));
            assert_eq!(request(&mut volume, FLUSH, &[]).result, Ok(()));
            let trim = Request::new(RequestKind::Trim, Lba(0), Bytes::kib(128));
            assert_eq!(request(&mut volume, trim, &[]).result, Ok(()));
        }
        drop(volume);
        let keep: Vec<bool> = check(&mut closed(&paths)).unwrap().devices.iter().map(|one| one.keeps_map).collect();
        assert_eq!(keep, [true, false, may_keep]);
    }
}

#[test]
fn copies_of_data_are_worth_as_much_as_copies_of_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second"]);
    let mirrored = json!({ "object": "128KiB", "objects_per_slice": 4, "replicas": 2 });
    let error = made(&paths, "cluster", mirrored, &MapKeepers::Only(vec![1])).unwrap_err();
    assert!(matches!(error, VolumeError::FewKeepers), "{error}");
}
