//! LeCaR with vectors that are searched.

use esker_core::Rng;

use super::Naive;
use crate::Access;

pub(crate) struct NaiveLecar {
    capacity: usize,
    now: u64,
    /// The objects in the cache, the least recently used first.
    held: Vec<Seen>,
    /// Objects that LRU evicted, and objects that LFU evicted, in the order in which they left.
    histories: [Vec<Seen>; 2],
    weights: [f64; 2],
    rng: Rng,
    /// Whether the lowest block of those used least often leaves, as in the authors' program.
    lowest_first: bool,
}

struct Seen {
    object: u32,
    frequency: u32,
    time: u64,
}

impl NaiveLecar {
    pub(crate) fn new(capacity: usize, seed: u64, lowest_first: bool) -> Self {
        let rng = Rng::derive(seed, "lecar");
        Self { capacity, now: 0, held: Vec::new(), histories: Default::default(), weights: [0.5; 2], rng, lowest_first }
    }

    fn make_room(&mut self) {
        let expert = usize::from(self.rng.unit() >= self.weights[0]);
        let by_block = |at: &usize| (self.held[*at].frequency, self.held[*at].object);
        let by_time = |at: &usize| (self.held[*at].frequency, self.held[*at].time);
        let lfu = if self.lowest_first {
            (0..self.capacity).min_by_key(by_block).unwrap()
        } else {
            (0..self.capacity).min_by_key(by_time).unwrap()
        };
        let left = self.held.remove(if expert == 0 { 0 } else { lfu });
        if lfu != 0 {
            self.histories[expert].push(Seen { time: self.now, ..left });
            if self.histories[expert].len() > self.capacity / 2 {
                self.histories[expert].remove(0);
            }
        }
    }
}

impl Naive for NaiveLecar {
    fn access(&mut self, access: &Access) -> bool {
        self.now += 1;
        let (object, time) = (access.object.0, self.now);
        if let Some(at) = self.held.iter().position(|seen| seen.object == object) {
            let frequency = self.held.remove(at).frequency + 1;
            self.held.push(Seen { object, frequency, time });
            return true;
        }
        let mut frequency = 1;
        for expert in 0..2 {
            if let Some(at) = self.histories[expert].iter().position(|seen| seen.object == object) {
                let seen = self.histories[expert].remove(at);
                frequency = seen.frequency + 1;
                let discounted = 0.005f64.powf((self.now - seen.time) as f64 / self.capacity as f64);
                self.weights[expert] *= (0.45 * -discounted).exp();
                let lru = (self.weights[0] / (self.weights[0] + self.weights[1])).clamp(1.0 - 0.99, 0.99);
                self.weights = [lru, 1.0 - lru];
                break;
            }
        }
        if self.held.len() == self.capacity {
            self.make_room();
        }
        self.held.push(Seen { object, frequency, time });
        false
    }
}
