//! Points of algorithm 1 that had to be settled, one by one; the numbers are those of docs/cluster.md.

use esker_core::Bytes;
use esker_core::registry::ParameterValue;

use super::{Cluster, OBJECTS, PAGE, balancer, number, server, slice, text};
use crate::id::{ServerId, SliceId};
use crate::plan::Plan;

/// One epoch ahead, so that 4 pages are one erase.
fn ewo(cluster: &Cluster, more: &[(&str, ParameterValue)]) -> Plan {
    let mut parameters = vec![("horizon_epochs", number(1)), ("sigma_c", number(10)), ("eta_c", text("0%"))];
    parameters.extend(more.iter().cloned());
    cluster.plan(&mut *balancer("ewo", &parameters))
}

fn moved(plan: &Plan) -> Vec<(u32, u16)> {
    plan.moves.iter().map(|wanted| (wanted.slice.0, wanted.to.0)).collect()
}

/// Server 0 has 1,000 erases more than the other three, and ten slices of which the hottest write 200 pages.
fn worn() -> Cluster {
    let servers = (0..4).map(|at| server(at, if at == 0 { 2000.0 } else { 1000.0 })).collect();
    let slices = (0..10).map(|at| slice([0, 1, 2], 20.0 * (at + 1) as f32)).collect();
    Cluster::new(servers, slices, 1)
}

/// `sigma > sigma_c` begins a round. The deviation of `worn` is 500 or so.
#[test]
fn a_round_begins_above_the_threshold() {
    assert!(!ewo(&worn(), &[]).moves.is_empty());
    assert!(ewo(&worn(), &[("sigma_c", number(10_000))]).moves.is_empty());
}

/// Point 13: the loop ends without a hot slice left. All hot slices together do not make up for 1,000 erases.
#[test]
fn it_ends_when_no_hot_slice_is_left() {
    let plan = ewo(&worn(), &[("rho_c", text("0%")), ("steps", number(1 << 20))]);
    assert_eq!(plan.moves.len(), 10);
    assert_eq!(plan.moves[0].slice, SliceId(9), "the hottest first");
    let hot = ewo(&worn(), &[]);
    assert_eq!(hot.moves.len(), 5, "those above the mean popularity");
    let mut cold = worn();
    cold.slices.iter_mut().for_each(|slice| slice.hot = OBJECTS / 2);
    assert!(ewo(&cold, &[]).moves.is_empty(), "as many hot as cold objects are not more");
    assert_eq!(ewo(&cold, &[("epsilon_c", text("50%"))]).moves.len(), 5);
}

/// Nine slices in ten without a replica would make the mean a tenth, and each of the ten slices hot.
#[test]
fn slices_without_replicas_make_no_other_hot() {
    let mut cluster = worn();
    let lost = (0..90).map(|_| super::SliceView { replicas: 0, ..slice([0, 1, 2], 0.0) });
    cluster.slices.extend(lost);
    assert_eq!(ewo(&cluster, &[]), ewo(&worn(), &[]));
}

/// Point 13: a source with nothing that fits does not keep back the others. The one slice of server 0 is too large for
/// any destination.
#[test]
fn a_source_that_is_stuck_drops_out() {
    let servers = vec![server(0, 3000.0), server(1, 1500.0), server(2, 0.0), server(3, 0.0)];
    let mut slices = vec![slice([0, 1, 2], 8000.0)];
    slices.extend((0..8).map(|_| slice([1, 0, 2], 400.0)));
    let plan = ewo(&Cluster::new(servers, slices, 1), &[("rho_c", text("0%"))]);
    assert!(!plan.moves.is_empty() && plan.moves.iter().all(|wanted| wanted.from == ServerId(1)), "{plan:?}");
}

/// Point 13: `k` counts up. Each iteration fills one destination.
#[test]
fn it_ends_after_its_steps() {
    assert!(ewo(&worn(), &[("steps", number(0))]).moves.is_empty());
    let mut small = worn();
    small.servers.iter_mut().for_each(|server| server.room = 1);
    assert_eq!(ewo(&small, &[("steps", number(2))]).moves.len(), 2);
    assert_eq!(ewo(&small, &[]).moves.len(), 3, "each destination has room for one");
}

