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

/// What is mapped needs no new page to be zero. Where holes in the range cannot get any, no byte changes.
#[test]
fn a_range_within_a_run_becomes_zeroes_in_a_full_pool() {
    for what in [Allocate::ZeroRange, Allocate::ZeroRangeKeepSize, Allocate::PunchHole] {
        let system = FileSystem::mount(Recording::without_crashes(new_pool(4096)), Mode::Metadata).unwrap();
        let (file, other) = (make(&system, "file"), make(&system, "other"));
        system.write(&CALLER, &file, 0, &vec![7; (2 * RUN * PAGE) as usize]).unwrap();
        system.set_size(&CALLER, &file, 4 * RUN * PAGE).unwrap();
        append_all(&system, &other, 8);
        system.allocate(&CALLER, &file, 100 * PAGE, 600 * PAGE, what).unwrap();
        assert_pages(&system, &file, (0, 100), 7);
        assert_pages(&system, &file, (100, 600), 0);
        assert_pages(&system, &file, (700, 2 * RUN - 700), 7);
        let holes = system.allocate(&CALLER, &file, 10 * PAGE, 4 * RUN * PAGE - 10 * PAGE, what);
        match what {
            Allocate::PunchHole => assert_eq!(holes, Ok(())),
            _ => {
                assert_eq!(holes, Err(FsError::NoSpace));
                assert_pages(&system, &file, (0, 100), 7);
                assert_pages(&system, &file, (700, 2 * RUN - 700), 7);
            }
        }
        end(system, [file, other]);
    }
}

/// More attributes than a file may have are no reason to take what others keep behind their ends.
#[test]
fn attributes_beyond_their_limit_leave_the_space_of_others() {
    let system = FileSystem::mount(Recording::without_crashes(new_pool(2048)), Mode::Metadata).unwrap();
    let (kept, file) = (make(&system, "kept"), make(&system, "file"));
    system.write(&CALLER, &kept, 0, &vec![7; 1 << 20]).unwrap();
    system.set_size(&CALLER, &kept, 0).unwrap();
    let set = |name: u8, length| {
        let name = [b"user.".as_slice(), &[b'a' + name]].concat();
        system.set_xattr(&CALLER, file.number(), (&name, &vec![1; length]), esker_scm::SetXattr::Set)
    };
    (0..15).for_each(|name| set(name, 65_536).unwrap());
    // Each takes eleven bytes beside its value, and all of them eight.
    let rest = 65_536 - 16 * 11 - 8;
    assert_eq!(set(15, rest + 1), Err(FsError::AttributesFull));
    assert_eq!(FsError::AttributesFull.errno(), FsError::NoSpace.errno());
    set(15, rest).unwrap();
    assert_eq!(system.xattr(file.number(), b"user.p").unwrap().len(), rest);
    assert_eq!(system.attributes(kept.number()).unwrap().mapped, 1 << 20);
    end(system, [kept, file]);
}

/// More than the pages that are zeroed when a file grows over what it kept.
const LARGE: u64 = 1 << 20;

