//! A server in a thread, over a volume on files.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

use esker_core::{Bytes, DriveWear};
use esker_serve::{
    Address, ControlError, Listener, Log, LogEvent, Opening, ServeSettings, ServedVolume, Server, VolumeFile,
    VolumeOperation, VolumeStatus, call,
};
use esker_volume::{
    BlockingBackend, DeviceIo, DeviceSettings, FileBackend, Identity, IoChoice, OpenDevice, Signal, SystemClock,
    Volume, VolumeMap, VolumeSettings, WhatIsThere, create,
};
use serde_json::{Value, json};

/// The devices of a volume, by name.
pub(super) type Paths = Vec<(String, PathBuf)>;

/// What the file of a volume says, and how often it was asked.
#[derive(Default)]
struct Known {
    paths: Mutex<Paths>,
    times_asked_for_wear: AtomicU32,
}

/// A volume in a folder of its own.
pub(super) struct Home {
    folder: tempfile::TempDir,
    known: Arc<Known>,
}

/// A server that ends when it is dropped.
pub(super) struct Running {
    pub(super) socket: PathBuf,
    /// Where the first volume is operated.
    pub(super) control: PathBuf,
    /// Where figures are fetched.
    pub(super) metrics: String,
    /// What has happened, with the names of exports.
    pub(super) events: Events,
    stop: Arc<AtomicBool>,
    signal: Signal,
    thread: Option<JoinHandle<()>>,
}

pub(super) type Events = Arc<Mutex<Vec<(Option<String>, LogEvent)>>>;

/// Keeps what happens.
struct Kept(Events);

impl Log for Kept {
    fn log(&mut self, export: Option<&str>, event: &LogEvent) {
        self.0.lock().unwrap().push((export.map(str::to_string), event.clone()));
    }
}

/// The name of a device that cannot be added.
pub(super) const UNWRITABLE: &str = "unwritable";

/// Keeps the paths in memory.
struct InMemory(Arc<Known>);

impl InMemory {
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.0.paths.lock().unwrap().iter().find(|(device, _)| device == name).map(|(_, path)| path.clone())
    }
}

impl VolumeFile for InMemory {
    fn has(&self, name: &str) -> bool {
        self.path(name).is_some()
    }
    fn size(&self, name: &str) -> Result<Bytes, ControlError> {
        Ok(FileBackend::open(&self.path(name).unwrap()).unwrap().capacity())
    }
    fn wear(&self, _: &str) -> Option<DriveWear> {
        self.0.times_asked_for_wear.fetch_add(1, Ordering::Relaxed);
        None
    }
    fn opening(&self, name: &str, place: &str, io: &DeviceIo) -> Opening {
        let (name, place, io) = (name.to_string(), PathBuf::from(place), io.clone());
        Box::new(move || {
            let found = FileBackend::open_alone(&place);
            let file = found.map_err(|error| ControlError::new(format!("{name} ({}): {error}", place.display())))?;
            Ok(Box::new(io.device(name, file, DeviceSettings::default())))
        })
    }
    fn add(&mut self, name: &str, place: &str) -> io::Result<()> {
        if name == UNWRITABLE {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "/etc/home.volume: Permission denied"));
        }
        self.0.paths.lock().unwrap().push((name.to_string(), place.into()));
        Ok(())
    }
    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.0.paths.lock().unwrap().retain(|(device, _)| device != name);
        Ok(())
    }
    fn keep_map(&mut self, place: &str, _: &[&str]) -> Result<VolumeMap, ControlError> {
        Err(ControlError::new(format!("{place}: maps are not kept here")))
    }
    fn forget_map(&mut self, _: &str) {}
}

impl Home {
    /// A new hybrid over two files of this size.
    pub(super) fn new(size: Bytes) -> Self {
        Self::identified(1, size)
    }

