//! A cache of objects of different sizes: a list that is searched for the object to evict.

use crate::Access;

/// Which object is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    Lru,
    Fifo,
    Lfu,
    Gdsf,
    /// Wrong on purpose: old uses count as much as recent ones.
    GdsfWithoutAge,
}

struct Held {
    object: u32,
    bytes: u64,
    uses: u64,
    came: usize,
    last_use: usize,
    /// The value of the clock at the last use.
    age: f64,
}

pub(crate) struct Sized {
    room: u64,
    victim: Victim,
    now: usize,
    /// The worth of the last object that left.
    age: f64,
    held: Vec<Held>,
}

impl Sized {
    pub(crate) fn new(room: u64, victim: Victim) -> Self {
        Self { room, victim, now: 0, age: 0.0, held: Vec::new() }
    }

    /// Returns true if the access hits. An object that misses is taken in.
    pub(crate) fn access(&mut self, access: &Access) -> bool {
        self.now += 1;
        let (now, age) = (self.now, self.age);
        if let Some(held) = self.held.iter_mut().find(|held| held.object == access.object.0) {
            (held.uses, held.last_use, held.age) = (held.uses + 1, now, age);
            return true;
        }
        let bytes = u64::from(access.bytes);
        if bytes > self.room {
            return false;
        }
        while self.held.iter().map(|held| held.bytes).sum::<u64>() + bytes > self.room {
            let worth = |held: &Held| match self.victim {
                Victim::Lru => held.last_use as f64,
                Victim::Fifo => held.came as f64,
                Victim::Lfu => held.uses as f64,
                Victim::Gdsf => held.age + held.uses as f64 / held.bytes as f64,
                Victim::GdsfWithoutAge => held.uses as f64 / held.bytes as f64,
            };
            self.held.sort_by(|one, other| worth(one).total_cmp(&worth(other)).then(one.last_use.cmp(&other.last_use)));
            let least = worth(&self.held[0]);
            self.age = least;
            self.held.remove(0);
        }
        self.held.push(Held { object: access.object.0, bytes, uses: 1, came: now, last_use: now, age: self.age });
        false
    }
}
