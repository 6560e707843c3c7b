//! Segmented LRU: a list for each segment, with the object used last at the end.

use super::{Naive, take};
use crate::Access;

pub(crate) struct NaiveSlru {
    capacity: usize,
    /// Number of objects that each segment except the first may hold.
    room: usize,
    segments: Vec<Vec<u32>>,
}

impl NaiveSlru {
    pub(crate) fn new(capacity: usize, segments: usize, protected_percent: usize) -> Self {
        let room = capacity * protected_percent / 100 / (segments - 1);
        Self { capacity, room, segments: vec![Vec::new(); segments] }
    }
}

impl Naive for NaiveSlru {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        let found = self.segments.iter().position(|segment| segment.contains(&object));
        let Some(segment) = found else {
            if self.segments.iter().map(Vec::len).sum::<usize>() == self.capacity {
                self.segments.iter_mut().find(|segment| !segment.is_empty()).unwrap().remove(0);
            }
            self.segments[0].push(object);
            return false;
        };
        let above = (segment + 1).min(self.segments.len() - 1);
        take(&mut self.segments[segment], object);
        self.segments[above].push(object);
        for segment in (1..self.segments.len()).rev() {
            while self.segments[segment].len() > self.room {
                let first = self.segments[segment].remove(0);
                self.segments[segment - 1].push(first);
            }
        }
        true
    }
}
