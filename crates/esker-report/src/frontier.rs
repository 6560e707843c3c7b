//! Which designs are beaten by no other one.

/// What a design costs and how fast it is. Smaller is better in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offer {
    /// Price over the budgeted years.
    pub(crate) price: f64,
    /// 99th percentile in the busy stretch, in microseconds.
    pub(crate) p99_us: f64,
}

/// Indices of the offers that no other one beats, from the cheapest on. One offer beats another if it is no dearer and
/// no slower, and better in at least one of the two; offers that are equal in both do not beat each other.
pub(crate) fn frontier(offers: &[Offer]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..offers.len()).collect();
    // Of the same price, the fastest comes first: the others are compared with it.
    order.sort_by(|&one, &other| {
        let (one, other) = (&offers[one], &offers[other]);
        one.price.total_cmp(&other.price).then(one.p99_us.total_cmp(&other.p99_us))
    });
    let mut unbeaten: Vec<usize> = Vec::new();
    for index in order {
        let faster = |&last: &usize| offers[index].p99_us < offers[last].p99_us || offers[index] == offers[last];
        if unbeaten.last().is_none_or(faster) {
            unbeaten.push(index);
        }
    }
    unbeaten
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(price: u32, p99: u32) -> Offer {
        Offer { price: f64::from(price), p99_us: f64::from(p99) }
    }

    /// The definition, word by word.
    fn beats(one: &Offer, other: &Offer) -> bool {
        one.price <= other.price && one.p99_us <= other.p99_us && (one.price < other.price || one.p99_us < other.p99_us)
    }

    /// Every list of four offers with three prices and three percentiles, so that all kinds of ties are among them.
    fn lists() -> impl Iterator<Item = Vec<Offer>> {
        (0..9u32.pow(4)).map(|list| {
            (0..4).map(|place| list / 9u32.pow(place) % 9).map(|offered| offer(offered / 3, offered % 3)).collect()
        })
    }

    /// Whether `frontier` finds what the definition says in every list.
    fn holds(frontier: fn(&[Offer]) -> Vec<usize>) -> bool {
        lists().all(|offers| {
            let found = frontier(&offers);
            let rises = found.is_sorted_by(|&one, &other| offers[one].price <= offers[other].price);
            let unbeaten = |index: &usize| !offers.iter().any(|other| beats(other, &offers[*index]));
            rises && (0..offers.len()).all(|index| found.contains(&index) == unbeaten(&index))
        })
    }

    #[test]
    fn nothing_on_the_frontier_is_beaten_and_everything_off_it_is() {
        assert!(holds(frontier));
        assert_eq!(frontier(&[]), Vec::<usize>::new());
        let offers = [offer(5, 9), offer(3, 20), offer(4, 30), offer(5, 9), offer(9, 9), offer(9, 1)];
        assert_eq!(frontier(&offers), [1, 0, 3, 5]);
    }

    #[test]
    fn frontiers_that_forget_ties_are_found_out() {
        /// Keeps the dearer of two offers that are equally fast.
        fn keeps_the_dearer(offers: &[Offer]) -> Vec<usize> {
            let mut order: Vec<usize> = (0..offers.len()).collect();
            order.sort_by(|&one, &other| {
                offers[one]
                    .price
                    .total_cmp(&offers[other].price)
                    .then(offers[one].p99_us.total_cmp(&offers[other].p99_us))
            });
            let mut best = f64::INFINITY;
            order.retain(|&index| {
                let kept = offers[index].p99_us <= best;
                best = best.min(offers[index].p99_us);
                kept
            });
            order
        }
        /// Keeps the slower of two offers of one price, if that comes first.
        fn keeps_the_slower(offers: &[Offer]) -> Vec<usize> {
            let mut order: Vec<usize> = (0..offers.len()).collect();
            order.sort_by(|&one, &other| offers[one].price.total_cmp(&offers[other].price));
            let mut unbeaten: Vec<usize> = Vec::new();
            for index in order {
                if unbeaten.last().is_none_or(|&last| offers[index].p99_us < offers[last].p99_us) {
                    unbeaten.push(index);
                }
            }
            unbeaten
        }
        assert!(!holds(keeps_the_dearer));
        assert!(!holds(keeps_the_slower));
    }
}
