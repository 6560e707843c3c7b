//! Virtual space in fragments: there is room for a file as long as no other file needs it.

use crate::drive::new_pool;
use esker_scm::{Caller, FileSystem, FsError, FsResult, Kind, Mode, Moment, NewFile, ROOT, Recording, check};

const CALLER: Caller<'static> = Caller { user: 0, group: 0, groups: &[], now: Moment(1) };

/// Makes a file of `pages` whose last page has a byte, and gives its inode.
fn make(system: &FileSystem<Recording>, name: &str, pages: u64) -> FsResult<u64> {
    let number = system.make(&CALLER, ROOT, name.as_bytes(), &NewFile::new(Kind::File, 0o644))?.number;
    let handle = system.open(number)?;
    let written = system.write(&CALLER, &handle, pages * 4096 - 1, name.as_bytes().get(..1).unwrap_or(b"x"));
    system.close(handle)?;
    written.map(|_| number)
}

#[test]
fn files_make_room_for_a_large_one() {
    let system = FileSystem::mount(Recording::new(new_pool(128)), Mode::Metadata).unwrap();
    // Small sparse files until the virtual space has no room for one of 1 MiB, then every other one goes.
    let mut names = Vec::new();
    let full = loop {
        let name = format!("{}", names.len());
        match make(&system, &name, 64) {
            Ok(_) => names.push(name),
            Err(error) => break error,
        }
    };
    assert_eq!(full, FsError::NoVirtualSpace);
    for name in names.iter().step_by(2) {
        system.unlink(&CALLER, ROOT, name.as_bytes()).unwrap();
    }
    let free = system.statistics().unwrap().virtual_free / 4096;
    make(&system, "large", 256).unwrap_or_else(|error| panic!("with {free} virtual pages free: {error}"));
    for name in names.iter().skip(1).step_by(2) {
        let number = system.lookup(&CALLER, ROOT, name.as_bytes()).unwrap().number;
        let handle = system.open(number).unwrap();
        let mut bytes = [0; 2];
        assert_eq!(system.read(&CALLER, &handle, 64 * 4096 - 2, &mut bytes), Ok(2));
        assert_eq!(bytes, [0, name.as_bytes()[0]], "file {name}");
        system.close(handle).unwrap();
    }
    let report = check(&system.unmount().unwrap()).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}

#[test]
fn a_file_larger_than_the_virtual_space_is_refused() {
    let system = FileSystem::mount(Recording::new(new_pool(128)), Mode::Metadata).unwrap();
    assert_eq!(make(&system, "large", 1 << 20), Err(FsError::FileTooLarge));
    make(&system, "small", 1).unwrap();
}

/// What an unlinked file leaves is a null file. A new file of its size gets its space, not first all scraps that are
/// free elsewhere: each 2 MiB of a file are one piece, aligned so that one mapping of the processor covers them.
#[test]
fn files_get_the_space_of_those_unlinked_before_scraps() {
    const RUN: u64 = 512;
    // At its beginning and its end the pool has scraps, more than 2 MiB together.
    let system = FileSystem::mount(Recording::new(new_pool(8192 + 480)), Mode::Metadata).unwrap();
    let bytes = vec![7; (RUN * 4096) as usize];
    let piece = &bytes[..16 * 4096];
    for round in 0..6 {
        let number = system.make(&CALLER, ROOT, b"file", &NewFile::new(Kind::File, 0o644)).unwrap().number;
        let handle = system.open(number).unwrap();
        system.write(&CALLER, &handle, 0, &bytes).unwrap();
        for at in (RUN * 4096..10 * RUN * 4096).step_by(piece.len()) {
            system.write(&CALLER, &handle, at, piece).unwrap();
        }
        let stretches = system.stretches(&handle, 0, 10 * RUN).unwrap();
        let whole: u64 = (0..10)
            .filter(|run| {
                let lies_in = |stretch: &&esker_scm::Stretch| {
                    stretch.page <= run * RUN && (run + 1) * RUN <= stretch.page + stretch.pages
                };
                let found = stretches.iter().find(lies_in);
                found.is_some_and(|stretch| (stretch.physical + run * RUN - stretch.page).is_multiple_of(RUN))
            })
            .count() as u64;
        assert_eq!(whole, 10, "round {round}: {stretches:?}");
        system.close(handle).unwrap();
        system.unlink(&CALLER, ROOT, b"file").unwrap();
    }
    let report = check(&system.unmount().unwrap()).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}
