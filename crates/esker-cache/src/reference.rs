//! Policies written as simply as possible, as a reference for the fast ones: a list of objects that is searched from
//! one end. Their time per access is proportional to the size of the cache.

mod arc;
mod belady;
mod cacheus;
mod clock_pro;
mod gdsf;
mod lecar;
mod lfu;
mod lhd;
mod lirs;
mod lrfu;
mod s3_fifo;
mod sieve;
mod sized;
mod slru;
mod two_q;
mod w_tinylfu;

pub(crate) use arc::NaiveArc;
pub(crate) use belady::NaiveBelady;
pub(crate) use cacheus::NaiveCacheus;
pub(crate) use clock_pro::NaiveClockPro;
pub(crate) use gdsf::NaiveGdsf;
pub(crate) use lecar::NaiveLecar;
pub(crate) use lfu::NaiveLfu;
pub(crate) use lhd::NaiveLhd;
pub(crate) use lirs::NaiveLirs;
pub(crate) use lrfu::NaiveLrfu;
pub(crate) use s3_fifo::NaiveS3Fifo;
pub(crate) use sieve::NaiveSieve;
pub(crate) use sized::{Sized, Victim};
pub(crate) use slru::NaiveSlru;
pub(crate) use two_q::NaiveTwoQ;
pub(crate) use w_tinylfu::NaiveWTinyLfu;

use crate::Access;

/// A cache that receives one access after another.
pub(crate) trait Naive {
    /// Returns true if the access hits. An object that misses is taken in.
    fn access(&mut self, access: &Access) -> bool;
}

/// First in, first out. The oldest object is first.
pub(crate) struct NaiveFifo {
    pub(crate) capacity: usize,
    pub(crate) held: Vec<u32>,
}

impl Naive for NaiveFifo {
    fn access(&mut self, access: &Access) -> bool {
        let hit = self.held.contains(&access.object.0);
        if !hit {
            if self.held.len() == self.capacity {
                self.held.remove(0);
            }
            self.held.push(access.object.0);
        }
        hit
    }
}

/// Least recently used. The object used last is at the end.
pub(crate) struct NaiveLru {
    pub(crate) capacity: usize,
    pub(crate) held: Vec<u32>,
}

impl Naive for NaiveLru {
    fn access(&mut self, access: &Access) -> bool {
        let found = self.held.iter().position(|object| *object == access.object.0);
        match found {
            Some(at) => {
                self.held.remove(at);
            }
            None if self.held.len() == self.capacity => {
                self.held.remove(0);
            }
            None => (),
        }
        self.held.push(access.object.0);
        found.is_some()
    }
}

/// CLOCK: each object has a bit that is set when it is used again. The hand is at the front of the list.
pub(crate) struct NaiveClock {
    pub(crate) capacity: usize,
    pub(crate) held: Vec<(u32, bool)>,
}

impl Naive for NaiveClock {
    fn access(&mut self, access: &Access) -> bool {
        if let Some((_, used)) = self.held.iter_mut().find(|(object, _)| *object == access.object.0) {
            *used = true;
            return true;
        }
        if self.held.len() == self.capacity {
            while self.held[0].1 {
                let (object, _) = self.held.remove(0);
                self.held.push((object, false));
            }
            self.held.remove(0);
        }
        self.held.push((access.object.0, false));
        false
    }
}

/// Removes an object from a list. Returns true if the list contained it.
fn take(list: &mut Vec<u32>, object: u32) -> bool {
    let found = list.iter().position(|other| *other == object);
    found.map(|at| list.remove(at)).is_some()
}
