//! What a mount leaves alone as it ends: other mounts at the same directory.

use esker_scm::{Caller, FileSystem, Mapped, Mode, Moment, mkfs};
use esker_scm_mount::{Mount, MountPoint, UnmountError};
use rustix::mount::{MountFlags, UnmountFlags};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread::JoinHandle;

/// A directory for mounts; all of them are taken away in the end.
struct Place(tempfile::TempDir);

type Serving = JoinHandle<io::Result<()>>;

impl Place {
    /// None, with a remark, where this process may not mount.
    fn new() -> Option<Place> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || File::options().read(true).write(true).open("/dev/fuse").is_err() {
            let _ = writeln!(io::stderr(), "skipped: mounting needs root and /dev/fuse");
            return None;
        }
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("")).unwrap();
        Some(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("mnt").join(name)
    }

    fn mount_tmpfs(&self) {
        rustix::mount::mount("none", self.path(""), "tmpfs", MountFlags::empty(), None).unwrap();
    }

    /// A new pool of this name, mounted but not served.
    fn mount(&self, name: &str) -> Mount {
        let path = self.0.path().join(name);
        let pool = Mapped::create(&path, 4 << 20).unwrap();
        mkfs(&pool, [7; 16], &Caller::root(Moment(1))).unwrap();
        Mount::new(FileSystem::mount(pool, Mode::None).unwrap(), &path, &self.path("")).unwrap()
    }

    fn serve(&self, name: &str) -> (MountPoint, Serving) {
        let mount = self.mount(name);
        (mount.point().clone(), std::thread::spawn(move || mount.serve()))
    }

    /// What is mounted there, the latest last.
    fn mounted(&self) -> Vec<String> {
        let directory = self.path("").to_str().unwrap().trim_end_matches('/').to_string();
        let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        let there = mounts.lines().filter(|line| line.split(' ').nth(4) == Some(&directory));
        let sources = there.filter_map(|line| line.split(" - ").nth(1)?.split(' ').nth(1));
        sources.map(|source| source.rsplit('/').next().unwrap().to_string()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        while !self.mounted().is_empty() && rustix::mount::unmount(self.path(""), UnmountFlags::DETACH).is_ok() {}
    }
}

/// Unmounts. A process that another test has begun may have files there for a moment, until it runs its program.
fn unmount(point: &MountPoint) {
    for _ in 0..1000 {
        match point.unmount() {
            Err(UnmountError::Busy { .. }) => std::thread::sleep(std::time::Duration::from_millis(5)),
            unmounted => return unmounted.unwrap(),
        }
    }
    point.unmount().unwrap();
}

#[test]
fn what_lies_beneath_stays() {
    let Some(place) = Place::new() else { return };
    place.mount_tmpfs();
    fs::write(place.path("low"), "low").unwrap();
    let (lower, served_lower) = place.serve("lower");
    fs::write(place.path("middle"), "middle").unwrap();
    let (upper, served_upper) = place.serve("upper");
    assert_eq!(place.mounted(), ["none", "lower", "upper"]);
    unmount(&upper);
    served_upper.join().unwrap().unwrap();
    assert_eq!(fs::read_to_string(place.path("middle")).unwrap(), "middle");
    unmount(&lower);
    served_lower.join().unwrap().unwrap();
    assert_eq!(place.mounted(), ["none"]);
    assert_eq!(fs::read_to_string(place.path("low")).unwrap(), "low");
}

/// A mount that was taken away while it was in use ends long after another one has taken its place.
#[test]
fn a_mount_that_ends_late_leaves_a_newer_one() {
    let Some(place) = Place::new() else { return };
    let (old, served_old) = place.serve("old");
    let held = File::create_new(place.path("held")).unwrap();
    old.detach().unwrap();
    let (new, served_new) = place.serve("new");
    drop(held);
    served_old.join().unwrap().unwrap();
    assert_eq!(place.mounted(), ["new"]);
    fs::write(place.path("file"), "in the new pool").unwrap();
    unmount(&new);
    served_new.join().unwrap().unwrap();
    assert_eq!(fs::read_dir(place.path("")).unwrap().count(), 0);
}

#[test]
fn what_lies_above_is_not_unmounted_in_its_place() {
    let Some(place) = Place::new() else { return };
    let (point, served) = place.serve("pool");
    place.mount_tmpfs();
    for refused in [point.unmount(), point.detach()] {
        assert!(matches!(refused, Err(UnmountError::Covered { .. })), "{refused:?}");
    }
    assert_eq!(place.mounted(), ["pool", "none"]);
    rustix::mount::unmount(place.path(""), UnmountFlags::empty()).unwrap();
    unmount(&point);
    served.join().unwrap().unwrap();
}

#[test]
fn a_mount_that_is_never_served_is_taken_away() {
    let Some(place) = Place::new() else { return };
    place.mount_tmpfs();
    let mount = place.mount("pool");
    assert_eq!(place.mounted(), ["none", "pool"]);
    drop(mount);
    assert_eq!(place.mounted(), ["none"]);
}