/// Point 13: each move changes the wear of both ends, and no destination is filled above the mean.
#[test]
fn destinations_are_filled_up_to_the_mean_and_in_turn() {
    let servers = vec![server(0, 1200.0), server(1, 1000.0), server(2, 1004.0), server(3, 1040.0)];
    // 60 slices of 40 pages are 10 erases each; the mean is 1,211.
    let cluster = Cluster::new(servers, (0..60).map(|_| slice([0, 1, 2], 40.0)).collect(), 1);
    let plan = ewo(&cluster, &[("rho_c", text("0%"))]);
    let mut wear = [1800.0, 1000.0, 1004.0, 1040.0];
    for (_, to) in moved(&plan) {
        wear[0] -= 10.0;
        wear[usize::from(to)] += 10.0;
    }
    assert!(wear[1..].iter().all(|wear| *wear <= 1211.0 && *wear > 1200.0), "{wear:?}");
    assert!((1211.0..1221.0).contains(&wear[0]), "{wear:?}");
    // As published, the destination is the one with the fewest erases, and takes all of the excess: 589 of 800.
    let published = ewo(&cluster, &[("rho_c", text("0%")), ("destination", text("published"))]);
    assert!(published.moves.iter().all(|wanted| wanted.to == ServerId(1)) && published.moves.len() == 59);
}

/// Point 13: the greatest wear is another one after a move, so that two sources come down to the mean together.
#[test]
fn sources_come_down_to_the_mean_together() {
    let servers = vec![server(0, 1400.0), server(1, 1300.0), server(2, 1000.0), server(3, 1000.0)];
    // 60 slices on each of two servers are 10 erases each; the mean is 1,475 of 2,000, 1,900, 1,000 and 1,000.
    let slices = (0..120).map(|at| slice(if at % 2 == 0 { [0, 1, 2] } else { [1, 0, 2] }, 40.0)).collect();
    let plan = ewo(&Cluster::new(servers, slices, 1), &[("rho_c", text("0%"))]);
    let from = |source| plan.moves.iter().filter(|wanted| wanted.from == ServerId(source)).count();
    assert!((51..=52).contains(&from(0)) && (41..=42).contains(&from(1)), "{} and {}", from(0), from(1));
}

/// Point 13: nor beyond its room or its load.
#[test]
fn destinations_keep_their_room_and_load() {
    let mut cluster = worn();
    (cluster.servers[1].room, cluster.servers[2].pages_most) = (1, 350.0);
    cluster.servers[3].takes_more = false;
    let plan = ewo(&cluster, &[]);
    assert_eq!(moved(&plan), [(9, 1), (8, 2), (7, 2)], "1 has room for one slice, and 2 is at 340 pages of 350");
}

/// Point 3: the pages to move are pages. With decayed requests, which here are thirty times as many, too little moves.
#[test]
fn what_is_to_move_counts_pages() {
    let mut cluster = worn();
    cluster.slices.iter_mut().for_each(|slice| slice.popularity *= 30.0);
    let published = |amount| ewo(&cluster, &[("amount", text(amount)), ("destination", text("published"))]).moves.len();
    assert_eq!((published("pages"), published("requests")), (5, 1));
}

/// Point 7 and equation 4.10: only cold objects are copied, and within the budget.
#[test]
fn the_budget_limits_what_is_copied() {
    let mut cluster = worn();
    cluster.slices.iter_mut().for_each(|slice| slice.hot = OBJECTS - 4);
    cluster.budget = Bytes(2 * 4 * PAGE.0);
    let plan = ewo(&cluster, &[]);
    assert_eq!((plan.moves.len(), plan.copied(), plan.copy_at_once), (2, Bytes(8 * PAGE.0), false));
}

/// Point 10: a server that was written a lot, and is no longer, gets past the mean by itself. By cumulative erases its
/// slices would leave for a server that is about to overtake it.
#[test]
fn wear_is_projected_so_that_a_load_that_has_shifted_moves_nothing() {
    let servers = vec![server(0, 1000.0), server(1, 0.0)];
    let mut slices: Vec<_> = (0..4).map(|_| slice([0, 1, 2], 4.0)).collect();
    slices.extend((0..4).map(|_| slice([1, 0, 2], 400.0)));
    let cluster = Cluster::new(servers, slices, 1);
    let plan =
        |wear: &str| ewo(&cluster, &[("horizon_epochs", number(10)), ("wear", text(wear)), ("rho_c", text("0%"))]);
    let cumulative = plan("cumulative");
    assert!(!cumulative.moves.is_empty() && cumulative.moves.iter().all(|wanted| wanted.from == ServerId(0)));
    let projected = plan("projected");
    assert!(projected.moves.iter().all(|wanted| wanted.from == ServerId(1)), "{projected:?}");
}

