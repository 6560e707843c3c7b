//! Full pools: every operation with every small number of free pages either happens or fails and changes nothing.

use crate::ace::{base, operations};
use crate::compare::compare;
use crate::drive::{Driven, find, new_pool};
use crate::model::Model;
use crate::operation::Operation::*;
use esker_scm::{Allocate, Caller, FileSystem, FsError, Handle, Kind, Mode, Moment, NewFile, ROOT, Recording, check};

const CALLER: Caller<'static> = Caller { user: 0, group: 0, groups: &[], now: Moment(1_000) };
const PAGE: u64 = 4096;
const RUN: u64 = 512;

/// Free pages that are left, of the pool's last ones.
const FREE: std::ops::Range<u64> = 0..12;

#[test]
fn operations_in_a_full_pool_happen_or_change_nothing() {
    let base = base();
    let (mut failed, mut done) = (0, 0);
    for free in FREE {
        for operation in operations() {
            let mut model = base.model.clone();
            let mut driven = Driven::mount(Recording::new(base.image.clone()), Mode::Metadata);
            let filler = Create("/filler".into());
            driven.apply(&filler).unwrap();
            model.apply(&filler).unwrap();
            let written = fill(&mut driven, free);
            model.apply(&Write("/filler".into(), 0, written, 0)).unwrap();
            let before = model.clone();
            let expected = model.apply(&operation);
            let place = format!("{free} pages, {operation:?}");
            match driven.apply(&operation) {
                Ok(()) => {
                    assert_eq!(expected, Ok(()), "{place}");
                    done += 1;
                }
                Err(FsError::NoSpace | FsError::NoVirtualSpace) => {
                    failed += 1;
                    model = before.clone();
                    // Data that cannot be written whole are written as far as they can.
                    if let Write(path, ..) | Append(path, ..) | Extend(path, ..) | ZeroRange(path, ..) = &operation {
                        let empty = Truncate(path.clone(), 0);
                        driven.apply(&empty).unwrap_or_else(|error| panic!("{place}: {error} when it is emptied"));
                        model.apply(&empty).unwrap();
                    }
                }
                Err(error) => assert_eq!(expected, Err(error.errno()), "{place}"),
            }
            compare_but_filler(&mut driven, &model).unwrap_or_else(|error| panic!("{place}: {error}"));
            driven.release_all();
            let pool = driven.system.unmount().unwrap();
            let report = check(&pool).unwrap();
            assert!(report.is_sound(), "{place}: {:?}", report.problems);
        }
    }
    assert!(failed > 10 && done > 100, "{failed} failed, {done} done");
}

/// Writes the filler until `free` pages are free, and no file keeps pages behind its end; the filler's bytes.
fn fill(driven: &mut Driven<Recording>, free: u64) -> u64 {
    let caller = Caller::root(Moment(5000));
    let number = find(&driven.system, "/filler").unwrap();
    let handle = driven.system.open(number).unwrap();
    let mut written = 0;
    loop {
        driven.apply(&Clean { is_full: true }).unwrap();
        let room = driven.system.statistics().unwrap().free.saturating_sub(4096 * free);
        if room == 0 {
            driven.system.close(handle).unwrap();
            return written;
        }
        written += driven.system.write(&caller, &handle, written, &vec![1; room as usize]).unwrap() as u64;
    }
}

/// Compares after the filler was emptied, whose bytes are not those of the model.
fn compare_but_filler(driven: &mut Driven<Recording>, model: &Model) -> Result<(), String> {
    let mut model = model.clone();
    let empty = Truncate("/filler".into(), 0);
    driven.apply(&empty).map_err(|error| error.to_string())?;
    model.apply(&empty).map_err(|error| error.to_string())?;
    compare(&driven.system, &model, &[&model])
}

fn make(system: &FileSystem<Recording>, name: &str) -> Handle {
    let made = system.make(&CALLER, ROOT, name.as_bytes(), &NewFile::new(Kind::File, 0o600)).unwrap();
    system.open(made.number).unwrap()
}

