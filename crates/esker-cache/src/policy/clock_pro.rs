//! CLOCK-Pro: LIRS on a clock, so that a hit only sets a bit.
//!
//! As in section 4 of the paper. Hot objects stay in the cache. Cold ones pass through, and become hot if they are used
//! again during their test. The test lasts until a hand ends it, even if the object has left meanwhile. Three hands go
//! round, and each points to the oldest object of its kind:
//! - the cold hand lets cold objects go that were not used,
//! - the hot hand makes hot objects cold that were not used, and ends the tests of cold ones on its way,
//! - the test hand ends the oldest test when more objects are remembered than the cache may hold.
//!
//! The number of cold objects is learned: one more for each object that is used during its test, one fewer for each
//! that is not. The rules of the paper set no minimum. Without one, a single cold object may be left, and each miss
//! evicts the object that came in at the previous miss. The authors' program keeps a share of the cache for cold
//! objects, and so does this one.
//! While the cache fills, objects become hot at once, until there are as many as should be.

use esker_core::Ratio;
use esker_core::registry::{Accepted, Parameter, ParameterSource};

use super::queues::Queues;
#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementEntry, Shape};
#[cfg(test)]
use crate::reference::NaiveClockPro;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "clock-pro",
    summary: "LIRS on a clock: objects used again soon keep the cache, and how many others it holds is learnt",
    source: "Jiang, Chen, Zhang, USENIX ATC 2005; a least share as in the authors' program, its default is assumed",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "cold",
        meaning: "share of the cache for cold objects at the beginning, and the least later; at least one object",
        value: Accepted::Share { default: Ratio::percent(1), least: Ratio::ZERO, most: Ratio::ONE },
    }]),
    capabilities: &[],
    build: |shape, parameters| Box::new(ClockPro::new(shape, parameters.share("cold"))),
};

/// The kind of an object: the lower bits of its mark, which is zero for an object that is not on the clock.
const KIND: u8 = 3;
/// Held.
const HOT: u8 = 1;
/// Held.
const COLD: u8 = 2;
/// Not held, and in its test.
const LEFT: u8 = 3;
/// A bit of the mark: the object is in its test.
const TESTED: u8 = 4;
/// A bit of the mark: the object was used since it came or since a hand last saw it.
const USED: u8 = 8;

/// The only queue, the oldest object first.
const CLOCK: u8 = 0;

#[derive(Debug)]
struct ClockPro {
    capacity: u32,
    cold_share: Ratio,
    /// Least number of objects that should be cold.
    cold_least: u32,
    /// Number of objects that should be cold.
    cold_target: u32,
    hot: u32,
    cold: u32,
    left: u32,
    /// No object before the hot hand is hot, none before the cold hand is held and cold, and none before the test hand
    /// is in its test. A hand that has passed all objects waits for the next one.
    hot_hand: Option<ObjectId>,
    cold_hand: Option<ObjectId>,
    test_hand: Option<ObjectId>,
    clock: Queues<1>,
}

fn cold_least(cold_share: Ratio, capacity: u32) -> u32 {
    (cold_share.of(u64::from(capacity)) as u32).max(1)
}

impl ClockPro {
    fn new(shape: &Shape, cold_share: Ratio) -> Self {
        let cold_least = cold_least(cold_share, shape.capacity);
        Self {
            capacity: shape.capacity,
            cold_share,
            cold_least,
            cold_target: cold_least,
            hot: 0,
            cold: 0,
            left: 0,
            hot_hand: None,
            cold_hand: None,
            test_hand: None,
            clock: Queues::new(shape.objects),
        }
    }

    #[inline]
    fn kind(&self, object: ObjectId) -> u8 {
        self.clock.mark(object) & KIND
    }

    /// Takes an object off the clock. Hands that point to it move on.
    fn take(&mut self, object: ObjectId) {
        let next = self.clock.next(object);
        for hand in [&mut self.hot_hand, &mut self.cold_hand, &mut self.test_hand] {
            if *hand == Some(object) {
                *hand = next;
            }
        }
        self.clock.take(CLOCK, object);
    }

    /// Adds an object to the clock as the youngest one.
    fn push(&mut self, object: ObjectId, mark: u8) {
        self.clock.push(CLOCK, object);
        self.clock.set_mark(object, mark);
        for hand in [&mut self.hot_hand, &mut self.cold_hand, &mut self.test_hand] {
            hand.get_or_insert(object);
        }
    }

