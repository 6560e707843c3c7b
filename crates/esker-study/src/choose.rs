//! The rule: the cheapest design that keeps every budget is recommended.

use std::cmp::Ordering;

/// Response times that differ by less than this share count as equal: the difference is noise.
pub(crate) const NOISE: f64 = 0.1;
/// Prices that differ by less than this share count as equal: prices change by more in a week.
const PRICE_NOISE: f64 = 0.01;

/// How the life of a design's flash compares with the budgeted years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// The design has no flash that wears out.
    None,
    /// The flash lasts as long as asked.
    Kept,
    /// Too little is known to say.
    Unjudged,
    /// The flash wears out earlier.
    Broken,
}

/// Whether a design keeps the budgets other than that for the life of its flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// It keeps all of them.
    Yes,
    /// It misses one by so little that other random numbers may decide otherwise.
    Close,
    /// It misses at least one.
    No,
}

/// What the rule has to know of a design. The contenders compared with each other are of one market.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    /// Cost over the budgeted years.
    pub(crate) cost: f64,
    pub(crate) keeps: Keeps,
    pub(crate) life: Life,
    /// Capacity on sale of all devices, in bytes.
    pub(crate) capacity: u64,
    /// Number of devices.
    pub(crate) parts: u32,
    /// The largest of the 99th percentiles by which it is judged.
    pub(crate) p99_us: f64,
    /// By how much budgets are missed: the sum of the logarithms of value over budget. Zero if none is missed.
    pub(crate) missed: f64,
}

/// The answer of the rule, as indices of contenders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The design to buy.
    pub(crate) recommended: Option<usize>,
    /// Designs that keep every budget, and are as cheap and as fast as the recommended one.
    pub(crate) equals: Vec<usize>,
    /// Designs that are as cheap or cheaper, and miss a budget by so little that chance decides.
    pub(crate) close: Vec<usize>,
    /// If no design is recommended: the one with the least [`far`] of its misses and its price.
    pub(crate) nearest: Option<usize>,
}

/// Chooses among designs of one market.
pub(crate) fn choose(contenders: &[Contender]) -> Choice {
    let all = || 0..contenders.len();
    // Flash of unknown life does not win if other flash is known to last. A design without flash is no reason to reject
    // it.
    let judged = all().any(|n| contenders[n].keeps == Keeps::Yes && contenders[n].life == Life::Kept);
    let lives = |n: usize| match contenders[n].life {
        Life::None | Life::Kept => true,
        Life::Unjudged => !judged,
        Life::Broken => false,
    };
    let recommended = all()
        .filter(|&n| contenders[n].keeps == Keeps::Yes && lives(n))
        .min_by(|&one, &other| better(&contenders[one], &contenders[other]));
    let Some(best) = recommended else {
        let nearest = all().min_by(|&one, &other| {
            let (one, other) = (&contenders[one], &contenders[other]);
            far(one.missed, one.cost).total_cmp(&far(other.missed, other.cost)).then_with(|| better(one, other))
        });
        return Choice { nearest, ..Choice::default() };
    };
    let chosen = &contenders[best];
    let others = || all().filter(|&n| n != best && lives(n)).map(|n| (n, &contenders[n]));
    let as_good =
        |other: &Contender| other.keeps == Keeps::Yes && same_price(other, chosen) && same_speed(other, chosen);
    let by_chance =
        |other: &Contender| other.keeps == Keeps::Close && (other.cost < chosen.cost || same_price(other, chosen));
    let equals = others().filter(|(_, other)| as_good(other)).map(|(n, _)| n).collect();
    let close = others().filter(|(_, other)| by_chance(other)).map(|(n, _)| n).collect();
    Choice { recommended, equals, close, nearest: None }
}

/// Weight of the price beside that of the misses: a design at four times the price is nearer only if it misses by less
/// than half the factor. Assumed.
const PRICE_WEIGHT: f64 = 0.5;

/// Returns how far a design is from what was asked for, from its misses and its price. A design that misses more and
/// costs more than another is never nearer.
pub(crate) fn far(missed: f64, cost: f64) -> f64 {
    missed + PRICE_WEIGHT * cost.max(f64::MIN_POSITIVE).ln()
}

fn same_price(one: &Contender, other: &Contender) -> bool {
    (one.cost - other.cost).abs() <= PRICE_NOISE * one.cost.min(other.cost)
}
fn same_speed(one: &Contender, other: &Contender) -> bool {
    (one.p99_us - other.p99_us).abs() <= NOISE * one.p99_us.min(other.p99_us)
}

