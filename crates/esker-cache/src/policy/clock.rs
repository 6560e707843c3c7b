//! CLOCK: first in, first out, with a second chance for what was used meanwhile.

use esker_core::registry::ParameterSource;
use esker_core::{Linked, Links, List};

use super::{Replacement, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "clock",
    summary: "first in, first out, but what was used meanwhile goes round once more",
    source: "Corbato 1968; one bit, clear at insertion",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Clock::new(shape)),
};

/// One list, in the order in which objects were inserted or went round last.
#[derive(Debug)]
struct Clock {
    capacity: u32,
    objects: Vec<Entry>,
    by_age: List,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    links: Links,
    held: bool,
    /// Used since it was inserted, or since it went round.
    used: bool,
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

impl Clock {
    fn new(shape: &Shape) -> Self {
        Self { capacity: shape.capacity, objects: vec![Entry::default(); shape.objects as usize], by_age: List::EMPTY }
    }
}

impl Replacement for Clock {
    fn holds(&self, object: ObjectId) -> bool {
        self.objects[object.index()].held
    }

    fn hit(&mut self, access: &Access) -> bool {
        let entry = &mut self.objects[access.object.index()];
        entry.used = entry.held;
        entry.held
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.by_age.len() >= self.capacity { self.evict() } else { None };
        self.by_age.push_back(&mut self.objects, access.object.0);
        self.objects[access.object.index()].held = true;
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if std::mem::take(&mut self.objects[object.index()].held) {
            self.by_age.remove(&mut self.objects, object.0);
            self.objects[object.index()].used = false;
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let mut first = self.by_age.first()?;
        while std::mem::take(&mut self.objects[first as usize].used) {
            self.by_age.remove(&mut self.objects, first);
            self.by_age.push_back(&mut self.objects, first);
            first = self.by_age.first()?;
        }
        self.remove(ObjectId(first));
        Some(ObjectId(first))
    }

    fn len(&self) -> u32 {
        self.by_age.len()
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
