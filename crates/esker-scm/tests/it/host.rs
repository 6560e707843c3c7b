//! Sparse pools on file systems that fill up: calls fail with an error, and nothing is ever stored where there is no
//! room, which would end the process.

use crate::drive::Driven;
use crate::model::Model;
use crate::operation::random;
use esker_core::Rng;
use esker_scm::{
    Caller, FileSystem, FsError, Handle, Kind, Mapped, Mode, Moment, NewFile, Persist, PersistError, ROOT, Recording,
    check, mkfs,
};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Mutex;

const PAGE: u64 = 4096;
const FULL: PersistError = PersistError { code: 28 };

/// A sparse pool where there is room for some pages only. A store to a page without room panics.
struct Cramped {
    pool: Recording,
    /// Pages that have room, and how many more can get some.
    backed: Mutex<(BTreeSet<u64>, u64)>,
}

impl Cramped {
    fn new(pages: u64, room: u64) -> Cramped {
        let pool = Recording::new(vec![0; (pages * PAGE) as usize]);
        Cramped { pool, backed: Mutex::new((BTreeSet::new(), room)) }
    }

    fn check_room(&self, at: u64, length: u64) {
        let backed = self.backed.lock().unwrap();
        let missing = pages(at, length).find(|page| !backed.0.contains(page));
        assert_eq!(missing, None, "{length} bytes at {at} are stored where there is no room");
    }
}

fn pages(at: u64, length: u64) -> impl Iterator<Item = u64> {
    at / PAGE..(at + length).div_ceil(PAGE)
}

impl Persist for Cramped {
    fn len(&self) -> u64 {
        self.pool.len()
    }

    fn back(&self, at: u64, length: u64) -> Result<(), PersistError> {
        assert!(at + length <= self.pool.len());
        let mut backed = self.backed.lock().unwrap();
        let missing: Vec<u64> = pages(at, length).filter(|page| !backed.0.contains(page)).collect();
        let left = backed.1.checked_sub(missing.len() as u64).ok_or(FULL)?;
        backed.0.extend(missing);
        backed.1 = left;
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) {
        self.pool.read(at, into);
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        self.check_room(at, bytes.len() as u64);
        self.pool.write(at, bytes);
    }

    fn write_streaming(&self, at: u64, bytes: &[u8]) {
        self.check_room(at, bytes.len() as u64);
        self.pool.write_streaming(at, bytes);
    }

    fn zero_streaming(&self, at: u64, length: u64) {
        self.check_room(at, length);
        self.pool.zero_streaming(at, length);
    }

    fn write_back(&self, at: u64, length: u64) {
        self.pool.write_back(at, length);
    }

    fn fence(&self) -> Result<(), PersistError> {
        self.pool.fence()
    }
}

fn caller() -> Caller<'static> {
    Caller::root(Moment(1))
}

fn open<P: Persist>(system: &FileSystem<P>, name: &str) -> Result<Handle, FsError> {
    system.open(system.make(&caller(), ROOT, name.as_bytes(), &NewFile::new(Kind::File, 0o644))?.number)
}

/// Writes a file of 64 KiB, or as much of it as there is room for: its bytes.
fn fill_file<P: Persist>(system: &FileSystem<P>, number: u64) -> Result<u64, FsError> {
    let handle = open(system, &format!("file-{number}"))?;
    let written = system.write(&caller(), &handle, 0, &[(number % 255) as u8 + 1; 64 << 10]);
    system.close(handle)?;
    written.map(|written| written as u64)
}

/// Fills the pool until a call fails, which is for want of space; bytes of each file.
fn fill<P: Persist>(system: &FileSystem<P>) -> Vec<u64> {
    let mut files = Vec::new();
    loop {
        match fill_file(system, files.len() as u64) {
            Ok(written) => files.push(written),
            Err(error) => {
                assert_eq!(error, FsError::NoSpace);
                return files;
            }
        }
    }
}

fn has_bytes<P: Persist>(system: &FileSystem<P>, number: u64, written: u64) {
    let found = system.lookup(&caller(), ROOT, format!("file-{number}").as_bytes()).unwrap();
    let handle = system.open(found.number).unwrap();
    let mut bytes = vec![0; 64 << 10];
    assert_eq!(system.read(&caller(), &handle, 0, &mut bytes), Ok(written as usize));
    assert!(bytes[..written as usize].iter().all(|&byte| byte == (number % 255) as u8 + 1), "file {number}");
    system.close(handle).unwrap();
}

