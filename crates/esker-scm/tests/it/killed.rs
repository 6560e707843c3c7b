//! A mount takes what it finds in a pool for durable: it is, whoever stored it, and however that process has ended.

use crate::drive::new_pool;
use esker_scm::{Caller, FileSystem, Handle, Kind, Mode, Moment, NewFile, ROOT, Recording, check};

const CALLER: Caller<'static> = Caller { user: 0, group: 0, groups: &[], now: Moment(1_000) };
/// Bytes that are overwritten, and stay in memory until an fsync.
const OLD: [u8; 64] = [1; 64];
const NEW: [u8; 64] = [2; 64];

fn mount(pool: Recording, mode: Mode) -> FileSystem<Recording> {
    FileSystem::mount(pool, mode).unwrap()
}

fn make(system: &FileSystem<Recording>, name: &str) -> Handle {
    let made = system.make(&CALLER, ROOT, name.as_bytes(), &NewFile::new(Kind::File, 0o600)).unwrap();
    system.open(made.number).unwrap()
}

/// Checks that after a loss of power at this moment, whatever it leaves, these files have [`NEW`] in them.
fn assert_durable(pool: &Recording, names: &[&str]) {
    let visited = pool.point_now().states(500, 1, |state| {
        let pool = Recording::new(state.clone());
        let report = check(&pool).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
        let system = mount(pool, Mode::Metadata);
        for name in names {
            let found = system.lookup(&CALLER, ROOT, name.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let handle = system.open(found.number).unwrap();
            let mut bytes = [0; 64];
            assert_eq!(system.read(&CALLER, &handle, 0, &mut bytes), Ok(64), "{name}");
            assert_eq!(bytes, NEW, "{name}");
            system.close(handle).unwrap();
        }
    });
    assert!(visited > 0);
}

#[test]
fn bytes_that_a_killed_process_has_overwritten_are_durable_after_an_fsync_of_the_next() {
    for mode in [Mode::None, Mode::Metadata, Mode::Data] {
        let killed = mount(Recording::new(new_pool(256)), mode);
        let handle = make(&killed, "file");
        killed.write(&CALLER, &handle, 0, &OLD).unwrap();
        killed.sync(&handle).unwrap();
        killed.write(&CALLER, &handle, 0, &NEW).unwrap();
        let next = mount(killed.persist().reopen(), Mode::Metadata);
        let handle = next.open(handle.number()).unwrap();
        let mut bytes = [0; 64];
        next.read(&CALLER, &handle, 0, &mut bytes).unwrap();
        assert_eq!(bytes, NEW, "{mode:?}");
        next.sync(&handle).unwrap();
        assert_durable(next.persist(), &["file"]);
    }
}

#[test]
fn what_was_stored_without_write_backs_is_durable_when_others_build_on_it() {
    for is_killed in [false, true] {
        let volatile = mount(Recording::new(new_pool(256)), Mode::None);
        let handle = make(&volatile, "first");
        volatile.write(&CALLER, &handle, 0, &NEW).unwrap();
        let pool = if is_killed {
            volatile.persist().reopen()
        } else {
            volatile.close(handle).unwrap();
            let pool = volatile.unmount().unwrap();
            assert_durable(&pool, &["first"]);
            pool
        };
        let next = mount(pool, Mode::Metadata);
        assert_durable(next.persist(), &["first"]);
        let second = make(&next, "second");
        next.write(&CALLER, &second, 0, &NEW).unwrap();
        assert_durable(next.persist(), &["first", "second"]);
    }
}
