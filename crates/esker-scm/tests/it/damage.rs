//! Damaged pools: every flipped bit of metadata is found and repaired, and nothing that is read makes a call panic.

use crate::compare::compare;
use crate::crash::Base;
use crate::operation::Operation::*;
use esker_core::Rng;
use esker_scm::{FileSystem, FsError, Geometry, Mode, MountError, PAGE, Recording, check, repair};

fn base() -> Base {
    Base::after(
        80,
        &[
            MakeDirectory("/A".into()),
            Create("/A/foo".into()),
            Write("/A/foo".into(), 0, 9000, 1),
            Link("/A/foo".into(), "/bar".into()),
            SetXattr("/bar".into(), "user.a".into(), 77),
            Symlink("/B".into(), "somewhere".into()),
            MakeDirectory("/A/a-name-of-more-than-forty-eight-bytes-which-takes-two-slots-or-three".into()),
        ],
    )
}

/// The pool with one bit flipped.
fn flipped(base: &Base, bit: u64) -> Recording {
    let pool = Recording::new(base.image.clone());
    pool.flip(bit);
    pool
}

#[test]
fn each_flipped_bit_of_metadata_is_found_and_repaired() {
    let base = base();
    let plan = Geometry::plan(80);
    let clean = check(&Recording::new(base.image.clone())).unwrap();
    assert!(clean.is_sound(), "{:?}", clean.problems);
    let mut rng = Rng::new(5);
    let (mut found, mut data) = (0, 0);
    // The log is empty, so that its bits say nothing; whatever else is not zero is tried, and some zeroes.
    let bytes = (0..2 * PAGE).chain(plan.table * PAGE..plan.pages * PAGE);
    for byte in bytes.filter(|&byte| base.image[byte as usize] != 0 && base.image[byte as usize] != 0xa5) {
        let bit = byte * 8 + rng.below(8);
        let pool = flipped(&base, bit);
        let is_found = !check(&pool).map(|report| report.is_sound()).unwrap_or(false);
        if !is_found {
            data += 1;
            continue;
        }
        found += 1;
        let report = repair(&pool).unwrap_or_else(|error| panic!("bit {bit}: {error}"));
        assert!(report.is_sound(), "bit {bit}: {:?}", report.problems);
        let once = pool.image();
        repair(&pool).unwrap();
        assert!(
            pool.image()[2 * PAGE as usize..] == once[2 * PAGE as usize..] || is_log_only(&plan, &once, &pool.image())
        );
        let system = FileSystem::mount(pool, Mode::Metadata).unwrap_or_else(|error| panic!("bit {bit}: {error}"));
        compare(&system, &base.model, &[&base.model]).unwrap_or_else(|error| panic!("bit {bit}: {error}"));
    }
    // What is not found are the 9,000 bytes of the file.
    assert!(found > 400 && data <= 9000, "{found} found, {data} not");
}

/// Whether two images differ in nothing but the log, whose sequence numbers go on.
fn is_log_only(plan: &Geometry, one: &[u8], other: &[u8]) -> bool {
    let table = (plan.table * PAGE) as usize;
    one[table..] == other[table..]
}

#[test]
fn whatever_is_damaged_no_call_panics() {
    let base = base();
    let plan = Geometry::plan(80);
    let mut rng = Rng::new(9);
    let mut refused = 0;
    for _ in 0..2000 {
        let pool = Recording::new(base.image.clone());
        for _ in 0..1 + rng.below(20) {
            let first = if rng.below(4) == 0 { 0 } else { plan.table * PAGE };
            pool.flip((first + rng.below(plan.pages * PAGE - first)) * 8 + rng.below(8));
        }
        let _ = check(&pool);
        match FileSystem::mount(pool, Mode::Metadata) {
            Ok(system) => {
                if let Err(error) = compare(&system, &base.model, &[&base.model]) {
                    assert!(!error.is_empty());
                }
                let pool = system.unmount().unwrap();
                let _ = repair(&pool);
            }
            Err(error) => {
                refused += 1;
                assert!(!matches!(error, MountError::File(FsError::Persist(_))), "{error}");
            }
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn what_is_no_pool_is_refused_with_a_reason() {
    let base = base();
    let mount = |image: Vec<u8>| FileSystem::mount(Recording::new(image), Mode::Metadata).map(drop).unwrap_err();
    assert_eq!(mount(vec![0; 1 << 20]), MountError::NoPool);
    assert_eq!(mount(vec![0; 4096]), MountError::NoPool);
    let short = base.image.len() - PAGE as usize;
    let expected = MountError::Truncated { expected: base.image.len() as u64, found: short as u64 };
    assert_eq!(mount(base.image[..short].to_vec()), expected);
    let mut second = base.image.clone();
    second[..PAGE as usize].fill(0);
    FileSystem::mount(Recording::new(second), Mode::Metadata).map(drop).unwrap();
}