    /// Ends the test of an object, if it is in one.
    fn end_test(&mut self, object: ObjectId) {
        let mark = self.clock.mark(object);
        if mark & TESTED == 0 {
            return;
        }
        if mark & USED == 0 {
            self.cold_target = (self.cold_target - 1).max(self.cold_least);
        } else {
            self.reward();
        }
        if mark & KIND == LEFT {
            self.take(object);
            self.clock.set_mark(object, 0);
            self.left -= 1;
        } else {
            self.clock.set_mark(object, mark & !TESTED);
        }
    }

    fn reward(&mut self) {
        self.cold_target = (self.cold_target + 1).min(self.capacity);
    }

    /// Moves the hot hand until a hot object has become cold, and then on to the next hot one.
    fn move_hot_hand(&mut self) {
        let mut done = false;
        while self.hot > 0 {
            let object = self.hot_hand.expect("hot objects are ahead of the hot hand");
            if self.kind(object) != HOT {
                self.hot_hand = self.clock.next(object);
                self.end_test(object);
                continue;
            }
            if done {
                return;
            }
            done = self.clock.mark(object) & USED == 0;
            if done {
                (self.hot, self.cold) = (self.hot - 1, self.cold + 1);
            }
            self.take(object);
            self.push(object, if done { COLD } else { HOT });
        }
    }

    fn cool(&mut self) {
        while self.hot > self.capacity - self.cold_target {
            self.move_hot_hand();
        }
    }

    /// Ends the oldest tests until no more objects are remembered than the cache may hold.
    fn forget(&mut self) {
        while self.left > self.capacity {
            let object = self.test_hand.expect("objects that have left are ahead of the test hand");
            self.test_hand = self.clock.next(object);
            self.end_test(object);
        }
    }
}

impl Replacement for ClockPro {
    fn holds(&self, object: ObjectId) -> bool {
        matches!(self.kind(object), HOT | COLD)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let mark = self.clock.mark(access.object);
        let hit = matches!(mark & KIND, HOT | COLD);
        if hit {
            self.clock.set_mark(access.object, mark | USED);
        }
        hit
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let full = self.len() >= self.capacity;
        let left = if full { self.evict() } else { None };
        // Checked after the eviction, because a hand may have ended the object's test.
        if self.kind(access.object) == LEFT {
            self.take(access.object);
            self.left -= 1;
            self.reward();
            self.push(access.object, HOT);
            self.hot += 1;
            self.cool();
        } else if !full && self.hot < self.capacity - self.cold_target {
            self.push(access.object, HOT);
            self.hot += 1;
        } else {
            self.push(access.object, COLD | TESTED);
            self.cold += 1;
        }
        left
    }

    fn remove(&mut self, object: ObjectId) {
        match self.kind(object) {
            HOT => self.hot -= 1,
            COLD => self.cold -= 1,
            _ => return,
        }
        self.take(object);
        self.clock.set_mark(object, 0);
    }

    /// Moves the cold hand until an object has left.
    fn evict(&mut self) -> Option<ObjectId> {
        while self.len() > 0 {
            if self.cold == 0 {
                self.move_hot_hand();
            }
            let object = self.cold_hand.expect("cold objects are ahead of the cold hand");
            let mark = self.clock.mark(object);
            if mark & KIND != COLD {
                self.cold_hand = self.clock.next(object);
                continue;
            }
            let tested = mark & TESTED != 0;
            match (mark & USED != 0, tested) {
                (true, _) => {
                    self.take(object);
                    self.push(object, if tested { HOT } else { COLD | TESTED });
                    if tested {
                        (self.hot, self.cold) = (self.hot + 1, self.cold - 1);
                        self.reward();
                        self.cool();
                    }
                }
                (false, true) => {
                    self.clock.set_mark(object, LEFT | TESTED);
                    (self.cold, self.left) = (self.cold - 1, self.left + 1);
                    self.forget();
                    return Some(object);
                }
                (false, false) => {
                    self.remove(object);
                    return Some(object);
                }
            }
        }
        None
    }

    fn len(&self) -> u32 {
        self.hot + self.cold
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.cold_least = cold_least(self.cold_share, capacity);
        self.cold_target = self.cold_target.clamp(self.cold_least, capacity);
        self.cool();
        self.forget();
    }

    fn memory_bytes(&self) -> usize {
        self.clock.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.clock.warm(accesses);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveClockPro::new(shape.capacity as usize, 1)),
    // By the simulator of Caffeine 3.1.8 (`ClockPro` with `non-resident-multiplier = 1`), within a tenth of a point
    // of the miss ratio: there, an object that returns during its test stays cold if all hot objects that are older
    // were used. The paper does not say so.
    misses: [94_545, 85_940],
    tolerance: 113,
};
