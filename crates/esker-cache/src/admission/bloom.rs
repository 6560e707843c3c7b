//! Objects that were seen before may enter. Bloom filters remember them.

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};
use esker_core::{Nanos, Ratio, mix64};

use super::recent::WINDOW;
use super::{Admission, AdmissionEntry, objects_of};
use crate::{Access, ObjectId, Shape};

pub(crate) const ENTRY: AdmissionEntry = AdmissionEntry {
    name: "bloom",
    summary: "an object enters if it missed before, as far as two Bloom filters that take turns remember",
    source: "Bloom 1970; filters in turn as in CacheLib, Berg et al. 2020",
    parameters: ParameterSource::Listed(&[
        WINDOW,
        // Assumed: less than one error in a hundred.
        Parameter {
            name: "bits",
            meaning: "bits of each filter for each object that it is to remember",
            value: Accepted::Count { default: Fallback::Value(10), least: 1, most: 64 },
        },
    ]),
    capabilities: &[],
    build: |shape, parameters| Box::new(Bloom::new(shape, parameters.share("window"), parameters.count("bits"))),
};

/// Remembers between one and two windows of objects. A filter cannot forget a single object. So an object that entered
/// and left enters again at its next miss, as long as it is remembered.
#[derive(Debug)]
struct Bloom {
    objects: u32,
    share: Ratio,
    bits_per_object: u64,
    salt: u64,
    window: u32,
    current: Filter,
    before: Filter,
    /// Number of objects that were added to the current filter.
    added: u32,
}

impl Bloom {
    fn new(shape: &Shape, share: Ratio, bits_per_object: u64) -> Self {
        // No more than all objects can be seen.
        let window = objects_of(share, shape.capacity).min(shape.objects.max(1));
        let filter = || Filter::new(u64::from(window) * bits_per_object, bits_per_object);
        Self {
            objects: shape.objects,
            share,
            bits_per_object,
            salt: mix64(shape.seed),
            window,
            current: filter(),
            before: filter(),
            added: 0,
        }
    }

    fn hash(&self, object: ObjectId) -> u64 {
        mix64(u64::from(object.0) ^ self.salt)
    }
}

impl Admission for Bloom {
    fn admits(&mut self, _now: Nanos, access: &Access) -> bool {
        let hash = self.hash(access.object);
        if self.current.contains(hash) || self.before.contains(hash) {
            return true;
        }
        self.current.add(hash);
        self.added += 1;
        if self.added == self.window {
            std::mem::swap(&mut self.current, &mut self.before);
            self.current.words.fill(0);
            self.added = 0;
        }
        false
    }

    /// A cache whose size changes begins with empty filters.
    fn set_capacity(&mut self, capacity: u32) {
        let window = objects_of(self.share, capacity).min(self.objects.max(1));
        if window != self.window {
            let salt = self.salt;
            let shape = Shape { capacity, objects: self.objects, seed: 0 };
            *self = Self { salt, ..Self::new(&shape, self.share, self.bits_per_object) };
        }
    }

    fn memory_bytes(&self) -> usize {
        (self.current.words.capacity() + self.before.words.capacity()) * size_of::<u64>()
    }
}

/// One Bloom filter.
#[derive(Debug)]
struct Filter {
    words: Vec<u64>,
    hashes: u64,
}

impl Filter {
    /// Creates a filter with the best number of hashes: the bits per object times the natural logarithm of two.
    fn new(bits: u64, bits_per_object: u64) -> Self {
        let hashes = (bits_per_object as f64 * std::f64::consts::LN_2).round().max(1.0) as u64;
        Self { words: vec![0; bits.div_ceil(64) as usize], hashes }
    }

    /// Returns the word and bit of each hash (Kirsch and Mitzenmacher 2006: all hashes from two).
    fn bits(&self, hash: u64) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (step, bits) = (mix64(hash) | 1, 64 * self.words.len() as u128);
        (0..self.hashes).map(move |number| {
            let scattered = mix64(hash.wrapping_add(step.wrapping_mul(number)));
            let bit = ((u128::from(scattered) * bits) >> 64) as u64;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    fn contains(&self, hash: u64) -> bool {
        self.bits(hash).all(|(word, bit)| self.words[word] & bit != 0)
    }

    fn add(&mut self, hash: u64) {
        for (word, bit) in self.bits(hash) {
            self.words[word] |= bit;
        }
    }
}

#[cfg(test)]
pub(super) const MODEL: super::tests::ModelEntry = super::tests::ModelEntry {
    policy: ENTRY.name,
    model: |shape| Box::new(super::tests::sets(shape.capacity.min(shape.objects) as usize)),
};