/// A full host: what is there can be read and written, and room that is given back in the pool is used again.
fn use_full_host<P: Persist>(system: FileSystem<P>, room: u64) {
    let files = fill(&system);
    let total: u64 = files.iter().sum();
    assert!(total <= room && total > room / 2, "{total} bytes in room for {room}");
    for (number, &written) in (0..).zip(&files) {
        has_bytes(&system, number, written);
    }
    for number in 0..files.len() as u64 / 2 {
        system.unlink(&caller(), ROOT, format!("file-{number}").as_bytes()).unwrap();
    }
    let again = (0..files.len() as u64 / 2 - 1).map(|number| fill_file(&system, number).unwrap());
    assert_eq!(again.sum::<u64>(), (files.len() as u64 / 2 - 1) * (64 << 10));
    for (number, &written) in (0..).zip(&files).skip(files.len() / 2) {
        has_bytes(&system, number, written);
    }
    let pool = system.unmount().unwrap();
    assert!(check(&pool).unwrap().is_sound());
    let system = FileSystem::mount(pool, Mode::Metadata).unwrap();
    has_bytes(&system, 0, 64 << 10);
}

#[test]
fn a_sparse_pool_without_room_below_fails_with_an_error() {
    for room in [300, 811, 1500] {
        let pool = Cramped::new(4096, room);
        mkfs(&pool, [1; 16], &caller()).unwrap();
        use_full_host(FileSystem::mount(pool, Mode::Metadata).unwrap(), room * PAGE);
    }
}

#[test]
fn a_pool_whose_metadata_have_no_room_is_not_made() {
    let pool = Cramped::new(4096, 10);
    assert!(mkfs(&pool, [1; 16], &caller()).is_err());
}

/// Random operations, the cleaner's and wear-levelling's moves among them, where room ends now and then and comes back:
/// whatever fails, fails for want of space, and nothing is stored where there is no room.
#[test]
fn nothing_is_stored_where_there_is_no_room() {
    for seed in 0..4 {
        let pool = Cramped::new(4096, 40);
        mkfs(&pool, [1; 16], &caller()).unwrap();
        let mut driven = Driven::mount(pool, Mode::Metadata);
        let (mut rng, model, mut full) = (Rng::new(seed), Model::new(), 0);
        let mut paths = model.paths();
        for number in 0..3000 {
            let operation = random(&mut rng, seed << 20 | number, &paths);
            if let Err(error @ (FsError::NoSpace | FsError::Damaged(_) | FsError::Persist(_))) =
                driven.apply(&operation)
            {
                assert_eq!(error, FsError::NoSpace, "seed {seed}, {number}: {operation:?}");
                full += 1;
            }
            if number % 200 == 0 {
                driven.system.persist().backed.lock().unwrap().1 += 1;
                paths = vec!["/".into(), "/foo".into(), "/bar".into(), "/A".into(), "/A/foo".into()];
            }
        }
        assert!(full > 20, "seed {seed}: the host was full {full} times");
        driven.release_all();
        assert!(check(&driven.system.unmount().unwrap()).unwrap().is_sound(), "seed {seed}");
    }
}

/// A mounted tmpfs of some size, if there is the right to mount one.
struct SmallTmpfs(tempfile::TempDir);

impl SmallTmpfs {
    fn new(size: &str) -> Option<SmallTmpfs> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "esker-host"]).arg(folder.path());
        let is_mounted = mount.output().is_ok_and(|done| done.status.success());
        is_mounted.then_some(SmallTmpfs(folder))
    }
}

impl Drop for SmallTmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn a_full_tmpfs_below_a_sparse_pool_is_an_error_and_no_signal() {
    let Some(host) = SmallTmpfs::new("24m") else {
        return println!("skipped: there is no right to mount a tmpfs");
    };
    let path = host.0.path().join("pool");
    mkfs(&Mapped::create(&path, 256 << 20).unwrap(), [1; 16], &caller()).unwrap();
    use_full_host(FileSystem::mount(Mapped::open(&path).unwrap(), Mode::Metadata).unwrap(), 24 << 20);
}
