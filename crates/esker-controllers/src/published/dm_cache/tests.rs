use esker_core::Lba;
use esker_tier::Completed;
use proptest::prelude::*;

use super::*;
use crate::published::testing::{self, Host};

/// A mistake of the model, which the comparison has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// Blocks of the cache rise at each use.
    RisesAlways,
    /// The thing that a rising one replaces stays on its level.
    ReplacesNothing,
    /// Writes need a higher level than reads, as they did before version 2.
    HoldsWritesBack,
    /// The hottest block of the lower levels leaves.
    DropsHottest,
    /// The budget is not kept.
    IgnoresBudget,
}

/// A level queue as simply as can be: a list of things for each level, oldest first.
#[derive(Clone, Debug)]
struct PlainQueue {
    levels: Vec<Vec<u32>>,
    risen: Vec<u32>,
    top: Option<u32>,
}

impl PlainQueue {
    fn new(top: Option<u32>) -> Self {
        Self { levels: vec![Vec::new(); 64], risen: Vec::new(), top }
    }

    fn level(&self, thing: u32) -> Option<usize> {
        self.levels.iter().position(|level| level.contains(&thing))
    }

    fn remove(&mut self, thing: u32) {
        self.levels.iter_mut().for_each(|level| level.retain(|&other| other != thing));
    }

    fn lift(&mut self, thing: u32, by: usize, replaces: bool) {
        let old = self.level(thing).unwrap();
        let new = 63.min(old + by);
        self.remove(thing);
        if new != old && !self.levels[new].is_empty() && replaces {
            let other = self.levels[new].remove(0);
            self.levels[old].push(other);
        }
        self.levels[new].push(thing);
    }

    /// All things in order, and then dealt out anew from the lowest level on.
    fn spread(&mut self) {
        let all = self.levels.iter().map(Vec::len).sum::<usize>();
        let share = |things: usize, levels: usize, index: usize| (things + levels - 1 - index) / levels;
        let wanted = |level: usize| match self.top.map(|top| top as usize) {
            None => share(all, 64, level),
            Some(top) if level < 56 => share(all.saturating_sub(top), 56, level),
            Some(top) => share(top, 8, level - 56),
        };
        for level in 0..63 {
            let wanted = wanted(level);
            while self.levels[level].len() < wanted {
                let Some(above) = (level + 1..64).find(|&above| !self.levels[above].is_empty()) else { break };
                let thing = self.levels[above].remove(0);
                self.levels[level].push(thing);
            }
            let excess = self.levels[level].len().saturating_sub(wanted);
            let kept = self.levels[level].len() - excess;
            let pushed = self.levels[level].split_off(kept);
            self.levels[level + 1].splice(0..0, pushed);
        }
    }
}

/// smq as its sources describe it, without regard to time or memory.
#[derive(Clone, Debug)]
struct Model {
    mistake: Option<Mistake>,
    cache: PlainQueue,
    hotspots: PlainQueue,
    blocks: u32,
    lately: (u32, u32),
    jump: usize,
    threshold: usize,
    /// Extents that were there before the first event.
    begun: bool,
    ticked: u64,
    spread: [Option<u64>; 2],
    moving: Vec<u32>,
    budget: usize,
}

impl Model {
    fn new(host: &Host, budget: usize, mistake: Option<Mistake>) -> Self {
        let [fast, slow] = host.sizes;
        let many = 1024.max(fast / 4);
        let blocks = [16, 8, 4, 2, 1].into_iter().find(|blocks| blocks * many <= slow).unwrap_or(1);
        Self {
            mistake,
            cache: PlainQueue::new(None),
            hotspots: PlainQueue::new(Some((many / 64).min(fast / blocks))),
            blocks,
            lately: (0, 0),
            jump: 1,
            threshold: 0,
            begun: false,
            ticked: 0,
            spread: [None; 2],
            moving: Vec::new(),
            budget,
        }
    }

