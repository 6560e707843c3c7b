//! What every plan has to keep, whatever the policy.

use std::collections::BTreeSet;

use esker_core::{Bytes, Rng, registry};

use super::super::BALANCERS;
use super::{Cluster, OBJECTS, PAGE, balancer, number, server, slice};
use crate::id::{ServerId, SliceId};
use crate::plan::Plan;

/// A cluster of random wear, life, room, load, replicas and popularity.
pub(super) fn random(rng: &mut Rng) -> Cluster {
    let count = 3 + rng.below(12) as usize;
    let replicas = 1 + rng.below(3) as u8;
    let mut servers: Vec<_> = (0..count)
        .map(|at| super::ServerView {
            serves: !rng.chance(1, 10),
            takes_more: !rng.chance(1, 5),
            room: rng.below(8) as u32,
            life_left_pages: rng.unit() * 1e6,
            pages_most: 200.0 + rng.unit() * 4000.0,
            erases_per_page: None,
            ..server(at % (count - usize::from(rng.chance(1, 2))), rng.unit() * 5000.0)
        })
        .collect();
    servers.iter_mut().filter(|server| !server.serves).for_each(|server| server.takes_more = false);
    let slices = (0..count * 10)
        .map(|_| {
            let first = rng.below(count as u64) as u16;
            let homes = [0, 1, 2].map(|step| (first + step) % count as u16);
            let mut slice = slice(homes, (rng.exponential(60.0)) as f32);
            (slice.hot, slice.in_motion) = (rng.below(u64::from(OBJECTS) + 1) as u32, rng.chance(1, 20));
            slice
        })
        .collect();
    let mut cluster = Cluster::new(servers, slices, replicas);
    cluster.budget = Bytes(rng.below(40) * PAGE.0 * u64::from(OBJECTS));
    cluster
}

/// Checks a plan, and returns what it moves.
fn check(cluster: &Cluster, plan: &Plan, keeps_load: bool) -> usize {
    let (mut room, mut pages) = (vec![0; cluster.servers.len()], vec![0.0; cluster.servers.len()]);
    let mut moved = BTreeSet::new();
    for wanted in &plan.moves {
        let slice = &cluster.slices[wanted.slice.index()];
        let homes = slice.homes();
        let domain = |server: ServerId| cluster.servers[server.index()].domain;
        assert!(moved.insert(wanted.slice), "{} moves twice", wanted.slice);
        assert!(!slice.in_motion && homes.contains(&wanted.from) && !homes.contains(&wanted.to));
        let mut others = homes.iter().filter(|home| **home != wanted.from);
        assert!(others.all(|other| domain(*other) != domain(wanted.to)), "two replicas share a failure domain");
        assert!(cluster.servers[wanted.to.index()].takes_more);
        room[wanted.to.index()] += 1;
        pages[wanted.to.index()] += f64::from(slice.pages);
        pages[wanted.from.index()] -= f64::from(slice.pages);
    }
    assert!(plan.copied() <= cluster.budget);
    for (at, server) in cluster.servers.iter().enumerate() {
        assert!(room[at] <= server.room, "server {at} gets {} slices, with room for {}", room[at], server.room);
        let load = server.flash.pages + pages[at];
        assert!(!keeps_load || pages[at] <= 0.0 || load <= server.pages_most + 1e-6, "server {at} gets too much load");
    }
    plan.moves.len()
}

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(BALANCERS), Vec::<String>::new());
}

#[test]
fn plans_keep_room_load_domains_and_budget() {
    let eager = [("sigma_c", number(0)), ("warm_up_epochs", number(0))];
    for entry in BALANCERS {
        let mut rng = Rng::new(38);
        let mut moves = 0;
        for _ in 0..300 {
            let cluster = random(&mut rng);
            let known = |name: &str| entry.parameters.listed().iter().any(|parameter| parameter.name == name);
            let own: Vec<_> = eager.iter().filter(|(name, _)| known(name)).cloned().collect();
            let plan = cluster.plan(&mut *balancer(entry.name, &own));
            assert_eq!(plan, cluster.plan(&mut *balancer(entry.name, &own)), "the same view makes the same plan");
            moves += check(&cluster, &plan, true);
        }
        assert!(moves >= 100 || entry.name == "none", "{} moves {moves} slices in all", entry.name);
    }
}

