//! FARC: ARC in which evicted objects are suspected until they are erased (Xia 2017, algorithm 2).

use esker_core::registry::ParameterSource;

use super::queue::{Place, Queue};
use super::{FlashPolicy, FlashPolicyEntry, FlashShape, Found, Left};
use crate::ObjectId;

pub(super) const ENTRY: FlashPolicyEntry = FlashPolicyEntry {
    name: "farc",
    summary: "ARC, and what was evicted is revived if it is read before its block is erased",
    source: "Xia 2017, algorithm 2",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Farc::new(shape)),
};

/// Numbers of queues, as indices into [`Farc::queues`]. Objects read once: held, suspected, erased.
const T1: u8 = 1;
const S1: u8 = 2;
const B1: u8 = 3;
/// Objects read more often: held, suspected, erased.
const T2: u8 = 4;
const S2: u8 = 5;
const B2: u8 = 6;

/// Without suspects, this is plain ARC (Megiddo and Modha 2003, figure 4). Where the paper leaves a choice:
///
/// - Case V, A asks for |T1| < c, like ARC; "|T1| <= c", as printed, is always true.
/// - An entry for which the suspected queues have no room goes where it would go when erased, to B1 or B2. It is the
///   tail of the longer queue; of equal ones, of SQ1.
/// - B1 and B2 are cut to ARC's bounds (|T1| + |B1| <= c, all four <= 2c) whenever erases make them longer.
/// - Objects leave only if c of them are held: zero-migration cleaning may have dropped some.
#[derive(Debug)]
pub(super) struct Farc {
    capacity: u32,
    suspects_max: u32,
    /// Target size of T1.
    target: f64,
    places: Vec<Place>,
    /// By number. Index 0 stands for no queue.
    queues: [Queue; 7],
}

impl Farc {
    pub(super) fn new(shape: &FlashShape) -> Self {
        Self {
            capacity: shape.capacity,
            suspects_max: shape.suspects,
            target: 0.0,
            places: vec![Place::default(); shape.objects as usize],
            queues: [0, T1, S1, B1, T2, S2, B2].map(Queue::new),
        }
    }

    fn len(&self, queue: u8) -> u32 {
        self.queues[queue as usize].len()
    }

    fn push(&mut self, queue: u8, object: u32) {
        self.queues[queue as usize].push_head(&mut self.places, object);
    }

    fn pop(&mut self, queue: u8) -> Option<u32> {
        self.queues[queue as usize].pop_tail(&mut self.places)
    }

    fn take(&mut self, object: ObjectId) {
        let queue = self.places[object.index()].queue;
        self.queues[queue as usize].remove(&mut self.places, object.0);
    }

    /// Moves the target after a hit in B1 or B2.
    fn adapt(&mut self, hit: u8) {
        let (one, two) = (f64::from(self.len(B1)), f64::from(self.len(B2)));
        match hit {
            B1 => self.target = (self.target + (two / one).max(1.0)).min(f64::from(self.capacity)),
            _ => self.target = (self.target - (one / two).max(1.0)).max(0.0),
        }
    }

    /// Makes an object leave T1 or T2, if the cache is full.
    fn replace(&mut self, hit_in_b2: bool, left: &mut Vec<Left>) {
        if self.held() >= self.capacity {
            self.evict_one(hit_in_b2, left);
        }
    }

    /// Makes an object leave T1 or T2, according to the target.
    fn evict_one(&mut self, hit_in_b2: bool, left: &mut Vec<Left>) {
        let first = self.len(T1);
        let size = f64::from(first);
        let from_first = first > 0 && (size > self.target || hit_in_b2 && size == self.target);
        self.evict(if from_first || self.len(T2) == 0 { T1 } else { T2 }, left);
    }

