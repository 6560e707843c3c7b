//! Volumes over exports.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{ExportDevice, NbdUri};
use esker_core::{Bytes, DeviceState, DriveWear, Lba, Request, RequestKind, Rng};
use esker_serve::{
    Address, ControlError, Listener, Opening, ServeSettings, ServedVolume, Server, Tls, TlsClients, VolumeFile,
};
use esker_volume::{
    DeviceIo, DeviceLimits, DeviceSettings, FileBackend, Identity, IoChoice, OpenDevice, Signal, SystemClock, Volume,
    VolumeMap, VolumeSettings, WhatIsThere, create,
};
use serde_json::json;

use super::driver::{Driven, WAYS};
use super::plain_server::{FLUSH, FUA, Offer, PlainServer, TRIM, ZEROES};

const SECTOR: usize = 512;

/// A volume and what it has to hold: for each sector the value of the last flush, and those that were written since.
pub(super) struct Checked {
    driven: Driven,
    uris: Vec<NbdUri>,
    /// Sectors that are used.
    sectors: u64,
    flushed: Vec<u8>,
    since: Vec<Vec<u8>>,
    rng: Rng,
    next: u8,
}

impl Checked {
    pub(super) fn new(uris: Vec<NbdUri>, choice: IoChoice, seed: u64) -> Self {
        Driven::create(&uris);
        let driven = Driven::open(&uris, choice);
        let sectors = driven.volume.capacity().0 / SECTOR as u64;
        let (flushed, since) = (vec![0; sectors as usize], vec![Vec::new(); sectors as usize]);
        Self { driven, uris, sectors, flushed, since, rng: Rng::new(seed), next: 0 }
    }

    /// Checks what a read has found: what was written last; after servers were lost, what was flushed or written since.
    fn check(&self, first: u64, found: &[u8], were_lost: bool) {
        for (sector, found) in (first as usize..).zip(found.chunks(SECTOR)) {
            let (flushed, since) = (self.flushed[sector], &self.since[sector]);
            let may_be = match were_lost {
                true => flushed == found[0] || since.contains(&found[0]),
                false => found[0] == *since.last().unwrap_or(&flushed),
            };
            assert!(found.iter().all(|byte| *byte == found[0]), "sector {sector} is torn");
            assert!(may_be, "sector {sector} holds {}, not {flushed} or {since:?}", found[0]);
        }
    }

    /// Sends some requests that do not overlap. Returns false once one has failed.
    pub(super) fn round(&mut self) -> bool {
        let part = self.sectors / 8;
        let mut requests = Vec::new();
        for index in 0..8 {
            // Often the same places, so that reads see what was written.
            let (length, near) = (1 + self.rng.below(64), if self.rng.chance(1, 2) { 200 } else { part - 64 });
            let first = index * part + self.rng.below(near);
            let bytes = Bytes(length * SECTOR as u64);
            let kind = match self.rng.below(4) {
                0 => RequestKind::Read,
                1 => RequestKind::Write { fua: true },
                _ => RequestKind::Write { fua: false },
            };
            self.next = self.next.wrapping_add(1);
            let data = if kind == RequestKind::Read { Vec::new() } else { vec![self.next; bytes.0 as usize] };
            if kind != RequestKind::Read {
                (first..first + length).for_each(|sector| self.since[sector as usize].push(self.next));
            }
            requests.push((Request::new(kind, Lba(first), bytes), data));
        }
        let asked: Vec<_> = requests.iter().map(|(request, data)| (*request, data.first().copied())).collect();
        let mut all_went_well = true;
        for ((request, value), result) in asked.into_iter().zip(self.driven.perform(requests)) {
            let first = request.start.0;
            let sectors = (first..first + request.length.0 / SECTOR as u64).map(|sector| sector as usize);
            match (result, value) {
                (Err(_), _) => all_went_well = false,
                (Ok(found), None) => self.check(first, &found, false),
                // It is the only value from now on, for reads; after a loss of power, if it was durable.
                (Ok(_), Some(value)) if request.kind.is_fua() => sectors.for_each(|sector| {
                    self.flushed[sector] = value;
                    self.since[sector].clear();
                }),
                (Ok(_), Some(_)) => {}
            }
        }
        all_went_well
    }

    /// Returns true if what was written is durable now.
    pub(super) fn flush(&mut self) -> bool {
        let went_well = self.driven.flush().is_ok();
        for (flushed, since) in self.flushed.iter_mut().zip(&mut self.since).filter(|_| went_well) {
            if let Some(last) = since.pop() {
                *flushed = last;
            }
            since.clear();
        }
        went_well
    }

    /// Uses the volume until something fails, which has to happen.
    fn use_until_it_fails(&mut self) {
        for _ in 0..1000 {
            if !self.round() || !self.flush() {
                return;
            }
        }
        panic!("nothing fails");
    }