/// Point 15: a group's wear is that of its worst member. The other one does not leave, though its server is a source,
/// too, and becomes the most worn one once some of the groups have left.
#[test]
fn only_the_worst_member_of_a_group_is_replaced() {
    let servers = vec![server(0, 2000.0), server(1, 2400.0), server(2, 0.0), server(3, 0.0), server(4, 0.0)];
    let mut slices: Vec<_> = (0..10).map(|_| slice([0, 1, 2], 400.0)).collect();
    slices.extend((0..2).map(|_| slice([0, 2, 1], 400.0)));
    let mut cluster = Cluster::new(servers, slices, 2);
    cluster.servers.iter_mut().for_each(|server| server.room = 2);
    let plan = ewo(&cluster, &[("rho_c", text("0%"))]);
    for wanted in &plan.moves {
        let worst = if wanted.slice.0 < 10 { 1 } else { 0 };
        assert_eq!(wanted.from, ServerId(worst), "{wanted:?}");
    }
    let from = |source| plan.moves.iter().filter(|wanted| wanted.from == ServerId(source)).count();
    assert!(from(0) == 2 && from(1) > 0, "{plan:?}");
}

/// EDM-like: whole slices, at once, the hottest or the coldest first.
#[test]
fn migration_copies_whole_slices() {
    let plan =
        |order: &str| worn().plan(&mut *balancer("edm-like", &[("horizon_epochs", number(1)), ("order", text(order))]));
    let (hottest, coldest) = (plan("hottest"), plan("coldest"));
    assert!(hottest.copy_at_once);
    assert_eq!(hottest.copied(), Bytes(hottest.moves.len() as u64 * u64::from(OBJECTS) * PAGE.0));
    assert_eq!((hottest.moves[0].slice, coldest.moves[0].slice), (SliceId(9), SliceId(0)));
    let calm = [("horizon_epochs", number(1)), ("lambda", text("100%"))];
    assert!(worn().plan(&mut *balancer("edm-like", &calm)).moves.is_empty());
}

/// EDM-like: copies count as writes, only what pays moves, and no source is brought below the mean. A copy of
/// 16 pages is 4 erases.
#[test]
fn migration_moves_only_what_pays() {
    let plan = |cluster: &Cluster, round: &str| {
        let parameters = [("horizon_epochs", number(1)), ("lambda", text("0%")), ("round", text(round))];
        moved(&cluster.plan(&mut *balancer("edm-like", &parameters)))
    };
    let cluster = |pages: f32| {
        let servers = (0..4).map(|at| server(at, if at == 0 { 1500.0 } else { 1000.0 })).collect();
        Cluster::new(servers, (0..10).map(|_| slice([0, 1, 2], pages)).collect(), 1)
    };
    assert_eq!(plan(&cluster(100.0), "paying").len(), 10);
    // A slice has 16 pages: with as many written to it, its copy costs what its move spares.
    assert_eq!((plan(&cluster(16.0), "paying").len(), plan(&cluster(17.0), "paying").len()), (0, 10));
    assert_eq!(plan(&cluster(16.0), "any").len(), 10);
    // The mean is 1,733 of 2,600, 2,600 and 0: without a slice of 1,000 erases, server 0 would be below it.
    let below = |round: &str| {
        let servers = vec![server(0, 1600.0), server(1, 2600.0), server(2, 0.0)];
        plan(&Cluster::new(servers, vec![slice([0, 1, 2], 4000.0)], 1), round).len()
    };
    assert_eq!((below("paying"), below("any")), (0, 1));
    // Destinations of 1,000 erases less than the mean take the slice of 1,000, but not its copy of 4 as well.
    let one = |erases: f64, round: &str| {
        let servers = vec![server(0, erases), server(1, 0.0)];
        plan(&Cluster::new(servers, vec![slice([0, 1, 2], 4000.0)], 1), round)
    };
    assert_eq!((one(1000.0, "any").len(), one(1000.0, "paying").len(), one(1008.0, "paying").len()), (1, 0, 1));
}

/// EDM-like goes by averages over the horizon: a slice that one epoch happened to write does not move as if it were
/// written as much in each.
#[test]
fn migration_goes_by_more_than_one_epoch() {
    let mut cluster = worn();
    let after = |round: &str, cluster: &mut Cluster| {
        let mut balancer = balancer("edm-like", &[("horizon_epochs", number(8)), ("round", text(round))]);
        let calm: Vec<f32> = cluster.slices.iter().map(|slice| slice.pages).collect();
        cluster.servers.iter_mut().for_each(|server| server.room = 0);
        (0..8).for_each(|_| assert!(cluster.plan(&mut *balancer).moves.is_empty()));
        cluster.servers.iter_mut().for_each(|server| server.room = 1000);
        (cluster.slices[0].pages, cluster.slices[9].pages) = (200.0, 120.0);
        let first = cluster.plan(&mut *balancer).moves[0].slice;
        cluster.slices.iter_mut().zip(calm).for_each(|(slice, pages)| slice.pages = pages);
        first
    };
    assert_eq!(after("paying", &mut cluster), SliceId(9), "it is the hottest on average");
    assert_eq!(after("any", &mut cluster), SliceId(0), "it is the hottest of the last epoch");
}
