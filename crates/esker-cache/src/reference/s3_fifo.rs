//! S3-FIFO with three lists, the oldest object first. Each object has its uses, and the number of objects that had
//! entered the small queue when it did.

use super::Naive;
use crate::Access;

pub(crate) struct NaiveS3Fifo {
    capacity: usize,
    small_size: usize,
    /// The largest value of a counter.
    most: u32,
    threshold: u32,
    window: u64,
    entered: u64,
    small: Vec<(u32, u32, u64)>,
    main: Vec<(u32, u32)>,
    ghosts: Vec<u32>,
}

impl NaiveS3Fifo {
    pub(crate) fn new(capacity: usize, one_bit: bool) -> Self {
        let small_size = (capacity / 10).max(1);
        Self {
            capacity,
            small_size,
            most: if one_bit { 1 } else { 3 },
            threshold: if one_bit { 1 } else { 2 },
            window: if one_bit { small_size as u64 / 2 } else { 0 },
            entered: 0,
            small: Vec::new(),
            main: Vec::new(),
            ghosts: Vec::new(),
        }
    }

    fn make_room(&mut self) {
        while self.small.len() + self.main.len() == self.capacity {
            if self.main.len() > self.capacity - self.small_size || self.small.is_empty() {
                let (object, uses) = self.main.remove(0);
                if uses > 0 {
                    self.main.push((object, uses - 1));
                    // The search continues in the main queue, even if that is no longer too long.
                    while self.main[0].1 > 0 {
                        let (object, uses) = self.main.remove(0);
                        self.main.push((object, uses - 1));
                    }
                    self.main.remove(0);
                }
                return;
            }
            while !self.small.is_empty() {
                let (object, uses, _) = self.small.remove(0);
                if uses >= self.threshold {
                    self.main.push((object, 0));
                } else {
                    self.ghosts.push(object);
                    if self.ghosts.len() > self.capacity * 9 / 10 {
                        self.ghosts.remove(0);
                    }
                    return;
                }
            }
        }
    }
}

impl Naive for NaiveS3Fifo {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        if let Some((_, uses, entered)) = self.small.iter_mut().find(|(held, ..)| *held == object) {
            if self.entered - *entered >= self.window {
                *uses = (*uses + 1).min(self.most);
            }
            return true;
        }
        if let Some((_, uses)) = self.main.iter_mut().find(|(held, _)| *held == object) {
            *uses = (*uses + 1).min(self.most);
            return true;
        }
        let ghost = self.ghosts.iter().position(|ghost| *ghost == object);
        ghost.map(|at| self.ghosts.remove(at));
        self.make_room();
        if ghost.is_some() {
            self.main.push((object, 0));
        } else {
            self.entered += 1;
            self.small.push((object, 0, self.entered));
        }
        false
    }
}
