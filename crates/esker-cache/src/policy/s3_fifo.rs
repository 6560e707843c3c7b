//! S3-FIFO: a small queue on probation, a main queue with a second chance, and a queue of ghosts.

use std::collections::VecDeque;

use esker_core::Ratio;
use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource, Parameters};

#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
#[cfg(test)]
use crate::reference::NaiveS3Fifo;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "s3-fifo",
    summary: "a small queue on probation before a main queue with a second chance; ghosts return to the main one",
    source: "Yang, Zhang, Qiu, Yue and Rashmi 2023",
    parameters: ParameterSource::Listed(&[
        SMALL,
        GHOSTS,
        Parameter {
            name: "threshold",
            meaning: "uses on probation that earn a place in the main queue",
            value: Accepted::Count { default: Fallback::Value(2), least: 1, most: 3 },
        },
    ]),
    capabilities: &[ReplacementCapability::Compared],
    build: |shape, parameters| {
        let threshold = parameters.count("threshold") as u8;
        Box::new(S3Fifo::new(shape, parameters, Uses { most: 3, threshold, correlated: Ratio::ZERO }))
    },
};

/// The variant for block I/O, where an object is often used several times at once and then never again.
pub(crate) const ONE_BIT: ReplacementEntry = ReplacementEntry {
    name: "s3-fifo-1bit",
    summary: "S3-FIFO for block I/O: one bit instead of a counter, and what is used again at once counts as one use",
    source: "Clock2Q+ as in libCacheSim 2025, but a new cache fills as that of S3-FIFO does",
    parameters: ParameterSource::Listed(&[
        SMALL,
        GHOSTS,
        Parameter {
            name: "correlated",
            meaning: "share of the small queue, from its new end on, in which a use does not count",
            value: Accepted::Share { default: Ratio::percent(50), least: Ratio::ZERO, most: Ratio::ONE },
        },
    ]),
    capabilities: &[],
    build: |shape, parameters| {
        let correlated = parameters.share("correlated");
        Box::new(S3Fifo::new(shape, parameters, Uses { most: 1, threshold: 1, correlated }))
    },
};

const SMALL: Parameter = Parameter {
    name: "small",
    meaning: "share of the cache that is the small queue, at least one object",
    value: Accepted::Share { default: Ratio::percent(10), least: Ratio::ZERO, most: Ratio::ONE },
};

const GHOSTS: Parameter = Parameter {
    name: "ghosts",
    meaning: "how many objects are remembered that left the small queue, as a share of the cache",
    value: Accepted::Share { default: Ratio::percent(90), least: Ratio::ZERO, most: Ratio::percent(1000) },
};

/// How uses are counted.
#[derive(Clone, Copy, Debug)]
struct Uses {
    /// The largest value of a counter.
    most: u8,
    /// Number of uses on probation that earn a place in the main queue.
    threshold: u8,
    /// Share of the small queue, counted from its newest object, in which uses do not count.
    correlated: Ratio,
}

/// Three queues. No object is in two of them.
#[derive(Debug)]
struct S3Fifo {
    uses: Uses,
    small_share: Ratio,
    ghost_share: Ratio,
    sizes: Sizes,
    objects: Vec<Entry>,
    small: Queue,
    main: Queue,
    ghosts: Queue,
}

/// Sizes in objects.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    cache: u32,
    small: u32,
    ghosts: u32,
    /// A use counts only if at least this many objects have entered the small queue after the object.
    window: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// The number of the object's slot in its queue.
    slot: u32,
    place: Place,
    uses: u8,
}

/// The queue that contains an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    None,
    Small,
    Main,
    Ghosts,
}

/// A queue whose slots lie side by side; a linked list would look for each next object all over memory. An object that
/// leaves before its turn leaves its slot behind: a slot counts only if its object refers to it.
#[derive(Debug)]
struct Queue {
    place: Place,
    slots: VecDeque<u32>,
    /// The number of the first slot; numbers wrap.
    first: u32,
    length: u32,
}

impl Queue {
    /// Creates an empty queue with room for `slots` slots.
    fn new(place: Place, slots: u32) -> Self {
        Self { place, slots: VecDeque::with_capacity(slots as usize), first: 0, length: 0 }
    }

    /// Returns the number of the slot that is added next.
    #[inline]
    fn next_slot(&self) -> u32 {
        self.first.wrapping_add(self.slots.len() as u32)
    }

    #[inline]
    fn push(&mut self, objects: &mut [Entry], object: u32, uses: u8) {
        if self.slots.len() == self.slots.capacity() {
            self.make_room(objects);
        }
        objects[object as usize] = Entry { slot: self.next_slot(), place: self.place, uses };
        self.slots.push_back(object);
        self.length += 1;
    }

    /// Removes the oldest object.
    #[inline]
    fn pop(&mut self, objects: &mut [Entry]) -> Option<u32> {
        loop {
            let object = self.slots.pop_front()?;
            let slot = self.first;
            self.first = slot.wrapping_add(1);
            if objects[object as usize].is_at(self.place, slot) {
                self.remove(objects, object);
                return Some(object);
            }
        }
    }

    /// Removes an object that is in this queue.
    #[inline]
    fn remove(&mut self, objects: &mut [Entry], object: u32) {
        objects[object as usize].place = Place::None;
        self.length -= 1;
    }

