//! A volume on one file.

use std::io;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::{Bytes, DriveWear, Lba, Request, RequestKind, Tag};
use esker_serve::{Address, ControlError, Listener, Opening, ServeSettings, ServedVolume, Server, VolumeFile};
use esker_testkit::processor_time;
use esker_volume::{
    Buffer, Clock, DeviceIo, DeviceSettings, FileBackend, Identity, IoChoice, SystemClock, Volume, VolumeMap,
    VolumeSettings, WhatIsThere, create,
};
use serde_json::json;

use crate::{Cost, Job, client, used};

/// Nothing changes.
struct Fixed;

impl VolumeFile for Fixed {
    fn has(&self, _: &str) -> bool {
        false
    }
    fn size(&self, name: &str) -> Result<Bytes, ControlError> {
        Err(ControlError::new(format!("{name} stays as it is")))
    }
    fn wear(&self, _: &str) -> Option<DriveWear> {
        None
    }
    fn opening(&self, name: &str, _: &str, _: &DeviceIo) -> Opening {
        let error = ControlError::new(format!("{name} does not join"));
        Box::new(move || Err(error))
    }
    fn add(&mut self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn remove(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn keep_map(&mut self, place: &str, _: &[&str]) -> Result<VolumeMap, ControlError> {
        Err(ControlError::new(format!("{place}: maps are not kept here")))
    }
    fn forget_map(&mut self, _: &str) {}
}

fn open(folder: &Path) -> (Volume<SystemClock>, DeviceIo, SystemClock) {
    let (io, clock) = (DeviceIo::start(IoChoice::Best).expect("io_uring or threads"), SystemClock::start());
    let file = FileBackend::open(&folder.join("one")).expect("the file");
    let device = io.device("one", file, DeviceSettings::default());
    (Volume::open(vec![Box::new(device)], clock).expect("the volume"), io, clock)
}

/// Makes the volume, writes all that clients use, and makes the file of the other servers.
pub(crate) fn prepare(folder: &Path) {
    let size = used() + Bytes::mib(64);
    let file = FileBackend::create(&folder.join("one"), size).expect("a new file");
    let settings = json!({ "extent": "128KiB", "policy": "static-split", "reserve": "0%" });
    let io = DeviceIo::start(IoChoice::Threads).expect("threads");
    let device = io.device("one", file, DeviceSettings::default());
    let identities = [Identity([1; 16]), Identity([2; 16])];
    create(&mut [Box::new(device)], &VolumeSettings::new("hybrid", settings), &identities, WhatIsThere::Stays)
        .expect("a volume");
    let (mut volume, io, _) = open(folder);
    let length = 1 << 20;
    let mut perform = |request: Request, data: Buffer| {
        volume.submit(Tag::new(0, 0), request, data);
        loop {
            volume.step();
            if let Some(reply) = volume.next_reply() {
                return reply.result.expect("the file takes it");
            }
            io.wait(None);
        }
    };
    for at in (0..used().0).step_by(length) {
        perform(Request::write(Lba::containing(at), Bytes(length as u64)), Buffer::from(vec![7; length]));
    }
    perform(Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO), Buffer::default());
    std::fs::write(folder.join("raw"), vec![7; used().0 as usize]).expect("another file");
}

/// Serves a client until it has ended.
pub(crate) fn run(folder: &Path, job: Job) -> Option<Cost> {
    let (cost, status) = serve(folder, |socket| client::start(socket, job));
    assert!(status.success(), "the client failed");
    Some(cost)
}

/// Serves a client beside another process. Returns the 99th percentile of the client's response times, in us.
pub(crate) fn wait_of_client(folder: &Path, job: Job, other: impl FnOnce(&Path) -> Option<Child>) -> f64 {
    let (mut beside, mut output) = (None, None);
    let (_, status) = serve(folder, |socket| {
        beside = other(socket);
        let mut child = client::start_timed(socket, job);
        output = child.stdout.take();
        child
    });
    if let Some(child) = &mut beside {
        child.kill().expect("it is hostile until it is killed");
        child.wait().expect("it ends");
    }
    assert!(status.success(), "the client failed");
    let said = io::read_to_string(output.expect("its output is read")).expect("it can be read");
    said.trim().parse().expect("a number")
}

/// Serves until the client that `start` starts has ended.
fn serve(folder: &Path, start: impl FnOnce(&Path) -> Child) -> (Cost, ExitStatus) {
    let (volume, io, clock) = open(folder);
    io::copy(&mut std::fs::File::open(folder.join("one")).expect("the file"), &mut io::sink()).expect("it is read");
    let served = vec![("volume".to_string(), ServedVolume::new(volume, &io, Box::new(Fixed)))];
    let mut server = Server::new(served, io, clock, ServeSettings::default()).expect("a server");
    let socket = folder.join("esker.sock");
    server.listen(Listener::bind(&Address::Unix(socket.clone())).expect("a socket")).expect("it is watched");
    let mut child = start(&socket);
    let (has_ended, signal) = (Arc::new(AtomicBool::new(false)), server.signal());
    let ended = Arc::clone(&has_ended);
    let waiter = std::thread::spawn(move || {
        let status = child.wait().expect("the client ends");
        ended.store(true, Ordering::SeqCst);
        signal.give();
        status
    });
    let (wall, processor) = (SystemClock::start(), processor_time());
    while !has_ended.load(Ordering::SeqCst) {
        if !server.turn() {
            server.wait(None);
        }
    }
    let cost = Cost { processor: processor_time() - processor, wall: wall.now() };
    (cost, waiter.join().expect("it waits"))
}
