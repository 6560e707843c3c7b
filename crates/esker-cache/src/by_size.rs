//! Caches of objects that take room according to their bytes.

use esker_core::registry::Choice;

use crate::policy::chosen;
use crate::{Access, BuildError, Counts, ObjectId, REPLACEMENTS, Replacement, ReplacementCapability, Shape};

/// Builds the policy that `choice` names for a cache of `room` bytes. An object takes the bytes of the access with
/// which it comes in, and keeps that size until it leaves. An object that is larger than the cache does not come in.
///
/// `objects` is the number of objects: their ids are below this.
///
/// ```
/// use esker_cache::{Access, AccessKind, NEVER, ObjectId, build_by_size, simulate};
/// use esker_core::registry::Choice;
///
/// let access = |object, bytes| Access { object: ObjectId(object), bytes, kind: AccessKind::Read, next_use: NEVER };
/// let mut lru = build_by_size(&Choice::named("lru"), 3, 100, 1).unwrap();
/// // The third object needs the room of both others.
/// let accesses = [access(0, 50), access(1, 50), access(2, 100), access(0, 50), access(2, 100)];
/// assert_eq!(simulate(&mut *lru, &accesses).misses, 5);
/// ```
///
/// # Errors
/// The policy does not exist, does not have such parameters, or divides its cache by numbers of objects; or the cache
/// has no room at all.
pub fn build_by_size(choice: &Choice, objects: u32, room: u64, seed: u64) -> Result<Box<dyn Replacement>, BuildError> {
    // The number of objects never makes it full.
    let shape = Shape { capacity: objects.max(1), objects, seed };
    let (entry, parameters) = chosen(REPLACEMENTS, "cache policy", choice, shape.capacity)?;
    if !entry.can(ReplacementCapability::BySize) {
        return Err(BuildError::NotBySize { policy: entry.name });
    }
    if room == 0 {
        return Err(BuildError::NoCapacity);
    }
    let mut policy = (entry.build)(&shape, parameters);
    policy.weigh_by_size();
    Ok(Box::new(BySize { policy, room, used: 0, sizes: vec![0; objects as usize] }))
}

/// Makes enough room in bytes for objects that come in.
#[derive(Debug)]
struct BySize {
    policy: Box<dyn Replacement>,
    /// Bytes of the cache, and of the objects in it.
    room: u64,
    used: u64,
    /// Bytes of each object that is held.
    sizes: Vec<u32>,
}

impl BySize {
    fn fits(&self, access: &Access) -> bool {
        u64::from(access.bytes) <= self.room
    }

    fn left(&mut self, object: ObjectId) {
        self.used -= u64::from(self.sizes[object.index()]);
    }
}

impl Replacement for BySize {
    fn holds(&self, object: ObjectId) -> bool {
        self.policy.holds(object)
    }

    fn hit(&mut self, access: &Access) -> bool {
        self.policy.hit(access)
    }

    /// Returns the last of the objects that had to leave.
    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        if !self.fits(access) {
            return Some(access.object);
        }
        let mut left = None;
        while self.used + u64::from(access.bytes) > self.room {
            left = self.evict();
        }
        self.used += u64::from(access.bytes);
        self.sizes[access.object.index()] = access.bytes;
        let more = self.policy.insert(access);
        debug_assert!(more.is_none(), "a cache for all objects let one go");
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.policy.holds(object) {
            self.policy.remove(object);
            self.left(object);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let left = self.policy.evict()?;
        self.left(left);
        Some(left)
    }

    fn len(&self) -> u32 {
        self.policy.len()
    }

    fn capacity(&self) -> u32 {
        self.policy.capacity()
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.policy.set_capacity(capacity);
    }

    fn memory_bytes(&self) -> usize {
        self.policy.memory_bytes() + self.sizes.capacity() * size_of::<u32>()
    }

    fn warm(&self, accesses: &[Access]) {
        self.policy.warm(accesses);
    }

