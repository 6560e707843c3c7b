//! Least recently used.

use esker_core::registry::ParameterSource;
use esker_core::{Linked, Links, List};

use super::{Replacement, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "lru",
    summary: "the object whose last use is longest ago leaves first",
    source: "folklore",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Lru::new(shape)),
};

/// One list, in the order of last use.
#[derive(Debug)]
struct Lru {
    capacity: u32,
    objects: Vec<Entry>,
    by_use: List,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    links: Links,
    held: bool,
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

impl Lru {
    fn new(shape: &Shape) -> Self {
        Self { capacity: shape.capacity, objects: vec![Entry::default(); shape.objects as usize], by_use: List::EMPTY }
    }
}

impl Replacement for Lru {
    fn holds(&self, object: ObjectId) -> bool {
        self.objects[object.index()].held
    }

    fn hit(&mut self, access: &Access) -> bool {
        let held = self.objects[access.object.index()].held;
        if held {
            self.by_use.remove(&mut self.objects, access.object.0);
            self.by_use.push_back(&mut self.objects, access.object.0);
        }
        held
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.by_use.len() >= self.capacity { self.evict() } else { None };
        self.by_use.push_back(&mut self.objects, access.object.0);
        self.objects[access.object.index()].held = true;
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if std::mem::take(&mut self.objects[object.index()].held) {
            self.by_use.remove(&mut self.objects, object.0);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let first = ObjectId(self.by_use.first()?);
        self.remove(first);
        Some(first)
    }

    fn len(&self) -> u32 {
        self.by_use.len()
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>()
    }
}