    /// Moves the tail of `queue`, T1 or T2, to the suspects.
    fn evict(&mut self, queue: u8, left: &mut Vec<Left>) {
        let Some(tail) = self.pop(queue) else { return };
        let (suspects, erased) = (queue + 1, queue + 2);
        if self.suspects_max == 0 {
            self.push(erased, tail);
            return left.push(Left::Gone(ObjectId(tail)));
        }
        self.push(suspects, tail);
        left.push(Left::Suspected(ObjectId(tail)));
        self.forget_suspects(left);
    }

    /// Forgets suspects beyond the limit.
    fn forget_suspects(&mut self, left: &mut Vec<Left>) {
        while self.suspected() > self.suspects_max {
            let longer = if self.len(S2) > self.len(S1) { S2 } else { S1 };
            let last = self.pop(longer).expect("the longer queue has entries");
            self.push(longer + 1, last);
            left.push(Left::Gone(ObjectId(last)));
        }
    }

    /// Makes room for an object that is in no queue.
    fn make_room(&mut self, left: &mut Vec<Left>) {
        if self.len(T1) + self.len(B1) >= self.capacity {
            if self.len(T1) < self.capacity {
                self.pop(B1);
                self.replace(false, left);
            } else {
                self.evict(T1, left);
            }
        } else {
            if self.len(T1) + self.len(T2) + self.len(B1) + self.len(B2) >= 2 * self.capacity {
                self.pop(B2);
            }
            self.replace(false, left);
        }
    }

    /// Cuts B1 and B2 to ARC's bounds.
    fn cut(&mut self) {
        while self.len(T1) + self.len(B1) > self.capacity && self.pop(B1).is_some() {}
        let all = |farc: &Self| farc.len(T1) + farc.len(T2) + farc.len(B1) + farc.len(B2);
        while all(self) > 2 * self.capacity && (self.pop(B2).is_some() || self.pop(B1).is_some()) {}
    }
}

impl FlashPolicy for Farc {
    fn access(&mut self, object: ObjectId, left: &mut Vec<Left>) -> Found {
        let at = self.places[object.index()].queue;
        let (found, to) = match at {
            T1 | T2 => {
                self.take(object);
                (Found::Hit, T2)
            }
            S1 | S2 => {
                self.take(object);
                self.replace(false, left);
                (Found::Revived, T2)
            }
            B1 | B2 => {
                self.adapt(at);
                // The entry itself must not be cut off while room is made for it.
                self.take(object);
                self.replace(at == B2, left);
                (Found::Miss, T2)
            }
            _ => {
                self.make_room(left);
                (Found::Miss, T1)
            }
        };
        self.push(to, object.0);
        self.cut();
        found
    }

    fn holds(&self, object: ObjectId) -> bool {
        matches!(self.places[object.index()].queue, T1 | T2)
    }

    fn is_suspected(&self, object: ObjectId) -> bool {
        matches!(self.places[object.index()].queue, S1 | S2)
    }

    fn is_hot(&self, object: ObjectId) -> bool {
        self.holds(object) && self.places[object.index()].hot
    }

    fn remove(&mut self, object: ObjectId) {
        if self.places[object.index()].queue != 0 {
            self.take(object);
        }
    }

    fn shrink(&mut self, capacity: u32, suspects: u32, left: &mut Vec<Left>) {
        self.capacity = capacity;
        // Policies without suspects stay without them.
        self.suspects_max = self.suspects_max.min(suspects);
        self.target = self.target.min(f64::from(capacity));
        self.forget_suspects(left);
        while self.held() > capacity {
            self.evict_one(false, left);
        }
        self.cut();
    }

    fn erased(&mut self, object: ObjectId) {
        let queue = self.places[object.index()].queue;
        if matches!(queue, S1 | S2) {
            self.take(object);
            self.push(queue + 1, object.0);
            self.cut();
        }
    }

    fn held(&self) -> u32 {
        self.len(T1) + self.len(T2)
    }

    fn suspected(&self) -> u32 {
        self.len(S1) + self.len(S2)
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.places)
    }
}