/// Orders by price, then the larger first, then the one with fewer devices, then the faster.
fn better(one: &Contender, other: &Contender) -> Ordering {
    (one.cost.total_cmp(&other.cost))
        .then_with(|| other.capacity.cmp(&one.capacity))
        .then_with(|| one.parts.cmp(&other.parts))
        .then_with(|| one.p99_us.total_cmp(&other.p99_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SSD: Contender = Contender {
        cost: 400.0,
        keeps: Keeps::Yes,
        life: Life::Kept,
        capacity: 960,
        parts: 1,
        p99_us: 100.0,
        missed: 0.0,
    };

    #[test]
    fn the_cheapest_wins_even_if_it_is_slower_and_has_more_parts() {
        let disks = Contender { cost: 300.0, life: Life::None, parts: 4, p99_us: 9_000.0, ..SSD };
        let choice = choose(&[SSD, disks]);
        assert_eq!(choice, Choice { recommended: Some(1), ..Choice::default() });
    }

    #[test]
    fn what_breaks_a_budget_never_wins() {
        for broken in [Contender { keeps: Keeps::No, ..SSD }, Contender { life: Life::Broken, ..SSD }] {
            let cheap = Contender { cost: 1.0, missed: 2.0, ..broken };
            assert_eq!(choose(&[cheap.clone(), SSD]).recommended, Some(1));
            let dearer = Contender { cost: 2.0, missed: 0.5, ..cheap.clone() };
            assert_eq!(choose(&[cheap, dearer]), Choice { nearest: Some(1), ..Choice::default() });
        }
    }

    #[test]
    fn an_unjudged_life_does_not_win_over_a_judged_one() {
        let unjudged = Contender { cost: 100.0, life: Life::Unjudged, ..SSD };
        assert_eq!(choose(&[unjudged.clone(), SSD]).recommended, Some(1));
        // A disk is no reason to reject flash of unknown life.
        let disk = Contender { cost: 200.0, life: Life::None, ..SSD };
        assert_eq!(choose(&[unjudged, disk]).recommended, Some(0));
    }

    #[test]
    fn among_equals_the_cheaper_the_larger_the_simpler_wins_and_the_others_are_named() {
        let near = Contender { cost: 401.0, p99_us: 95.0, ..SSD };
        let larger = Contender { capacity: 1_920, ..SSD };
        let two = Contender { parts: 2, ..larger.clone() };
        let slower = Contender { p99_us: 150.0, ..SSD };
        let choice = choose(&[SSD, near, two, larger, slower]);
        assert_eq!((choice.recommended, choice.equals), (Some(3), vec![0, 1, 2]));
    }

    #[test]
    fn what_chance_decides_is_named_but_neither_wins_nor_counts_as_equal() {
        let close = Contender { cost: 300.0, keeps: Keeps::Close, ..SSD };
        let dear = Contender { cost: 500.0, keeps: Keeps::Close, ..SSD };
        let choice = choose(&[close, SSD, dear]);
        assert_eq!(choice, Choice { recommended: Some(1), close: vec![0], ..Choice::default() });
    }

    /// A design that costs more and misses more than another is never nearer: 17,800 dollars for 17 months is not
    /// nearer than 7,400 dollars for 2.3 years if five years are asked for.
    #[test]
    fn the_nearest_is_near_in_price_and_in_what_it_misses() {
        let of = |cost: f64, times: f64| Contender { cost, keeps: Keeps::No, missed: times.ln(), ..SSD };
        let nearest = |all: &[Contender]| choose(all).nearest.unwrap();
        assert_eq!(nearest(&[of(17_800.0, 60.0 / 17.0), of(7_400.0, 5.0 / 2.3)]), 1);
        // Neither a cheap design that is far off is near, nor an expensive one that is only a little nearer.
        assert_eq!(nearest(&[of(60.0, 100.0), of(600.0, 1.1), of(6_000.0, 1.05)]), 1);
        let mut rng = esker_core::Rng::new(3);
        for _ in 0..1_000 {
            let mut any = || of(10.0 + rng.below(10_000) as f64, 1.0 + rng.below(1_000) as f64 / 100.0);
            let all: Vec<Contender> = (0..8).map(|_| any()).collect();
            let found = &all[nearest(&all)];
            assert!(all.iter().all(|one| one.cost >= found.cost || one.missed >= found.missed), "{found:?} of {all:?}");
        }
    }
}
