//! File systems to compare with, mounted for the purpose.
//!
//! They are mounted by a thread with mounts of its own (`unshare`), which nobody else sees. The kernel takes them away
//! with the thread's namespace, however the thread or the program ends, and the loop devices with them.

use std::path::{Path, PathBuf};
use std::process::Command;

use esker_core::Bytes;
use esker_scm::Mode;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;

use crate::{Place, Way};

/// What peers are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSettings {
    /// Size of each file system.
    pub size: Bytes,
    /// Size of the pools of SCMFS.
    pub pool: Bytes,
    /// What SCMFS makes durable when a call returns.
    pub mode: Mode,
}

/// The places to compare, each with the reason if it cannot be used.
#[derive(Debug)]
pub struct Peers {
    places: Vec<(Place, Option<String>)>,
    /// The latest last.
    mounted: Vec<PathBuf>,
    _folder: Option<TempDir>,
}

/// Hands `work` the peers, in a thread that sees them, and takes them away.
///
/// # Panics
/// `work` does.
pub fn with_peers<T: Send>(settings: &PeerSettings, work: impl FnOnce(&Peers) -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| work(&Peers::mount(settings)));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Peers {
    /// All places, in the order of tables, with the reason of those that cannot be used.
    pub fn all(&self) -> &[(Place, Option<String>)] {
        &self.places
    }

    /// The place of that name, or why it cannot be used.
    ///
    /// # Errors
    /// It could not be mounted, or there is none.
    pub fn get(&self, name: &str) -> Result<&Place, String> {
        let found = self.places.iter().find(|(place, _)| place.name == name);
        match found.ok_or_else(|| format!("there is no {name}"))? {
            (_, Some(reason)) => Err(reason.clone()),
            (place, None) => Ok(place),
        }
    }

    fn mount(settings: &PeerSettings) -> Self {
        let mut peers = Self { places: Vec::new(), mounted: Vec::new(), _folder: None };
        let folder = private_folder();
        let at = |name: &str| folder.as_ref().map(|folder| folder.path().join(name)).map_err(Clone::clone);
        let (small, huge, images) = (at("tmpfs"), at("huge"), at("images"));
        let size = settings.size.0;
        let tmpfs = |folder: &Path, huge: &str| {
            let options = format!("huge={huge},size={size},mode=700");
            mount_at(folder, "tmpfs", &options)
        };
        let small = peers.mounted(small, |folder| tmpfs(folder, "never"));
        let huge = peers.mounted(huge, |folder| tmpfs(folder, "always"));
        let ramfs = peers.mounted(at("ramfs"), |folder| mount_at(folder, "ramfs", "mode=700"));
        let images =
            peers.mounted(images, |folder| mount_at(folder, "tmpfs", &format!("huge=always,size={}", 3 * size)));
        let disk = |folder: &Path, kind| mount_disk(&images.clone()?.join(kind), folder, kind, size);
        let ext2 = peers.mounted(at("ext2"), |folder| disk(folder, "ext2"));
        let ext4 = peers.mounted(at("ext4"), |folder| disk(folder, "ext4"));
        let (mode, pool) = (settings.mode, settings.pool);
        let (library, by_fuse) = (Way::Library { mode, pool }, Way::Mount { mode, pool });
        peers.add("SCMFS, 2 MiB pages", &huge, library);
        peers.add("SCMFS, 4 KiB pages", &small, library);
        peers.add("SCMFS by FUSE", &huge, by_fuse);
        peers.add("tmpfs", &small, Way::Folder);
        peers.add("tmpfs, huge pages", &huge, Way::Folder);
        peers.add("ramfs", &ramfs, Way::Folder);
        peers.add("ext2", &ext2, Way::Folder);
        peers.add("ext4", &ext4, Way::Folder);
        peers.add("ext4 with fsync", &ext4, Way::SyncedFolder);
        peers._folder = folder.ok();
        peers
    }

    /// Mounts at a folder; notes it for the end.
    fn mounted(
        &mut self,
        folder: Result<PathBuf, String>,
        mount: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<PathBuf, String> {
        let folder = folder?;
        std::fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        mount(&folder)?;
        self.mounted.push(folder.clone());
        Ok(folder)
    }

    fn add(&mut self, name: &str, folder: &Result<PathBuf, String>, way: Way) {
        let (folder, reason) = match folder {
            Ok(folder) => (folder.clone(), None),
            Err(reason) => (PathBuf::new(), Some(reason.clone())),
        };
        self.places.push((Place::new(name, folder, way), reason));
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        for folder in self.mounted.iter().rev() {
            // What this leaves goes with the thread.
            let _ = umount2(folder, MntFlags::MNT_DETACH);
        }
    }
}

/// A folder in which this thread may mount what nobody else sees.
fn private_folder() -> Result<TempDir, String> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| format!("needs root, to mount it ({})", error.desc()))?;
    let (none, flags) = (None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE);
    mount(none, "/", none, flags, none).map_err(|error| format!("needs root, to mount it ({})", error.desc()))?;
    tempfile::Builder::new().prefix("esker-peers-").tempdir().map_err(|error| error.to_string())
}