    fn perform(&mut self, accesses: &[Access], counts: &mut Counts) {
        for access in accesses {
            if self.hit(access) {
                counts.hit(access);
            } else if self.fits(access) {
                counts.miss(access);
                self.insert(access);
            } else {
                counts.miss_refused(access);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::tests::{accesses, mixed};
    use crate::reference::{Sized, Victim};
    use crate::simulate;

    /// Accesses to objects of sizes from 1 to 64.
    fn sized(seed: u64, objects: u32, length: usize) -> Vec<Access> {
        let size = |object: ObjectId| 1 << (esker_core::mix64(seed ^ u64::from(object.0)) % 7);
        let all = accesses(&mixed(seed, objects, length));
        all.into_iter().map(|access| Access { bytes: size(access.object), ..access }).collect()
    }

    fn built(name: &str, objects: u32, room: u64, seed: u64) -> Box<dyn Replacement> {
        build_by_size(&Choice::named(name), objects, room, seed).unwrap()
    }

    fn compare(name: &str, victim: Victim, room: u64, objects: u32, accesses: &[Access]) -> Result<(), TestCaseError> {
        let (mut policy, mut reference) = (built(name, objects, room, 1), Sized::new(room, victim));
        for (number, access) in accesses.iter().enumerate() {
            let hit = policy.hit(access);
            if !hit {
                policy.insert(access);
            }
            prop_assert_eq!(hit, reference.access(access), "{} at access {}", name, number);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn objects_take_the_room_of_their_bytes(seed: u64, room in 1u64..1_000, objects in 1u32..90) {
            let accesses = sized(seed, objects, 1_500);
            let victims =
                [("lru", Victim::Lru), ("fifo", Victim::Fifo), ("lfu", Victim::Lfu), ("gdsf", Victim::Gdsf)];
            for (name, victim) in victims {
                compare(name, victim, room, objects, &accesses)?;
            }
        }

        #[test]
        fn equal_objects_are_as_many_as_there_is_room_for(seed: u64, capacity in 1u32..40, objects in 1u32..90) {
            let accesses = accesses(&mixed(seed, objects, 1_000));
            for entry in REPLACEMENTS.iter().filter(|entry| entry.can(ReplacementCapability::BySize)) {
                let shape = Shape { capacity, objects, seed };
                let mut by_number = crate::build(&Choice::named(entry.name), &shape).unwrap();
                let mut by_size = built(entry.name, objects, u64::from(capacity) * 4096 + seed % 4096, seed);
                let counts = [&mut by_number, &mut by_size].map(|policy| simulate(&mut **policy, &accesses));
                prop_assert_eq!(counts[0], counts[1], "{}", entry.name);
            }
        }
    }

    /// Slightly wrong references: the comparison has to notice them.
    #[test]
    fn a_wrong_reference_is_noticed() {
        let accesses = sized(3, 300, 10_000);
        let wrong = [("lru", Victim::Fifo), ("lfu", Victim::Gdsf), ("gdsf", Victim::GdsfWithoutAge)];
        for (name, victim) in wrong {
            assert!(compare(name, victim, 2_000, 300, &accesses).is_err(), "{name}");
        }
        assert!(compare("gdsf", Victim::Gdsf, 2_000, 300, &accesses).is_ok());
        assert!(compare("lru", Victim::Lru, 2_001, 300, &accesses).is_ok());
        let (mut policy, mut reference) = (built("lru", 300, 2_000, 1), Sized::new(2_001, Victim::Lru));
        let same = |access: &Access| {
            let hit = policy.hit(access);
            if !hit {
                policy.insert(access);
            }
            hit == reference.access(access)
        };
        assert!(!accesses.iter().all(same), "a byte of room decides somewhere");
    }

    #[test]
    fn what_is_larger_than_the_cache_stays_out() {
        let mut policy = built("lru", 2, 10, 1);
        let access = |object, bytes| Access {
            bytes,
            object: ObjectId(object),
            kind: crate::AccessKind::Read,
            next_use: crate::NEVER,
        };
        let counts = simulate(&mut *policy, &[access(0, 10), access(1, 11), access(0, 10)]);
        assert_eq!((counts.misses, counts.refused, counts.written_bytes), (2, 1, 10));
        assert_eq!(policy.len(), 1);
    }

    #[test]
    fn policies_that_count_objects_are_refused() {
        let error = build_by_size(&Choice::named("arc"), 1, 1, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`arc` shares its cache out by numbers of objects, and here each object has a size of its own"
        );
        assert_eq!(build_by_size(&Choice::named("lru"), 1, 0, 1).unwrap_err(), BuildError::NoCapacity);
    }
}