/// What a program has asked for is its own, whichever way its file grows over it, and whoever wants room meanwhile.
#[test]
fn what_was_allocated_can_be_written_in_a_full_pool() {
    use Allocate::{Extend, KeepSize, ZeroRange, ZeroRangeKeepSize};
    type Grow = fn(&FileSystem<Recording>, &Handle) -> u64;
    let stay: Grow = |_, _| LARGE;
    let truncate: Grow = |system, handle| system.set_size(&CALLER, handle, LARGE).unwrap().size;
    let write: Grow = |system, handle| LARGE - 1 + system.write(&CALLER, handle, LARGE - 1, &[7]).unwrap() as u64;
    for (what, grow) in [
        (Extend, stay),
        (ZeroRange, stay),
        (KeepSize, stay),
        (KeepSize, truncate),
        (KeepSize, write),
        (ZeroRangeKeepSize, truncate),
    ] {
        for (start, grows_late) in [(0, false), (0, true), (5000, false)] {
            let place = format!("{what:?}, {start} bytes before, later: {grows_late}");
            let system = FileSystem::mount(Recording::without_crashes(new_pool(4096)), Mode::Metadata).unwrap();
            let (file, filler) = (make(&system, "file"), make(&system, "filler"));
            system.write(&CALLER, &file, 0, &vec![7; start as usize]).unwrap();
            system.allocate(&CALLER, &file, start, LARGE - start, what).unwrap();
            assert_eq!(system.attributes(file.number()).unwrap().mapped, LARGE, "{place}");
            if !grows_late {
                assert_eq!(grow(&system, &file), LARGE, "{place}");
            }
            append_all(&system, &filler, 8);
            if grows_late {
                assert_eq!(grow(&system, &file), LARGE, "{place}");
            }
            assert_eq!(system.attributes(file.number()).unwrap().mapped, LARGE, "{place}");
            let written = system.write(&CALLER, &file, 0, &vec![9; LARGE as usize]);
            assert_eq!(written, Ok(LARGE as usize), "{place}");
            assert_pages(&system, &file, (0, LARGE / PAGE), 9);
            end(system, [file, filler]);
        }
    }
}

/// What lies behind an end is of a dead file, or was asked for: nobody reads anything but zeroes there.
#[test]
fn what_is_allocated_over_dead_bytes_is_zero() {
    for what in [Allocate::Extend, Allocate::ZeroRange, Allocate::KeepSize, Allocate::ZeroRangeKeepSize] {
        let system = FileSystem::mount(Recording::without_crashes(new_pool(4096)), Mode::Metadata).unwrap();
        let file = make(&system, "file");
        system.write(&CALLER, &file, 0, &vec![7; LARGE as usize]).unwrap();
        system.set_size(&CALLER, &file, PAGE).unwrap();
        system.allocate(&CALLER, &file, LARGE / 2, LARGE, what).unwrap();
        system.set_size(&CALLER, &file, 2 * LARGE).unwrap();
        assert_pages(&system, &file, (0, 1), 7);
        assert_pages(&system, &file, (1, 2 * LARGE / PAGE - 1), 0);
        end(system, [file]);
    }
}

/// As on other file systems, whoever truncates a file, be it to the size that it has, gives up what was asked for.
#[test]
fn who_truncates_a_file_gives_back_what_it_asked_for() {
    let system = FileSystem::mount(Recording::without_crashes(new_pool(4096)), Mode::Metadata).unwrap();
    let (file, filler) = (make(&system, "file"), make(&system, "filler"));
    system.write(&CALLER, &file, 0, &[7; PAGE as usize]).unwrap();
    system.allocate(&CALLER, &file, 0, LARGE, Allocate::KeepSize).unwrap();
    append_all(&system, &filler, 8);
    assert_eq!(system.attributes(file.number()).unwrap().mapped, LARGE);
    system.set_size(&CALLER, &file, PAGE).unwrap();
    assert!(append_all(&system, &filler, 8) > LARGE / PAGE - 4);
    assert_eq!(system.attributes(file.number()).unwrap().mapped, PAGE);
    end(system, [file, filler]);
}

/// Files that grow get pages for later as long as an eighth of the pool is free, but not instead of those that a write
/// needs. Small pools have fewer than a file may want.
#[test]
fn pages_for_later_are_no_reason_to_fail() {
    let system = FileSystem::mount(Recording::without_crashes(new_pool(1400)), Mode::Metadata).unwrap();
    let (file, filler) = (make(&system, "file"), make(&system, "filler"));
    let eighth = 1400 / 8;
    system.write(&CALLER, &file, 0, &vec![7; (600 * PAGE) as usize]).unwrap();
    let free = system.statistics().unwrap().free / PAGE;
    let taken = free - eighth - 20;
    system.allocate(&CALLER, &filler, 0, taken * PAGE, Allocate::Extend).unwrap();
    let mapped = system.attributes(file.number()).unwrap().mapped / PAGE;
    system.set_size(&CALLER, &file, mapped * PAGE).unwrap();
    // It would get as many more as it has, or as its run has room for.
    assert_eq!(system.append(&CALLER, &file, &[7; PAGE as usize]), Ok((mapped * PAGE, PAGE as usize)));
    end(system, [file, filler]);
}

