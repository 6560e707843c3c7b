//! Many threads on one pool: nothing is lost, nobody waits for ever, and the pool is sound.

use crate::drive::new_pool;
use esker_core::Rng;
use esker_scm::{
    Caller, CleanerSettings, FileSystem, FsError, Kind, Mode, Moment, NewFile, ROOT, Recording, RenameFlags, check,
};
use std::sync::atomic::{AtomicBool, Ordering};

const THREADS: u64 = 4;

/// Operations of one thread in its own directory and in a shared one.
fn work(system: &FileSystem<Recording>, thread: u64, shared: u64) {
    let mut rng = Rng::new(thread);
    let caller = Caller::root(Moment(thread as i64));
    let own = format!("own-{thread}");
    let own = system.make(&caller, ROOT, own.as_bytes(), &NewFile::new(Kind::Directory, 0o755)).unwrap().number;
    let mut buffer = vec![0; 20_000];
    for number in 0..600_u64 {
        let directory = if rng.below(2) == 0 { own } else { shared };
        let name = format!("f{}", rng.below(12));
        let other = format!("f{}", rng.below(12));
        let result = match rng.below(6) {
            0 => system.make(&caller, directory, name.as_bytes(), &NewFile::new(Kind::File, 0o644)).map(drop),
            1 => system.unlink(&caller, directory, name.as_bytes()),
            2 => {
                let (from, to) = ((directory, name.as_bytes()), (own, other.as_bytes()));
                system.rename(&caller, from, to, RenameFlags::Replace)
            }
            _ => system.lookup(&caller, directory, name.as_bytes()).and_then(|found| {
                let handle = system.open(found.number)?;
                let length = 1 + rng.below(9000);
                // All bytes of a write are the same: a read sees some of one or some of another.
                let bytes = vec![1 + (number % 255) as u8; length as usize];
                let written = system.write(&caller, &handle, rng.below(9000), &bytes).map(drop);
                let read = system.read(&caller, &handle, 0, &mut buffer).map(drop);
                system.close(handle)?;
                written.and(read)
            }),
        };
        let is_expected = matches!(
            result,
            Ok(())
                | Err(FsError::NotFound
                    | FsError::Exists
                    | FsError::NoSpace
                    | FsError::NoVirtualSpace
                    | FsError::Stale)
        );
        assert!(is_expected, "{result:?}");
    }
}

#[test]
fn threads_share_a_pool_that_is_nearly_full() {
    for pages in [100, 400, 4000] {
        let system = FileSystem::mount(Recording::new(new_pool(pages)), Mode::Metadata).unwrap();
        let caller = Caller::root(Moment(1));
        let shared = system.make(&caller, ROOT, b"shared", &NewFile::new(Kind::Directory, 0o755)).unwrap().number;
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let cleaner = scope.spawn(|| {
                let settings = CleanerSettings { free_percent: 30, null_files_max: 2, ..CleanerSettings::default() };
                while !is_done.load(Ordering::Relaxed) {
                    match system.clean(&settings, Moment(9)) {
                        Ok(_) | Err(FsError::NoSpace) => std::thread::yield_now(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            let workers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    scope.spawn({
                        let system = &system;
                        move || work(system, thread, shared)
                    })
                })
                .collect();
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            is_done.store(true, Ordering::Relaxed);
            cleaner.join().unwrap();
        });
        assert_eq!(system.statistics().unwrap().open, 0);
        let report = check(&system.unmount().unwrap()).unwrap();
        assert!(report.is_sound(), "{pages} pages: {:?}", report.problems);
    }
}
