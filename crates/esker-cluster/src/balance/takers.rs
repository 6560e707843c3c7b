//! Which server takes a slice: the one that will use its life slowest with it. A tree of bounds finds it among
//! thousands without a look at each.

/// What a server that may take slices is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taker {
    /// Pages that are written to it in an epoch.
    pub(super) pages: f64,
    /// Pages that it can be written once it has taken a slice.
    pub(super) life: f64,
    /// More pages an epoch that it carries.
    pub(super) spare: f64,
}

/// The least that servers below a node of the tree can come to.
#[derive(Clone, Copy, Debug)]
struct Bound {
    /// Share of life in an epoch, without the slice.
    speed: f64,
    /// Share of life for each page.
    per_page: f64,
    spare: f64,
}

const NOBODY: Bound = Bound { speed: f64::INFINITY, per_page: f64::INFINITY, spare: f64::NEG_INFINITY };
/// Bounds are sums of two quotients, speeds are one quotient: rounding must not hide a server.
const ROUNDING: f64 = 1e-9;

/// Servers that may take slices.
#[derive(Debug)]
pub(super) struct Takers {
    /// Servers by the life that they have left, so that servers below a node are alike.
    order: Vec<usize>,
    /// The place of each server in that order.
    place: Vec<usize>,
    takers: Vec<Option<Taker>>,
    /// A complete binary tree: the root is at 1, the children of `n` are at `2n` and `2n + 1`, leaves are last.
    nodes: Vec<Bound>,
}

/// What is looked for.
struct Search<F> {
    pages: f64,
    /// No server that uses its life faster.
    cap: f64,
    accepts: F,
    any_will_do: bool,
    best: Option<(f64, usize)>,
}

impl Takers {
    /// All servers by number; `None` for those that take nothing.
    pub(super) fn new(takers: Vec<Option<Taker>>) -> Self {
        let mut order: Vec<usize> = (0..takers.len()).collect();
        let life = |at: &usize| takers[*at].map_or(0.0, |taker| taker.life);
        order.sort_by(|one, two| life(one).total_cmp(&life(two)).then(one.cmp(two)));
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, server)| place[*server] = at);
        let width = order.len().next_power_of_two();
        let mut all = Self { order, place, takers, nodes: vec![NOBODY; 2 * width] };
        for (at, server) in all.order.iter().enumerate() {
            all.nodes[width + at] = all.takers[*server].as_ref().map_or(NOBODY, Bound::of);
        }
        for node in (1..width).rev() {
            all.nodes[node] = all.nodes[2 * node].with(all.nodes[2 * node + 1]);
        }
        all
    }

    /// Notes what a server is like from now on.
    pub(super) fn set(&mut self, server: usize, taker: Option<Taker>) {
        self.takers[server] = taker;
        let mut node = self.nodes.len() / 2 + self.place[server];
        self.nodes[node] = taker.as_ref().map_or(NOBODY, Bound::of);
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].with(self.nodes[2 * node + 1]);
        }
    }

    /// Returns whether any server can take a slice that is written `pages` in an epoch, and then use at most the share
    /// `cap` of its life. A server that can take a slice can also take a colder one.
    pub(super) fn any(&self, pages: f64, cap: f64) -> bool {
        let mut search = Search { pages, cap, accepts: |_| true, any_will_do: true, best: None };
        self.visit(1, &mut search);
        search.best.is_some()
    }

    /// Returns the server that uses its life slowest once it has a slice that is written `pages` in an epoch: at most
    /// the share `cap`, among those that `accepts` takes; the first of equals.
    pub(super) fn slowest(&self, pages: f64, cap: f64, accepts: impl FnMut(usize) -> bool) -> Option<usize> {
        let mut search = Search { pages, cap, accepts, any_will_do: false, best: None };
        self.visit(1, &mut search);
        search.best.map(|(_, server)| server)
    }

    fn visit<F: FnMut(usize) -> bool>(&self, node: usize, search: &mut Search<F>) {
        if search.rules_out(&self.nodes[node]) {
            return;
        }
        let Some(place) = node.checked_sub(self.nodes.len() / 2) else {
            let at_best = |node: usize| self.nodes[node].speed + search.pages * self.nodes[node].per_page;
            let (one, two) = (2 * node, 2 * node + 1);
            let (first, second) = if at_best(two) < at_best(one) { (two, one) } else { (one, two) };
            self.visit(first, search);
            return self.visit(second, search);
        };
        let Some(server) = self.order.get(place).copied() else { return };
        let Some(taker) = &self.takers[server] else { return };
        let speed = (taker.pages + search.pages) / taker.life;
        let is_better = search.best.is_none_or(|best| (speed, server) < best);
        if speed <= search.cap && is_better && (search.accepts)(server) {
            search.best = Some((speed, server));
        }
    }
}

impl<F> Search<F> {
    fn rules_out(&self, bound: &Bound) -> bool {
        let least = (bound.speed + self.pages * bound.per_page) * (1.0 - ROUNDING);
        let has_found = self.any_will_do && self.best.is_some();
        let carries = self.any_will_do || bound.spare * (1.0 + ROUNDING) >= self.pages;
        has_found
            || !carries
            || bound.speed.is_infinite()
            || !(least <= self.cap && self.best.is_none_or(|(speed, _)| least <= speed))
    }
}

impl Bound {
    fn of(taker: &Taker) -> Self {
        let Taker { pages, life, spare } = *taker;
        if life > 0.0 { Self { speed: pages / life, per_page: 1.0 / life, spare } } else { NOBODY }
    }

    fn with(self, other: Self) -> Self {
        Self {
            speed: self.speed.min(other.speed),
            per_page: self.per_page.min(other.per_page),
            spare: self.spare.max(other.spare),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::Rng;

    /// Against a look at every server, with equals, servers that take nothing and caps that rule all out.
    #[test]
    fn the_tree_finds_what_a_look_at_every_server_finds() {
        let (mut rng, mut found) = (Rng::new(5), 0);
        for _ in 0..400 {
            let count = 1 + rng.below(40) as usize;
            let draw = |rng: &mut Rng| {
                let taker = Taker {
                    pages: rng.below(6) as f64,
                    life: rng.below(4) as f64 * 10.0,
                    spare: [f64::INFINITY, 2.5][rng.below(2) as usize],
                };
                (!rng.chance(1, 5)).then_some(taker)
            };
            let mut all: Vec<Option<Taker>> = (0..count).map(|_| draw(&mut rng)).collect();
            let mut takers = Takers::new(all.clone());
            for _ in 0..20 {
                let (pages, cap, odd) = (0.5 + rng.below(4) as f64, rng.unit(), rng.below(3) as usize);
                let accepts = |at: usize| at % 3 != odd && all[at].is_some_and(|taker| taker.spare >= pages);
                let speed = |at: usize| all[at].map(|taker| (taker.pages + pages) / taker.life);
                let able = (0..count).filter(|at| speed(*at).is_some_and(|speed| speed <= cap));
                let best = able
                    .clone()
                    .filter(|at| accepts(*at))
                    .reduce(|one, two| if speed(two) < speed(one) { two } else { one });
                assert_eq!(takers.any(pages, cap), able.count() > 0);
                assert_eq!(takers.slowest(pages, cap, accepts), best);
                found += usize::from(best.is_some());
                let at = rng.below(count as u64) as usize;
                all[at] = draw(&mut rng);
                takers.set(at, all[at]);
            }
        }
        assert!((1000..7000).contains(&found), "{found}");
    }
}
