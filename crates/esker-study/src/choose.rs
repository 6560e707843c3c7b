//! The rule: the cheapest design that keeps every budget.

use std::cmp::Ordering;

/// Differences of response times below this are noise.
pub(crate) const NOISE: f64 = 0.1;
/// Prices closer than this are equal: dearer by less than what prices change in a week.
const PRICE_NOISE: f64 = 0.01;

/// Whether the life of a design's flash is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It has no flash to wear out.
    None,
    /// It lasts as long as asked.
    Kept,
    /// Too little is known to say.
    Unjudged,
    /// It does not.
    Broken,
}

/// Whether a design keeps the budgets, but for the life of its flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Every one.
    Yes,
    /// Chance decides: with other random numbers it may be otherwise.
    Close,
    /// Not all.
    No,
}

/// What the rule looks at. All of them are of one market.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    /// Over the budgeted years.
    pub(crate) cost: f64,
    pub(crate) keeps: Keeps,
    pub(crate) life: Life,
    /// Capacity on sale of all devices.
    pub(crate) capacity: u64,
    /// Devices.
    pub(crate) parts: u32,
    /// The largest 99th percentile that it is judged by.
    pub(crate) p99_us: f64,
    /// By how much budgets are missed: the sum of the logarithms of how many times too much. Zero if none is.
    pub(crate) missed: f64,
}

/// What the rule says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The one to buy.
    pub(crate) recommended: Option<usize>,
    /// Those that keep every budget and cannot be told from it: as cheap and as fast.
    pub(crate) equals: Vec<usize>,
    /// Those that are as cheap or cheaper, and miss a budget by so little that chance decides.
    pub(crate) close: Vec<usize>,
    /// Where none is recommended: the one whose price and whose misses are least together.
    pub(crate) nearest: Option<usize>,
}

/// Chooses among designs of one market.
pub(crate) fn choose(contenders: &[Contender]) -> Choice {
    let all = || 0..contenders.len();
    // Flash whose life is unknown does not win over flash whose life is known. What has none to lose gains nothing.
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

/// What a factor of price weighs beside the same factor by which a budget is missed: four times the price has to halve
/// what is missed. Assumed.
const PRICE_WEIGHT: f64 = 0.5;

/// How far a design is from what was asked for, by its misses and its price. One that misses more and costs more than
/// another is never nearer.
pub(crate) fn far(missed: f64, cost: f64) -> f64 {
    missed + PRICE_WEIGHT * cost.max(f64::MIN_POSITIVE).ln()
}

fn same_price(one: &Contender, other: &Contender) -> bool {
    (one.cost - other.cost).abs() <= PRICE_NOISE * one.cost.min(other.cost)
}
fn same_speed(one: &Contender, other: &Contender) -> bool {
    (one.p99_us - other.p99_us).abs() <= NOISE * one.p99_us.min(other.p99_us)
}

/// Orders by price, then the larger, then the one with fewer parts, then the faster.
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
        // A disk is no judge of the flash beside it.
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

    /// Nothing that costs more and misses more is nearer than what costs less and misses less: 17,800 dollars for 17
    /// months beside 7,400 dollars for 2.3 years of five.
    #[test]
    fn the_nearest_is_near_in_price_and_in_what_it_misses() {
        let of = |cost: f64, times: f64| Contender { cost, keeps: Keeps::No, missed: times.ln(), ..SSD };
        let nearest = |all: &[Contender]| choose(all).nearest.unwrap();
        assert_eq!(nearest(&[of(17_800.0, 60.0 / 17.0), of(7_400.0, 5.0 / 2.3)]), 1);
        // A cheap one that is far off is not near, and neither is a dear one that is a little nearer.
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
