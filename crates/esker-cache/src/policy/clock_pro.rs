//! CLOCK-Pro: what LIRS does, on a clock, so that a hit only sets a bit.
//!
//! As in section 4 of the paper. Hot objects keep the cache; cold ones pass through, and become hot if they are used
//! again during their test, which lasts until a hand ends it, even if they have left meanwhile. Three hands go round:
//! - the cold hand lets cold objects go that were not used,
//! - the hot hand makes hot objects cold that were not used, and ends the tests of cold ones on its way,
//! - the test hand ends tests when more objects are remembered than the cache may hold.
//!
//! How many objects should be cold is learnt: one more for each use during a test, one less for each test without.
//! While the cache fills, objects become hot at once, until there are as many as should be.

use esker_core::Ratio;
use esker_core::registry::{Accepted, Parameter, ParameterSource};

use super::queues::Queues;
use super::{Replacement, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "clock-pro",
    summary: "LIRS on a clock: objects used again soon keep the cache, and how many others it holds is learnt",
    source: "Jiang, Chen, Zhang, USENIX ATC 2005; the share at the beginning is assumed",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "cold",
        meaning: "share of the cache for cold objects at the beginning, at least one object",
        value: Accepted::Share { default: Ratio::percent(1), least: Ratio::ZERO, most: Ratio::ONE },
    }]),
    capabilities: &[],
    build: |shape, parameters| Box::new(ClockPro::new(shape, parameters.share("cold"))),
};

/// What an object is: the lower bits of its mark, which is zero for an object that is not on the clock.
const KIND: u8 = 3;
/// Held.
const HOT: u8 = 1;
/// Held.
const COLD: u8 = 2;
/// Not held, and in its test.
const LEFT: u8 = 3;
/// A bit of the mark: the object is in its test.
const TESTED: u8 = 4;
/// A bit of the mark: used since it came or since a hand last saw it.
const USED: u8 = 8;

/// The only queue. The hot hand stands at its first object, and what it has passed is at the end.
const CLOCK: u8 = 0;

#[derive(Debug)]
struct ClockPro {
    capacity: u32,
    /// How many objects should be cold.
    cold_target: u32,
    hot: u32,
    cold: u32,
    left: u32,
    cold_hand: Option<ObjectId>,
    test_hand: Option<ObjectId>,
    clock: Queues<1>,
}

impl ClockPro {
    fn new(shape: &Shape, cold: Ratio) -> Self {
        Self {
            capacity: shape.capacity,
            cold_target: (cold.of(u64::from(shape.capacity)) as u32).max(1),
            hot: 0,
            cold: 0,
            left: 0,
            cold_hand: None,
            test_hand: None,
            clock: Queues::new(shape.objects),
        }
    }

    #[inline]
    fn kind(&self, object: ObjectId) -> u8 {
        self.clock.mark(object) & KIND
    }

    /// The next object that a hand at this one comes to.
    fn ahead(&self, object: ObjectId) -> Option<ObjectId> {
        self.clock.next(object).or_else(|| self.clock.first(CLOCK))
    }

    /// Takes an object off the clock; hands that stand there move on.
    fn take(&mut self, object: ObjectId) {
        let ahead = self.ahead(object).filter(|ahead| *ahead != object);
        for hand in [&mut self.cold_hand, &mut self.test_hand] {
            if *hand == Some(object) {
                *hand = ahead;
            }
        }
        self.clock.take(CLOCK, object);
    }

    /// Puts an object where it is farthest from the hot hand.
    fn push(&mut self, object: ObjectId, mark: u8) {
        self.clock.push(CLOCK, object);
        self.clock.set_mark(object, mark);
    }

    /// Ends the test of a cold object.
    fn end_test(&mut self, object: ObjectId) {
        let mark = self.clock.mark(object);
        if mark & TESTED != 0 {
            if mark & USED == 0 {
                self.cold_target = (self.cold_target - 1).max(1);
            }
            self.clock.set_mark(object, mark & !TESTED);
        }
        if mark & KIND == LEFT {
            self.take(object);
            self.clock.set_mark(object, 0);
            self.left -= 1;
        }
    }

    fn reward(&mut self) {
        self.cold_target = (self.cold_target + 1).min(self.capacity);
    }

    /// Moves the hot hand until a hot object has become cold, and on to the next hot one.
    fn move_hot_hand(&mut self) {
        let mut done = false;
        while self.hot > 0 {
            let first = self.clock.first(CLOCK).expect("there are hot objects");
            let mark = self.clock.mark(first);
            if mark & KIND == HOT {
                if done {
                    return;
                }
                if mark & USED == 0 {
                    (self.hot, self.cold, done) = (self.hot - 1, self.cold + 1, true);
                    self.clock.set_mark(first, COLD);
                } else {
                    self.clock.set_mark(first, HOT);
                }
            } else {
                self.end_test(first);
            }
            if self.clock.mark(first) != 0 {
                self.clock.shift(CLOCK, CLOCK, first);
            }
        }
    }

    fn cool(&mut self) {
        while self.hot > self.capacity - self.cold_target {
            self.move_hot_hand();
        }
    }

    /// Moves the test hand over one cold object, whose test it ends.
    fn move_test_hand(&mut self) {
        while let Some(object) = self.test_hand.or_else(|| self.clock.first(CLOCK)) {
            self.test_hand = self.ahead(object);
            if self.kind(object) != HOT {
                self.end_test(object);
                return;
            }
        }
    }

    fn forget(&mut self) {
        while self.left > self.capacity {
            self.move_test_hand();
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
        // Asked after the eviction, because a hand may have ended its test.
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
            let object = self.cold_hand.or_else(|| self.clock.first(CLOCK))?;
            self.cold_hand = self.ahead(object);
            let mark = self.clock.mark(object);
            if mark & KIND != COLD {
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
        self.cold_target = self.cold_target.min(capacity);
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
