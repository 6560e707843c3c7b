//! Full pools: every operation with every small number of free pages either happens or fails and changes nothing.

use crate::ace::{base, operations};
use crate::compare::compare;
use crate::drive::{Driven, find};
use crate::model::Model;
use crate::operation::Operation::*;
use esker_scm::{Caller, FsError, Mode, Moment, Recording, check};

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
