//! W-TinyLFU: a small window before a segmented LRU cache that takes in what is used more often than its victim.

mod sketch;

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource, Parameters};
use esker_core::{Linked, Links, List, Ratio};

use self::sketch::Sketch;
use super::{Replacement, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "w-tinylfu",
    summary: "a small LRU window; what leaves it enters segmented LRU if it was used more often than the victim",
    source: "Einziger, Friedman and Manes 2017, no doorkeeper; counts of the window and their ageing as in libCacheSim",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "window",
            meaning: "share of the cache that is the window, at least one object",
            value: Accepted::Share { default: Ratio::percent(1), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "protected",
            meaning: "most of the rest that the protected segment may take",
            value: Accepted::Share { default: Ratio::percent(80), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "sample",
            meaning: "hits outside the window, for each object of the cache, after which all counts are halved",
            value: Accepted::Count { default: Fallback::Value(32), least: 1, most: 1_000_000 },
        },
    ]),
    capabilities: &[],
    build: |shape, parameters| Box::new(WTinyLfu::new(shape, parameters)),
};

/// Three lists, the least recently used first.
#[derive(Debug)]
struct WTinyLfu {
    capacity: u32,
    window_share: Ratio,
    protected_share: Ratio,
    objects: Vec<Entry>,
    window: List,
    probation: List,
    protected: List,
    /// How often objects were used lately.
    sketch: Sketch,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    links: Links,
    segment: Segment,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Segment {
    #[default]
    None,
    Window,
    Probation,
    Protected,
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

impl WTinyLfu {
    fn new(shape: &Shape, parameters: Parameters<'_>) -> Self {
        Self {
            capacity: shape.capacity,
            window_share: parameters.share("window"),
            protected_share: parameters.share("protected"),
            objects: vec![Entry::default(); shape.objects as usize],
            window: List::EMPTY,
            probation: List::EMPTY,
            protected: List::EMPTY,
            sketch: Sketch::new(shape.capacity.min(shape.objects), parameters.count("sample"), shape.seed),
        }
    }

    fn window_size(&self) -> u32 {
        self.window_share.of(u64::from(self.capacity)).max(1) as u32
    }

    fn protected_size(&self) -> u32 {
        self.protected_share.of(u64::from(self.capacity - self.window_size())) as u32
    }

    fn list(&mut self, segment: Segment) -> Option<&mut List> {
        match segment {
            Segment::None => None,
            Segment::Window => Some(&mut self.window),
            Segment::Probation => Some(&mut self.probation),
            Segment::Protected => Some(&mut self.protected),
        }
    }

    /// Moves an object to the recent end of a segment, or out of the cache.
    fn place(&mut self, object: u32, segment: Segment) {
        let before = std::mem::replace(&mut self.objects[object as usize].segment, segment);
        let mut objects = std::mem::take(&mut self.objects);
        if let Some(list) = self.list(before) {
            list.remove(&mut objects, object);
        }
        if let Some(list) = self.list(segment) {
            list.push_back(&mut objects, object);
        }
        self.objects = objects;
    }

    /// The object that would leave the main part next.
    fn victim(&self) -> Option<u32> {
        self.probation.first().or(self.protected.first())
    }
}

impl Replacement for WTinyLfu {
    fn holds(&self, object: ObjectId) -> bool {
        self.objects[object.index()].segment != Segment::None
    }

    fn hit(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        if !self.holds(access.object) {
            return false;
        }
        self.sketch.add(object);
        match self.objects[access.object.index()].segment {
            Segment::None | Segment::Window => self.place(object, Segment::Window),
            Segment::Probation | Segment::Protected => {
                self.place(object, Segment::Protected);
                self.sketch.age();
                if self.protected.len() > self.protected_size()
                    && let Some(oldest) = self.protected.first()
                {
                    self.place(oldest, Segment::Probation);
                }
            }
        }
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let object = access.object.0;
        self.sketch.add(object);
        self.place(object, Segment::Window);
        let overflows = self.window.len() > self.window_size();
        let candidate = self.window.first().filter(|_| overflows);
        let left = match (candidate, self.victim()) {
            _ if self.len() <= self.capacity => None,
            (Some(candidate), Some(victim)) if self.sketch.count(candidate) > self.sketch.count(victim) => Some(victim),
            (Some(candidate), _) => Some(candidate),
            // The window has room, because it has grown: the main part has to give way.
            (None, Some(victim)) => Some(victim),
            (None, None) => Some(object),
        };
        if let Some(candidate) = candidate {
            // What leaves the window counts once more, whether it stays or not.
            self.sketch.add(candidate);
            self.place(candidate, Segment::Probation);
        }
        left.into_iter().for_each(|left| self.place(left, Segment::None));
        left.map(ObjectId)
    }

    fn remove(&mut self, object: ObjectId) {
        self.place(object.0, Segment::None);
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let left = match (self.window.first(), self.victim()) {
            (Some(candidate), Some(victim)) => {
                if self.sketch.count(candidate) > self.sketch.count(victim) {
                    victim
                } else {
                    candidate
                }
            }
            (candidate, victim) => candidate.or(victim)?,
        };
        self.place(left, Segment::None);
        Some(ObjectId(left))
    }

    fn len(&self) -> u32 {
        self.window.len() + self.probation.len() + self.protected.len()
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        while self.protected.len() > self.protected_size()
            && let Some(oldest) = self.protected.first()
        {
            self.place(oldest, Segment::Probation);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>() + self.sketch.memory_bytes()
    }
}