fn mount_at(folder: &Path, kind: &str, options: &str) -> Result<(), String> {
    mount(Some("esker-peer"), folder, Some(kind), MsFlags::empty(), Some(options))
        .map_err(|error| format!("{kind} with {options} cannot be mounted: {}", error.desc()))
}

/// A file system of a disk, on a loop device over a file in memory.
fn mount_disk(image: &Path, folder: &Path, kind: &str, size: u64) -> Result<(), String> {
    let made = std::fs::File::create_new(image).and_then(|file| file.set_len(size));
    made.map_err(|error| format!("{}: {error}", image.display()))?;
    run(Command::new(format!("mkfs.{kind}")).args(["-q", "-F"]).arg(image), "e2fsprogs")?;
    run(Command::new("mount").args(["-t", kind, "-o", "loop"]).arg(image).arg(folder), "mount")
}

fn run(command: &mut Command, package: &str) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("needs {program} (Debian: {package})"))
        }
        Err(error) => Err(format!("{program}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BenchError, FioEngine, Work, measure};
    use esker_scm::bench::{Pattern, Postmark, Transfer};
    use std::sync::atomic::AtomicBool;

    const SMALL: PeerSettings = PeerSettings { size: Bytes(64 << 20), pool: Bytes(32 << 20), mode: Mode::Metadata };

    /// Mounts of the peers that this thread sees. Other tests mount, too.
    fn mounted_peers() -> usize {
        let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        mounts.lines().filter(|line| line.contains("esker-peer")).count()
    }

    /// As root this mounts all of them; as anybody else each says why not.
    #[test]
    fn every_peer_runs_or_says_why_not_and_nothing_is_left() {
        let transfer = Transfer {
            file: Bytes(1 << 20),
            record: Bytes(4 << 10),
            pattern: Pattern::Random,
            threads: 2,
            is_durable: false,
        };
        let postmark = Postmark { files: 40, directories: 4, transactions: 100, ..Postmark::READ_INTENSIVE };
        let folder = with_peers(&SMALL, |peers| {
            assert_eq!(peers.all().len(), 9);
            let reached = peers.all().iter().any(|(_, reason)| reason.is_none());
            assert_eq!(reached, mounted_peers() > 0, "the mounts are seen here");
            for (place, reason) in peers.all() {
                assert_eq!(peers.get(&place.name).is_ok(), reason.is_none());
                assert!(reason.as_ref().is_none_or(|reason| !reason.is_empty()), "{}", place.name);
                if reason.is_some() {
                    continue;
                }
                let mapped = Work::Fio(transfer, FioEngine::Mapped);
                for work in [Work::Transfer(transfer), mapped, Work::Postmark(postmark)] {
                    let found =
                        measure(std::slice::from_ref(place), &work, 1, &AtomicBool::new(false)).unwrap().remove(0);
                    match found {
                        Ok(measured) => assert!(measured.medians().iter().all(|rate| *rate > 0.0), "{measured:?}"),
                        // Without /dev/fuse; the library's files have no names for fio, which may be missing, too.
                        Err(BenchError::Mount(_) | BenchError::Missing(_)) => {}
                        Err(error) => panic!("{}: {error}", place.name),
                    }
                }
                assert_eq!(
                    std::fs::read_dir(&place.folder)
                        .unwrap()
                        .filter(|entry| { entry.as_ref().is_ok_and(|entry| entry.file_name() != "lost+found") })
                        .count(),
                    0,
                    "{}",
                    place.name
                );
            }
            peers._folder.as_ref().map(|folder| folder.path().to_path_buf())
        });
        assert_eq!(mounted_peers(), 0, "nobody else sees the mounts");
        assert!(folder.is_none_or(|folder| !folder.exists()));
    }

    #[test]
    fn a_stopped_measurement_ends_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new("here", folder.path(), Way::Folder);
        let work = Work::Postmark(Postmark::READ_INTENSIVE);
        let stopped = measure(&[place], &work, 5, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(BenchError::Stopped)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
