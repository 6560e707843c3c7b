//! Requests under way, addressed by tag: a slab for tags of one's own, a map for tags of somebody else's.

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
            return Tag::new(slot, *generation);
        }
        let slot = u32::try_from(self.slots.len()).expect("more than 2^32 requests under way");
        self.slots.push((0, Some(value)));
        Tag::new(slot, 0)
    }

    /// Removes and returns the value of `tag`. Panics on a tag that is not under way: its request would have completed
    /// twice.
    #[inline]
    pub fn remove(&mut self, tag: Tag) -> T {
        let (generation, entry) = &mut self.slots[tag.slot() as usize];
        assert_eq!(*generation, tag.generation(), "request completed twice");
        *generation = generation.wrapping_add(1);
        self.free.push(tag.slot());
        entry.take().expect("request completed twice")
    }

    /// The value of `tag`, which has to be under way (asserted).
    #[inline]
    pub fn get_mut(&mut self, tag: Tag) -> &mut T {
        let (generation, entry) = &mut self.slots[tag.slot() as usize];
        assert_eq!(*generation, tag.generation(), "request completed twice");
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

/// Keeps a value for each request of somebody else's that is under way, by the tag that it came with. Those who make
/// tags use slots again, so that it stays small.
#[derive(Clone, Debug)]
pub struct TagMap<T> {
    slots: Vec<Option<(u32, T)>>,
    count: usize,
}

impl<T> Default for TagMap<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), count: 0 }
    }
}

impl<T> TagMap<T> {
    /// Keeps `value` for `tag`, whose slot is not in use (asserted).
    #[inline]
    pub fn insert(&mut self, tag: Tag, value: T) {
        let slot = tag.slot() as usize;
        if slot >= self.slots.len() {
            self.slots.resize_with(slot + 1, || None);
        }
        let entry = &mut self.slots[slot];
        assert!(entry.is_none(), "the tag is in use");
        *entry = Some((tag.generation(), value));
        self.count += 1;
    }

    /// Takes the value of `tag` out, which is under way (asserted).
    #[inline]
    pub fn remove(&mut self, tag: Tag) -> T {
        let (generation, value) = self.slots[tag.slot() as usize].take().expect("a request ends once");
        assert_eq!(generation, tag.generation(), "the tag was used again before its request ended");
        self.count -= 1;
        value
    }

    /// The value of `tag`, which is under way (asserted).
    #[inline]
    pub fn get(&self, tag: Tag) -> &T {
        let (generation, value) = self.slots[tag.slot() as usize].as_ref().expect("the request is under way");
        assert_eq!(*generation, tag.generation(), "the tag was used again before its request ended");
        value
    }

    /// The value of `tag`, which is under way (asserted).
    #[inline]
    pub fn get_mut(&mut self, tag: Tag) -> &mut T {
        let (generation, value) = self.slots[tag.slot() as usize].as_mut().expect("the request is under way");
        assert_eq!(*generation, tag.generation(), "the tag was used again before its request ended");
        value
    }

    /// How many are under way.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none is under way.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "completed twice")]
    fn a_tag_ends_once() {
        let mut slab = TagSlab::default();
        let tag = slab.insert('a');
        slab.remove(tag);
        slab.insert('b');
        slab.remove(tag);
    }

    #[test]
    fn a_map_holds_what_is_under_way() {
        let (mut slab, mut map) = (TagSlab::default(), TagMap::default());
        let tags: Vec<Tag> = (0..3).map(|number| slab.insert(number)).collect();
        tags.iter().for_each(|&tag| map.insert(tag, tag.slot()));
        assert_eq!((map.len(), map.remove(tags[1]), *map.get(tags[2])), (3, 1, 2));
        slab.remove(tags[1]);
        let again = slab.insert(9);
        assert_eq!((again.slot(), again.generation()), (1, 1));
        map.insert(again, 7);
        *map.get_mut(again) += 1;
        assert_eq!((map.remove(again), map.len()), (8, 2));
    }

    #[test]
    #[should_panic(expected = "used again")]
    fn an_old_tag_is_not_taken_for_a_new_one() {
        let mut map = TagMap::default();
        map.insert(Tag::new(4, 1), 'a');
        map.get(Tag::new(4, 0));
    }
}
