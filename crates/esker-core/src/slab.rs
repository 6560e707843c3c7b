//! A slab of requests under way, addressed by tag.

use crate::Tag;

/// Hands out tags and keeps a value for each. Slots are reused; the generation tells old tags from new ones.
#[derive(Clone, Debug)]
pub struct TagSlab<T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for TagSlab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> TagSlab<T> {
    /// Keeps `value` and returns its tag.
    #[inline]
    pub fn insert(&mut self, value: T) -> Tag {
        if let Some(slot) = self.free.pop() {
            let (generation, entry) = &mut self.slots[slot as usize];
            *entry = Some(value);
            return Tag { slot, generation: *generation };
        }
        let slot = u32::try_from(self.slots.len()).expect("more than 2^32 requests under way");
        self.slots.push((0, Some(value)));
        Tag { slot, generation: 0 }
    }

    /// Removes and returns the value of `tag`. Panics on a tag that is not under way: its request would have completed
    /// twice.
    #[inline]
    pub fn remove(&mut self, tag: Tag) -> T {
        let (generation, entry) = &mut self.slots[tag.slot as usize];
        assert_eq!(*generation, tag.generation, "request completed twice");
        *generation = generation.wrapping_add(1);
        self.free.push(tag.slot);
        entry.take().expect("request completed twice")
    }

    /// The value of `tag`, which has to be under way (asserted).
    #[inline]
    pub fn get_mut(&mut self, tag: Tag) -> &mut T {
        let (generation, entry) = &mut self.slots[tag.slot as usize];
        assert_eq!(*generation, tag.generation, "request completed twice");
        entry.as_mut().expect("request completed twice")
    }

    /// All values under way, by slot.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|(_, entry)| entry.as_ref())
    }

    /// How many requests are under way.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no request is under way.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::TagSlab;

    #[test]
    #[should_panic(expected = "completed twice")]
    fn a_tag_ends_once() {
        let mut slab = TagSlab::default();
        let tag = slab.insert('a');
        slab.remove(tag);
        slab.insert('b');
        slab.remove(tag);
    }
}
