//! A mount, from its beginning to its end.

use crate::clients::Clients;
use crate::mount_points::{HELPER, MountPoint};
use crate::mounting;
use crate::requests::Requests;
use crate::server::Server;
use esker_scm::{FileSystem, FsError, FsResult, Mapped};
use fuser::{Config, Session, SessionACL};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often data that were written become durable without being asked for, and the pool is cleaned.
const PERIOD: Duration = Duration::from_secs(5);
/// Fewest and most threads that serve.
const THREADS: (usize, usize) = (2, 8);

/// Why a pool could not be mounted at a directory.
#[derive(Debug, thiserror::Error)]
pub enum MountAtError {
    /// There is no FUSE.
    #[error("/dev/fuse is not there")]
    NoFuse,
    /// An ordinary user needs a program for that, which is not installed.
    #[error("ordinary users mount by `fusermount3`, which is not installed")]
    NoHelper,
    /// A mount whose process has died is there.
    #[error("{}: the process of the file system that is mounted there has died", .0.display())]
    Dead(PathBuf),
    /// The directory cannot be used.
    #[error("{}: {error}", .directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The system refuses.
    #[error("the kernel, or fusermount3, does not mount it: {0}")]
    System(io::Error),
    /// The pool is damaged.
    #[error(transparent)]
    File(#[from] FsError),
}

/// A mounted file system.
#[derive(Debug)]
pub struct Mount {
    session: Session<Requests>,
    server: Arc<Server>,
    attached: Attached,
}

/// The place of a mount in the tree of directories. It is given up with this value, unless somebody has unmounted it:
/// then whatever is there is another's.
#[derive(Debug)]
struct Attached(MountPoint);

impl Drop for Attached {
    fn drop(&mut self) {
        if self.0.is_there().unwrap_or(false) {
            // Nobody answers there any more. If it cannot be taken away, `esker fs unmount` says why.
            let _ = self.0.detach();
        }
    }
}

impl Mount {
    /// Mounts `system`, the pool at `pool`, at `directory`. The administrator mounts for everybody, an ordinary user
    /// for herself.
    ///
    /// # Errors
    /// There is no FUSE, the user may not, or the directory cannot be used.
    pub fn new(system: FileSystem<Mapped>, pool: &Path, directory: &Path) -> Result<Mount, MountAtError> {
        let is_administrator = rustix::process::geteuid().is_root();
        check(directory, is_administrator)?;
        let bad = |error| MountAtError::Directory { directory: directory.into(), error };
        let pool = pool.canonicalize().map_err(MountAtError::System)?;
        // Once it is mounted, a look at the directory would wait for this process.
        let directory = directory.canonicalize().map_err(bad)?;
        let mut config = Config::default();
        config.acl = if is_administrator { SessionACL::All } else { SessionACL::Owner };
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        config.n_threads = Some(cores.clamp(THREADS.0, THREADS.1));
        config.clone_fd = true;
        // As `acl` says: without it the kernel serves the user who mounts, and nobody else.
        let only_user = (!is_administrator).then(|| rustix::process::geteuid().as_raw());
        let server = Arc::new(Server::new(system, only_user)?);
        let connection = mounting::mount(&pool, &directory, is_administrator).map_err(MountAtError::System)?;
        let missing = || bad(io::Error::from(io::ErrorKind::NotFound));
        let mut points = MountPoint::all().map_err(bad)?.into_iter();
        let point = points.rfind(|point| point.directory == directory && point.pool == pool).ok_or_else(missing)?;
        let attached = Attached(point);
        let session = Session::from_fd(Requests(server.clone()), connection, config.acl, config);
        Ok(Mount { session: session.map_err(MountAtError::System)?, server, attached })
    }

    /// Where it is mounted.
    pub fn point(&self) -> &MountPoint {
        &self.attached.0
    }

    /// Serves until it is unmounted, and ends the work with the pool.
    ///
    /// # Errors
    /// The connection with the kernel breaks, or the pool's device fails.
    pub fn serve(self) -> io::Result<()> {
        let Mount { session, server, attached } = self;
        server.coherence().set_notifier(session.notifier());
        // Before it answers: a client asks the mount where this is.
        let clients = Clients::listen(&server, attached.0.directory.clone())?;
        let (end, ended) = channel();
        let tender = start_tender(server.clone(), ended)?;
        let served = session.run().or_else(end_of_connection);
        drop(attached);
        clients.stop();
        let tended = stop_tender(end, tender);
        let unmounted = Arc::into_inner(server).expect("nobody serves any more").unmount();
        served?;
        tended.and(unmounted).map_err(|error| match error {
            FsError::Persist(error) => io::Error::from_raw_os_error(error.code),
            error => io::Error::other(error),
        })
    }
}

/// The kernel tells a thread ECONNABORTED that takes a request just as the file system is unmounted, and others ENODEV:
/// both are the end of the connection.
fn end_of_connection(error: io::Error) -> io::Result<()> {
    let is_end = error.raw_os_error() == Some(rustix::io::Errno::CONNABORTED.raw_os_error());
    if is_end { Ok(()) } else { Err(error) }
}

type Tender = JoinHandle<FsResult<()>>;

fn start_tender(server: Arc<Server>, ended: std::sync::mpsc::Receiver<()>) -> io::Result<Tender> {
    std::thread::Builder::new().name("tender".into()).spawn(move || {
        let mut first = Ok(());
        while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            let tended = server.tend();
            first = first.and(tended);
        }
        first
    })
}

fn stop_tender(end: Sender<()>, tender: Tender) -> FsResult<()> {
    drop(end);
    tender.join().expect("the tender does not panic")
}

/// Finds what the crate fuser would not say clearly.
fn check(directory: &Path, is_administrator: bool) -> Result<(), MountAtError> {
    let bad = |error| MountAtError::Directory { directory: directory.into(), error };
    match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(bad(io::ErrorKind::NotADirectory.into())),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOTCONN.raw_os_error()) => {
            return Err(MountAtError::Dead(directory.into()));
        }
        Err(error) => return Err(bad(error)),
    }
    if !Path::new("/dev/fuse").exists() {
        return Err(MountAtError::NoFuse);
    }
    if !is_administrator {
        let run = Command::new(HELPER).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if run.is_err() {
            return Err(MountAtError::NoHelper);
        }
    }
    Ok(())
}
