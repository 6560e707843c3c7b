//! FLRU: LRU in which evicted objects are suspected until they are erased (Xia 2017, algorithm 1).

use esker_core::registry::ParameterSource;

use super::queue::{Place, Queue};
use super::{FlashPolicy, FlashPolicyEntry, FlashShape, Found, Left};
use crate::ObjectId;

pub(super) const ENTRY: FlashPolicyEntry = FlashPolicyEntry {
    name: "flru",
    summary: "least recently used, and what was evicted is revived if it is read before its block is erased",
    source: "Xia 2017, algorithm 1",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Flru::new(shape)),
};

/// Queue of the objects that the cache holds.
const MAIN: u8 = 1;
/// Queue of the suspected objects.
const SUSPECTS: u8 = 2;

/// The main queue evolves like that of plain LRU, whatever is erased: an access moves its object to the head, and if
/// the object was not there, a full queue loses its tail. So FLRU hits whenever LRU with the same number of pages does.
#[derive(Debug)]
pub(super) struct Flru {
    capacity: u32,
    suspects_max: u32,
    places: Vec<Place>,
    main: Queue,
    suspects: Queue,
}

impl Flru {
    pub(super) fn new(shape: &FlashShape) -> Self {
        Self {
            capacity: shape.capacity,
            suspects_max: shape.suspects,
            places: vec![Place::default(); shape.objects as usize],
            main: Queue::new(MAIN),
            suspects: Queue::new(SUSPECTS),
        }
    }

    /// Makes the tail of the main queue leave, if the queue is full.
    fn make_room(&mut self, left: &mut Vec<Left>) {
        if self.main.len() >= self.capacity {
            self.evict(left);
        }
    }

    fn evict(&mut self, left: &mut Vec<Left>) {
        let Some(tail) = self.main.pop_tail(&mut self.places) else { return };
        if self.suspects_max == 0 {
            return left.push(Left::Gone(ObjectId(tail)));
        }
        self.suspects.push_head(&mut self.places, tail);
        left.push(Left::Suspected(ObjectId(tail)));
        self.forget_suspects(left);
    }

    /// Forgets suspects beyond the limit.
    fn forget_suspects(&mut self, left: &mut Vec<Left>) {
        while self.suspects.len() > self.suspects_max {
            left.extend(self.suspects.pop_tail(&mut self.places).map(|last| Left::Gone(ObjectId(last))));
        }
    }
}

impl FlashPolicy for Flru {
    fn access(&mut self, object: ObjectId, left: &mut Vec<Left>) -> Found {
        let found = match self.places[object.index()].queue {
            MAIN => {
                self.main.renew(&mut self.places, object.0);
                return Found::Hit;
            }
            SUSPECTS => {
                self.suspects.remove(&mut self.places, object.0);
                Found::Revived
            }
            _ => Found::Miss,
        };
        self.make_room(left);
        self.main.push_head(&mut self.places, object.0);
        found
    }

    fn holds(&self, object: ObjectId) -> bool {
        self.places[object.index()].queue == MAIN
    }

    fn is_suspected(&self, object: ObjectId) -> bool {
        self.places[object.index()].queue == SUSPECTS
    }

    fn is_hot(&self, object: ObjectId) -> bool {
        self.holds(object) && self.places[object.index()].hot
    }

    fn remove(&mut self, object: ObjectId) {
        match self.places[object.index()].queue {
            MAIN => self.main.remove(&mut self.places, object.0),
            SUSPECTS => self.suspects.remove(&mut self.places, object.0),
            _ => {}
        }
    }

    fn shrink(&mut self, capacity: u32, suspects: u32, left: &mut Vec<Left>) {
        self.capacity = capacity;
        // Policies without suspects stay without them.
        self.suspects_max = self.suspects_max.min(suspects);
        self.forget_suspects(left);
        while self.main.len() > capacity {
            self.evict(left);
        }
    }

    fn erased(&mut self, object: ObjectId) {
        if self.places[object.index()].queue == SUSPECTS {
            self.suspects.remove(&mut self.places, object.0);
        }
    }

    fn held(&self) -> u32 {
        self.main.len()
    }

    fn suspected(&self) -> u32 {
        self.suspects.len()
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.places)
    }
}
