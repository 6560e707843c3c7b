//! What a sample of the objects can tell, for `esker mrc` and `esker cache`.

use esker_core::{Ratio, words};

use crate::failure::Failure;

/// A cache of fewer objects says nothing about one that is larger by 1/rate: each object is a tenth of it.
const OBJECTS_MIN: u64 = 10;

/// The size of a cache for a sample.
pub(super) fn scaled(size: u64, rate: Ratio) -> u64 {
    (size as f64 * rate.as_f64()).round() as u64
}

/// Whether a cache of `size` objects holds too few of a sample.
pub(super) fn is_too_small(size: u64, rate: Ratio) -> bool {
    scaled(size, rate) < OBJECTS_MIN
}

/// Refuses a cache of `size` objects that holds too few of a sample; `distinct` ones are accessed.
pub(super) fn check_sampled_size(size: u64, rate: Ratio, distinct: u64) -> Result<(), Failure> {
    if !is_too_small(size, rate) {
        return Ok(());
    }
    let least = (OBJECTS_MIN as f64 / rate.as_f64()).ceil() as u64;
    Err(Failure::input(format!(
        "a sample of {rate} has room for {} of {} objects: too few to tell, {OBJECTS_MIN} at least",
        scaled(size, rate),
        words::count(size),
    ))
    .with_hint(format!(
        "sample more, or ask for {} objects or more; {} distinct ones are accessed",
        words::count(least),
        words::count(distinct)
    )))
}

/// The failure of a sample in which there is nothing.
pub(super) fn empty_sample(rate: Ratio) -> Failure {
    Failure::input(format!("a sample of {rate} has no objects at all")).with_hint("sample more, or leave --sample out")
}
