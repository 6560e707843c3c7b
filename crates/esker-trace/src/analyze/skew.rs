//! The skew: how unevenly accesses are spread over the pages.

use esker_results::profile::{LorenzPoint, Skew, TopShare};
use std::collections::BTreeMap;

use super::touched::TouchedAreas;

const TOP_SHARES: [f64; 5] = [0.01, 0.05, 0.10, 0.20, 0.50];

/// The number of pages by number of accesses.
#[derive(Clone, Debug, Default)]
pub(super) struct AccessCounts {
    /// Pages by count, for small counts.
    small: Vec<u64>,
    /// Pages by count, for large counts.
    large: BTreeMap<u64, u64>,
}

const SMALL: u64 = 1 << 12;

impl AccessCounts {
    /// Counts over all accesses, and over writes alone.
    pub(super) fn of(touched: &TouchedAreas) -> (Self, Self) {
        let (mut all, mut writes) = (Self::default(), Self::default());
        touched.for_each_page(|page_all, page_writes| {
            all.add(page_all);
            writes.add(page_writes);
        });
        (all, writes)
    }

    /// Adds a page with `count` accesses. Pages without accesses are not counted.
    #[inline]
    fn add(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        if count < SMALL {
            if self.small.is_empty() {
                self.small = vec![0; SMALL as usize];
            }
            self.small[count as usize] += 1;
        } else {
            *self.large.entry(count).or_default() += 1;
        }
    }

    /// (accesses per page, number of pages), hottest pages first.
    fn hottest_first(&self) -> Vec<(u64, u64)> {
        let large = self.large.iter().rev().map(|(&count, &pages)| (count, pages));
        let small = self.small.iter().enumerate().rev().map(|(count, &pages)| (count as u64, pages));
        large.chain(small).filter(|(_, pages)| *pages > 0).collect()
    }

    /// The number of distinct pages, and of accesses to them.
    pub(super) fn totals(&self) -> (u64, u64) {
        let classes = self.hottest_first();
        let pages = classes.iter().map(|(_, pages)| pages).sum();
        (pages, classes.iter().map(|(count, pages)| count * pages).sum())
    }

    pub(super) fn skew(&self, points_max: usize) -> Skew {
        let classes = self.hottest_first();
        let (pages, accesses) = self.totals();
        if pages == 0 {
            return Skew::default();
        }
        // Vertices of the exact curve: it is straight between pages with equal counts.
        let mut vertices = vec![(0u64, 0u64)];
        for (count, class_pages) in &classes {
            let &(before_pages, before_accesses) = vertices.last().expect("never empty");
            vertices.push((before_pages + class_pages, before_accesses + count * class_pages));
        }
        let curve = Curve { vertices: &vertices, pages, accesses };
        Skew {
            pages,
            accesses,
            max_accesses: classes[0].0,
            top: TOP_SHARES
                .map(|page_share| TopShare { page_share, access_share: curve.access_share(page_share) })
                .to_vec(),
            lorenz: curve.points(points_max.max(2)),
        }
    }
}

struct Curve<'a> {
    vertices: &'a [(u64, u64)],
    pages: u64,
    accesses: u64,
}

impl Curve<'_> {
    fn access_share(&self, page_share: f64) -> f64 {
        let x = page_share * self.pages as f64;
        let right = self.vertices.partition_point(|&(pages, _)| (pages as f64) < x).min(self.vertices.len() - 1);
        let (x1, y1) = self.vertices[right];
        let (x0, y0) = self.vertices[right.saturating_sub(1)];
        let slope = if x1 > x0 { (y1 - y0) as f64 / (x1 - x0) as f64 } else { 0.0 };
        (y0 as f64 + slope * (x - x0 as f64)) / self.accesses as f64
    }

    /// All vertices if they are few enough. Otherwise half of the points at logarithmic steps and half at even steps,
    /// because the curve is steep at the hottest pages.
    fn points(&self, points_max: usize) -> Vec<LorenzPoint> {
        let share = |&(pages, accesses): &(u64, u64)| LorenzPoint {
            page_share: pages as f64 / self.pages as f64,
            access_share: accesses as f64 / self.accesses as f64,
        };
        if self.vertices.len() <= points_max {
            return self.vertices.iter().map(share).collect();
        }
        let half = (points_max - 2) / 2;
        let smallest = 1.0 / self.pages as f64;
        let steps = |step: usize| (step + 1) as f64 / (half + 1) as f64;
        let logarithmic = (0..half).map(|step| smallest.powf(1.0 - steps(step)));
        let mut at: Vec<f64> = (0..half).map(steps).chain(logarithmic).chain([0.0, 1.0]).collect();
        at.sort_by(f64::total_cmp);
        at.dedup();
        at.into_iter()
            .map(|page_share| LorenzPoint { page_share, access_share: self.access_share(page_share) })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_hot_page_among_cold_ones() {
        let mut counts = AccessCounts::default();
        counts.add(9_901);
        (0..99).for_each(|_| counts.add(1));
        let skew = counts.skew(200);
        assert_eq!((skew.pages, skew.accesses, skew.max_accesses), (100, 10_000, 9_901));
        let shares: Vec<f64> = skew.top.iter().map(|top| top.access_share).collect();
        let expected = [0.9901, 0.9905, 0.9910, 0.9920, 0.9950];
        assert!(shares.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{shares:?}");
        assert_eq!(skew.lorenz.len(), 3);
        assert_eq!(AccessCounts::default().skew(200), Skew::default());
    }

    proptest! {
        #[test]
        fn shares_are_those_of_the_sorted_pages(pages in prop::collection::vec(1u64..100_000, 1..500)) {
            let mut counts = AccessCounts::default();
            pages.iter().for_each(|&count| counts.add(count));
            let skew = counts.skew(50);
            let mut sorted = pages.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            let total: u64 = sorted.iter().sum();
            for top in &skew.top {
                let exact = top.page_share * sorted.len() as f64;
                let whole = exact.floor() as usize;
                let part = sorted.get(whole).map_or(0.0, |&next| (exact - whole as f64) * next as f64);
                let expected = (sorted[..whole].iter().sum::<u64>() as f64 + part) / total as f64;
                prop_assert!((top.access_share - expected).abs() < 1e-9, "{top:?} {expected}");
            }
            prop_assert!(skew.lorenz.len() <= 50);
            for pair in skew.lorenz.windows(2) {
                prop_assert!(pair[0].page_share < pair[1].page_share);
                prop_assert!(pair[0].access_share <= pair[1].access_share);
            }
            let last = skew.lorenz.last().unwrap();
            prop_assert!((last.page_share, (last.access_share - 1.0).abs() < 1e-12) == (1.0, true));
        }
    }
}