    /// Opens the volume again and reads all of it.
    pub(super) fn open_again(self, choice: IoChoice) -> Self {
        let Self { driven, uris, .. } = self;
        drop(driven);
        let mut again = Self { driven: Driven::open(&uris, choice), uris, ..self };
        let length = 64 << 10;
        for offset in (0..again.sectors * SECTOR as u64).step_by(length as usize) {
            let length = length.min(again.sectors * SECTOR as u64 - offset);
            let found = again.driven.read(offset, length).unwrap();
            again.check(offset / SECTOR as u64, &found, true);
            // What was read stays.
            for (sector, found) in (offset as usize / SECTOR..).zip(found.chunks(SECTOR)) {
                (again.flushed[sector], again.since[sector]) = (found[0], Vec::new());
            }
        }
        again
    }
}

#[test]
fn what_was_flushed_survives_servers_that_lose_the_rest() {
    for (seed, choice) in (1..).zip(WAYS) {
        for (flags, longest) in [(FLUSH | FUA | TRIM | ZEROES, 32 << 20), (FLUSH, 4096)] {
            let offer = Offer { size: 16 << 20, flags, blocks: Some([512, 4096, longest]), lies: None };
            let servers = [PlainServer::new(offer), PlainServer::new(offer)];
            let uris = servers.iter().map(PlainServer::uri).collect();
            let mut checked = Checked::new(uris, choice, seed);
            for killed in 0..4 {
                for round in 0..20 {
                    assert!(checked.round());
                    assert!(round % 7 != 0 || checked.flush());
                }
                // Together they are as a loss of power; one alone is a failed device.
                match killed {
                    0..2 => servers[killed].kill(),
                    _ => servers.iter().for_each(PlainServer::kill),
                }
                checked.use_until_it_fails();
                checked = checked.open_again(choice);
            }
        }
    }
}

/// Nothing is written meanwhile, and nothing read or only read: the end of the connection tells of it.
#[test]
fn a_connection_that_is_lost_is_a_failed_device_that_others_make_up_for() {
    let cluster = json!({
        "object": "64KiB", "objects_per_slice": 4, "replicas": 2, "reserve": "45%", "epoch": "20ms",
        "copied_bytes_per_second": "1GiB",
    });
    for (choice, reads) in WAYS.into_iter().flat_map(|choice| [(choice, false), (choice, true)]) {
        let offer = Offer { size: 16 << 20, flags: FLUSH | FUA | TRIM | ZEROES, blocks: None, lies: None };
        let servers = [0; 3].map(|_| PlainServer::new(offer));
        let uris: Vec<NbdUri> = servers.iter().map(PlainServer::uri).collect();
        Driven::create_with(&uris, &VolumeSettings::new("cluster", cluster.clone()));
        let mut driven = Driven::open(&uris, choice);
        driven.write(0, &[7; 4 << 20], false).unwrap();
        driven.flush().unwrap();
        servers[2].kill();
        let begin = Instant::now();
        let is_rebuilt = |driven: &Driven| {
            let cluster = driven.volume.report().cluster.unwrap();
            cluster.copies_lost > 0 && cluster.moves_done >= cluster.copies_lost
        };
        while driven.volume.device_state(2) != DeviceState::Failed || !is_rebuilt(&driven) {
            assert!(begin.elapsed() < Duration::from_secs(20), "{choice:?}, {reads}: nobody has noticed");
            if reads {
                assert!(driven.read(0, 4 << 20).unwrap() == [7; 4 << 20]);
            }
            driven.io.wait(Some(Duration::from_millis(20)));
            driven.volume.step();
        }
        assert!(driven.read(0, 4 << 20).unwrap() == [7; 4 << 20]);
    }
}

/// A server of a volume on one file, in a thread.
pub(super) struct Lower {
    folder: Arc<tempfile::TempDir>,
    tls: Option<Tls>,
    stop: Arc<AtomicBool>,
    signal: Signal,
    thread: Option<JoinHandle<()>>,
}

/// Nothing changes while it serves.
struct NoFile;

impl VolumeFile for NoFile {
    fn has(&self, _: &str) -> bool {
        true
    }
    fn size(&self, _: &str) -> Result<Bytes, ControlError> {
        Err(ControlError::new("nothing grows here"))
    }
    fn wear(&self, _: &str) -> Option<DriveWear> {
        None
    }
    fn opening(&self, _: &str, _: &str, _: &DeviceIo) -> Opening {
        Box::new(|| Err(ControlError::new("nothing joins here")))
    }
    fn add(&mut self, _: &str, _: &str) -> std::io::Result<()> {
        Ok(())
    }
    fn remove(&mut self, _: &str) -> std::io::Result<()> {
        Ok(())
    }
    fn keep_map(&mut self, place: &str, _: &[&str]) -> Result<VolumeMap, ControlError> {
        Err(ControlError::new(format!("{place}: maps are not kept here")))
    }
    fn forget_map(&mut self, _: &str) {}
}