    fn confidence(&self) -> usize {
        let (hits, misses) = self.lately;
        // Below a sixteenth, below an eighth, above.
        if 16 * hits < hits + misses || misses + hits == 0 {
            16
        } else if 8 * hits < hits + misses {
            32
        } else {
            64
        }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn placed(&mut self, extent: u32, on_fast: bool) {
        match (on_fast, self.cache.level(extent)) {
            (true, None) if self.begun => self.cache.levels[63].push(extent),
            (true, None) => self.cache.levels[usize::from(drawn_level(LogicalExtent(extent)))].push(extent),
            (false, Some(_)) => self.cache.remove(extent),
            _ => {}
        }
        if !on_fast || self.cache.level(extent).is_none() {
            self.cache.risen.retain(|&risen| risen != extent);
        }
    }

    fn access(&mut self, extent: u32, is_write: bool, host: &Host, moves: &mut Vec<(u32, u16)>) {
        if self.cache.level(extent).is_some() {
            if !self.cache.risen.contains(&extent) || self.is(Mistake::RisesAlways) {
                self.cache.risen.push(extent);
                self.cache.lift(extent, 1, !self.is(Mistake::ReplacesNothing));
            }
            return;
        }
        let hotspot = extent / self.blocks;
        match self.hotspots.level(hotspot) {
            Some(level) => {
                if level < 48 {
                    self.lately.1 += 1
                } else {
                    self.lately.0 += 1
                }
                let first = !self.hotspots.risen.contains(&hotspot);
                self.hotspots.risen.push(hotspot);
                self.hotspots.lift(hotspot, if first { self.jump } else { 0 }, true);
            }
            None => {
                self.lately.1 += 1;
                self.hotspots.levels[0].push(hotspot);
            }
        }
        let higher = if is_write && self.is(Mistake::HoldsWritesBack) { 2 } else { 0 };
        if self.threshold > 0 && self.hotspots.level(hotspot).unwrap() + self.threshold >= 64 + higher {
            self.promote(extent, host, moves);
        }
    }

    fn promote(&mut self, extent: u32, host: &Host, moves: &mut Vec<(u32, u16)>) {
        if self.moving.len() >= self.budget.max(1) && !self.is(Mistake::IgnoresBudget) {
            return;
        }
        let chosen = if host.free(0) > 0 {
            Some((extent, 0))
        } else if host.free(1) > 0 {
            let mut lower = self.cache.levels[..32].iter().filter(|level| !level.is_empty());
            let level = if self.is(Mistake::DropsHottest) { lower.next_back() } else { lower.next() };
            level.map(|level| (level[0], 1))
        } else {
            None
        };
        let Some((extent, to)) = chosen else { return };
        if !self.moving.contains(&extent) {
            self.moving.push(extent);
            moves.push((extent, to));
        }
        if to == 1 {
            self.cache.lift(extent, 0, true);
        }
    }

    fn tick(&mut self, now: u64) {
        self.ticked = now;
        let due = |last: Option<u64>, seconds: u64| last.is_none_or(|last| now > last + seconds * 1_000_000_000);
        if self.begun {
            self.hotspots.risen.clear();
            self.threshold = self.confidence();
            if due(self.spread[0], 1) {
                self.spread[0] = Some(now);
                self.jump = 64 / self.confidence();
                self.hotspots.spread();
                self.lately = (0, 0);
            }
        }
        if due(self.spread[1], 10) {
            self.spread[1] = Some(now);
            self.cache.risen.clear();
            self.cache.spread();
        }
    }
}

impl testing::Model for Model {
    fn observe(&mut self, now: Nanos, event: &Event<'_>, host: &Host) -> Vec<(u32, u16)> {
        let mut moves = Vec::new();
        match *event {
            Event::Request { request, first, extents } => {
                self.begun = true;
                for extent in first.0..first.0 + extents {
                    self.access(extent, request.kind.is_write(), host, &mut moves);
                }
            }
            Event::Completed(Completed { sent, .. }) if sent.0 >= self.ticked => self.tick(now.0),
            Event::Moved { extent, .. } => self.moving.retain(|&moving| moving != extent.0),
            _ => {}
        }
        moves
    }

