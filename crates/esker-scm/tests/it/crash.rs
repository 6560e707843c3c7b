//! Losses of power: every state that they may leave, up to a bound, is recovered, checked and compared.

use crate::compare::compare;
use crate::drive::{Driven, new_pool};
use crate::model::Model;
use crate::operation::{Operation, random};
use esker_core::Rng;
use esker_scm::{CrashPoint, FileSystem, Mode, Recording, check};

/// How much is tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Most states of a crash point: all if there are fewer.
    pub(crate) states: usize,
    /// One of so many states is checked before and after it is recovered; what the check reads beyond what a mount and
    /// the comparison read are counts.
    pub(crate) check_every: usize,
    /// One of so many states loses power again while it is recovered.
    pub(crate) again_every: usize,
    /// Most states of such a second crash point.
    pub(crate) states_again: usize,
}

/// A pool before the operations that lose power: its bytes, and what it holds.
pub(crate) struct Base {
    pub(crate) image: Vec<u8>,
    pub(crate) model: Model,
}

impl Base {
    /// A pool after these operations, cleanly unmounted.
    pub(crate) fn after(pages: u64, operations: &[Operation]) -> Base {
        let mut model = Model::new();
        let mut driven = Driven::mount(Recording::new(new_pool(pages)), Mode::Data);
        for operation in operations {
            driven.apply(operation).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
            model.apply(operation).unwrap();
        }
        driven.release_all();
        model.release_all();
        Base { image: driven.system.unmount().unwrap().image(), model }
    }
}

/// What the pool may hold after a loss of power.
struct Allowed<'a> {
    /// The trees that it may have.
    trees: Vec<&'a Model>,
    /// The contents that bytes of files may have.
    versions: Vec<&'a Model>,
    mode: Mode,
}

impl Allowed<'_> {
    /// Checks `pool` if `is_checked`, mounts it, and compares.
    fn verify(&self, pool: Recording, is_checked: bool) -> Result<(), String> {
        let problems = |pool: &Recording| check(pool).map_err(|error| error.to_string()).map(|found| found.problems);
        let before = if is_checked { problems(&pool)? } else { Vec::new() };
        if !before.is_empty() {
            return Err(format!("before recovery: {before:?}"));
        }
        let system = FileSystem::mount(pool, self.mode).map_err(|error| error.to_string())?;
        let errors: Vec<String> =
            self.trees.iter().filter_map(|tree| compare(&system, tree, &self.versions).err()).collect();
        if errors.len() == self.trees.len() {
            return Err(errors.join("; or "));
        }
        let after = if is_checked { problems(system.persist())? } else { Vec::new() };
        if after.is_empty() { Ok(()) } else { Err(format!("after recovery: {after:?}")) }
    }

    /// Verifies the states of `point`; how many there were.
    fn verify_point(&self, point: &CrashPoint, bounds: Bounds, seed: u64) -> Result<usize, String> {
        let (mut visited, mut again, mut error) = (0, 0, None);
        point.states(bounds.states, seed, |state| {
            visited += 1;
            if error.is_some() {
                return;
            }
            error = self.verify(Recording::new(state.clone()), visited % bounds.check_every == 1).err();
            if visited % bounds.again_every == 0 && error.is_none() {
                match self.verify_again(state, bounds, seed) {
                    Ok(states) => again += states,
                    Err(found) => error = Some(format!("power lost while it recovers: {found}")),
                }
            }
        });
        error.map_or(Ok(visited + again), Err)
    }

    /// Loses power again while `state` is recovered.
    fn verify_again(&self, state: &[u8], bounds: Bounds, seed: u64) -> Result<usize, String> {
        let pool = Recording::new(state.to_vec());
        pool.record();
        let system = FileSystem::mount(pool, self.mode).map_err(|error| error.to_string())?;
        let mut visited = 0;
        for point in system.persist().take_points() {
            let mut error = None;
            visited += point.states(bounds.states_again, seed, |state| {
                if error.is_none() {
                    error = self.verify(Recording::new(state.clone()), true).err();
                }
            });
            error.map_or(Ok(()), Err)?;
        }
        Ok(visited)
    }
}

/// Makes the operations, and loses power at each fence and after each of them. How many states there were.
pub(crate) fn enumerate(
    base: &Base,
    operations: &[Operation],
    mode: Mode,
    bounds: Bounds,
    seed: u64,
) -> Result<usize, String> {
    let pool = Recording::new(base.image.clone());
    let mut driven = Driven::mount(pool, mode);
    driven.system.persist().record();
    let mut history = vec![base.model.clone()];
    let mut visited = 0;
    for (number, operation) in operations.iter().enumerate() {
        let before = history.last().expect("a model").clone();
        let mut after = before.clone();
        let expected = after.apply(operation);
        let found = driven.apply(operation).map_err(|error| error.errno());
        if found != expected {
            return Err(format!("{operation:?} gives {found:?}, expected {expected:?}"));
        }
        if expected.is_err() {
            after = before.clone();
        }
        history.push(after);
        let after = history.last().expect("a model");
        let place = |error| format!("{operation:?}: {error}");
        // Data that were overwritten are durable when the call returns only in mode data.
        let versions: Vec<&Model> = if mode == Mode::Data { vec![&before, after] } else { history.iter().collect() };
        let during = Allowed { trees: vec![&before, after], versions: versions.clone(), mode };
        for point in driven.system.persist().take_points() {
            visited += during.verify_point(&point, bounds, seed + number as u64).map_err(place)?;
        }
        let is_sync = matches!(operation, Operation::Sync(_) | Operation::SyncData(_)) && expected.is_ok();
        let versions = if mode == Mode::Data || is_sync { vec![after] } else { versions };
        let done = Allowed { trees: vec![after], versions, mode };
        let point = driven.system.persist().point_now();
        visited += done
            .verify_point(&point, bounds, seed + number as u64)
            .map_err(|error| format!("after {operation:?} had returned: {error}"))?;
        if is_sync {
            // One thread's fence makes all of its stores durable.
            history.drain(..history.len() - 1);
        }
    }
    Ok(visited)
}

/// Random operations of which some have to do with each other.
pub(crate) fn random_sequence(base: &Base, length: usize, seed: u64) -> Vec<Operation> {
    let mut rng = Rng::new(seed);
    let mut model = base.model.clone();
    let mut operations = Vec::new();
    while operations.len() < length {
        let operation = random(&mut rng, (seed << 20) + operations.len() as u64 + 1, &model.paths());
        let is_held = matches!(operation, Operation::Hold(..) | Operation::WriteHeld(..) | Operation::Release(_));
        if !is_held && model.apply(&operation).is_ok() {
            operations.push(operation);
        }
    }
    operations
}
