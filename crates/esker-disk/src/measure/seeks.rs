//! Seek times: the shortest time from the end of one sector to the end of another that is a number of cylinders away.
//!
//! The second sector is found by bisection. If the head arrives in time for a sector that passes early, an even earlier
//! one is tried. If the head arrives a turn late, a later one is tried.

use super::bench::{Bench, Pair};

/// Answers have to be this close to the expected value, as a share of a turn.
const NEAR: f64 = 0.03;
/// After this many consecutive answers that fit nothing, the search begins again.
const ODD_ANSWERS: u32 = 3;
/// Number of answers after which a search is given up.
const ANSWERS_MAX: u32 = 60;

/// A move of the arm: from `from` to the track of `sectors` addresses that begins at `track`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Way {
    pub(super) from: u64,
    pub(super) track: u64,
    pub(super) sectors: u64,
    /// Number of sectors that fit into a turn.
    pub(super) per_turn: f64,
}

/// Returns the least time of each way in nanoseconds, from the end of its first sector to the start of the second.
/// `None` if the answers made no sense, because the track is not where it was thought to be.
pub(super) async fn least_times(bench: &Bench, ways: &[Way]) -> Vec<Option<f64>> {
    let mut searches: Vec<Search> = ways.iter().map(|&way| Search::new(way)).collect();
    loop {
        let asked: Vec<usize> = (0..ways.len()).filter(|&index| !searches[index].ended(bench)).collect();
        if asked.is_empty() {
            break;
        }
        let pairs: Vec<Pair> = asked
            .iter()
            .map(|&index| Pair { from: ways[index].from, to: ways[index].track + searches[index].next(bench) })
            .collect();
        for ((index, pair), time) in asked.into_iter().zip(&pairs).zip(bench.intervals(&pairs).await) {
            searches[index].learn(bench, pair.to - ways[index].track, time);
        }
    }
    searches.iter().map(|search| search.result(bench)).collect()
}

#[derive(Clone, Debug)]
struct Search {
    way: Way,
    /// A sector of the track that the head reaches in time, and when it passed: the earliest one so far.
    in_time: Option<(u64, f64)>,
    /// A time at which the head has certainly not arrived.
    too_early: f64,
    odd: u32,
    answers: u32,
}

impl Search {
    fn new(way: Way) -> Self {
        Self { way, in_time: None, too_early: 0.0, odd: 0, answers: 0 }
    }

    fn sector_ns(&self, bench: &Bench) -> f64 {
        bench.turn_ns.get() / self.way.per_turn
    }

    /// Returns the finest difference of times that can be seen: that of a block, or the resolution of a computer's
    /// clock and of a controller.
    fn finest(&self, bench: &Bench) -> f64 {
        (1.5 * self.sector_ns(bench) * bench.block as f64).max(1_000.0)
    }

    fn ended(&self, bench: &Bench) -> bool {
        self.answers >= ANSWERS_MAX || self.in_time.is_some_and(|(_, time)| time - self.too_early <= self.finest(bench))
    }

    /// Returns the sector of the track to try next.
    fn next(&self, bench: &Bench) -> u64 {
        let last = bench.whole(self.way.sectors - bench.block);
        let Some((sector, time)) = self.in_time else {
            // A different one each time, because a buffer may have kept the previous one.
            return bench.whole(u64::from(self.answers) * (self.way.sectors / 7)) % last.max(1);
        };
        let earlier = (time - self.too_early) / 2.0 / self.sector_ns(bench);
        let at = (sector as f64 - earlier.max(bench.block as f64)).rem_euclid(self.way.per_turn);
        bench.whole(at as u64).min(last)
    }

    fn learn(&mut self, bench: &Bench, sector: u64, time: f64) {
        self.answers += 1;
        let turn = bench.turn_ns.get();
        let Some((known, passed)) = self.in_time else {
            self.in_time = Some((sector, time));
            self.too_early = time - turn;
            return;
        };
        let ahead = (known as f64 - sector as f64).rem_euclid(self.way.per_turn) * self.sector_ns(bench);
        let off = (time - (passed - ahead)) / turn;
        if off.abs() < NEAR {
            (self.in_time, self.odd) = (Some((sector, passed - ahead)), 0);
        } else if (off - 1.0).abs() < NEAR {
            (self.too_early, self.odd) = (self.too_early.max(passed - ahead), 0);
        } else {
            self.odd += 1;
            if self.odd >= ODD_ANSWERS {
                *self = Self { answers: self.answers, ..Self::new(self.way) };
            }
        }
    }

    fn result(&self, bench: &Bench) -> Option<f64> {
        let (_, time) = self.in_time?;
        (self.answers < ANSWERS_MAX).then(|| {
            // The head arrived between the two times, and then a block passed.
            time.midpoint(self.too_early.max(time - self.finest(bench))) - self.sector_ns(bench) * bench.block as f64
        })
    }
}
