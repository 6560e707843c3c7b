//! Many operations and many files: nothing leaks, and the system's limit on mappings holds.

use crate::compare::compare;
use crate::drive::Driven;
use crate::model::Model;
use crate::operation::{Operation, random};
use esker_core::Rng;
use esker_scm::{Caller, CleanerSettings, FileSystem, Kind, Mapped, Mode, Moment, NewFile, ROOT, check, mkfs};
use std::path::PathBuf;

fn is_soak() -> bool {
    std::env::var_os("ESKER_SOAK").is_some()
}

/// A new pool in memory, and the folder to keep it in.
pub(crate) fn new_mapped_pool(bytes: u64) -> (tempfile::TempDir, PathBuf) {
    // On tmpfs no fence waits for a disk.
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let path = folder.path().join("pool");
    mkfs(&Mapped::create(&path, bytes).unwrap(), [7; 16], &Caller::root(Moment(1))).unwrap();
    (folder, path)
}

/// What a pool has to give: bytes for data and of virtual space; and its inodes in use.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Left {
    free: u64,
    virtual_free: u64,
    inodes: u64,
}

/// Removes everything from the pool, and has the cleaner give back what null files keep.
fn empty(driven: &mut Driven<Mapped>, model: &mut Model) -> Left {
    driven.release_all();
    model.release_all();
    let mut paths = vec![String::new()];
    let mut at = 0;
    while let Some(path) = paths.get(at).cloned() {
        if let Ok(entries) = model.entries(model.find(&path).unwrap()) {
            paths.extend(entries.keys().map(|name| format!("{path}/{name}")));
        }
        at += 1;
    }
    // What is in a directory comes after it.
    for path in paths.into_iter().skip(1).rev() {
        let is_directory = model.is_directory(model.find(&path).unwrap());
        let remove = if is_directory { Operation::RemoveDirectory(path) } else { Operation::Unlink(path) };
        assert_eq!(model.apply(&remove), Ok(()), "{remove:?}");
        driven.apply(&remove).unwrap_or_else(|error| panic!("{remove:?}: {error}"));
    }
    let settings = CleanerSettings { free_percent: 100, null_files_max: 0, null_files_min: 0, cold_after_seconds: 0 };
    while driven.system.clean(&settings, Moment(1)).unwrap().is_some() {}
    let found = driven.system.statistics().unwrap();
    Left { free: found.free, virtual_free: found.virtual_free, inodes: found.inodes }
}

/// A few thousand random operations at a time, as the model answers them; then everything is removed, and the pool has
/// to give as much as after the first of these rounds. Ten million operations with `ESKER_SOAK`.
#[test]
fn random_operations_leak_nothing() {
    const EACH: u64 = 2500;
    let rounds = if is_soak() { 10_000_000 / EACH } else { 12 };
    let (_folder, path) = new_mapped_pool(64 << 20);
    let mount = || Driven::mount(Mapped::open(&path).unwrap(), Mode::Metadata);
    let (mut driven, mut model, mut rng) = (mount(), Model::new(), Rng::new(1));
    let mut first = None;
    for round in 0..rounds {
        for number in 0..EACH {
            let operation = random(&mut rng, round * EACH + number, &model.paths());
            let (expected, found) = (model.apply(&operation), driven.apply(&operation));
            let found = found.map_err(|error| error.errno());
            assert_eq!(found, expected, "round {round}, {number}: {operation:?}");
        }
        compare(&driven.system, &model, &[&model]).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let left = empty(&mut driven, &mut model);
        assert_eq!(&left, first.get_or_insert(left.clone()), "round {round}");
        if round % 100 == 7 {
            let report = check(&driven.system.unmount().unwrap()).unwrap();
            assert!(report.is_sound(), "round {round}: {:?}", report.problems);
            driven = mount();
        }
    }
}

/// Mappings of this process. The system allows 65,530.
fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// Files of up to 40 KB, of which every two-hundredth is open, grows, and is read. 200,000 of them with `ESKER_SOAK`.
#[test]
#[expect(clippy::print_stdout, reason = "`make soak` shows what was found")]
fn open_files_stay_within_the_limit_on_mappings() {
    let count: u64 = if is_soak() { 200_000 } else { 20_000 };
    let (_folder, path) = new_mapped_pool(count * (48 << 10));
    let system = FileSystem::mount(Mapped::open(&path).unwrap(), Mode::Metadata).unwrap();
    let (caller, before) = (Caller::root(Moment(1)), mappings());
    let bytes: Vec<u8> = (0..40_000).map(|at| at as u8).collect();
    let length = |number: u64| (number * 7919 % 20_000) as usize + 1;
    let mut open = Vec::new();
    for number in 0..count {
        let name = format!("file-{number}");
        let made = system.make(&caller, ROOT, name.as_bytes(), &NewFile::new(Kind::File, 0o644)).unwrap();
        let handle = system.open(made.number).unwrap();
        assert_eq!(system.write(&caller, &handle, 0, &bytes[..length(number)]).unwrap(), length(number));
        if number % (count / 1000) == 0 { open.push((number, handle)) } else { system.close(handle).unwrap() }
    }
    assert_eq!(open.len(), 1000);
    let mut buffer = vec![0; bytes.len()];
    for (number, handle) in &open {
        let (first, all) = (length(*number), length(*number) * 2);
        assert_eq!(system.write(&caller, handle, first as u64, &bytes[first..all]).unwrap(), all - first);
        assert_eq!(system.read(&caller, handle, 0, &mut buffer).unwrap(), all);
        assert!(buffer[..all] == bytes[..all], "file {number}");
    }
    // Views cost a mapping for each piece of a file; what is not in one piece is read page by page instead.
    let more = mappings().saturating_sub(before);
    println!("{count} files, 1,000 of them open: {more} mappings");
    assert!(more < 20_000, "{more} mappings for 1,000 open files");
    open.into_iter().for_each(|(_, handle)| system.close(handle).unwrap());
    assert!(check(&system.unmount().unwrap()).unwrap().is_sound());
}
