//! Fleets by counts until the first server is worn out: what a policy is worth, as a share of the best possible.
//!
//! If writes were spread in proportion to the life left, all servers would wear out together, after all life left
//! divided by all writes. No policy can be better, so this is the bound.

use esker_core::Rng;

use super::super::Balancer;
use super::{Cluster, OBJECTS, balancer, even_model, number, server, slice, text};
use crate::id::ServerId;

const SERVERS: usize = 60;
const SLICES: usize = 3000;
/// Slices that fit on a server of size 1.
const ROOM: u32 = 30;
/// Days after which all would be worn out together.
const BOUND_DAYS: f64 = 400.0;
/// Pages of a slice.
const SLICE_PAGES: f64 = OBJECTS as f64;

/// How a fleet wears.
#[derive(Clone, Copy, Debug)]
struct FleetEnd {
    /// Days until the first server is worn out, as a share of the bound.
    share: f64,
    /// Pages that moves have written, as a share of the host's.
    extra: f64,
}

struct Fleet {
    cluster: Cluster,
    /// Pages a day of each slice, in the order of the slices.
    writes: Vec<f64>,
    rng: Rng,
}

impl Fleet {
    /// Servers of sizes from 1 to 4, rated for 0.3, 1 or 3 drive writes a day over five years, of which up to four
    /// fifths are used. Slices lie by size, as a ring puts them, and are written by Zipf's law.
    fn unlike(seed: u64) -> Self {
        let mut rng = Rng::derive(seed, "fleet");
        let servers = (0..SERVERS).map(|at| {
            let size = 1 + rng.below(4) as u32;
            let rating = [0.3, 1.0, 3.0][rng.below(3) as usize];
            (at, size, rating, 0.8 * rng.unit())
        });
        let servers: Vec<_> = servers.collect();
        Self::new(rng, &servers, 0.9)
    }

    /// Servers that are alike and new, and slices that are written alike within a tenth.
    fn even(seed: u64) -> Self {
        let servers: Vec<_> = (0..SERVERS).map(|at| (at, 3, 1.0, 0.0)).collect();
        Self::new(Rng::derive(seed, "fleet"), &servers, 0.1)
    }

    fn new(mut rng: Rng, servers: &[(usize, u32, f64, f64)], zipf: f64) -> Self {
        let rated = |size: u32, rating: f64| rating * 5.0 * 365.0 * f64::from(size * ROOM) * SLICE_PAGES;
        let mut views: Vec<_> = servers
            .iter()
            .map(|&(at, size, rating, used)| super::ServerView {
                room: size * ROOM,
                life_left_pages: rated(size, rating) * (1.0 - used),
                // 4 pages are an erase.
                erases: rated(size, rating) * used / 4.0,
                ..server(at, 0.0)
            })
            .collect();
        let by_size: Vec<u16> = servers.iter().flat_map(|it| std::iter::repeat_n(it.0 as u16, it.1 as usize)).collect();
        let weights: Vec<f64> = (0..SLICES).map(|rank| ((rank + 1) as f64).powf(-zipf)).collect();
        let life: f64 = views.iter().map(|server| server.life_left_pages).sum();
        let all: f64 = weights.iter().sum();
        let writes = weights.iter().map(|weight| weight / all * life / BOUND_DAYS).collect();
        let mut slices = Vec::new();
        while slices.len() < SLICES {
            let home = by_size[rng.below(by_size.len() as u64) as usize];
            if views[usize::from(home)].room > 0 {
                views[usize::from(home)].room -= 1;
                slices.push(slice([home, 0, 0], 0.0));
            }
        }
        Self { cluster: Cluster::new(views, slices, 1), writes, rng }
    }

    /// Gives each slice the writes of another one.
    fn turn_over(&mut self) {
        for at in (1..self.writes.len()).rev() {
            let other = self.rng.below(at as u64 + 1) as usize;
            self.writes.swap(at, other);
        }
    }

    /// One day of writes.
    fn write(&mut self) {
        let Cluster { servers, slices, .. } = &mut self.cluster;
        servers.iter_mut().for_each(|server| server.flash.pages = 0.0);
        for (slice, pages) in slices.iter_mut().zip(&self.writes) {
            let home = &mut servers[slice.homes[0].index()];
            home.flash.pages += pages;
            home.life_left_pages -= pages;
            home.erases += pages / 4.0;
            slice.pages = *pages as f32;
            slice.popularity = slice.popularity / 2.0 + *pages as f32;
        }
        let mean = slices.iter().map(|slice| slice.popularity).sum::<f32>() / slices.len() as f32;
        slices.iter_mut().for_each(|slice| slice.hot = if slice.popularity > mean { OBJECTS } else { 0 });
    }