/// Takes the pool's last pages until `pages` are free.
fn leave_free(system: &FileSystem<Recording>, handle: &Handle, pages: u64) {
    append_all(system, handle, 8);
    if pages == 0 {
        return;
    }
    let size = system.attributes(handle.number()).unwrap().size;
    system.allocate(&CALLER, handle, size - pages * PAGE, pages * PAGE, Allocate::PunchHole).unwrap();
    // Pages that were freed are free after one more transaction.
    for _ in 0..2 {
        let changes = esker_scm::Changes { accessed: Some(esker_scm::SetTime::Now), ..Default::default() };
        system.set_attributes(&CALLER, handle.number(), &changes).unwrap();
    }
    assert_eq!(system.statistics().unwrap().free, pages * PAGE);
}

#[test]
fn a_write_of_which_a_part_fits_says_how_much() {
    let system = FileSystem::mount(Recording::without_crashes(new_pool(4096)), Mode::Metadata).unwrap();
    let (file, filler) = (make(&system, "file"), make(&system, "filler"));
    let page = |number: u64| {
        let mut bytes = [0; PAGE as usize];
        system.read(&CALLER, &file, number * PAGE, &mut bytes).map(|read| (read, bytes[0], bytes[4095]))
    };
    let two = |byte| vec![byte; 2 * PAGE as usize];
    system.write(&CALLER, &file, 100 * PAGE, &[1; PAGE as usize]).unwrap();
    system.write(&CALLER, &file, 511 * PAGE, &[1; PAGE as usize]).unwrap();
    leave_free(&system, &filler, 0);
    // A hole behind what is mapped.
    assert_eq!(system.write(&CALLER, &file, 100 * PAGE, &two(2)), Ok(PAGE as usize));
    assert_eq!(page(100), Ok((4096, 2, 2)));
    assert_eq!(page(101), Ok((4096, 0, 0)));
    // One before it: nothing fits, and nothing is overwritten.
    assert_eq!(system.write(&CALLER, &file, 99 * PAGE, &two(3)), Err(FsError::NoSpace));
    assert_eq!(page(100), Ok((4096, 2, 2)));
    assert_eq!(page(99), Ok((4096, 0, 0)));
    // Within a page, and over the border of a run at the end of the file.
    assert_eq!(system.write(&CALLER, &file, 100 * PAGE + 9, &two(4)), Ok(PAGE as usize - 9));
    assert_eq!(page(100), Ok((4096, 2, 4)));
    assert_eq!(system.write(&CALLER, &file, 511 * PAGE, &two(5)), Ok(PAGE as usize));
    assert_eq!((page(511), page(512).unwrap().0), (Ok((4096, 5, 5)), 0));
    assert_eq!(system.append(&CALLER, &file, &[6]), Err(FsError::NoSpace));
    end(system, [file, filler]);
}

#[test]
fn a_write_into_the_last_pages_is_short() {
    for free in [1, 2, 3, 127, 128, 202] {
        let system = FileSystem::mount(Recording::without_crashes(new_pool(4096)), Mode::Metadata).unwrap();
        let (file, filler) = (make(&system, "file"), make(&system, "filler"));
        leave_free(&system, &filler, free);
        let written = system.write(&CALLER, &file, 0, &vec![7; 1 << 20]);
        // The file needs a leaf of the mapping table, unless one is there.
        match written {
            Ok(written) => {
                assert!(written as u64 >= (free - 1) * PAGE, "{free} free, {written} written");
                assert!((written as u64).is_multiple_of(PAGE));
                assert_pages(&system, &file, (0, written as u64 / PAGE), 7);
                assert_eq!(system.attributes(file.number()).unwrap().size, written as u64);
            }
            Err(error) => assert_eq!((free, error), (1, FsError::NoSpace)),
        }
        assert_eq!(system.append(&CALLER, &file, &[7]), Err(FsError::NoSpace), "{free} free");
        assert_eq!(system.statistics().unwrap().free, 0);
        end(system, [file, filler]);
    }
}
