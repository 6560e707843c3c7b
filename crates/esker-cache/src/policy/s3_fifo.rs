//! S3-FIFO: a small queue on probation, a main queue with a second chance, and a queue of ghosts.

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource, Parameters};
use esker_core::{Linked, Links, List, Ratio};

use super::{Replacement, ReplacementEntry, Shape};
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
    capabilities: &[],
    build: |shape, parameters| {
        let threshold = parameters.count("threshold") as u8;
        Box::new(S3Fifo::new(shape, parameters, Uses { most: 3, threshold, correlated: Ratio::ZERO }))
    },
};

/// The form for block I/O, where an object is often used several times at once, and then never again.
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

/// How uses count.
#[derive(Clone, Copy, Debug)]
struct Uses {
    /// A counter stands still here.
    most: u8,
    /// So many on probation earn a place in the main queue.
    threshold: u8,
    /// They do not count in this share of the small queue.
    correlated: Ratio,
}

/// Three lists, the oldest first. No object is in two of them.
#[derive(Debug)]
struct S3Fifo {
    uses: Uses,
    small_share: Ratio,
    ghost_share: Ratio,
    sizes: Sizes,
    objects: Vec<Entry>,
    small: List,
    main: List,
    ghosts: List,
    /// How many objects have entered the small queue; it wraps.
    entered: u32,
}

/// In objects.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    cache: u32,
    small: u32,
    ghosts: u32,
    /// A use does not count before so many objects have entered the small queue after its own.
    window: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    links: Links,
    /// The number of its entry to the small queue.
    entered: u32,
    queue: Queue,
    uses: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Queue {
    #[default]
    None,
    Small,
    Main,
    Ghosts,
}

impl Linked for Entry {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl S3Fifo {
    fn new(shape: &Shape, parameters: Parameters<'_>, uses: Uses) -> Self {
        let (small_share, ghost_share) = (parameters.share("small"), parameters.share("ghosts"));
        Self {
            uses,
            small_share,
            ghost_share,
            sizes: Sizes::of(shape.capacity, small_share, ghost_share, uses.correlated),
            objects: vec![Entry::default(); shape.objects as usize],
            small: List::EMPTY,
            main: List::EMPTY,
            ghosts: List::EMPTY,
            entered: 0,
        }
    }

    #[inline]
    fn push(&mut self, object: u32, queue: Queue) {
        let entry = &mut self.objects[object as usize];
        (entry.queue, entry.uses) = (queue, 0);
        let list = match queue {
            Queue::None => return,
            Queue::Small => {
                self.entered = self.entered.wrapping_add(1);
                entry.entered = self.entered;
                &mut self.small
            }
            Queue::Main => &mut self.main,
            Queue::Ghosts => &mut self.ghosts,
        };
        list.push_back(&mut self.objects, object);
    }

    /// Takes objects from the small queue until one has not earned a place in the main queue; that one leaves.
    fn evict_small(&mut self) -> Option<u32> {
        while let Some(oldest) = self.small.first() {
            self.small.remove(&mut self.objects, oldest);
            if self.objects[oldest as usize].uses >= self.uses.threshold {
                self.push(oldest, Queue::Main);
            } else {
                self.push(oldest, Queue::Ghosts);
                self.forget_ghosts();
                return Some(oldest);
            }
        }
        None
    }

    /// Lets objects of the main queue go round until one has no uses left; that one leaves.
    fn evict_main(&mut self) -> Option<u32> {
        loop {
            let oldest = self.main.first()?;
            self.main.remove(&mut self.objects, oldest);
            let uses = self.objects[oldest as usize].uses;
            if uses == 0 {
                self.objects[oldest as usize].queue = Queue::None;
                return Some(oldest);
            }
            self.push(oldest, Queue::Main);
            self.objects[oldest as usize].uses = uses - 1;
        }
    }

    fn forget_ghosts(&mut self) {
        while self.ghosts.len() > self.sizes.ghosts
            && let Some(oldest) = self.ghosts.first()
        {
            self.ghosts.remove(&mut self.objects, oldest);
            self.objects[oldest as usize].queue = Queue::None;
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
        matches!(self.objects[object.index()].queue, Queue::Small | Queue::Main)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let entry = &mut self.objects[access.object.index()];
        let counts = match entry.queue {
            Queue::None | Queue::Ghosts => return false,
            Queue::Small => self.entered.wrapping_sub(entry.entered) >= self.sizes.window,
            Queue::Main => true,
        };
        entry.uses = (entry.uses + u8::from(counts)).min(self.uses.most);
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let object = access.object;
        // Before anything else leaves: the new ghost might push this one out.
        let was_ghost = self.objects[object.index()].queue == Queue::Ghosts;
        if was_ghost {
            self.ghosts.remove(&mut self.objects, object.0);
        }
        let left = if self.len() >= self.sizes.cache { self.evict() } else { None };
        self.push(object.0, if was_ghost { Queue::Main } else { Queue::Small });
        left
    }

    fn remove(&mut self, object: ObjectId) {
        let list = match self.objects[object.index()].queue {
            Queue::Small => &mut self.small,
            Queue::Main => &mut self.main,
            Queue::None | Queue::Ghosts => return,
        };
        list.remove(&mut self.objects, object.0);
        self.objects[object.index()].queue = Queue::None;
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let main_is_full = self.main.len() > self.sizes.cache - self.sizes.small;
        // All of the small queue may have moved to the main one.
        let left = if main_is_full { self.evict_main() } else { self.evict_small().or_else(|| self.evict_main()) };
        left.map(ObjectId)
    }

    fn len(&self) -> u32 {
        self.small.len() + self.main.len()
    }

    fn capacity(&self) -> u32 {
        self.sizes.cache
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.sizes = Sizes::of(capacity, self.small_share, self.ghost_share, self.uses.correlated);
        self.forget_ghosts();
    }

    fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>()
    }
}