    /// Days until the first server is worn out.
    fn run(mut self, policy: &mut dyn Balancer, turnover_days: Option<u64>) -> FleetEnd {
        let (model, mut copied, mut host) = (even_model(), 0.0, 0.0);
        for day in 1.. {
            if turnover_days.is_some_and(|days| day % days == 0) {
                self.turn_over();
            }
            self.write();
            host += self.writes.iter().sum::<f64>();
            if self.cluster.servers.iter().any(|server| server.life_left_pages <= 0.0) {
                return FleetEnd { share: day as f64 / BOUND_DAYS, extra: copied / host };
            }
            let plan = policy.plan(&self.cluster.view(), &*model);
            for wanted in plan.moves {
                let pages = wanted.copied.0 as f64 / super::PAGE.0 as f64;
                copied += pages;
                let Cluster { servers, slices, .. } = &mut self.cluster;
                servers[wanted.from.index()].room += 1;
                let to = &mut servers[wanted.to.index()];
                (to.room, to.life_left_pages, to.erases) =
                    (to.room - 1, to.life_left_pages - pages, to.erases + pages / 4.0);
                slices[wanted.slice.index()].homes[0] = ServerId(wanted.to.0);
            }
        }
        unreachable!("every server wears out")
    }
}

/// Least, median and greatest of ten seeds.
fn over_seeds(what: &str, of: impl Fn(u64) -> f64) -> [f64; 3] {
    let mut values: Vec<f64> = (0..10).map(of).collect();
    values.sort_by(f64::total_cmp);
    let spread = [values[0], (values[4] + values[5]) / 2.0, values[9]];
    print(&format!("{what:<40} {:.5} {:.5} {:.5}", spread[0], spread[1], spread[2]));
    spread
}

#[expect(clippy::print_stdout, reason = "measured figures, asked for by ESKER_PRINT")]
fn print(line: &str) {
    if std::env::var_os("ESKER_PRINT").is_some() {
        println!("{line}");
    }
}

fn even_erases(kind: &str) -> Box<dyn Balancer> {
    match kind {
        "ewo" => balancer(kind, &[("rho_c", text("0%")), ("horizon_epochs", number(24))]),
        _ => balancer(kind, &[]),
    }
}

/// Tolerances were set before the first run: `life` at least 0.8 of the bound (median of ten), within 0.5 % extra
/// writes; a sketch had 0.80-0.92 for it, 0.04-0.10 for nothing, 0.03-0.06 for even erases.
#[test]
fn life_comes_near_the_bound_on_an_unlike_fleet() {
    let life: Vec<FleetEnd> = (0..10).map(|seed| Fleet::unlike(seed).run(&mut *balancer("life", &[]), None)).collect();
    let share = over_seeds("unlike, life", |seed| life[seed as usize].share);
    let extra = over_seeds("unlike, life, extra writes", |seed| life[seed as usize].extra);
    assert!(share[1] >= 0.8, "{share:?}");
    assert!(extra[2] <= 0.005, "{extra:?}");
    let [none, edm, ewo] = ["none", "edm-like", "ewo"].map(|kind| {
        let ends: Vec<FleetEnd> = (0..10).map(|seed| Fleet::unlike(seed).run(&mut *even_erases(kind), None)).collect();
        over_seeds(&format!("unlike, {kind}, extra writes"), |seed| ends[seed as usize].extra);
        over_seeds(&format!("unlike, {kind}"), |seed| ends[seed as usize].share)
    });
    for other in [none, edm, ewo] {
        assert!(other[1] <= 0.15 && other[1] < share[1] / 4.0, "{other:?}");
    }
}

/// Where nothing is to be gained, next to nothing moves: 0.1 % extra writes at most.
#[test]
fn life_leaves_an_even_fleet_alone() {
    let life: Vec<FleetEnd> = (0..10).map(|seed| Fleet::even(seed).run(&mut *balancer("life", &[]), None)).collect();
    let share = over_seeds("even, life", |seed| life[seed as usize].share);
    let none = over_seeds("even, none", |seed| Fleet::even(seed).run(&mut *balancer("none", &[]), None).share);
    let extra = over_seeds("even, life, extra writes", |seed| life[seed as usize].extra);
    assert!(extra[2] <= 0.001 && share[1] >= none[1], "{extra:?}, {share:?}, {none:?}");
}

/// A load that is another one each week: `life` at most 5 % worse than nothing.
#[test]
fn life_does_no_harm_under_a_load_that_turns_over() {
    for (what, fleet) in [("even", Fleet::even as fn(u64) -> Fleet), ("unlike", Fleet::unlike)] {
        let ends = |kind: &str| -> Vec<f64> {
            (0..10).map(|seed| fleet(seed).run(&mut *balancer(kind, &[]), Some(7)).share).collect()
        };
        let (life, none) = (ends("life"), ends("none"));
        let ratio = over_seeds(&format!("{what}, turned over weekly, life / none"), |seed| {
            life[seed as usize] / none[seed as usize]
        });
        assert!(ratio[0] >= 0.95, "{what}: {ratio:?}");
    }
}
