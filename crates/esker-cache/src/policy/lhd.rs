//! LHD: evicts the object that promises the fewest hits for the room and time that it takes.

mod density;

use esker_core::Rng;
use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};

use self::density::{Class, class_of_ages};
#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementEntry, Shape};
#[cfg(test)]
use crate::reference::NaiveLhd;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "lhd",
    summary: "of objects drawn at random, the one leaves that promises the fewest hits per time it will stay",
    source: "Beckmann, Chen and Cidon 2018; all objects of one application and one size, ages scaled when it is built",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "draws",
            meaning: "objects that are drawn at each eviction",
            value: Accepted::Count { default: Fallback::Value(32), least: 1, most: 1_000_000 },
        },
        Parameter {
            name: "interval",
            meaning: "accesses after which the densities are computed anew",
            value: Accepted::Count {
                default: Fallback::Derived("as many as the cache has objects, from 1,024 to 1,048,576"),
                least: 1,
                most: 1 << 32,
            },
        },
    ]),
    capabilities: &[],
    build: |shape, parameters| {
        let interval = parameters.given_count("interval");
        let interval = interval.unwrap_or(u64::from(shape.capacity).clamp(1 << 10, 1 << 20));
        Box::new(Lhd::new(shape, parameters.count("draws"), interval))
    },
};

const NOWHERE: u32 = u32::MAX;

/// Ages above this many times the objects of the cache are not distinguished.
const AGE_MOST_PER_OBJECT: u32 = 100;

/// Number of ages that are distinguished. The authors use 20,000, which would take much memory compared with a small
/// cache.
const AGES: u32 = 5_000;

/// One object in this many becomes an explorer.
const EXPLORE: u64 = 32;

/// At most one in this many objects of the cache is an explorer.
const EXPLORERS: u32 = 100;

/// Number of suspects: the newest objects that looked bad when they entered. Each eviction considers them.
const SUSPECTS: usize = 8;

/// The density of objects whose ages are too old to be distinguished. All other densities are higher.
const TOO_OLD: f32 = -1.0;

/// Factor for old events each time densities are learned.
const DECAY: f32 = 0.9;

#[derive(Debug)]
struct Lhd {
    capacity: u32,
    draws: u64,
    interval: u64,
    /// Index of each object in `held`.
    places: Vec<u32>,
    /// In no order.
    held: Vec<Held>,
    /// Indexed by the ages at which an object was used.
    classes: Vec<Class>,
    ages: u32,
    /// The age of an object is the number of accesses since its last use, divided by two to the power of this.
    age_shift: u32,
    /// Number of accesses so far; wraps.
    now: u32,
    until_reconfiguration: u64,
    explorers: u32,
    suspects: [u32; SUSPECTS],
    next_suspect: usize,
    /// The density at which objects leave.
    victim_density: f32,
    rng: Rng,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    object: u32,
    used_at: u32,
    /// The age of the object at its last use, and at the use before.
    ages: [u16; 2],
    /// Whether it stays for a while, however little it promises, so that the cache learns about old objects.
    explorer: bool,
}

impl Lhd {
    fn new(shape: &Shape, draws: u64, interval: u64) -> Self {
        let ages = shape.capacity.saturating_mul(AGE_MOST_PER_OBJECT).min(AGES);
        let accesses_per_age = shape.capacity.div_ceil(AGES / AGE_MOST_PER_OBJECT);
        Self {
            capacity: shape.capacity,
            draws,
            interval,
            places: vec![NOWHERE; shape.objects as usize],
            held: Vec::with_capacity(shape.capacity.min(shape.objects) as usize),
            classes: (0..density::CLASSES).map(|class| Class::new(class, ages)).collect(),
            ages,
            age_shift: accesses_per_age.next_power_of_two().trailing_zeros(),
            now: 0,
            until_reconfiguration: interval,
            explorers: 0,
            suspects: [NOWHERE; SUSPECTS],
            next_suspect: 0,
            victim_density: 0.0,
            rng: Rng::derive(shape.seed, "lhd"),
        }
    }

    fn age(&self, held: &Held) -> u32 {
        (self.now.wrapping_sub(held.used_at) >> self.age_shift).min(self.ages - 1)
    }