    /// Drops the slots that were left behind, if there are many; otherwise, more slots are added at the next push.
    fn make_room(&mut self, objects: &mut [Entry]) {
        if 3 * self.length as usize > 2 * self.slots.len() + 24 {
            return;
        }
        let (place, mut slot, mut kept) = (self.place, self.first, self.first);
        self.slots.retain(|object| {
            let entry = &mut objects[*object as usize];
            let here = entry.is_at(place, slot);
            slot = slot.wrapping_add(1);
            if here {
                entry.slot = kept;
                kept = kept.wrapping_add(1);
            }
            here
        });
    }
}

impl Entry {
    #[inline]
    fn is_at(&self, place: Place, slot: u32) -> bool {
        self.place == place && self.slot == slot
    }
}

impl S3Fifo {
    fn new(shape: &Shape, parameters: Parameters<'_>, uses: Uses) -> Self {
        let (small_share, ghost_share) = (parameters.share("small"), parameters.share("ghosts"));
        let sizes = Sizes::of(shape.capacity, small_share, ghost_share, uses.correlated);
        let (held, ghosts) = (shape.capacity.min(shape.objects), sizes.ghosts.min(shape.objects));
        Self {
            uses,
            small_share,
            ghost_share,
            sizes,
            objects: vec![Entry::default(); shape.objects as usize],
            small: Queue::new(Place::Small, held),
            main: Queue::new(Place::Main, held),
            // Ghosts often leave before their turn.
            ghosts: Queue::new(Place::Ghosts, ghosts.saturating_add(ghosts / 2)),
        }
    }

    /// Takes objects from the small queue until one of them has not earned a place in the main queue. That one leaves.
    fn evict_small(&mut self) -> Option<u32> {
        while let Some(oldest) = self.small.pop(&mut self.objects) {
            if self.objects[oldest as usize].uses >= self.uses.threshold {
                self.main.push(&mut self.objects, oldest, 0);
            } else {
                self.ghosts.push(&mut self.objects, oldest, 0);
                self.forget_ghosts();
                return Some(oldest);
            }
        }
        None
    }

    /// Lets objects of the main queue go round until one of them has no uses left. That one leaves.
    fn evict_main(&mut self) -> Option<u32> {
        loop {
            let oldest = self.main.pop(&mut self.objects)?;
            match self.objects[oldest as usize].uses {
                0 => return Some(oldest),
                uses => self.main.push(&mut self.objects, oldest, uses - 1),
            }
        }
    }

    fn forget_ghosts(&mut self) {
        while self.ghosts.length > self.sizes.ghosts {
            self.ghosts.pop(&mut self.objects);
        }
    }
}

impl Sizes {
    fn of(cache: u32, small: Ratio, ghosts: Ratio, correlated: Ratio) -> Self {
        let small = small.of(u64::from(cache)).max(1);
        let ghosts = ghosts.of(u64::from(cache)).min(u64::from(u32::MAX)) as u32;
        Self { cache, small: small as u32, ghosts, window: correlated.of(small) as u32 }
    }
}

impl Replacement for S3Fifo {
    fn holds(&self, object: ObjectId) -> bool {
        matches!(self.objects[object.index()].place, Place::Small | Place::Main)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let entry = &mut self.objects[access.object.index()];
        let counts = match entry.place {
            Place::None | Place::Ghosts => return false,
            Place::Small => self.small.next_slot().wrapping_sub(entry.slot) > self.sizes.window,
            Place::Main => true,
        };
        entry.uses = (entry.uses + u8::from(counts)).min(self.uses.most);
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let object = access.object;
        // Checked before anything else leaves, since a new ghost might push this one out.
        let was_ghost = self.objects[object.index()].place == Place::Ghosts;
        if was_ghost {
            self.ghosts.remove(&mut self.objects, object.0);
        }
        let left = if self.len() >= self.sizes.cache { self.evict() } else { None };
        let queue = if was_ghost { &mut self.main } else { &mut self.small };
        queue.push(&mut self.objects, object.0, 0);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        let queue = match self.objects[object.index()].place {
            Place::Small => &mut self.small,
            Place::Main => &mut self.main,
            Place::None | Place::Ghosts => return,
        };
        queue.remove(&mut self.objects, object.0);
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let main_is_full = self.main.length > self.sizes.cache - self.sizes.small;
        // All objects of the small queue may have moved to the main one.
        let left = if main_is_full { self.evict_main() } else { self.evict_small().or_else(|| self.evict_main()) };
        left.map(ObjectId)
    }

    fn len(&self) -> u32 {
        self.small.length + self.main.length
    }

    fn capacity(&self) -> u32 {
        self.sizes.cache
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.sizes = Sizes::of(capacity, self.small_share, self.ghost_share, self.uses.correlated);
        self.forget_ghosts();
    }

    fn memory_bytes(&self) -> usize {
        let slots: usize = [&self.small, &self.main, &self.ghosts].iter().map(|queue| queue.slots.capacity()).sum();
        self.objects.capacity() * size_of::<Entry>() + slots * size_of::<u32>()
    }

    fn warm(&self, accesses: &[Access]) {
        let sum = accesses.iter().fold(0, |sum, access| sum ^ self.objects[access.object.index()].uses);
        std::hint::black_box(sum);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveS3Fifo::new(shape.capacity as usize, false)),
    misses: [94_555, 85_691],
    tolerance: 0,
};

#[cfg(test)]
pub(super) const REFERENCE_OF_ONE_BIT: Reference = Reference {
    policy: ONE_BIT.name,
    naive: |shape| Box::new(NaiveS3Fifo::new(shape.capacity as usize, true)),
    // As found here: others do not count it. It lies near s3-fifo.
    misses: [94_137, 84_425],
    tolerance: 0,
};
