//! Old pools that are cleaned: what files have stays, and each file comes to lie in one piece.

use super::super::{FileSystem, NewFile, ROOT, mkfs};
use super::*;
use crate::check::check;
use crate::log::Mode;
use crate::moment::Moment;
use crate::persist::Recording;
use crate::system::{Caller, Cleaned, CleanerSettings, Handle};
use esker_core::Rng;

fn caller() -> Caller<'static> {
    Caller::root(Moment(1))
}

/// Files of an old pool: name, inode, and a number that its bytes begin with in each page.
type Files = Vec<(u64, u64, u64)>;

/// Makes a file of `pages`, page by page, if there is room.
fn make(system: &FileSystem<Recording>, name: u64, pages: u64) -> u64 {
    let new = NewFile::new(Kind::File, 0o644);
    let number = system.make(&caller(), ROOT, format!("{name}").as_bytes(), &new).unwrap().number;
    let handle = system.open(number).unwrap();
    let mut page = [7; PAGE as usize];
    for at in 0..pages {
        page[..8].copy_from_slice(&(name << 20 | at).to_le_bytes());
        system.write(&caller(), &handle, at * PAGE, &page).unwrap();
    }
    system.close(handle).unwrap();
    number
}

/// Fills a pool to 85 % with files of up to `pages_max` pages, and replaces them at random.
fn age(system: &FileSystem<Recording>, rng: &mut Rng, pages_max: u64) -> Files {
    let room = system.statistics().unwrap().capacity / PAGE * 85 / 100;
    let (mut files, mut live, mut written, mut name): (Files, u64, u64, u64) = (Vec::new(), 0, 0, 0);
    while written < 4 * room {
        let most = if rng.below(4) == 0 { pages_max } else { pages_max / 16 + 1 };
        let pages = 1 + rng.below(most);
        while live + pages > room {
            let (name, _, pages) = files.swap_remove(rng.below(files.len() as u64) as usize);
            system.unlink(&caller(), ROOT, format!("{name}").as_bytes()).unwrap();
            live -= pages;
        }
        name += 1;
        files.push((name, make(system, name, pages), pages));
        (live, written) = (live + pages, written + pages);
    }
    files
}

fn verify(system: &FileSystem<Recording>, files: &Files) {
    for &(name, number, pages) in files {
        let handle = system.open(number).unwrap();
        let mut page = [0; PAGE as usize];
        for at in 0..pages {
            system.read(&caller(), &handle, at * PAGE, &mut page).unwrap();
            assert_eq!(page[..8], (name << 20 | at).to_le_bytes(), "page {at} of file {name}");
            assert!(page[8..].iter().all(|&byte| byte == 7));
        }
        system.close(handle).unwrap();
    }
}

/// Pages of scattered parts.
fn scattered(system: &FileSystem<Recording>, files: &Files) -> u64 {
    let pages_of = |number| {
        system.look(|work| {
            let inode = work.inode(number)?;
            let extents = work.extents(&inode)?;
            Ok(extents.scattered_parts(inode.size.div_ceil(PAGE)).map(|(_, pages)| pages).sum::<u64>())
        })
    };
    files.iter().map(|&(_, number, _)| pages_of(number).unwrap()).sum()
}

/// Lets the cleaner work until it has nothing to do; pages that evacuations copied.
fn clean(system: &FileSystem<Recording>) -> u64 {
    let (mut copied, mut steps) = (0, 0);
    while !system.is_clean().unwrap() {
        steps += 1;
        assert!(steps < 100_000, "the cleaner comes to an end");
        if let Some(Cleaned::Evacuated(pages)) = system.clean(&CleanerSettings::default(), Moment(i64::MAX)).unwrap() {
            copied += pages;
        }
        let free = system.look(|work| Ok(work.state.physical.free_pages())).unwrap();
        assert!(free * PAGE <= system.statistics().unwrap().free, "pages that are held back count as free");
    }
    copied
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes longer than twenty minutes")]
fn files_of_an_old_pool_come_to_lie_in_one_piece() {
    let mut evacuated = 0;
    for (seed, pages, pages_max) in [(1, 2000, 40), (2, 5000, 120), (3, 8000, 60), (4, 6000, 100), (5, 900, 12)] {
        let pool = Recording::without_crashes(vec![0; (pages * PAGE) as usize]);
        mkfs(&pool, [seed as u8; 16], &caller()).unwrap();
        let system = FileSystem::mount(pool, Mode::Metadata).unwrap();
        let files = age(&system, &mut Rng::new(seed), pages_max);
        // Some stay open, and one of them is being used.
        let open: Vec<Handle> = files.iter().step_by(5).map(|file| system.open(file.1).unwrap()).collect();
        let (before, free) = (scattered(&system, &files), system.statistics().unwrap().free);
        let busy = open[0].node.data.read().unwrap();
        let mut copied = clean(&system);
        drop(busy);
        system.state.lock().unwrap().cleaner.begin_again();
        copied += clean(&system);
        let after = scattered(&system, &files);
        // With few pages free there is no room for the largest blocks, and the largest parts stay as they are.
        let most = before / 3;
        assert!(after <= most, "seed {seed}: {after} of {before} pages are scattered still");
        let bound = 4 * before + ATTEMPTS * ORDERS as u64 * (pages / HELD_PART).max(RUN);
        assert!(copied <= bound, "{copied} pages were copied for {before} scattered ones");
        verify(&system, &files);
        open.into_iter().for_each(|handle| system.close(handle).unwrap());
        assert_eq!(system.look(|work| Ok(work.state.physical.is_held(work.state.plan.data))), Ok(false));
        // Files were moved to other leaves, and what they kept behind their ends is free now.
        assert!(system.statistics().unwrap().free + 8 * PAGE >= free, "nothing is lost");
        let pool = system.unmount().unwrap();
        let report = check(&pool).unwrap();
        assert!(report.is_sound(), "seed {seed}: {:?}", report.problems);
        verify(&FileSystem::mount(pool, Mode::Metadata).unwrap(), &files);
        evacuated += copied;
    }
    assert!(evacuated > 1000, "{evacuated} pages moved");
}

/// A call that finds no free page gets those that are held back.
#[test]
#[cfg_attr(miri, ignore = "Miri takes longer than twenty minutes")]
fn pages_that_are_held_back_are_given_when_the_pool_is_full() {
    let pool = Recording::without_crashes(vec![0; 2000 * PAGE as usize]);
    mkfs(&pool, [1; 16], &caller()).unwrap();
    let system = FileSystem::mount(pool, Mode::Metadata).unwrap();
    let files = age(&system, &mut Rng::new(9), 40);
    let is_under_way = || system.look(|work| Ok(work.state.cleaner.evacuations.is_under_way())).unwrap();
    while !is_under_way() {
        system.clean(&CleanerSettings::default(), Moment(i64::MAX)).unwrap();
    }
    let free = system.statistics().unwrap().free / PAGE;
    make(&system, 1 << 30, free - 8);
    assert!(!is_under_way());
    verify(&system, &files);
    assert!(check(&system.unmount().unwrap()).unwrap().is_sound());
}
