//! Clusters of which a drive is there, but fails.

use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use esker_core::{Bytes, DeviceError, Hint, Lba, Request, Tag};
use esker_volume::{
    Backend, BlockingBackend, DeviceIo, DeviceSettings, Direct, FileBackend, IoChoice, OpenDevice, SystemClock, Volume,
    VolumeError, VolumeSettings, WhatIsThere, WhatWasLost, check, create, leave_failing_out, remove_lost,
};
use serde_json::json;

use super::changes::until;
use super::on_files::{FLUSH, closed, devices, files, identities, open, request, write};

/// A device of which nothing can be read or written, or nothing made durable, once it fails.
struct Failing {
    device: Box<dyn OpenDevice>,
    reads: bool,
    fails: Arc<AtomicBool>,
}

impl Failing {
    fn whole(&mut self) -> io::Result<&mut dyn BlockingBackend> {
        if self.fails.load(Ordering::SeqCst) { Err(error()) } else { Ok(self.device.blocking()) }
    }
}

fn error() -> io::Error {
    io::Error::other("input/output error")
}

impl BlockingBackend for Failing {
    fn capacity(&self) -> Bytes {
        Bytes(8 << 20)
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.reads { self.device.blocking().read(offset, buffer) } else { self.whole()?.read(offset, buffer) }
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        self.whole()?.write(offset, data, durable)
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.whole()?.write_zeroes(offset, length, durable)
    }
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.whole()?.trim(offset, length)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.whole()?.flush()
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
        Box::new(Direct::new(*self))
    }
}

/// The devices, of which the first one fails.
fn with_failing(paths: &[PathBuf], io: &DeviceIo, reads: bool) -> Vec<Box<dyn OpenDevice>> {
    let fails = Arc::new(AtomicBool::new(true));
    with_one_that_may_fail(paths, io, Failing { device: devices(paths, io, false).remove(0), reads, fails }, 0)
}

/// The devices, of which this one is `failing`.
fn with_one_that_may_fail(
    paths: &[PathBuf],
    io: &DeviceIo,
    failing: Failing,
    index: usize,
) -> Vec<Box<dyn OpenDevice>> {
    let mut all = devices(paths, io, false);
    all[index] = Box::new(failing);
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
        let failing = leave_failing_out(&mut all, true).unwrap();
        assert_eq!(failing.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["first"]);
        let mut volume = (Volume::open(all, SystemClock::start()).unwrap(), io);
        assert!(read(&mut volume) == [7; LENGTH]);
        assert_eq!(request(&mut volume, write(0, 512), &[1; 512]).result, Err(DeviceError::ReadOnly));
    }
    // Whoever only looks makes nothing durable.
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    for (reads, missing) in [(true, 0), (false, 1)] {
        let mut all = with_failing(&paths, &io, reads);
        assert_eq!(leave_failing_out(&mut all, false).unwrap().len(), missing);
        assert_eq!(check(&mut all).unwrap().missing().count(), missing);
    }
    let refused = remove_lost(&mut closed(&paths), "first").unwrap_err();
    assert!(matches!(refused, VolumeError::NotLost(_)), "{refused}");
    let file = FileBackend::open_to_read(&paths[0]).unwrap();
    let mut all = devices(&paths, &io, false);
    all[0] = Box::new(io.device("first", file, DeviceSettings::default()));
    let lost = remove_lost(&mut all, "first").unwrap();
    assert_eq!((lost.what, lost.shows_its_end), (WhatWasLost::Copies, true), "it is as new as the others");
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
    assert_eq!((leave_failing_out(&mut all, true).unwrap().len(), all.len()), (0, 1));
    let refused = remove_lost(&mut all, "only").unwrap_err();
    assert!(matches!(refused, VolumeError::NotDurable { .. }), "{refused}");
}

/// The first drive fails, and the second one goes on alone. Then the first one is well again, and the second one fails.
#[test]
fn a_drive_that_went_on_without_the_others_is_not_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let options = json!({ "object": "16KiB", "objects_per_slice": 4, "replicas": 2 });
    let paths = files(folder.path(), &["first", "second"]);
    let settings = VolumeSettings::new("cluster", options);
    create(&mut closed(&paths), &settings, &identities(1, 2), WhatIsThere::Stays).unwrap();
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    let with = |index: usize, fails: &Arc<AtomicBool>| {
        let device = devices(&paths, &io, false).remove(index);
        let failing = Failing { device, reads: true, fails: Arc::clone(fails) };
        with_one_that_may_fail(&paths, &io, failing, index)
    };
    let fails = Arc::new(AtomicBool::new(false));
    let own_io = DeviceIo::start(IoChoice::Threads).unwrap();
    let mut volume = (Volume::open(with(0, &fails), SystemClock::start()).unwrap(), own_io);
    for (value, is_failing) in [(7, false), (8, true)] {
        fails.store(is_failing, Ordering::SeqCst);
        for (asked, data) in [(write(0, LENGTH), &[value; LENGTH][..]), (FLUSH, &[])] {
            volume.0.submit(Tag::new(0, 0), asked, data);
            let mut reply = None;
            for _ in 0..10_000 {
                volume.0.step();
                reply = reply.or_else(|| volume.0.next_reply());
                if reply.is_some() {
                    break;
                }
                volume.1.wait(Some(Duration::from_millis(2)));
            }
            assert_eq!(reply.expect("it is answered").result, Ok(()));
        }
    }
    until(&mut volume.0, &volume.1, |volume| !volume.is_writing_structures());
    drop(volume);

    // The first one shows the sevens.
    let refused = |error: VolumeError| {
        assert!(matches!(&error, VolumeError::NewestFails { device, .. } if device == "second"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("byte by byte")), "{error}");
    };
    let mut all = with(1, &fails);
    refused(leave_failing_out(&mut all, true).unwrap_err());
    assert_eq!(all.len(), 2);
    refused(remove_lost(&mut all, "second").unwrap_err());
    // Whoever only looks sees what is there.
    assert!(leave_failing_out(&mut all, false).unwrap().is_empty());
    // It can only be read, as on a file system that became read-only.
    let only_read = || -> Box<dyn OpenDevice> {
        let file = FileBackend::open_to_read(&paths[1]).unwrap();
        Box::new(io.device("second", file, DeviceSettings::default()))
    };
    let mut all = vec![devices(&paths, &io, false).remove(0), only_read()];
    refused(remove_lost(&mut all, "second").unwrap_err());
    drop(all);
    let lost = remove_lost(&mut with(0, &fails), "first").unwrap();
    assert_eq!((lost.what, lost.shows_its_end), (WhatWasLost::Copies, true));
    assert!(read(&mut open(&paths[1..], IoChoice::Threads, false).unwrap()) == [8; LENGTH]);
}
