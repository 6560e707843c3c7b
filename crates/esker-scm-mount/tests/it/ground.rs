//! A mounted pool, which is unmounted in the end, whatever happens.

use esker_scm::{Caller, FileSystem, MapError, Mapped, Mode, Moment, check, mkfs};
use esker_scm_channel::{Connection, Numbers};
use esker_scm_mount::{Mount, MountPoint, UnmountError};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) struct Ground {
    folder: tempfile::TempDir,
    mounted: Option<(MountPoint, JoinHandle<io::Result<()>>)>,
}

impl Ground {
    /// A new pool, mounted; none, with a remark, where this process may not mount.
    pub(crate) fn new() -> Option<Ground> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || File::options().read(true).write(true).open("/dev/fuse").is_err() {
            let _ = writeln!(io::stderr(), "skipped: mounting needs root and /dev/fuse");
            return None;
        }
        // On a disk each change would wait for it.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        std::fs::create_dir(folder.path().join("mnt")).unwrap();
        let pool = Mapped::create(&folder.path().join("pool"), 64 << 20).unwrap();
        mkfs(&pool, [7; 16], &Caller::root(Moment(1))).unwrap();
        drop(pool);
        let mut ground = Ground { folder, mounted: None };
        ground.mount();
        Some(ground)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("mnt").join(name)
    }

    /// A new connection of a client.
    pub(crate) fn connect(&self) -> Arc<Connection> {
        let directory = self.path("").into_os_string().into_encoded_bytes();
        let device = self.mounted.as_ref().expect("it is mounted").0.device();
        Arc::new(Connection::new(&directory, device, Numbers::ANY).expect("this mount listens"))
    }

    fn pool(&self) -> PathBuf {
        self.folder.path().join("pool")
    }

    /// Maps the pool. A process that another test has begun may have it for a moment, until it runs its program.
    fn open(&self) -> Mapped {
        for _ in 0..1000 {
            match Mapped::open(&self.pool()) {
                Err(MapError::InUse(_)) => std::thread::sleep(Duration::from_millis(5)),
                opened => return opened.unwrap(),
            }
        }
        Mapped::open(&self.pool()).unwrap()
    }

    fn mount(&mut self) {
        let system = FileSystem::mount(self.open(), Mode::Metadata).unwrap();
        let mount = Mount::new(system, &self.pool(), &self.path("")).unwrap();
        let point = mount.point().clone();
        self.mounted = Some((point, std::thread::spawn(move || mount.serve())));
    }

    /// Unmounts, checks the pool, and mounts it again.
    pub(crate) fn remount(&mut self) {
        let (point, serving) = self.mounted.take().expect("it is mounted");
        unmount(&point);
        serving.join().unwrap().unwrap();
        assert!(point.wait_until_free(Duration::from_secs(60)));
        let report = check(&self.open()).unwrap();
        assert!(report.is_sound() && report.orphans == 0, "{report:?}");
        self.mount();
    }
}

/// Unmounts. A process that another test has begun may have files there for a moment, until it runs its program.
fn unmount(point: &MountPoint) {
    for _ in 0..1000 {
        match point.unmount() {
            Err(UnmountError::Busy { .. }) => std::thread::sleep(Duration::from_millis(5)),
            unmounted => return unmounted.unwrap(),
        }
    }
    point.unmount().unwrap();
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some((point, serving)) = self.mounted.take() {
            // A test that failed may have files open.
            let _ = point.detach();
            if !std::thread::panicking() {
                serving.join().unwrap().unwrap();
            }
        }
    }
}
