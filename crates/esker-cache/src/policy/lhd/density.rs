//! Hits per time that objects of a class promise, depending on their age.

pub(super) const CLASSES: u32 = 16;

/// Objects that were used at similar ages.
#[derive(Debug)]
pub(super) struct Class {
    /// What happened to its objects, by their age at that time. Older events weigh less.
    events: Vec<Events>,
    /// For each age, hits until an object leaves, divided by the time until then.
    densities: Vec<f32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Events {
    hits: f32,
    evictions: f32,
}

/// Returns the class of objects whose last two ages at uses sum up to `age`: the logarithm of `ages / age`.
pub(super) fn class_of_ages(age: u32, ages: u32) -> usize {
    let last = CLASSES as usize - 1;
    (0..last).find(|class| u64::from(age) << class >= u64::from(ages)).unwrap_or(last)
}

impl Class {
    /// Creates a class with initial densities: higher for younger objects, and for objects that were used again sooner.
    pub(super) fn new(class: u32, ages: u32) -> Self {
        let densities = (0..ages).map(|age| (class + 1) as f32 / (age + 1) as f32).collect();
        Self { events: vec![Events::default(); ages as usize], densities }
    }

    pub(super) fn density(&self, age: u32) -> f32 {
        self.densities[age as usize]
    }

    pub(super) fn hit(&mut self, age: u32) {
        self.events[age as usize].hits += 1.0;
    }

    pub(super) fn eviction(&mut self, age: u32) {
        self.events[age as usize].evictions += 1.0;
    }

    /// Recomputes the densities, from the highest age down: the time that objects stay from an age on is the sum of the
    /// objects that are still there at all later ages.
    pub(super) fn learn(&mut self, decay: f32) {
        let (mut hits, mut ends, mut time) = (0.0, 0.0, 0.0);
        for (events, density) in self.events.iter_mut().zip(&mut self.densities).rev() {
            events.hits *= decay;
            events.evictions *= decay;
            hits += events.hits;
            ends += events.hits + events.evictions;
            time += ends;
            *density = if ends > 1e-5 { hits / time } else { 0.0 };
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.events.capacity() * size_of::<Events>() + self.densities.capacity() * size_of::<f32>()
    }
}
