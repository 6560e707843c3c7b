//! What callers that are not the administrator may do, and what that takes away.

use crate::drive::new_pool;
use esker_scm::{
    Caller, Changes, FileSystem, FsError, Handle, Kind, Mode, Moment, NewFile, ROOT, Recording, SetTime, SetXattr,
};

const ADMINISTRATOR: Caller<'static> = Caller { user: 0, group: 0, groups: &[], now: Moment(5) };
const STRANGER: Caller<'static> = Caller { user: 1000, group: 1000, groups: &[], now: Moment(6) };

fn system(pages: u64) -> FileSystem<Recording> {
    FileSystem::mount(Recording::new(new_pool(pages)), Mode::Metadata).unwrap()
}

fn open_file(system: &FileSystem<Recording>, name: &[u8], permissions: u16) -> Handle {
    let made = system.make(&ADMINISTRATOR, ROOT, name, &NewFile::new(Kind::File, permissions)).unwrap();
    system.open(made.number).unwrap()
}

fn permissions(system: &FileSystem<Recording>, handle: &Handle) -> u16 {
    system.attributes(handle.number()).unwrap().permissions
}

#[test]
fn a_write_by_a_stranger_takes_set_user_id_away_also_if_it_came_after_the_file_was_opened() {
    let system = system(256);
    let handle = open_file(&system, b"a", 0o777);
    system.write(&ADMINISTRATOR, &handle, 0, &[1; 100]).unwrap();
    let changes = Changes { permissions: Some(0o6777), ..Changes::default() };
    for _ in 0..2 {
        system.set_attributes(&ADMINISTRATOR, handle.number(), &changes).unwrap();
        system.write(&ADMINISTRATOR, &handle, 0, &[2; 100]).unwrap();
        assert_eq!(permissions(&system, &handle), 0o6777);
        system.write(&STRANGER, &handle, 0, &[3; 100]).unwrap();
        assert_eq!(permissions(&system, &handle), 0o777);
    }
    system.close(handle).unwrap();
}

#[test]
fn a_change_of_owner_takes_set_user_id_away_whoever_makes_it() {
    let system = system(256);
    let handle = open_file(&system, b"a", 0o6755);
    let changes = Changes { user: Some(1000), ..Changes::default() };
    system.set_attributes(&ADMINISTRATOR, handle.number(), &changes).unwrap();
    assert_eq!(permissions(&system, &handle), 0o755);
    system.close(handle).unwrap();
}

#[test]
fn who_may_write_a_file_may_change_the_attributes_of_users() {
    let system = system(256);
    let handle = open_file(&system, b"a", 0o666);
    let directory = system.make(&ADMINISTRATOR, ROOT, b"d", &NewFile::new(Kind::Directory, 0o1777)).unwrap();
    let set = |number, name: &[u8]| system.set_xattr(&STRANGER, number, (name, b"1"), SetXattr::Set);
    assert_eq!(set(handle.number(), b"user.a"), Ok(()));
    assert_eq!(set(handle.number(), b"trusted.a"), Err(FsError::NotPermitted));
    assert_eq!(set(handle.number(), b"security.a"), Err(FsError::NotPermitted));
    assert_eq!(set(directory.number, b"user.a"), Err(FsError::NotPermitted));
    let changes = Changes { permissions: Some(0o644), ..Changes::default() };
    system.set_attributes(&ADMINISTRATOR, handle.number(), &changes).unwrap();
    assert_eq!(set(handle.number(), b"user.b"), Err(FsError::Access));
    system.close(handle).unwrap();
}

#[test]
fn virtual_space_of_deleted_files_can_be_had_again() {
    let system = system(256);
    // A quarter of virtual space each; one with a page, one without.
    let size = 256 * 4 * 4096;
    for round in 0..10 {
        let handle = open_file(&system, b"large", 0o644);
        system.set_size(&ADMINISTRATOR, &handle, size).unwrap();
        if round % 2 == 0 {
            system.write(&ADMINISTRATOR, &handle, size - 10, &[1; 10]).unwrap();
        }
        system.close(handle).unwrap();
        system.unlink(&ADMINISTRATOR, ROOT, b"large").unwrap();
    }
    let handle = open_file(&system, b"larger", 0o644);
    let error = system.set_size(&ADMINISTRATOR, &handle, 1 << 40).unwrap_err();
    assert_eq!(error, FsError::FileTooLarge);
    system.close(handle).unwrap();
}

fn caller(user: u32) -> Caller<'static> {
    Caller { user, group: user, groups: &[], now: Moment(7) }
}

/// A pool whose root anybody may change.
fn open_pool() -> FileSystem<Recording> {
    let system = system(100);
    let changes = Changes { permissions: Some(0o777), ..Changes::default() };
    system.set_attributes(&ADMINISTRATOR, ROOT, &changes).unwrap();
    system
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

/// The time of the last write, which memory alone knows, outlives a change of attributes that is refused.
#[test]
fn a_refused_change_leaves_the_time_of_the_last_write() {
    let system = FileSystem::mount(Recording::new(new_pool(256)), Mode::Metadata).unwrap();
    let caller = |user, now| Caller { user, group: user, groups: &[], now: Moment(now) };
    let made = system.make(&caller(0, 1000), ROOT, b"file", &NewFile::new(Kind::File, 0o600)).unwrap();
    let file = system.open(made.number).unwrap();
    system.write(&caller(0, 1000), &file, 0, &[7; 4096]).unwrap();
    system.write(&caller(0, 5000), &file, 0, &[8; 4096]).unwrap();
    let modified = || system.attributes(made.number).unwrap().modified;
    assert_eq!(modified(), Moment(5000));
    let changes = Changes { permissions: Some(0o777), ..Changes::default() };
    assert_eq!(system.set_attributes(&caller(9, 6000), made.number, &changes), Err(FsError::NotPermitted));
    assert_eq!(modified(), Moment(5000));
    system.set_attributes(&caller(0, 7000), made.number, &changes).unwrap();
    assert_eq!(modified(), Moment(5000));
    let changes = Changes { modified: Some(SetTime::At(Moment(3000))), ..Changes::default() };
    system.set_attributes(&caller(0, 8000), made.number, &changes).unwrap();
    assert_eq!(modified(), Moment(3000));
    system.close(file).unwrap();
    assert_eq!(modified(), Moment(3000));
}
