//! Least frequently used, in constant time.
//!
//! Only uses in the cache count: an object that leaves is forgotten, and begins at one when it comes back. Of objects
//! with the same count, the least recently used one leaves first.

use esker_core::registry::ParameterSource;
use esker_core::{Linked, Links, List};

#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
#[cfg(test)]
use crate::reference::NaiveLfu;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "lfu",
    summary: "the object with the fewest uses since it came leaves first; among equals, the one used longest ago",
    source: "folklore; in constant time: Shah, Mitra, Matani 2010",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::BySize],
    build: |shape, _| Box::new(Lfu::new(shape)),
};

/// Objects with the same count of uses are in one group, and groups are in the order of their counts. A use moves an
/// object to the next group.
#[derive(Debug)]
struct Lfu {
    capacity: u32,
    length: u32,
    objects: Vec<Entry>,
    groups: Vec<Group>,
    /// The groups that hold objects, by count.
    by_count: List,
    /// Groups that hold nothing.
    free: List,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    links: Links,
    group: u32,
}

/// The group of an object that is not held.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    links: Links,
    count: u32,
    /// In the order of last use.
    objects: List,
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

impl Linked for Group {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Lfu {
    fn new(shape: &Shape) -> Self {
        let objects = vec![Entry { links: Links::NONE, group: NOWHERE }; shape.objects as usize];
        // There are no more groups than objects in the cache, plus one while an object moves.
        let groups = Vec::with_capacity(shape.capacity.min(shape.objects) as usize + 1);
        Self { capacity: shape.capacity, length: 0, objects, groups, by_count: List::EMPTY, free: List::EMPTY }
    }

    /// Makes an empty group for objects that were used `count` times. It goes before the group `next`, or to the end.
    fn group(&mut self, count: u32, next: Option<u32>) -> u32 {
        let group = match self.free.first() {
            Some(group) => {
                self.free.remove(&mut self.groups, group);
                group
            }
            None => {
                self.groups.push(Group::default());
                (self.groups.len() - 1) as u32
            }
        };
        self.groups[group as usize].count = count;
        match next {
            Some(next) => self.by_count.insert_before(&mut self.groups, next, group),
            None => {
                self.by_count.push_back(&mut self.groups, group);
            }
        }
        group
    }

    fn join(&mut self, group: u32, object: ObjectId) {
        self.objects[object.index()].group = group;
        self.groups[group as usize].objects.push_back(&mut self.objects, object.0);
    }

    /// Takes an object out of its group. The group is removed with its last object.
    fn leave(&mut self, object: ObjectId) {
        let group = std::mem::replace(&mut self.objects[object.index()].group, NOWHERE);
        let objects = &mut self.groups[group as usize].objects;
        objects.remove(&mut self.objects, object.0);
        if objects.is_empty() {
            self.by_count.remove(&mut self.groups, group);
            self.free.push_back(&mut self.groups, group);
        }
    }
}

impl Replacement for Lfu {
    fn holds(&self, object: ObjectId) -> bool {
        self.objects[object.index()].group != NOWHERE
    }

    fn hit(&mut self, access: &Access) -> bool {
        let group = self.objects[access.object.index()].group;
        if group == NOWHERE {
            return false;
        }
        let Group { links, count, objects } = self.groups[group as usize];
        let count = count.saturating_add(1);
        match links.next() {
            Some(next) if self.groups[next as usize].count == count => {
                self.leave(access.object);
                self.join(next, access.object);
            }
            _ if objects.len() == 1 => self.groups[group as usize].count = count,
            next => {
                let next = self.group(count, next);
                self.leave(access.object);
                self.join(next, access.object);
            }
        }
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.length >= self.capacity { self.evict() } else { None };
        let first = self.by_count.first();
        let group = match first {
            Some(first) if self.groups[first as usize].count == 1 => first,
            _ => self.group(1, first),
        };
        self.join(group, access.object);
        self.length += 1;
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            self.leave(object);
            self.length -= 1;
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let group = self.by_count.first()?;
        let first = self.groups[group as usize].objects.first().map(ObjectId)?;
        self.remove(first);
        Some(first)
    }

    fn len(&self) -> u32 {
        self.length
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>() + self.groups.capacity() * size_of::<Group>()
    }

    fn warm(&self, accesses: &[Access]) {
        let sum = accesses.iter().fold(0, |sum, access| sum ^ self.objects[access.object.index()].group);
        std::hint::black_box(sum);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveLfu::new(shape.capacity as usize)),
    misses: [96_757, 90_040],
    tolerance: 0,
};