    /// One whose identity has this number.
    pub(super) fn identified(number: u8, size: Bytes) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Self { folder, known: Arc::default() };
        for name in ["flash", "disk"] {
            let path = home.file(name, size);
            home.known.paths.lock().unwrap().push((name.to_string(), path));
        }
        let settings = json!({ "extent": "128KiB", "policy": "static-split" });
        let identities = [number, 2, 3].map(|number| Identity([number; 16]));
        let io = DeviceIo::start(IoChoice::Threads).unwrap();
        create(
            &mut devices(&home.known.paths, &io),
            &VolumeSettings::new("hybrid", settings),
            &identities,
            WhatIsThere::Stays,
        )
        .unwrap();
        home
    }

    /// Makes a file.
    pub(super) fn file(&self, name: &str, size: Bytes) -> PathBuf {
        let path = self.folder.path().join(format!("{name}.img"));
        FileBackend::create(&path, size).unwrap();
        path
    }

    /// The names of the devices.
    pub(super) fn names(&self) -> Vec<String> {
        self.known.paths.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }

    /// How often a server has asked how worn a device is.
    pub(super) fn times_asked_for_wear(&self) -> u32 {
        self.known.times_asked_for_wear.load(Ordering::Relaxed)
    }

    /// Opens the volume, to serve it.
    pub(super) fn open(&self, choice: IoChoice, settings: ServeSettings) -> Server<ServedVolume> {
        open(&[("home", self)], choice, settings)
    }

    /// A path in its folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Serves the volume.
    pub(super) fn serve(&self, choice: IoChoice, settings: ServeSettings) -> Running {
        serve(&[("home", self)], choice, settings)
    }
}

fn devices(paths: &Mutex<Paths>, io: &DeviceIo) -> Vec<Box<dyn OpenDevice>> {
    let device = |(name, path): &(String, PathBuf)| -> Box<dyn OpenDevice> {
        Box::new(io.device(name, FileBackend::open_alone(path).unwrap(), DeviceSettings::default()))
    };
    paths.lock().unwrap().iter().map(device).collect()
}

/// Opens volumes, to serve each under its name.
pub(super) fn open(homes: &[(&str, &Home)], choice: IoChoice, settings: ServeSettings) -> Server<ServedVolume> {
    open_at(homes.iter().map(|(name, home)| (name.to_string(), Arc::clone(&home.known))).collect(), choice, settings)
}

type Devices = Vec<(String, Arc<Known>)>;

fn open_at(volumes: Devices, choice: IoChoice, settings: ServeSettings) -> Server<ServedVolume> {
    let (io, clock) = (DeviceIo::start(choice).unwrap(), SystemClock::start());
    let served = |(name, known): (String, Arc<Known>)| {
        let volume = Volume::open(devices(&known.paths, &io), clock).unwrap();
        (name, ServedVolume::new(volume, &io, Box::new(InMemory(known))))
    };
    let served = volumes.into_iter().map(served).collect();
    Server::new(served, io, clock, settings).unwrap()
}

/// Serves volumes, each under its name. Each has the socket `control` in its folder, and the first also `nbd`.
pub(super) fn serve(homes: &[(&str, &Home)], choice: IoChoice, settings: ServeSettings) -> Running {
    let volumes = homes.iter().map(|(name, home)| (name.to_string(), Arc::clone(&home.known))).collect();
    let controls: Vec<PathBuf> = homes.iter().map(|(_, home)| home.path("control")).collect();
    let (socket, control) = (homes[0].1.path("nbd"), controls[0].clone());
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let (clients, stops) = (socket.clone(), Arc::clone(&stop));
    let events = Events::default();
    let kept = Kept(Arc::clone(&events));
    let thread = thread::spawn(move || {
        let mut server = open_at(volumes, choice, settings);
        server.log_to(Box::new(kept));
        let bind = |path| Listener::bind(&Address::Unix(path)).unwrap();
        server.listen(bind(clients)).unwrap();
        for (index, path) in controls.into_iter().enumerate() {
            server.take_control_at(index, bind(path)).unwrap();
        }
        let metrics = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let address = metrics.address().to_string();
        server.serve_metrics_at(metrics).unwrap();
        sender.send((server.signal(), address)).unwrap();
        server.run(|| stops.load(Ordering::SeqCst));
    });
    let (signal, metrics) = receiver.recv().unwrap();
    Running { socket, control, metrics, events, stop, signal, thread: Some(thread) }
}

impl Running {
    /// Asks the server, which has to do it.
    pub(super) fn control(&self, request: &VolumeOperation) -> Value {
        call(&self.control, request).unwrap()
    }

    pub(super) fn status(&self) -> VolumeStatus {
        serde_json::from_value(self.control(&VolumeOperation::Status)).unwrap()
    }

    /// Asks the server to end.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.signal.give();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
