//! A cache that is divided into parts. Each part is a queue in the order of last use, with a share of the room.
//!
//! The borders are soft. A part may take room that others leave free. When the cache is full, a part that has its share
//! gives up one of its own objects for each new one; a part that has less takes the room of the part that is furthest
//! above its share. So when shares change, the parts grow and shrink as new objects come in, and no object leaves
//! merely because of the change.

use esker_core::{Linked, Links, List};

use crate::{Access, ObjectId, Replacement};

/// Largest number of parts.
pub const PARTS_MAX: u16 = 256;

/// Stands for no part.
const NOWHERE: u16 = u16::MAX;

/// An object, which is in one queue or in none.
#[derive(Clone, Copy, Debug)]
struct Entry {
    links: Links,
    /// The part whose queue contains the object.
    place: u16,
    /// The part to which the object goes when it is next used.
    part: u16,
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

#[derive(Clone, Copy, Debug)]
struct Part {
    queue: List,
    /// Its share of the room, in proportion to the other weights.
    weight: u32,
    /// Number of objects of its share.
    share: u32,
}

impl Part {
    /// Returns the number of objects above its share; negative if below.
    fn excess(&self) -> i64 {
        i64::from(self.queue.len()) - i64::from(self.share)
    }
}

/// LRU queues that share a cache. Takes 12 bytes per existing object.
///
/// ```
/// use esker_cache::{Access, AccessKind, NEVER, ObjectId, Partitioned, Replacement};
/// let access = |object| Access { object: ObjectId(object), bytes: 4096, kind: AccessKind::Read, next_use: NEVER };
/// let mut cache = Partitioned::new(4, 10, &[1, 3]);
/// cache.assign(ObjectId(0), 0);
/// cache.insert(&access(0));
/// for object in 1..4 {
///     cache.assign(ObjectId(object), 1);
///     cache.insert(&access(object));
/// }
/// // The second part has its three objects: the next one of it replaces one of its own.
/// cache.assign(ObjectId(4), 1);
/// assert_eq!(cache.insert(&access(4)), Some(ObjectId(1)));
/// assert!(cache.holds(ObjectId(0)));
/// ```
#[derive(Clone, Debug)]
pub struct Partitioned {
    capacity: u32,
    length: u32,
    parts: Vec<Part>,
    objects: Vec<Entry>,
}

impl Partitioned {
    /// Creates a cache of at most `capacity` of `objects` objects, for parts with these weights.
    ///
    /// # Panics
    /// If there are no parts, more than [`PARTS_MAX`], or only weights of zero.
    pub fn new(capacity: u32, objects: u32, weights: &[u32]) -> Self {
        let entry = Entry { links: Links::NONE, place: NOWHERE, part: 0 };
        let objects = vec![entry; objects as usize];
        let mut cache = Self { capacity, length: 0, parts: Vec::new(), objects };
        cache.divide(weights);
        cache
    }

    /// Divides the room in proportion to `weights`, one for each part. There may be more parts than before, but not
    /// fewer.
    ///
    /// # Panics
    /// If there are fewer parts than before, more than [`PARTS_MAX`], no parts, or only weights of zero.
    pub fn divide(&mut self, weights: &[u32]) {
        let allowed = self.parts.len().max(1)..=usize::from(PARTS_MAX);
        assert!(allowed.contains(&weights.len()), "{} parts, of {allowed:?}", weights.len());
        assert!(weights.iter().any(|&weight| weight > 0), "somebody has to have the room");
        self.parts.resize(weights.len(), Part { queue: List::EMPTY, weight: 0, share: 0 });
        self.parts.iter_mut().zip(weights).for_each(|(part, &weight)| part.weight = weight);
        self.share_out();
    }

