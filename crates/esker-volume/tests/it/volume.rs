//! Volumes on files: created, written, left without a word, and opened again.

use std::path::PathBuf;

use esker_core::{Bytes, DeviceError, Lba, Request};
use esker_volume::{FileBackend, Identity, IoChoice, WhatIsThere, check, create};

use super::on_files::{FLUSH, closed, files, identities, open, request, settings, write};

#[test]
fn what_was_flushed_is_there_when_the_volume_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = files(folder.path(), &["first", "second"]);
    create(&mut closed(&paths), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    let ways = [(IoChoice::Best, false), (IoChoice::Threads, true), (IoChoice::Best, true), (IoChoice::Threads, false)];
    for (life, (choice, is_direct)) in (1..).zip(ways) {
        let mut volume = open(&paths, choice, is_direct).unwrap();
        assert_eq!(volume.0.state().missing().count(), 0);
        for number in 0..40u64 {
            let data = vec![u8::wrapping_mul(life, number as u8 + 1); 12_800];
            let reply = request(&mut volume, write(number * 250 + u64::from(life), 12_800), &data);
            assert_eq!(reply.result, Ok(()));
            volume.0.recycle(reply.data);
            if number % 4 == 3 {
                assert_eq!(request(&mut volume, FLUSH, &[]).result, Ok(()));
            }
        }
        drop(volume);
        // Devices are known by their identity, not by their place.
        paths.reverse();
        let mut volume = open(&paths, choice, is_direct).unwrap();
        for number in 0..40u64 {
            let start = Lba(number * 250 + u64::from(life));
            let reply = request(&mut volume, Request::read(start, Bytes(12_800)), &[]);
            assert_eq!(reply.data.to_vec(), vec![u8::wrapping_mul(life, number as u8 + 1); 12_800], "{life} {number}");
            volume.0.recycle(reply.data);
        }
    }
    let state = check(&mut closed(&paths)).unwrap();
    assert!(!state.was_damaged && state.journal_records > 0, "{state:?}");
}

#[test]
fn a_volume_with_a_missing_device_is_read_only_and_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second"]);
    create(&mut closed(&paths), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths, IoChoice::Threads, true).unwrap();
    let (data, extent) = (vec![7; 128 << 10], 256);
    (0..4).for_each(|number| _ = request(&mut volume, write(number * extent, 128 << 10), &data));
    assert_eq!(request(&mut volume, FLUSH, &[]).result, Ok(()));
    drop(volume);
    let mut volume = open(&paths[..1], IoChoice::Best, false).unwrap();
    let missing: Vec<_> = volume.0.state().missing().map(|device| (device.name.clone(), device.identity)).collect();
    assert_eq!(missing, [("second".to_string(), Identity([3; 16]))]);
    // Extents take turns on the two devices.
    let read = |number: u64| Request::read(Lba(number * extent), Bytes(4096));
    let results: Vec<bool> = (0..4).map(|number| request(&mut volume, read(number), &[]).result.is_ok()).collect();
    assert_eq!(results.iter().filter(|ok| **ok).count(), 2, "{results:?}");
    assert_eq!(request(&mut volume, write(0, 4096), &[1; 4096]).result, Err(DeviceError::ReadOnly));
    assert_eq!(request(&mut volume, FLUSH, &[]).result, Ok(()));
}

#[test]
fn odd_devices_are_refused_with_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["first", "second", "other", "fresh"]);
    create(&mut closed(&paths[..2]), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    create(&mut closed(&paths[2..3]), &settings(), &identities(9, 1), WhatIsThere::Stays).unwrap();
    let again =
        create(&mut closed(&paths[..1]), &settings(), &identities(20, 1), WhatIsThere::Stays).unwrap_err().to_string();
    assert_eq!(again, "first holds an esker volume; nothing was written");
    let error = |paths: &[PathBuf]| check(&mut closed(paths)).unwrap_err().to_string();
    let two = "other belongs to volume 09090909-0909-0909-0909-090909090909, and first to volume \
               01010101-0101-0101-0101-010101010101";
    assert_eq!(error(&[paths[0].clone(), paths[2].clone()]), two);
    let twice = error(&[paths[0].clone(), paths[0].clone()]);
    assert_eq!(twice, "first and first are the same device, or one is a copy of the other");
    let none = error(&paths[3..]);
    assert!(none.starts_with("fresh has no superblock of an esker volume"), "{none}");
    assert_eq!(error(&[]), "0 devices were given; a volume has 1 to 256");
    std::fs::OpenOptions::new().write(true).open(&paths[0]).unwrap().set_len(4 << 20).unwrap();
    let smaller = error(&paths[..2]);
    let cut = "first holds 4MiB; 8MiB of it belong to the volume: it was cut off";
    assert_eq!(smaller, cut);
    let tiny = folder.path().join("tiny");
    FileBackend::create(&tiny, Bytes(1 << 20)).unwrap();
    let tiny =
        create(&mut closed(&[tiny]), &settings(), &identities(30, 1), WhatIsThere::Stays).unwrap_err().to_string();
    assert!(tiny.starts_with("tiny: a device of 1MiB has no room for data"), "{tiny}");
}

#[test]
fn requests_of_32_mib_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = ["first", "second"].map(|name| folder.path().join(name)).into();
    paths.iter().for_each(|path| _ = FileBackend::create(path, Bytes::mib(24)).unwrap());
    create(&mut closed(&paths), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    for choice in [IoChoice::Best, IoChoice::Threads] {
        let mut volume = open(&paths, choice, false).unwrap();
        let data: Vec<u8> = (0..32u32 << 20).map(|index| (index / 4096) as u8 ^ index as u8).collect();
        assert_eq!(request(&mut volume, write(3, data.len()), &data).result, Ok(()));
        let reply = request(&mut volume, Request::read(Lba(3), Bytes(data.len() as u64)), &[]);
        assert!(reply.data.to_vec() == data, "{choice:?}");
    }
}