    fn class(&self, held: &Held) -> usize {
        class_of_ages(u32::from(held.ages[0]) + u32::from(held.ages[1]), self.ages)
    }

    /// Returns how many hits an object promises per time.
    fn density(&self, held: &Held) -> f32 {
        let age = self.age(held);
        if age == self.ages - 1 {
            return TOO_OLD;
        }
        let density = self.classes[self.class(held)].density(age);
        // No density is above one.
        if held.explorer { density + 1.0 } else { density }
    }

    /// Records an access to the object at index `place`.
    fn touch(&mut self, place: usize, new: bool) {
        let explores = self.rng.below(EXPLORE) == 0;
        let explorer = explores && self.explorers < self.capacity / EXPLORERS;
        self.explorers += u32::from(explorer);
        let held = &mut self.held[place];
        (held.used_at, held.explorer) = (self.now, explorer);
        let held = *held;
        if new && !explores && self.density(&held) < self.victim_density {
            self.suspects[self.next_suspect] = held.object;
            self.next_suspect = (self.next_suspect + 1) % SUSPECTS;
        }
        self.now = self.now.wrapping_add(1);
        self.until_reconfiguration -= 1;
        if self.until_reconfiguration == 0 {
            self.until_reconfiguration = self.interval;
            self.classes.iter_mut().for_each(|class| class.learn(DECAY));
        }
    }

    /// Returns the index of the worst object among some random ones and the suspects.
    fn worst(&mut self) -> Option<usize> {
        if self.held.is_empty() {
            return None;
        }
        let mut worst = (f32::MAX, 0);
        for _ in 0..self.draws {
            let place = self.rng.below(self.held.len() as u64) as usize;
            let density = self.density(&self.held[place]);
            if density < worst.0 {
                worst = (density, place);
            }
        }
        for suspect in self.suspects.into_iter().filter(|suspect| *suspect != NOWHERE) {
            let place = self.places[suspect as usize];
            if place == NOWHERE {
                continue;
            }
            let density = self.density(&self.held[place as usize]);
            if density < worst.0 {
                worst = (density, place as usize);
            }
        }
        self.victim_density = DECAY * self.victim_density + (1.0 - DECAY) * worst.0;
        Some(worst.1)
    }

    fn take(&mut self, place: usize) -> Held {
        let held = self.held.swap_remove(place);
        self.places[held.object as usize] = NOWHERE;
        if let Some(moved) = self.held.get(place) {
            self.places[moved.object as usize] = place as u32;
        }
        self.explorers -= u32::from(held.explorer);
        held
    }
}

impl Replacement for Lhd {
    fn holds(&self, object: ObjectId) -> bool {
        self.places[object.index()] != NOWHERE
    }

    fn hit(&mut self, access: &Access) -> bool {
        let place = self.places[access.object.index()];
        if place == NOWHERE {
            return false;
        }
        let held = self.held[place as usize];
        let (age, class) = (self.age(&held), self.class(&held));
        self.classes[class].hit(age);
        self.explorers -= u32::from(held.explorer);
        self.held[place as usize].ages = [age as u16, held.ages[0]];
        self.touch(place as usize, false);
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        let place = self.held.len();
        self.places[access.object.index()] = place as u32;
        // As if it had not been used for a long time.
        let ages = [0, self.ages as u16];
        self.held.push(Held { object: access.object.0, used_at: self.now, ages, explorer: false });
        self.touch(place, true);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        let place = self.places[object.index()];
        if place != NOWHERE {
            self.take(place as usize);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let place = self.worst()?;
        let held = self.take(place);
        let (age, class) = (self.age(&held), self.class(&held));
        self.classes[class].eviction(age);
        Some(ObjectId(held.object))
    }

    fn len(&self) -> u32 {
        self.held.len() as u32
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    fn memory_bytes(&self) -> usize {
        let classes: usize = self.classes.iter().map(Class::memory_bytes).sum();
        self.places.capacity() * size_of::<u32>() + self.held.capacity() * size_of::<Held>() + classes
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveLhd::new(shape.capacity as usize, shape.seed)),
    // As found here; exponentials may differ in their last digit between machines.
    misses: [95_934, 91_390],
    tolerance: 340,
};
