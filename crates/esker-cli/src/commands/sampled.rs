//! What a sample of the objects can tell, for `esker mrc` and `esker cache`.

use esker_core::{Bytes, Ratio, words};

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

/// A sample for caches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampled {
    pub(super) rate: Ratio,
    /// Where caches and objects have bytes.
    pub(super) bytes: Option<ObjectBytes>,
}

/// How large objects with sizes of their own are, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectBytes {
    pub(super) mean: f64,
    pub(super) largest: u64,
}

impl Sampled {
    /// Whether a cache of `size` holds too little of the sample.
    pub(super) fn is_too_small(self, size: u64) -> bool {
        match self.bytes {
            None => is_too_small(size, self.rate),
            Some(bytes) => size < bytes.least(self.rate),
        }
    }

    /// Refuses a cache of `size` that holds too little of the sample; `distinct` objects are accessed.
    pub(super) fn check(self, size: u64, distinct: u64) -> Result<(), Failure> {
        let Self { rate, bytes } = self;
        let Some(bytes) = bytes else { return check_sampled_size(size, rate, distinct) };
        if !self.is_too_small(size) {
            return Ok(());
        }
        let named = |bytes: u64| words::bytes(bytes as f64);
        let ObjectBytes { mean, largest } = bytes;
        Err(Failure::input(format!(
            "a sample of {rate} has room for {} of {}: too little to tell, as {OBJECTS_MIN} objects take {} and the \
             largest one {}",
            named(scaled(size, rate)),
            named(size),
            words::bytes(OBJECTS_MIN as f64 * mean),
            named(largest),
        ))
        .with_hint(format!("sample more, or ask for {} or more", Bytes(bytes.least(rate)))))
    }
}

impl ObjectBytes {
    /// The smallest cache whose part in a sample has room for as many objects as tell something, and for the largest
    /// one. Where all objects are there, one may be larger than the cache.
    fn least(self, rate: Ratio) -> u64 {
        let largest = if rate < Ratio::ONE { self.largest as f64 } else { 0.0 };
        ((OBJECTS_MIN as f64 * self.mean).max(largest) / rate.as_f64()).ceil() as u64
    }
}

/// The failure of a sample in which there is nothing.
pub(super) fn empty_sample(rate: Ratio) -> Failure {
    Failure::input(format!("a sample of {rate} has no objects at all")).with_hint("sample more, or leave --sample out")
}
