//! LRFU: everything between least recently and least frequently used, by one parameter.
//!
//! Each use adds a worth of one, which halves after every 1/lambda accesses; the object worth least leaves. All worths
//! decay alike, so the order of objects changes only when they are used: they are kept in a heap, by the logarithm of
//! the worth that they would have had at the first access of all. An object that leaves is forgotten. Among equals the
//! least recently used one leaves first.
//!
//! The lambda of the paper suits one size of the cache. The parameter here is lambda times that size, so that one value
//! suits caches of any size; a cache whose capacity changes later keeps its lambda.

use esker_core::Ratio;
use esker_core::registry::{Accepted, Parameter, ParameterSource};

use super::{Replacement, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "lrfu",
    summary: "each use adds a worth of one, which decays; the object worth least leaves",
    source: "Lee et al., IEEE Transactions on Computers 2001; the default is assumed",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "decay",
        meaning: "how often a worth halves in as many accesses as the cache holds objects; 0 is least frequently used, \
                  as much as the cache holds is least recently used",
        value: Accepted::Share { default: Ratio::percent(5), least: Ratio::ZERO, most: Ratio::percent(1_000_000_000) },
    }]),
    capabilities: &[],
    build: |shape, parameters| Box::new(Lrfu::new(shape, parameters.share("decay"))),
};

#[derive(Debug)]
struct Lrfu {
    capacity: u32,
    /// A worth halves after 1/lambda accesses.
    lambda: f64,
    /// Accesses so far.
    now: u64,
    /// The object at a place is ordered before those at twice the place plus one and two.
    heap: Vec<Item>,
    /// The place of each object in the heap.
    places: Vec<u32>,
}

/// The place of an object that is not held.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Item {
    /// Logarithm (base 2) of what the worth at the last use would have been at the first access of all.
    order: f64,
    /// The worth at the last use (the paper's combined recency and frequency). Kept beside its logarithm, so that
    /// counts stay exact if nothing decays.
    worth: f64,
    last_use: u64,
    object: u32,
}

impl Item {
    #[inline]
    fn is_before(&self, other: &Self) -> bool {
        self.order < other.order || (self.order == other.order && self.last_use < other.last_use)
    }
}

impl Lrfu {
    fn new(shape: &Shape, decay: Ratio) -> Self {
        let lambda = decay.as_f64() / f64::from(shape.capacity);
        let heap = Vec::with_capacity(shape.capacity.min(shape.objects) as usize);
        let places = vec![NOWHERE; shape.objects as usize];
        Self { capacity: shape.capacity, lambda, now: 0, heap, places }
    }

    /// What an object is worth that is used now.
    #[inline]
    fn used(&self, object: u32, worth: f64) -> Item {
        Item { order: worth.log2() + self.lambda * self.now as f64, worth, last_use: self.now, object }
    }

    #[inline]
    fn put(&mut self, place: usize, item: Item) {
        self.places[item.object as usize] = place as u32;
        self.heap[place] = item;
    }

    /// Puts an item at `place`, whose own item may be lost, or further up.
    fn sift_up(&mut self, mut place: usize, item: Item) {
        while place > 0 {
            let above = self.heap[(place - 1) / 2];
            if !item.is_before(&above) {
                break;
            }
            self.put(place, above);
            place = (place - 1) / 2;
        }
        self.put(place, item);
    }

    /// Puts an item at `place`, whose own item may be lost, or further down.
    fn sift_down(&mut self, mut place: usize, item: Item) {
        loop {
            let mut below = 2 * place + 1;
            if below >= self.heap.len() {
                break;
            }
            if below + 1 < self.heap.len() && self.heap[below + 1].is_before(&self.heap[below]) {
                below += 1;
            }
            if !self.heap[below].is_before(&item) {
                break;
            }
            let next = self.heap[below];
            self.put(place, next);
            place = below;
        }
        self.put(place, item);
    }
}

impl Replacement for Lrfu {
    fn holds(&self, object: ObjectId) -> bool {
        self.places[object.index()] != NOWHERE
    }

    fn hit(&mut self, access: &Access) -> bool {
        let place = self.places[access.object.index()];
        if place == NOWHERE {
            return false;
        }
        self.now += 1;
        let Item { worth, last_use, .. } = self.heap[place as usize];
        let decayed = worth * (-self.lambda * (self.now - last_use) as f64).exp2();
        // It is worth more than before, compared with all others.
        self.sift_down(place as usize, self.used(access.object.0, 1.0 + decayed));
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        self.now += 1;
        let item = self.used(access.object.0, 1.0);
        self.heap.push(item);
        self.sift_up(self.heap.len() - 1, item);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        let place = std::mem::replace(&mut self.places[object.index()], NOWHERE) as usize;
        // `NOWHERE` lies behind every heap.
        if place < self.heap.len() {
            let last = self.heap.pop().expect("it holds the object");
            if place < self.heap.len() {
                if last.is_before(&self.heap[place]) {
                    self.sift_up(place, last);
                } else {
                    self.sift_down(place, last);
                }
            }
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let first = ObjectId(self.heap.first()?.object);
        self.remove(first);
        Some(first)
    }

    fn len(&self) -> u32 {
        self.heap.len() as u32
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    fn memory_bytes(&self) -> usize {
        self.heap.capacity() * size_of::<Item>() + self.places.capacity() * size_of::<u32>()
    }

    fn warm(&self, accesses: &[Access]) {
        let sum = accesses.iter().fold(0, |sum, access| sum ^ self.places[access.object.index()]);
        std::hint::black_box(sum);
    }
}