    /// Sets the part to which `object` goes when it is next used, or comes in.
    ///
    /// # Panics
    /// If the part does not exist.
    #[inline]
    pub fn assign(&mut self, object: ObjectId, part: u16) {
        assert!(usize::from(part) < self.parts.len(), "there is no part {part}");
        self.objects[object.index()].part = part;
    }

    /// Returns how many objects each part holds.
    pub fn held(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|part| part.queue.len())
    }

    /// Returns the share of each part, in objects. The shares sum up to the capacity.
    pub fn shares(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|part| part.share)
    }

    /// Computes the shares, rounded so that they sum up to the capacity.
    fn share_out(&mut self) {
        let all: u64 = self.parts.iter().map(|part| u64::from(part.weight)).sum();
        let (mut weights, mut given) = (0, 0);
        for part in &mut self.parts {
            weights += u64::from(part.weight);
            let until = (u128::from(self.capacity) * u128::from(weights) / u128::from(all)) as u32;
            part.share = until - std::mem::replace(&mut given, until);
        }
    }

    /// Returns the part that gives up an object: the one furthest above its share, or least below it.
    fn giver(&self) -> Option<usize> {
        let full = self.parts.iter().enumerate().filter(|(_, part)| !part.queue.is_empty());
        // Of equal parts, the first.
        full.rev().max_by_key(|(_, part)| part.excess()).map(|(number, _)| number)
    }

    fn pop(&mut self, part: usize) -> Option<ObjectId> {
        let first = ObjectId(self.parts[part].queue.first()?);
        self.remove(first);
        Some(first)
    }

    #[inline]
    fn push(&mut self, object: ObjectId) {
        let part = self.objects[object.index()].part;
        self.parts[usize::from(part)].queue.push_back(&mut self.objects, object.0);
        self.objects[object.index()].place = part;
        self.length += 1;
    }
}

impl Replacement for Partitioned {
    #[inline]
    fn holds(&self, object: ObjectId) -> bool {
        self.objects[object.index()].place != NOWHERE
    }

    #[inline]
    fn hit(&mut self, access: &Access) -> bool {
        let hit = self.holds(access.object);
        if hit {
            self.remove(access.object);
            self.push(access.object);
        }
        hit
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let part = usize::from(self.objects[access.object.index()].part);
        let left = match self.parts[part] {
            _ if self.length < self.capacity => None,
            Part { queue, share, .. } if queue.len() >= share.max(1) => self.pop(part),
            _ => self.evict(),
        };
        self.push(access.object);
        left
    }

    #[inline]
    fn remove(&mut self, object: ObjectId) {
        let place = std::mem::replace(&mut self.objects[object.index()].place, NOWHERE);
        if place != NOWHERE {
            self.parts[usize::from(place)].queue.remove(&mut self.objects, object.0);
            self.length -= 1;
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        self.giver().and_then(|part| self.pop(part))
    }

    fn len(&self) -> u32 {
        self.length
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.share_out();
    }

    fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>() + self.parts.capacity() * size_of::<Part>()
    }
}

#[cfg(test)]
mod tests {
    use esker_core::registry::Choice;
    use proptest::prelude::*;

    use super::*;
    use crate::{AccessKind, NEVER, Shape, build};

    const OBJECTS: u32 = 40;

    fn access(object: u32) -> Access {
        Access { object: ObjectId(object), bytes: 512, kind: AccessKind::Read, next_use: NEVER }
    }

    /// A naive version: the objects of each part, the last used at the end.
    struct Naive {
        shares: Vec<usize>,
        queues: Vec<Vec<u32>>,
    }