    fn placed(&mut self, extent: u32, device: Option<u16>) {
        Model::placed(self, extent, device == Some(0));
    }
}

/// A drawn host, and what it does: (kind, extent, milliseconds).
fn runs() -> impl Strategy<Value = (Host, u64, Vec<testing::Step>)> {
    (testing::hosts(), 1u64..6, testing::steps())
}

fn compare((host, budget, steps): (Host, u64, Vec<testing::Step>), mistake: Option<Mistake>) -> Result<(), String> {
    let table = format!(r#"{{"kind":"dm-cache","migration_threshold":{}}}"#, budget * testing::EXTENT / 512);
    let model = Model::new(&host, budget as usize, mistake);
    testing::compare(testing::policy(&table), model, host, &steps)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200 * esker_testkit::soak()))]

    #[test]
    fn it_moves_what_the_plain_model_moves(run in runs()) {
        prop_assert_eq!(compare(run, None), Ok(()));
    }
}

/// The comparison finds each mistake.
#[test]
fn wrong_twins_are_found_out() {
    use Mistake::{DropsHottest, HoldsWritesBack, IgnoresBudget, ReplacesNothing, RisesAlways};
    for mistake in [RisesAlways, ReplacesNothing, HoldsWritesBack, DropsHottest, IgnoresBudget] {
        let found = testing::found_in(runs(), 100, |run| compare(run, Some(mistake)));
        assert!(found >= 3, "{mistake:?} is found in {found} of 100 runs");
    }
}

/// A new extent whose first write covers all of it goes to the fast device, and so does a write that replaces one.
#[test]
fn whole_extents_are_written_to_the_fast_device() {
    let mut policy = testing::policy(r#"{"kind":"dm-cache"}"#);
    let devices = testing::views([2, 5]);
    let mut place = |extent: u32, start: u64, length: u64| {
        let write = Request::write(Lba(start / 512), Bytes(length));
        let start = Bytes(u64::from(extent) * testing::EXTENT);
        policy.place(&NewExtent { extent: LogicalExtent(extent), start, write: Some(&write) }, &devices).0
    };
    let extent = testing::EXTENT;
    assert_eq!([place(1, extent, extent), place(2, extent, 2 * extent), place(3, 3 * extent, extent - 512)], [0, 0, 1]);
    let write = Request::write(Lba(0), Bytes(extent));
    let rewrite =
        |from| Rewrite { extent: LogicalExtent(1), from: DeviceIndex(from), write: &write, rest: Bytes::ZERO };
    assert_eq!([0, 1].map(|from| policy.redirect(&rewrite(from), &devices)), [None, Some(DeviceIndex(0))]);
    assert_eq!(policy.redirect(&rewrite(1), &testing::views([0, 5])), None);
    let old = NewExtent { extent: LogicalExtent(4), start: Bytes(4 * extent), write: None };
    assert_eq!([[2, 5], [2, 0]].map(|free| policy.place(&old, &testing::views(free)).0), [1, 0]);
}

/// There are as many hotspots as a quarter of the cache has blocks; the least used one makes room.
#[test]
fn the_memory_of_hotspots_is_bounded() {
    let mut hotspots = Hotspots::new(8192, 1 << 20);
    assert_eq!((hotspots.blocks, hotspots.most), (16, 2048));
    for hotspot in 0..5000 {
        hotspots.missed(LogicalExtent(hotspot * 16));
    }
    assert_eq!(hotspots.queue.len(), 2048);
    assert_eq!([2951, 2952].map(|hotspot| hotspots.queue.level(hotspot)), [None, Some(0)]);
}

#[test]
fn settings_are_checked() {
    let error = |options| testing::error("dm-cache", options);
    let message = "migration_threshold: `migration_threshold` is 0; it has to be 1 to 1000000000 sectors";
    assert_eq!(error(r#"{"migration_threshold":0}"#), message);
    assert_eq!(error(r#"{"fast":2}"#), "fast: there is no device 2; 2 devices count from 0");
}
