//! Who may do what, where it depends on more than the permission bits.

use crate::drive::new_pool;
use esker_scm::{Caller, Changes, FileSystem, FsError, Kind, Mode, Moment, NewFile, ROOT, Recording, SetTime};

fn caller(user: u32) -> Caller<'static> {
    Caller { user, group: user, groups: &[], now: Moment(7) }
}

/// A pool whose root anybody may change.
fn open_pool() -> FileSystem<Recording> {
    let system = FileSystem::mount(Recording::new(new_pool(100)), Mode::Metadata).unwrap();
    let changes = Changes { permissions: Some(0o777), ..Changes::default() };
    system.set_attributes(&caller(0), ROOT, &changes).unwrap();
    system
}

fn permissions(system: &FileSystem<Recording>, number: u64) -> u16 {
    system.attributes(number).unwrap().permissions
}

#[test]
fn a_write_by_somebody_else_takes_set_user_id_away() {
    let system = open_pool();
    let number = system.make(&caller(0), ROOT, b"f", &NewFile::new(Kind::File, 0o777)).unwrap().number;
    let handle = system.open(number).unwrap();
    system.write(&caller(0), &handle, 0, &[1; 5000]).unwrap();
    // Set while it is open, with pages that are mapped: the write is one in place otherwise.
    let changes = Changes { permissions: Some(0o6777), ..Changes::default() };
    system.set_attributes(&caller(0), number, &changes).unwrap();
    system.write(&caller(0), &handle, 0, &[2; 100]).unwrap();
    assert_eq!(permissions(&system, number), 0o6777);
    system.write(&caller(5), &handle, 0, &[3; 100]).unwrap();
    assert_eq!(permissions(&system, number), 0o777);
    system.close(handle).unwrap();
}

#[test]
fn directories_have_no_data() {
    let system = open_pool();
    let number = system.make(&caller(0), ROOT, b"d", &NewFile::new(Kind::Directory, 0o777)).unwrap().number;
    let handle = system.open(number).unwrap();
    assert_eq!(system.write(&caller(0), &handle, 0, &[1]), Err(FsError::IsDirectory));
    assert_eq!(system.read(&caller(0), &handle, 0, &mut [1]), Err(FsError::IsDirectory));
    assert_eq!(system.set_size(&caller(0), &handle, 5).map(drop), Err(FsError::IsDirectory));
    system.close(handle).unwrap();
}

#[test]
fn in_a_sticky_directory_only_owners_take_names_away() {
    let system = open_pool();
    let directory = system.make(&caller(1), ROOT, b"d", &NewFile::new(Kind::Directory, 0o1777)).unwrap().number;
    system.make(&caller(2), directory, b"f", &NewFile::new(Kind::File, 0o666)).unwrap();
    assert_eq!(system.unlink(&caller(3), directory, b"f"), Err(FsError::NotPermitted));
    system.unlink(&caller(2), directory, b"f").unwrap();
    system.make(&caller(2), directory, b"f", &NewFile::new(Kind::File, 0o666)).unwrap();
    system.unlink(&caller(1), directory, b"f").unwrap();
}

#[test]
fn owners_and_writers_set_times_and_only_owners_other_ones_than_now() {
    let system = open_pool();
    let number = system.make(&caller(1), ROOT, b"f", &NewFile::new(Kind::File, 0o622)).unwrap().number;
    let now = Changes { modified: Some(SetTime::Now), ..Changes::default() };
    let then = Changes { modified: Some(SetTime::At(Moment(-3_000_000_000))), ..Changes::default() };
    system.set_attributes(&caller(2), number, &now).unwrap();
    assert_eq!(system.set_attributes(&caller(2), number, &then), Err(FsError::NotPermitted));
    let set = system.set_attributes(&caller(1), number, &then).unwrap();
    assert_eq!(set.modified, Moment(-3_000_000_000), "before 1970");
}

#[test]
fn new_files_in_a_set_group_id_directory_have_its_group() {
    let system = open_pool();
    let directory = system.make(&caller(1), ROOT, b"d", &NewFile::new(Kind::Directory, 0o2777)).unwrap().number;
    let file = system.make(&caller(2), directory, b"f", &NewFile::new(Kind::File, 0o2755)).unwrap();
    assert_eq!((file.group, file.permissions), (1, 0o755), "not in the group: without set-group-id");
    let below = system.make(&caller(2), directory, b"d", &NewFile::new(Kind::Directory, 0o755)).unwrap();
    assert_eq!((below.group, below.permissions), (1, 0o2755));
}
