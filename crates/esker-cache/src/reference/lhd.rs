//! LHD restated: one vector that is searched, and densities as sums over all later ages. It makes the same random draws
//! as the policy.

use esker_core::Rng;

use super::Naive;
use crate::Access;

pub(crate) struct NaiveLhd {
    capacity: usize,
    ages: u64,
    /// Number of accesses after which the age of an object grows by one.
    unit: u64,
    now: u64,
    held: Vec<Tag>,
    /// Hits, evictions and densities of each class, by age.
    classes: Vec<[Vec<f32>; 3]>,
    suspects: Vec<u32>,
    victim_density: f32,
    rng: Rng,
}

#[derive(Clone, Copy)]
struct Tag {
    object: u32,
    used_at: u64,
    age: u64,
    age_before: u64,
    explorer: bool,
}

impl NaiveLhd {
    pub(crate) fn new(capacity: usize, seed: u64) -> Self {
        let ages = (100 * capacity as u64).min(5_000);
        let first = |class: u64| (0..ages).map(|age| (class + 1) as f32 / (age + 1) as f32).collect();
        Self {
            capacity,
            ages,
            unit: (capacity as u64).div_ceil(50).next_power_of_two(),
            now: 0,
            held: Vec::new(),
            classes: (0..16).map(|class| [vec![0.0; ages as usize], vec![0.0; ages as usize], first(class)]).collect(),
            suspects: Vec::new(),
            victim_density: 0.0,
            rng: Rng::derive(seed, "lhd"),
        }
    }

    fn age(&self, tag: &Tag) -> usize {
        ((self.now - tag.used_at) / self.unit).min(self.ages - 1) as usize
    }

    fn class(&self, tag: &Tag) -> usize {
        let (mut age, mut class) = (tag.age + tag.age_before, 0);
        while age < self.ages && class < 15 {
            age *= 2;
            class += 1;
        }
        class
    }

    fn density(&self, tag: &Tag) -> f32 {
        if self.age(tag) as u64 == self.ages - 1 {
            return -1.0;
        }
        self.classes[self.class(tag)][2][self.age(tag)] + if tag.explorer { 1.0 } else { 0.0 }
    }

    fn learn(&mut self) {
        for [hits, evictions, densities] in &mut self.classes {
            hits.iter_mut().chain(&mut *evictions).for_each(|events| *events *= 0.9);
            let (mut all_hits, mut all, mut time) = (0.0, 0.0, 0.0);
            for age in (0..self.ages as usize).rev() {
                all_hits += hits[age];
                all += hits[age] + evictions[age];
                time += all;
                densities[age] = if all > 1e-5 { all_hits / time } else { 0.0 };
            }
        }
    }

    fn end_access(&mut self, tag: Tag, new: bool) -> Tag {
        let explores = self.rng.below(32) == 0;
        let explorers = self.held.iter().filter(|tag| tag.explorer).count();
        let tag = Tag { used_at: self.now, explorer: explores && explorers < self.capacity / 100, ..tag };
        if new && !explores && self.density(&tag) < self.victim_density {
            self.suspects.push(tag.object);
        }
        self.now += 1;
        if self.now.is_multiple_of(1024) {
            self.learn();
        }
        tag
    }

    fn make_room(&mut self) {
        let mut worst = (f32::MAX, 0);
        let drawn: Vec<usize> = (0..32).map(|_| self.rng.below(self.capacity as u64) as usize).collect();
        let recent = &self.suspects[self.suspects.len().saturating_sub(8)..];
        // The eight newest suspects are checked in the order of their places in a ring of eight.
        let mut ring = [None; 8];
        let begin = self.suspects.len() - recent.len();
        recent.iter().enumerate().for_each(|(at, object)| ring[(begin + at) % 8] = Some(*object));
        let suspects =
            ring.iter().flatten().filter_map(|object| self.held.iter().position(|tag| tag.object == *object));
        for at in drawn.into_iter().chain(suspects) {
            if self.density(&self.held[at]) < worst.0 {
                worst = (self.density(&self.held[at]), at);
            }
        }
        self.victim_density = 0.9 * self.victim_density + (1.0 - 0.9) * worst.0;
        let tag = self.held.swap_remove(worst.1);
        let (class, age) = (self.class(&tag), self.age(&tag));
        self.classes[class][1][age] += 1.0;
    }
}

impl Naive for NaiveLhd {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        if let Some(at) = self.held.iter().position(|tag| tag.object == object) {
            let tag = self.held[at];
            let (class, age) = (self.class(&tag), self.age(&tag));
            self.classes[class][0][age] += 1.0;
            self.held[at].explorer = false;
            self.held[at] = self.end_access(Tag { age: age as u64, age_before: tag.age, ..tag }, false);
            return true;
        }
        if self.held.len() == self.capacity {
            self.make_room();
        }
        let tag = Tag { object, used_at: self.now, age: 0, age_before: self.ages, explorer: false };
        let tag = self.end_access(tag, true);
        self.held.push(tag);
        false
    }
}
