//! First in, first out.

use esker_core::registry::ParameterSource;
use esker_core::{Linked, Links, List};

use super::{Replacement, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "fifo",
    summary: "the object that came first leaves first, however often it is used",
    source: "folklore",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Fifo::new(shape)),
};

/// One list, in the order of insertion.
#[derive(Debug)]
struct Fifo {
    capacity: u32,
    objects: Vec<Entry>,
    by_age: List,
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

impl Fifo {
    fn new(shape: &Shape) -> Self {
        Self { capacity: shape.capacity, objects: vec![Entry::default(); shape.objects as usize], by_age: List::EMPTY }
    }
}

impl Replacement for Fifo {
    fn holds(&self, object: ObjectId) -> bool {
        self.objects[object.index()].held
    }

    fn hit(&mut self, access: &Access) -> bool {
        self.objects[access.object.index()].held
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
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let first = ObjectId(self.by_age.first()?);
        self.remove(first);
        Some(first)
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
