//! ARC with four lists: figure 4 of the paper, case by case.

use super::{Naive, take};
use crate::Access;

pub(crate) struct NaiveArc {
    c: usize,
    p: f64,
    t1: Vec<u32>,
    t2: Vec<u32>,
    b1: Vec<u32>,
    b2: Vec<u32>,
}

impl NaiveArc {
    pub(crate) fn new(c: usize) -> Self {
        Self { c, p: 0.0, t1: Vec::new(), t2: Vec::new(), b1: Vec::new(), b2: Vec::new() }
    }

    fn replace(&mut self, in_b2: bool) {
        let t1 = self.t1.len() as f64;
        if t1 >= 1.0 && ((in_b2 && t1 == self.p) || t1 > self.p) {
            self.b1.push(self.t1.remove(0));
        } else {
            self.b2.push(self.t2.remove(0));
        }
    }
}

impl Naive for NaiveArc {
    fn access(&mut self, access: &Access) -> bool {
        let (x, c) = (access.object.0, self.c);
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if take(&mut self.t1, x) || take(&mut self.t2, x) {
            self.t2.push(x);
            return true;
        }
        if self.b1.contains(&x) {
            self.p = (self.p + if b1 >= b2 { 1.0 } else { b2 / b1 }).min(c as f64);
            self.replace(false);
            take(&mut self.b1, x);
            self.t2.push(x);
            return false;
        }
        if self.b2.contains(&x) {
            self.p = (self.p - if b2 >= b1 { 1.0 } else { b1 / b2 }).max(0.0);
            self.replace(true);
            take(&mut self.b2, x);
            self.t2.push(x);
            return false;
        }
        let all = self.t1.len() + self.t2.len() + self.b1.len() + self.b2.len();
        if self.t1.len() + self.b1.len() == c {
            if self.t1.len() < c {
                self.b1.remove(0);
                self.replace(false);
            } else {
                self.t1.remove(0);
            }
        } else if all >= c {
            if all == 2 * c {
                self.b2.remove(0);
            }
            self.replace(false);
        }
        self.t1.push(x);
        false
    }
}
