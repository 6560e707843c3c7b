//! A window of objects that missed recently.

use esker_core::registry::{Accepted, Parameter};
use esker_core::{Linked, Links, List, Ratio};

use crate::ObjectId;

/// How long the window is. The default is assumed.
pub(super) const WINDOW: Parameter = Parameter {
    name: "window",
    meaning: "objects that are remembered after they missed, as a multiple of what the cache holds",
    value: Accepted::Share { default: Ratio::ONE, least: Ratio::ZERO, most: Ratio::percent(100_000) },
};

/// Objects that missed and were refused, each once, in the order in which they arrived.
#[derive(Debug)]
pub(super) struct Recent {
    objects: Vec<Entry>,
    by_age: List,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    links: Links,
    here: bool,
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

impl Recent {
    pub(super) fn new(objects: u32) -> Self {
        Self { objects: vec![Entry::default(); objects as usize], by_age: List::EMPTY }
    }

    pub(super) fn contains(&self, object: ObjectId) -> bool {
        self.objects[object.index()].here
    }

    /// Adds an object that is not in the window. Then the oldest objects leave until there are at most `most`.
    pub(super) fn push(&mut self, object: ObjectId, most: u32) {
        self.by_age.push_back(&mut self.objects, object.0);
        self.objects[object.index()].here = true;
        self.limit(most);
    }

    /// Removes an object. Returns true if it was in the window.
    pub(super) fn remove(&mut self, object: ObjectId) -> bool {
        let here = std::mem::take(&mut self.objects[object.index()].here);
        if here {
            self.by_age.remove(&mut self.objects, object.0);
        }
        here
    }

    /// Removes the oldest objects until there are at most `most`.
    pub(super) fn limit(&mut self, most: u32) {
        while self.by_age.len() > most
            && let Some(oldest) = self.by_age.first()
        {
            self.remove(ObjectId(oldest));
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>()
    }
}