impl Lower {
    fn new(choice: IoChoice) -> Self {
        Self::with(choice, None)
    }

    /// One that requires TLS, with the certificates of this folder.
    pub(super) fn encrypted(choice: IoChoice, certificates: &Path) -> Self {
        Self::with(choice, Some(Tls::of_folder(certificates, TlsClients::Certified).unwrap()))
    }

    fn with(choice: IoChoice, tls: Option<Tls>) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let path = folder.path().join("disk.img");
        FileBackend::create(&path, Bytes::mib(24)).unwrap();
        let io = DeviceIo::start(IoChoice::Threads).unwrap();
        let settings = VolumeSettings::new("hybrid", json!({ "extent": "128KiB", "policy": "static-split" }));
        create(
            &mut [Self::device(&folder, &io)],
            &settings,
            &[Identity([8; 16]), Identity([9; 16])],
            WhatIsThere::Stays,
        )
        .unwrap();
        Self::serve(folder, tls, choice)
    }

    fn device(folder: &tempfile::TempDir, io: &DeviceIo) -> Box<dyn OpenDevice> {
        let file = FileBackend::open_alone(&folder.path().join("disk.img")).unwrap();
        Box::new(io.device("disk", file, DeviceSettings::default()))
    }

    fn serve(folder: Arc<tempfile::TempDir>, tls: Option<Tls>, choice: IoChoice) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let (own, stops) = (Arc::clone(&folder), Arc::clone(&stop));
        let settings = ServeSettings { tls: tls.clone(), ..ServeSettings::default() };
        let thread = thread::spawn(move || {
            let (io, clock) = (DeviceIo::start(choice).unwrap(), SystemClock::start());
            let volume = Volume::open(vec![Self::device(&own, &io)], clock).unwrap();
            let served = vec![("disk".to_string(), ServedVolume::new(volume, &io, Box::new(NoFile)))];
            let mut server = Server::new(served, io, clock, settings).unwrap();
            server.listen(Listener::bind(&Address::Unix(own.path().join("socket"))).unwrap()).unwrap();
            sender.send(server.signal()).unwrap();
            // It ends without a word, and without finishing anything.
            while !stops.load(Ordering::SeqCst) {
                if !server.turn() {
                    server.wait(None);
                }
            }
        });
        Self { folder, tls, stop, signal: receiver.recv().unwrap(), thread: Some(thread) }
    }

    pub(super) fn uri(&self) -> NbdUri {
        format!("nbd+unix:///?socket={}/socket", self.folder.path().display()).parse().unwrap()
    }

    fn kill(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.signal.give();
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap());
    }

    fn restart(&mut self, choice: IoChoice) {
        self.kill();
        *self = Self::serve(Arc::clone(&self.folder), self.tls.clone(), choice);
    }
}

impl Drop for Lower {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn a_volume_lies_on_volumes_that_are_served() {
    for (seed, choice) in (10..).zip(WAYS) {
        let mut servers = [Lower::new(choice), Lower::new(choice)];
        let uris = servers.iter().map(Lower::uri).collect();
        let mut checked = Checked::new(uris, choice, seed);
        for killed in [0, 1] {
            for round in 0..25 {
                assert!(checked.round());
                assert!(round % 10 != 0 || checked.flush());
            }
            let kills = thread::scope(|scope| {
                let server = &mut servers[killed];
                let kills = scope.spawn(move || {
                    thread::sleep(std::time::Duration::from_millis(20));
                    server.kill();
                });
                checked.use_until_it_fails();
                kills.join()
            });
            kills.unwrap();
            servers[killed].restart(choice);
            checked = checked.open_again(choice);
        }
    }
}

/// A volume that wrote to an export of its own would write over what it holds.
#[test]
fn a_volume_is_no_device_of_itself() {
    let own = Lower::new(IoChoice::Threads);
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    let copy = own.folder.path().join("copy.img");
    std::fs::copy(own.folder.path().join("disk.img"), &copy).unwrap();
    let file = FileBackend::open(&copy).unwrap();
    let device = io.device("copy", file, DeviceSettings::default());
    let volume = Volume::open(vec![Box::new(device)], SystemClock::start()).unwrap();
    let export = ExportDevice::open("new", &own.uri(), &io, DeviceLimits::default()).unwrap();
    let joins = volume.join_plan().unwrap().prepare(Box::new(export), Identity([7; 16]), WhatIsThere::IsLost);
    assert_eq!(joins.err().unwrap().to_string(), "new is an export of this volume itself");
}