/// Appends pages of `byte` until the pool is full; how many.
fn append_all(system: &FileSystem<Recording>, handle: &Handle, byte: u8) -> u64 {
    let mut pages = 0;
    loop {
        match system.append(&CALLER, handle, &[byte; PAGE as usize]) {
            Ok((_, written)) => assert_eq!(written as u64, PAGE),
            Err(error) => {
                assert_eq!(error, FsError::NoSpace);
                return pages;
            }
        }
        pages += 1;
    }
}

/// Checks that `handle` has `pages` pages of `byte` from page `from` on.
fn assert_pages(system: &FileSystem<Recording>, handle: &Handle, (from, pages): (u64, u64), byte: u8) {
    let mut bytes = vec![0; (pages * PAGE) as usize];
    assert_eq!(system.read(&CALLER, handle, from * PAGE, &mut bytes), Ok(bytes.len()));
    let wrong = bytes.iter().position(|&found| found != byte);
    assert_eq!(wrong, None, "from page {from} on, of {pages} pages of {byte}");
}

/// Closes the files, and checks the pool, which has to mount.
fn end(system: FileSystem<Recording>, handles: impl IntoIterator<Item = Handle>) {
    handles.into_iter().for_each(|handle| system.close(handle).unwrap());
    let pool = system.unmount().unwrap();
    let report = check(&pool).unwrap();
    assert!(report.is_sound(), "{:?}", &report.problems[..report.problems.len().min(5)]);
    FileSystem::mount(pool, Mode::Metadata).unwrap().unmount().unwrap();
}

/// A run of which a file needs the first pages only is freed although no page is left for its leaf.
#[test]
fn a_full_pool_gives_what_lies_behind_an_end() {
    for runs in 1..=3 {
        let system = FileSystem::mount(Recording::without_crashes(new_pool(4096)), Mode::Metadata).unwrap();
        let (cut, other) = (make(&system, "cut"), make(&system, "other"));
        system.write(&CALLER, &cut, 0, &vec![7; (runs * RUN * PAGE) as usize]).unwrap();
        let before = append_all(&system, &other, 8);
        system.set_size(&CALLER, &cut, 100 * PAGE).unwrap();
        let after = append_all(&system, &other, 8);
        // A leaf for each run of the other file that begins here, and one for the run that was cut.
        let leaves = 2 + after.div_ceil(RUN);
        assert!(after + leaves >= runs * RUN - 100, "{runs} runs: {after} pages came free");
        assert_pages(&system, &other, (0, before + after), 8);
        assert_pages(&system, &cut, (0, 100), 7);
        system.set_size(&CALLER, &other, 0).unwrap();
        // What was behind the end is not seen again.
        system.set_size(&CALLER, &cut, runs * RUN * PAGE).unwrap();
        assert_pages(&system, &cut, (100, runs * RUN - 100), 0);
        system.write(&CALLER, &cut, 100 * PAGE, &vec![9; (400 * PAGE) as usize]).unwrap();
        assert_pages(&system, &cut, (100, 400), 9);
        end(system, [cut, other]);
    }
}

/// A hole that ends a run in its middle, and has others behind it.
#[test]
fn a_hole_is_punched_in_a_full_pool() {
    let system = FileSystem::mount(Recording::without_crashes(new_pool(4096)), Mode::Metadata).unwrap();
    let (holed, other) = (make(&system, "holed"), make(&system, "other"));
    system.write(&CALLER, &holed, 0, &vec![7; (3 * RUN * PAGE) as usize]).unwrap();
    append_all(&system, &other, 8);
    system.allocate(&CALLER, &holed, 100 * PAGE, (3 * RUN - 100) * PAGE, Allocate::PunchHole).unwrap();
    assert_pages(&system, &holed, (0, 100), 7);
    assert_pages(&system, &holed, (100, 3 * RUN - 100), 0);
    assert!(append_all(&system, &other, 8) >= 2 * RUN);
    end(system, [holed, other]);
}
