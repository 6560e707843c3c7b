//! CLOCK-Pro with a list as the clock, the oldest page first. A hand is the first page of its kind, searched each time.

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
    cold_least: usize,
    cold_target: usize,
    clock: Vec<Page>,
}

impl NaiveClockPro {
    pub(crate) fn new(capacity: usize, cold_percent: usize) -> Self {
        let cold_least = (capacity * cold_percent / 100).max(1);
        Self { capacity, cold_least, cold_target: cold_least, clock: Vec::new() }
    }

    fn count(&self, kind: Kind) -> usize {
        self.clock.iter().filter(|page| page.kind == kind).count()
    }

    fn oldest(&self, kind: Kind) -> Option<usize> {
        self.clock.iter().position(|page| page.kind == kind)
    }

    fn push(&mut self, object: u32, kind: Kind, tested: bool) {
        self.clock.push(Page { object, kind, tested, used: false });
    }

    fn reward(&mut self) {
        self.cold_target = (self.cold_target + 1).min(self.capacity);
    }

    fn punish(&mut self) {
        self.cold_target = (self.cold_target - 1).max(self.cold_least);
    }

    /// Ends the tests of all pages that are older than the oldest hot page.
    fn end_tests(&mut self) {
        let Some(hot) = self.oldest(Kind::Hot) else { return };
        for at in 0..hot {
            match (self.clock[at].tested, self.clock[at].used) {
                (true, true) => self.reward(),
                (true, false) => self.punish(),
                (false, _) => (),
            }
            self.clock[at].tested = false;
        }
        self.clock.retain(|page| page.kind != Kind::Left || page.tested);
    }

    fn cool(&mut self) {
        while self.count(Kind::Hot) > self.capacity - self.cold_target {
            loop {
                self.end_tests();
                let Page { object, used, .. } = self.clock.remove(self.oldest(Kind::Hot).unwrap());
                self.push(object, if used { Kind::Hot } else { Kind::Cold }, false);
                if !used {
                    break;
                }
            }
            self.end_tests();
        }
    }

    fn make_room(&mut self) {
        loop {
            let at = self.oldest(Kind::Cold).unwrap();
            match self.clock[at] {
                Page { used: true, tested, .. } => {
                    let page = self.clock.remove(at);
                    self.push(page.object, if tested { Kind::Hot } else { Kind::Cold }, !tested);
                    if tested {
                        self.reward();
                        self.cool();
                    }
                }
                Page { tested: true, .. } => {
                    self.clock[at].kind = Kind::Left;
                    // The oldest tests end until there is room for the page that was remembered last.
                    while self.count(Kind::Left) > self.capacity {
                        let oldest = self.clock.iter().position(|page| page.tested).unwrap();
                        if self.clock[oldest].used {
                            self.reward();
                        } else {
                            self.punish();
                        }
                        self.clock[oldest].tested = false;
                        self.clock.retain(|page| page.kind != Kind::Left || page.tested);
                    }
                    return;
                }
                _ => {
                    self.clock.remove(at);
                    return;
                }
            }
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
            self.clock.remove(at);
            self.reward();
        }
        let hot = known.is_some() || fills;
        self.push(object, if hot { Kind::Hot } else { Kind::Cold }, !hot);
        self.cool();
        false
    }
}
