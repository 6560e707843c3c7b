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
