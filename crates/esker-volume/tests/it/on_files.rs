//! Volumes on files, for the tests of several modules.

use std::path::{Path, PathBuf};
use std::time::Duration;

use esker_core::{Bytes, Lba, Nanos, Request, RequestKind, Tag};
use esker_volume::{
    Clock, DeviceIo, DeviceSettings, FileBackend, Identity, IoChoice, OpenDevice, Reply, SystemClock, Volume,
    VolumeError, VolumeSettings,
};
use serde_json::json;

pub(super) const SIZE: Bytes = Bytes(8 << 20);

pub(super) fn settings() -> VolumeSettings {
    let options = json!({ "extent": "128KiB", "policy": { "kind": "static-split" }, "reserve": "5%" });
    VolumeSettings::new("hybrid", options)
}

pub(super) fn identities(first: u8, devices: u8) -> Vec<Identity> {
    (0..=devices).map(|number| Identity([first + number; 16])).collect()
}

/// Makes files of [`SIZE`] with these names.
pub(super) fn files(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    let file = |name: &&str| {
        let path = folder.join(name);
        FileBackend::create(&path, SIZE).unwrap();
        path
    };
    names.iter().map(file).collect()
}

pub(super) fn devices(paths: &[PathBuf], io: &DeviceIo, is_direct: bool) -> Vec<Box<dyn OpenDevice>> {
    let settings = DeviceSettings { is_direct, ..DeviceSettings::default() };
    let device = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        io.device(name, FileBackend::open(path).unwrap(), settings)
    };
    paths.iter().map(|path| Box::new(device(path)) as Box<dyn OpenDevice>).collect()
}

/// Devices that are only created or checked.
pub(super) fn closed(paths: &[PathBuf]) -> Vec<Box<dyn OpenDevice>> {
    devices(paths, &DeviceIo::start(IoChoice::Threads).unwrap(), false)
}

pub(super) fn open(
    paths: &[PathBuf],
    choice: IoChoice,
    is_direct: bool,
) -> Result<(Volume<SystemClock>, DeviceIo), VolumeError> {
    let io = DeviceIo::start(choice).unwrap();
    let volume = Volume::open(devices(paths, &io, is_direct), SystemClock::start())?;
    Ok((volume, io))
}

/// Sends a request, and waits for its reply.
pub(super) fn request((volume, io): &mut (Volume<SystemClock>, DeviceIo), request: Request, data: &[u8]) -> Reply {
    let mut buffer = volume.buffer(data.len());
    buffer.get_mut().expect("it has one owner").copy_from_slice(data);
    volume.submit(Tag::new(0, 0), request, buffer);
    let clock = SystemClock::start();
    loop {
        volume.step();
        if let Some(reply) = volume.next_reply() {
            return reply;
        }
        // A wait that misses an end would take until its limit.
        io.wait(Some(Duration::from_secs(60)));
        assert!(clock.now() < Nanos::from_secs(50), "no reply");
    }
}

pub(super) const FLUSH: Request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);

pub(super) fn write(start: u64, length: usize) -> Request {
    Request::new(RequestKind::Write { fua: false }, Lba(start), Bytes(length as u64))
}
