//! CLOCK-Pro: the clock as a list that begins at the hot hand; the other hands are places in it.

use super::Naive;
use crate::Access;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Hot,
    Cold,
    Left,
}

struct Page {
    object: u32,
    kind: Kind,
    tested: bool,
    used: bool,
}

pub(crate) struct NaiveClockPro {
    capacity: usize,
    cold_target: usize,
    clock: Vec<Page>,
    /// The objects at which the hands stand.
    cold_hand: Option<u32>,
    test_hand: Option<u32>,
}

impl NaiveClockPro {
    pub(crate) fn new(capacity: usize, cold_percent: usize) -> Self {
        let cold_target = (capacity * cold_percent / 100).max(1);
        Self { capacity, cold_target, clock: Vec::new(), cold_hand: None, test_hand: None }
    }

    fn count(&self, kind: Kind) -> usize {
        self.clock.iter().filter(|page| page.kind == kind).count()
    }

    fn at(&self, hand: Option<u32>) -> usize {
        hand.map_or(0, |hand| self.clock.iter().position(|page| page.object == hand).unwrap())
    }

    fn after(&self, at: usize) -> Option<u32> {
        Some(self.clock[(at + 1) % self.clock.len()].object)
    }

    /// Takes a page off the clock; hands that stand there move on.
    fn take(&mut self, at: usize) -> Page {
        let after = self.after(at).filter(|_| self.clock.len() > 1);
        let page = self.clock.remove(at);
        for hand in [&mut self.cold_hand, &mut self.test_hand] {
            if *hand == Some(page.object) {
                *hand = after;
            }
        }
        page
    }

    fn end_test(&mut self, at: usize) {
        let page = &mut self.clock[at];
        if page.tested && !page.used && self.cold_target > 1 {
            self.cold_target -= 1;
        }
        page.tested = false;
        if page.kind == Kind::Left {
            self.take(at);
        }
    }

    fn cool(&mut self) {
        while self.count(Kind::Hot) > self.capacity - self.cold_target {
            let hot = self.count(Kind::Hot);
            // Until one has become cold, and on to the next hot one.
            while self.count(Kind::Hot) == hot || (hot > 1 && self.clock[0].kind != Kind::Hot) {
                match self.clock[0] {
                    Page { kind: Kind::Hot, used: false, .. } => self.clock[0].kind = Kind::Cold,
                    Page { kind: Kind::Hot, .. } => self.clock[0].used = false,
                    Page { kind: Kind::Left, .. } => {
                        self.end_test(0);
                        continue;
                    }
                    Page { kind: Kind::Cold, .. } => self.end_test(0),
                }
                self.clock.rotate_left(1);
            }
        }
    }

    fn reward(&mut self) {
        self.cold_target = (self.cold_target + 1).min(self.capacity);
    }

    fn make_room(&mut self) {
        loop {
            let at = self.at(self.cold_hand);
            self.cold_hand = self.after(at);
            if self.clock[at].kind != Kind::Cold {
                continue;
            }
            if self.clock[at].used {
                let Page { object, tested, .. } = self.take(at);
                let kind = if tested { Kind::Hot } else { Kind::Cold };
                self.clock.push(Page { object, kind, tested: !tested, used: false });
                if tested {
                    self.reward();
                    self.cool();
                }
                continue;
            }
            if !self.clock[at].tested {
                self.take(at);
                return;
            }
            self.clock[at].kind = Kind::Left;
            while self.count(Kind::Left) > self.capacity {
                let at = self.at(self.test_hand);
                self.test_hand = self.after(at);
                if self.clock[at].kind != Kind::Hot {
                    self.end_test(at);
                }
            }
            return;
        }
    }
}

impl Naive for NaiveClockPro {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        let held = |page: &&mut Page| page.object == object && page.kind != Kind::Left;
        if let Some(page) = self.clock.iter_mut().find(held) {
            page.used = true;
            return true;
        }
        let full = self.count(Kind::Hot) + self.count(Kind::Cold) == self.capacity;
        if full {
            self.make_room();
        }
        let known = self.clock.iter().position(|page| page.object == object);
        let fills = !full && self.count(Kind::Hot) < self.capacity - self.cold_target;
        if let Some(at) = known {
            self.take(at);
            self.reward();
        }
        let hot = known.is_some() || fills;
        let kind = if hot { Kind::Hot } else { Kind::Cold };
        self.clock.push(Page { object, kind, tested: !hot, used: false });
        self.cool();
        false
    }
}
