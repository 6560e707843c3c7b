//! Random operations on a pool and on the model.

use crate::compare::compare;
use crate::drive::{Driven, new_pool};
use crate::model::Model;
use crate::operation::{Operation, random};
use esker_core::Rng;
use esker_scm::{FsError, Mode, Recording};

/// Both answer alike, and have the same tree, also after the pool was mounted again, cleanly and after a kill.
fn same_as_model(seed: u64, pages: u64, operations: u64, mode: Mode) {
    let mut rng = Rng::new(seed);
    let mut model = Model::new();
    let mut driven = Driven::mount(Recording::new(new_pool(pages)), mode);
    let mut done = 0;
    for number in 0..operations {
        let operation = random(&mut rng, seed << 20 | number, &model.paths());
        let place = format!("seed {seed}, {number}: {operation:?}");
        let mut after = model.clone();
        let expected = after.apply(&operation);
        match driven.apply(&operation) {
            Ok(()) => {
                assert_eq!(expected, Ok(()), "{place} must fail");
                model = after;
                done += 1;
            }
            Err(FsError::NoSpace | FsError::NoVirtualSpace) => {
                assert!(pages < 1000, "{place} in a large pool");
                match &operation {
                    // Some of it may have been written, or zeroed.
                    Operation::Write(path, ..) | Operation::Append(path, ..) | Operation::ZeroRange(path, ..) => {
                        let empty = Operation::Truncate(path.clone(), 0);
                        driven.apply(&empty).unwrap_or_else(|error| panic!("{place}: {error} when it is emptied"));
                        model.apply(&empty).unwrap();
                    }
                    Operation::WriteHeld(..) => return,
                    _ => {}
                }
            }
            Err(error) => assert_eq!(expected, Err(error.errno()), "{place} gives {error}"),
        }
        let fails = |error| panic!("{place}: {error}");
        if number % 50 == 49 {
            compare(&driven.system, &model, &[&model]).unwrap_or_else(fails);
        }
        if number % 200 == 199 {
            let image = if number % 400 == 199 {
                driven.system.persist().image()
            } else {
                driven.release_all();
                driven.system.unmount().unwrap().image()
            };
            model.release_all();
            driven = Driven::mount(Recording::new(image), mode);
            compare(&driven.system, &model, &[&model]).unwrap_or_else(fails);
        }
    }
    assert!(done > operations / 8, "{done} of {operations} succeeded");
}

#[test]
fn the_file_system_is_the_model() {
    // Miri takes its time.
    let (seeds, pages, operations) = if cfg!(miri) { (3, 100, 60) } else { (12, 2000, 1200) };
    for seed in 0..seeds {
        same_as_model(seed, pages, operations, [Mode::None, Mode::Metadata, Mode::Data][seed as usize % 3]);
    }
}

#[test]
fn a_small_pool_that_fills_up_stays_sound() {
    for seed in 100..112 {
        same_as_model(seed, 96, 2000, Mode::Metadata);
    }
}
