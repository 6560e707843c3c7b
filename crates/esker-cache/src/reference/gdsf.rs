//! GDSF for objects of one size: every object with its worth. All of them are searched for the least.

use super::Naive;
use crate::Access;

pub(crate) struct NaiveGdsf {
    capacity: usize,
    /// Whether old uses count less.
    ages: bool,
    age: u64,
    now: usize,
    /// Worth, last use, object, uses.
    held: Vec<(u64, usize, u32, u64)>,
}

impl NaiveGdsf {
    pub(crate) fn new(capacity: usize, ages: bool) -> Self {
        Self { capacity, ages, age: 0, now: 0, held: Vec::new() }
    }
}

impl Naive for NaiveGdsf {
    fn access(&mut self, access: &Access) -> bool {
        self.now += 1;
        if let Some(held) = self.held.iter_mut().find(|held| held.2 == access.object.0) {
            *held = (self.age + held.3 + 1, self.now, held.2, held.3 + 1);
            return true;
        }
        if self.held.len() == self.capacity {
            self.held.sort_unstable();
            let (worth, ..) = self.held.remove(0);
            self.age = if self.ages { worth } else { 0 };
        }
        self.held.push((self.age + 1, self.now, access.object.0, 1));
        false
    }
}