    impl Naive {
        /// Returns whether the access hit, and which object left.
        fn access(&mut self, capacity: usize, object: u32, part: usize) -> (bool, Option<u32>) {
            let before: usize = self.queues.iter().map(Vec::len).sum();
            self.queues.iter_mut().for_each(|queue| queue.retain(|&held| held != object));
            let hit = before > self.queues.iter().map(Vec::len).sum();
            let mut left = None;
            if !hit && before == capacity {
                let own = self.queues[part].len();
                let excess = |part: usize| self.queues[part].len() as i64 - self.shares[part] as i64;
                let others = (0..self.queues.len()).filter(|&part| !self.queues[part].is_empty());
                let from = match own > 0 && own >= self.shares[part] {
                    true => part,
                    false => others.rev().max_by_key(|&part| excess(part)).unwrap(),
                };
                left = Some(self.queues[from].remove(0));
            }
            self.queues[part].push(object);
            (hit, left)
        }
    }

    /// (object, part, whether the weights change, new weights)
    type Step = (u32, u16, bool, [u32; 3]);

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let weights = [0u32..4, 0u32..4, 1u32..4];
        prop::collection::vec((0..OBJECTS, 0u16..3, prop::bool::weighted(0.05), weights), 1..600)
    }

    proptest! {
        #[test]
        fn it_does_what_the_rule_says(capacity in 1u32..20, steps in steps()) {
            let mut cache = Partitioned::new(capacity, OBJECTS, &[1, 1, 1]);
            let shares = |cache: &Partitioned| cache.shares().map(|share| share as usize).collect::<Vec<_>>();
            let mut naive = Naive { shares: shares(&cache), queues: vec![Vec::new(); 3] };
            for (object, part, changes, weights) in steps {
                if changes {
                    cache.divide(&weights);
                    naive.shares = shares(&cache);
                    prop_assert_eq!(naive.shares.iter().sum::<usize>(), capacity as usize);
                }
                cache.assign(ObjectId(object), part);
                let hit = cache.hit(&access(object));
                let left = if hit { None } else { cache.insert(&access(object)).map(|object| object.0) };
                prop_assert_eq!((hit, left), naive.access(capacity as usize, object, part.into()));
                let held: Vec<usize> = naive.queues.iter().map(Vec::len).collect();
                prop_assert_eq!(cache.held().map(|held| held as usize).collect::<Vec<_>>(), held);
                prop_assert_eq!(cache.len(), cache.held().sum::<u32>());
            }
        }

        /// A cache of one part is LRU.
        #[test]
        fn one_part_is_lru(capacity in 1u32..20, objects in prop::collection::vec(0..OBJECTS, 1..300)) {
            let mut lru = build(&Choice::named("lru"), &Shape { capacity, objects: OBJECTS, seed: 0 }).unwrap();
            let mut cache = Partitioned::new(capacity, OBJECTS, &[7]);
            for object in objects {
                let hit = cache.hit(&access(object));
                prop_assert_eq!(hit, lru.hit(&access(object)));
                prop_assert!(hit || cache.insert(&access(object)) == lru.insert(&access(object)));
            }
        }
    }

    /// A part above its share gives up an object for each one that comes in elsewhere, the oldest first. A part with a
    /// share of zero keeps the last object that came in.
    #[test]
    fn parts_shrink_as_others_grow() {
        let mut cache = Partitioned::new(4, OBJECTS, &[1, 1]);
        (0..4).for_each(|object| assert_eq!(cache.insert(&access(object)), None));
        assert_eq!(cache.held().collect::<Vec<_>>(), [4, 0], "room that nobody uses is taken");
        cache.divide(&[0, 1]);
        let mut left = Vec::new();
        for object in 10..14 {
            cache.assign(ObjectId(object), 1);
            left.push(cache.insert(&access(object)).unwrap().0);
        }
        assert_eq!(left, [0, 1, 2, 3]);
        assert_eq!(cache.insert(&access(20)), Some(ObjectId(10)));
        assert_eq!(cache.insert(&access(21)), Some(ObjectId(20)));
        cache.set_capacity(2);
        assert_eq!((cache.evict(), cache.evict()), (Some(ObjectId(21)), Some(ObjectId(11))));
        assert_eq!(cache.shares().collect::<Vec<_>>(), [0, 2]);
    }
}
