//! SIEVE: first in, first out, with a hand that spares in place what was used meanwhile.

use esker_core::registry::ParameterSource;
use esker_core::{Linked, Links, List};

use super::{Replacement, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "sieve",
    summary: "a hand goes from old to new and takes what was not used since it last came by; nothing changes its place",
    source: "Zhang, Yang, Yue, Vigfusson and Rashmi 2024",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Sieve::new(shape)),
};

/// One list, in the order of insertion: the oldest first.
#[derive(Debug)]
struct Sieve {
    capacity: u32,
    objects: Vec<Entry>,
    by_age: List,
    /// The object that is looked at next; `None` stands for the oldest one.
    hand: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    links: Links,
    held: bool,
    /// Used since it was inserted, or since the hand came by.
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

impl Sieve {
    fn new(shape: &Shape) -> Self {
        let objects = vec![Entry::default(); shape.objects as usize];
        Self { capacity: shape.capacity, objects, by_age: List::EMPTY, hand: None }
    }
}

impl Replacement for Sieve {
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
        if !self.objects[object.index()].held {
            return;
        }
        let newer = self.by_age.remove(&mut self.objects, object.0);
        if self.hand == Some(object.0) {
            self.hand = newer;
        }
        self.objects[object.index()] = Entry::default();
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let mut hand = self.hand.or(self.by_age.first())?;
        while std::mem::take(&mut self.objects[hand as usize].used) {
            hand = self.objects[hand as usize].links.next().or(self.by_age.first())?;
        }
        self.hand = Some(hand);
        self.remove(ObjectId(hand));
        Some(ObjectId(hand))
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
