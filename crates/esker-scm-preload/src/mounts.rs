//! Mounted pools, and which paths lead into them.

use crate::own;
use esker_scm_channel::{Connection, MountLine, Numbers};
use rustix::fs::{Mode, OFlags};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A mounted pool.
pub(crate) struct Known {
    directory: Vec<u8>,
    device: (u32, u32),
    /// Directories below it at which something else is mounted.
    covered: Vec<Vec<u8>>,
    owner: Owner,
}

/// The process that has the pool.
enum Owner {
    Unasked,
    Connected(Arc<Connection>),
    /// It is not there, or will not have this process. Its files are the kernel's.
    Refuses,
}

/// A path below the directory of a mount.
pub(crate) struct Inside {
    pub(crate) connection: Arc<Connection>,
    path: Vec<u8>,
    begin: usize,
}

/// What is mounted at a directory.
pub(crate) enum Mounted {
    /// A pool.
    Connected(Arc<Connection>),
    /// A pool whose owner is not there, or will not have this process.
    Refuses,
    /// No pool.
    Nothing,
}

/// The mounted pools; none before they are looked for.
static MOUNTS: Mutex<Option<Vec<Known>>> = Mutex::new(None);

/// Whether all paths are the kernel's.
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// Held while the process forks.
pub(crate) type Mounts = MutexGuard<'static, Option<Vec<Known>>>;

/// Waits until nobody connects.
pub(crate) fn lock() -> Mounts {
    MOUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

static PLACEHOLDER: OnceLock<Option<OwnedFd>> = OnceLock::new();

/// A descriptor to make placeholders of: nothing can be read from it or written to it.
pub(crate) fn placeholder() -> Option<&'static OwnedFd> {
    let open = || {
        let opened = rustix::fs::open("/dev/null", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let kept = rustix::io::fcntl_dupfd_cloexec(&opened, own::lowest()).ok()?;
        own::set(kept.as_raw_fd(), true);
        Some(kept)
    };
    PLACEHOLDER.get_or_init(open).as_ref()
}

/// The number of that descriptor, if it was needed so far.
pub(crate) fn placeholder_number() -> Option<RawFd> {
    PLACEHOLDER.get().and_then(Option::as_ref).map(AsRawFd::as_raw_fd)
}

/// From now on all paths are the kernel's.
pub(crate) fn stop() {
    IS_STOPPED.store(true, Ordering::Relaxed);
}

/// The process is somebody else: for files that it opens from now on the owner has to ask again who it is.
pub(crate) fn forget_connections() {
    if let Some(known) = lock().as_mut() {
        known.iter_mut().for_each(|mount| mount.owner = Owner::Unasked);
    }
}

/// In a child: the connections are its parent's. Their memory is not mapped here, so they are not dropped.
pub(crate) fn forget_in_child(mounts: &mut Mounts) {
    for mount in mounts.as_mut().into_iter().flatten() {
        std::mem::forget(std::mem::replace(&mut mount.owner, Owner::Unasked));
    }
}

/// The connection and the path of what is below a mount; none if the path does not lead there, or is not told simply
/// enough to know.
pub(crate) fn inside(path: &CStr) -> Option<Inside> {
    if IS_STOPPED.load(Ordering::Relaxed) {
        return None;
    }
    let mut mounts = lock();
    let known = mounts.get_or_insert_with(find);
    if known.is_empty() {
        stop();
        return None;
    }
    let path = absolute(path.to_bytes())?;
    let (mount, begin) = known.iter_mut().find_map(|mount| Some((holds(mount, &path)?, mount)).map(|(b, m)| (m, b)))?;
    let connection = connect(mount)?;
    Some(Inside { connection, path, begin })
}

/// The pool that is mounted at a directory.
pub(crate) fn mounted_at(directory: &CStr) -> Mounted {
    let Some(path) = absolute(directory.to_bytes()) else { return Mounted::Nothing };
    let path = path.strip_suffix(b"/").unwrap_or(&path);
    let mut mounts = lock();
    // The pool may have been mounted since they were last looked for.
    *mounts = None;
    let known = mounts.get_or_insert_with(find);
    match known.iter_mut().find(|mount| mount.directory == path) {
        Some(mount) => connect(mount).map_or(Mounted::Refuses, Mounted::Connected),
        None => Mounted::Nothing,
    }
}

impl Inside {
    /// From the directory of the mount on.
    pub(crate) fn path(&self) -> &[u8] {
        &self.path[self.begin..]
    }
}

/// Where the path goes on below the directory of the mount.
fn holds(mount: &Known, path: &[u8]) -> Option<usize> {
    let below = path.strip_prefix(mount.directory.as_slice())?.strip_prefix(b"/")?;
    let is_covered = mount.covered.iter().any(|covered| {
        path.strip_prefix(covered.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    });
    (!below.is_empty() && !is_covered).then(|| path.len() - below.len())
}

/// The path from the root on. Where the process is is asked each time: the directory may have been renamed.
fn absolute(path: &[u8]) -> Option<Vec<u8>> {
    if path.starts_with(b"/") {
        return Some(path.to_vec());
    }
    let path = path.strip_prefix(b"./").unwrap_or(path);
    let mut whole = rustix::process::getcwd(Vec::with_capacity(256)).ok()?.into_bytes();
    if path.is_empty() || !whole.starts_with(b"/") {
        return None;
    }
    whole.push(b'/');
    whole.extend_from_slice(path);
    Some(whole)
}

fn find() -> Vec<Known> {
    let Some(text) = read("/proc/self/mountinfo") else { return Vec::new() };
    let lines: Vec<MountLine> = MountLine::all(&text).collect();
    let mut known: Vec<Known> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let later = &lines[index + 1..];
        let is_below = |other: &&MountLine| {
            other.directory.strip_prefix(line.directory.as_slice()).is_some_and(|rest| rest.starts_with(b"/"))
        };
        let is_hidden = later.iter().any(|other| other.directory == line.directory);
        if line.is_scmfs() && line.root == b"/" && !is_hidden {
            let covered = lines.iter().filter(is_below).map(|other| other.directory.clone()).collect();
            let (directory, device) = (line.directory.clone(), line.device);
            known.push(Known { directory, device, covered, owner: Owner::Unasked });
        }
    }
    known
}

/// A file of the kernel, whole.
fn read(path: &str) -> Option<Vec<u8>> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut bytes = Vec::with_capacity(16 << 10);
    loop {
        bytes.reserve(4096);
        match rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => return Some(bytes),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
}

fn connect(mount: &mut Known) -> Option<Arc<Connection>> {
    match &mount.owner {
        Owner::Connected(connection) if connection.lives() => return Some(connection.clone()),
        Owner::Refuses => return None,
        Owner::Connected(_) | Owner::Unasked => {}
    }
    mount.owner = match new_connection(mount) {
        Some(connection) => Owner::Connected(connection),
        None => Owner::Refuses,
    };
    match &mount.owner {
        Owner::Connected(connection) => Some(connection.clone()),
        _ => None,
    }
}

fn new_connection(mount: &Known) -> Option<Arc<Connection>> {
    // Who may not go there, or finds something else there, goes by the kernel.
    let root = rustix::fs::stat(mount.directory.as_slice()).ok()?;
    if (rustix::fs::major(root.st_dev), rustix::fs::minor(root.st_dev)) != mount.device {
        return None;
    }
    let numbers = Numbers { lowest: own::lowest(), note: own::set };
    Connection::new(&mount.directory, mount.device, numbers).ok().map(Arc::new)
}
