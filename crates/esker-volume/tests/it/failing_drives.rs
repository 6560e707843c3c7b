//! Clusters of which a drive is there, but fails.

use std::io::{self, IoSlice};
use std::path::PathBuf;

use esker_core::{Bytes, DeviceError, Hint, Lba, Request};
use esker_volume::{
    Backend, BlockingBackend, DeviceIo, IoChoice, OpenDevice, SystemClock, Volume, VolumeError, VolumeSettings,
    WhatIsThere, check, create, leave_failing_out, remove_lost,
};
use serde_json::json;

use super::on_files::{FLUSH, closed, devices, files, identities, open, request, write};

/// A device of which nothing can be read or written, or nothing made durable.
struct Failing {
    device: Box<dyn OpenDevice>,
    reads: bool,
}

fn error() -> io::Error {
    io::Error::other("input/output error")
}

impl BlockingBackend for Failing {
    fn capacity(&self) -> Bytes {
        Bytes(8 << 20)
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.reads { self.device.blocking().read(offset, buffer) } else { Err(error()) }
    }
    fn write(&mut self, _: u64, _: &mut [IoSlice<'_>], _: bool) -> io::Result<()> {
        Err(error())
    }
    fn write_zeroes(&mut self, _: u64, _: u64, _: bool) -> io::Result<()> {
        Err(error())
    }
    fn trim(&mut self, _: u64, _: u64) -> io::Result<()> {
        Err(error())
    }
    fn flush(&mut self) -> io::Result<()> {
        Err(error())
    }
}

impl OpenDevice for Failing {
    fn name(&self) -> &str {
        self.device.name()
    }
    fn blocking(&mut self) -> &mut dyn BlockingBackend {
        self
    }
    fn forget_cached(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn into_backend(self: Box<Self>) -> Box<dyn Backend> {
        self.device.into_backend()
    }
}

/// The devices, of which the first one fails.
fn with_failing(paths: &[PathBuf], io: &DeviceIo, reads: bool) -> Vec<Box<dyn OpenDevice>> {
    let mut all = devices(paths, io, false);
    let device = all.remove(0);
    all.insert(0, Box::new(Failing { device, reads }));
    all
}

const LENGTH: usize = 256 << 10;

fn read(volume: &mut (Volume<SystemClock>, DeviceIo)) -> Vec<u8> {
    let reply = request(volume, Request::read(Lba(0), Bytes(LENGTH as u64)), &[]);
    assert_eq!(reply.result, Ok(()));
    reply.data.to_vec()
}

#[test]
fn copies_do_without_a_drive_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let options = json!({ "object": "16KiB", "objects_per_slice": 4, "replicas": 2, "reserve": "45%" });
    let paths = files(folder.path(), &["first", "second", "third"]);
    let settings = VolumeSettings::new("cluster", options);
    create(&mut closed(&paths), &settings, &identities(1, 3), WhatIsThere::Stays).unwrap();
    let mut volume = open(&paths, IoChoice::Threads, false).unwrap();
    assert_eq!(request(&mut volume, write(0, LENGTH), &[7; LENGTH]).result, Ok(()));
    assert_eq!(request(&mut volume, FLUSH, &[]).result, Ok(()));
    drop(volume);

    for reads in [true, false] {
        let io = DeviceIo::start(IoChoice::Threads).unwrap();
        let error = Volume::open(with_failing(&paths, &io, reads), SystemClock::start()).err().unwrap();
        assert!(matches!(error, VolumeError::NotDurable { .. }), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("--lost")), "{error}");
        let mut all = with_failing(&paths, &io, reads);
        let failing = leave_failing_out(&mut all, true);
        assert_eq!(failing.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["first"]);
        let mut volume = (Volume::open(all, SystemClock::start()).unwrap(), io);
        assert!(read(&mut volume) == [7; LENGTH]);
        assert_eq!(request(&mut volume, write(0, 512), &[1; 512]).result, Err(DeviceError::ReadOnly));
    }
    // Whoever only looks makes nothing durable.
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    for (reads, missing) in [(true, 0), (false, 1)] {
        let mut all = with_failing(&paths, &io, reads);
        assert_eq!(leave_failing_out(&mut all, false).len(), missing);
        assert_eq!(check(&mut all).unwrap().missing().count(), missing);
    }
    let refused = remove_lost(&mut closed(&paths), "first").unwrap_err();
    assert!(matches!(refused, VolumeError::NotLost(_)), "{refused}");
    remove_lost(&mut with_failing(&paths, &io, true), "first").unwrap();
    let mut volume = open(&paths[1..], IoChoice::Threads, false).unwrap();
    assert!(read(&mut volume) == [7; LENGTH]);
    assert_eq!(request(&mut volume, write(0, 512), &[1; 512]).result, Ok(()));
}

#[test]
fn a_volume_of_which_all_devices_fail_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["only"]);
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    let mut all = with_failing(&paths, &io, false);
    assert_eq!((leave_failing_out(&mut all, true).len(), all.len()), (0, 1));
    let refused = remove_lost(&mut all, "only").unwrap_err();
    assert!(matches!(refused, VolumeError::NotDurable { .. }), "{refused}");
}
