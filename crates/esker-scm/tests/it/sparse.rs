//! Sparse files that outgrow their virtual space, and move to a larger one.

use crate::ace::states_of_bounded;
use crate::crash::Base;
use crate::operation::Operation::*;
use esker_scm::{Caller, FileSystem, Handle, Kind, Mode, Moment, NewFile, ROOT, Recording, check, mkfs};

const CALLER: Caller<'static> = Caller { user: 0, group: 0, groups: &[], now: Moment(1_000) };
const PAGE: u64 = 4096;
const RUN: u64 = 512;

/// A new pool of `pages`, most of which take no memory.
fn mount(pages: u64) -> FileSystem<Recording> {
    let pool = Recording::without_crashes(vec![0; (pages * PAGE) as usize]);
    mkfs(&pool, [7; 16], &CALLER).unwrap();
    FileSystem::mount(pool, Mode::Metadata).unwrap()
}

/// Makes a file with a byte in each of `regions` times 2 MiB.
fn make_sparse(system: &FileSystem<Recording>, regions: u64) -> Handle {
    let made = system.make(&CALLER, ROOT, b"sparse", &NewFile::new(Kind::File, 0o600)).unwrap();
    let file = system.open(made.number).unwrap();
    system.set_size(&CALLER, &file, regions * RUN * PAGE).unwrap();
    for region in 0..regions {
        assert_eq!(system.write(&CALLER, &file, region * RUN * PAGE + region, &[region as u8 | 1]), Ok(1));
    }
    file
}

/// Checks the bytes, and the pool.
fn end(system: FileSystem<Recording>, file: Handle, regions: u64) {
    for region in 0..regions {
        let mut bytes = [9; 3];
        let at = region * RUN * PAGE + region;
        assert_eq!(system.read(&CALLER, &file, at, &mut bytes), Ok(3), "region {region}");
        assert_eq!(bytes, [region as u8 | 1, 0, 0], "region {region}");
    }
    system.close(file).unwrap();
    let report = check(&system.unmount().unwrap()).unwrap();
    assert!(report.is_sound(), "{:?}", &report.problems[..report.problems.len().min(5)]);
}

/// More entries of the mapping table than the pool has runs of 2 MiB move at once.
#[test]
fn a_sparse_file_outgrows_its_virtual_space() {
    // The largest file that can still grow: a quarter of the virtual space.
    for (pages, regions) in [(65_536, 512), (131_072, 1024)] {
        let system = mount(pages);
        let file = make_sparse(&system, regions);
        let before = system.attributes(file.number()).unwrap();
        assert_eq!(before.reserved, regions * RUN * PAGE);
        system.set_size(&CALLER, &file, regions * RUN * PAGE + 1).unwrap();
        let after = system.attributes(file.number()).unwrap();
        assert_eq!((after.reserved, after.mapped), (2 * before.reserved, before.mapped));
        end(system, file, regions);
    }
}

/// A file of several regions moves, and power is lost at each fence.
#[test]
fn a_move_of_regions_survives_a_loss_of_power() {
    let page = 4096;
    let mut operations = vec![Create("/sparse".into())];
    operations.extend([0, 500, 600, 1023].map(|at| Write("/sparse".into(), at * page, 300, at)));
    let base = Base::after(300, &operations);
    let operations =
        [Write("/sparse".into(), 1300 * page, 9000, 5), Truncate("/sparse".into(), 1000), Clean { is_full: true }];
    states_of_bounded(&base, &operations, 10);
}