/// Sixteen servers in eight failure domains, and twenty codes: four slices with one replica each, and a slice of parity
/// with two.
fn coded(rng: &mut Rng) -> Cluster {
    let draw = |at: usize, rng: &mut Rng| super::ServerView {
        room: rng.below(4) as u32,
        life_left_pages: rng.unit() * 1e5,
        ..server(at / 2, rng.unit() * 5000.0)
    };
    let servers = (0..16).map(|at| draw(at, rng)).collect();
    let (mut slices, mut codes) = (Vec::new(), Vec::new());
    for group in 0..20u32 {
        let first = rng.below(8) as u16;
        let homes = [0, 1, 2, 3, 4, 5].map(|step| (first + step) % 8 * 2 + rng.below(2) as u16);
        let own = homes[..4].iter().map(|home| slice([*home; 3], rng.exponential(60.0) as f32));
        slices.extend(own.collect::<Vec<_>>());
        slices.push(slice([homes[4], homes[5], homes[4]], rng.exponential(240.0) as f32));
        codes.push(((group * 5..group * 5 + 5).map(SliceId), homes.map(ServerId).to_vec(), rng.chance(3, 4)));
    }
    let mut cluster = Cluster::new(servers, slices, 1);
    for parity in (4..100).step_by(5) {
        cluster.slices[parity].replicas = 2;
        let second = cluster.slices[parity].homes[1].index();
        cluster.servers[second].flash.pages += f64::from(cluster.slices[parity].pages);
    }
    codes.into_iter().for_each(|(slices, homes, is_written)| cluster.codes.add(slices, homes, is_written));
    cluster
}

#[test]
fn plans_keep_the_pieces_of_a_code_apart() {
    let eager = [("sigma_c", number(0)), ("warm_up_epochs", number(0))];
    for entry in BALANCERS {
        let (mut rng, mut moves) = (Rng::new(40), 0);
        for _ in 0..300 {
            let cluster = coded(&mut rng);
            let known = |name: &str| entry.parameters.listed().iter().any(|parameter| parameter.name == name);
            let own: Vec<_> = eager.iter().filter(|(name, _)| known(name)).cloned().collect();
            let plan = cluster.plan(&mut *balancer(entry.name, &own));
            moves += check(&cluster, &plan, true);
            let (domain, mut groups) = (|at: &ServerId| cluster.servers[at.index()].domain, BTreeSet::new());
            for wanted in &plan.moves {
                assert!(groups.insert(cluster.codes.group_of(wanted.slice)), "two pieces of a code move at once");
                assert!(cluster.codes.is_written(wanted.slice), "parity of {} is not written", wanted.slice);
                let mut others = cluster.codes.homes(wanted.slice).iter().filter(|home| **home != wanted.from);
                assert!(others.all(|other| domain(other) != domain(&wanted.to)), "{} shares a domain", wanted.slice);
            }
        }
        assert!(moves >= 100 || entry.name == "none", "{} moves {moves} slices in all", entry.name);
    }
}

/// The published destination knows no load, but room and failure domains hold: data would be lost without them.
#[test]
fn published_forms_keep_room_and_domains() {
    let mut rng = Rng::new(39);
    let mut moves = 0;
    for _ in 0..300 {
        let cluster = random(&mut rng);
        let published = [
            ("sigma_c", number(0)),
            ("wear", super::text("cumulative")),
            ("amount", super::text("requests")),
            ("destination", super::text("published")),
        ];
        moves += check(&cluster, &cluster.plan(&mut *balancer("ewo", &published)), false);
    }
    assert!(moves >= 100, "{moves}");
}
