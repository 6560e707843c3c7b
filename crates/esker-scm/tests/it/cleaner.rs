//! The cleaner comes to its end.

use crate::drive::new_pool;
use esker_scm::{Caller, CleanerSettings, FileSystem, Kind, Mode, Moment, NewFile, ROOT, Recording, check};

const CALLER: Caller<'static> = Caller { user: 0, group: 0, groups: &[], now: Moment(1) };

/// The cleaner has nothing more to do after a bounded number of steps, however many inodes are left without a name:
/// none, some, or all.
#[test]
fn it_has_nothing_more_to_do_at_some_time() {
    for files in [0, 1, 100, 127, 500, 1000] {
        let system = FileSystem::mount(Recording::new(new_pool(2000)), Mode::Metadata).unwrap();
        for file in 0..files {
            let new = NewFile::new(Kind::File, 0o644);
            system.make(&CALLER, ROOT, format!("{file}").as_bytes(), &new).unwrap();
        }
        let mut steps = 0;
        while !system.is_clean().unwrap() {
            system.clean(&CleanerSettings::default(), Moment(2)).unwrap();
            steps += 1;
            assert!(steps < 200, "{files} files: still at it after {steps} steps");
        }
        assert!(system.statistics().unwrap().null_file_count >= 64, "{files} files: null files are made ahead");
        let report = check(&system.unmount().unwrap()).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
    }
}
