//! A pool as the policy `life` sees it.

use std::collections::BTreeMap;

use esker_cluster::{
    ClusterView, CodeGroups, FailureDomain, FlashLoad, REPLICAS_MAX, ServerId, ServerView, SliceView, build_balancer,
    build_wear_model,
};
use esker_core::Bytes;
use esker_core::registry::{Choice, ParameterValue};

use super::state::{ClusterState, OsdState, WantedMove};
use crate::advice::ceph::CrushRule;
use crate::advice::figures::YEAR_DAYS;

/// The unit in which writes are counted.
const PAGE: f64 = 4096.0;

/// Has `life` plan the placement groups of one pool. Those of others stay where they are, but what is written to them
/// counts.
pub(super) fn plan_pool(state: &ClusterState, pool: u64, budget: Bytes, horizon_years: f64) -> Vec<WantedMove> {
    let rule = &state.rules[&pool];
    let of_pool = || state.pgs.iter().enumerate().filter(|(_, pg)| pg.id.pool == pool);
    // Slices are alike for the policy: each counts as large as the largest.
    let largest = of_pool().map(|(_, pg)| pg.shard_bytes).max().unwrap_or(0).max(1);
    let servers = servers(state, rule, largest);
    // Where slices have fewer copies than there are places, the rest is on a server that does not take part.
    let nowhere = ServerId((servers.len() - 1) as u16);
    let (mut slices, mut pgs) = (Vec::new(), Vec::new());
    for (at, pg) in state.pgs.iter().enumerate() {
        let homes: Vec<ServerId> =
            pg.homes.iter().map(|osd| state.osd_index(*osd).map_or(nowhere, |at| ServerId(at as u16))).collect();
        for some in homes.chunks(usize::from(REPLICAS_MAX)) {
            let mut places = [nowhere; REPLICAS_MAX as usize];
            places[..some.len()].copy_from_slice(some);
            let pages = (pg.shard_bytes_per_day / PAGE) as f32;
            let in_motion = pg.id.pool != pool || !pg.may_move;
            slices.push(SliceView { homes: places, popularity: 0.0, pages, hot: 0, replicas: REPLICAS_MAX, in_motion });
            pgs.push(at);
        }
    }
    let view = ClusterView {
        servers: &servers,
        slices: &slices,
        codes: &CodeGroups::default(),
        objects_per_slice: 1,
        object: Bytes(largest),
        page: Bytes(PAGE as u64),
        budget,
    };
    let plan = life(horizon_years, &view);
    let id = |server: ServerId| state.osds.get(server.index()).map(|osd| osd.id);
    let wanted =
        plan.into_iter().map(|(slice, from, to)| Some(WantedMove { pg: pgs[slice], from: id(from)?, to: id(to)? }));
    wanted.flatten().collect()
}

fn life(horizon_years: f64, view: &ClusterView<'_>) -> Vec<(usize, ServerId, ServerId)> {
    // A day is an epoch, and the rates are averages already. What moves is written as a whole within a quarter of the
    // horizon, so that its copy pays.
    let payback = (horizon_years * YEAR_DAYS / 4.0).round().clamp(1.0, 1e6) as u64;
    let parameters = [("warm_up_epochs", 0), ("memory_epochs", 1), ("payback_epochs", payback)];
    let parameters: BTreeMap<String, ParameterValue> =
        parameters.map(|(name, value)| (name.to_string(), ParameterValue::Integer(value))).into();
    let choice = Choice { kind: "life".into(), parameters };
    let mut balancer = build_balancer(&choice).expect("`life` is a balancer and has these parameters");
    let model = build_wear_model(&Choice::named("counters")).expect("`counters` is a wear model");
    let plan = balancer.plan(view, model.as_ref());
    plan.moves.iter().map(|one| (one.slice.index(), one.from, one.to)).collect()
}

/// All OSDs, and one more server that does not take part.
fn servers(state: &ClusterState, rule: &CrushRule, largest: u64) -> Vec<ServerView> {
    let mut servers: Vec<ServerView> =
        state.osds.iter().enumerate().map(|(at, osd)| server(state, rule, at, osd, largest)).collect();
    servers.push(ServerView {
        domain: FailureDomain(u32::MAX),
        serves: false,
        takes_more: false,
        room: 0,
        erases: 0.0,
        life_left_pages: 0.0,
        pages_most: f64::INFINITY,
        erases_per_page: None,
        // `life` counts what slices are written, not this.
        flash: FlashLoad::UNKNOWN,
    });
    servers
}

fn server(state: &ClusterState, rule: &CrushRule, at: usize, osd: &OsdState, largest: u64) -> ServerView {
    let id = osd.id as i64;
    let bucket = if rule.domain == "osd" { Some(id) } else { state.tree.bucket(id, &rule.domain) };
    // One outside of all buckets of the kind is apart from all, and takes nothing.
    let domain = bucket.and_then(|bucket| state.tree.nodes.keys().position(|known| *known == bucket));
    let is_below_root = state.tree.around(id).any(|(_, node)| node.name == rule.root);
    let is_of_class = rule.class.as_ref().is_none_or(|class| state.tree.nodes[&id].class == *class);
    let is_allowed = is_below_root && is_of_class && domain.is_some();
    let most = (osd.room_bytes as f64 * state.map.nearfull_ratio) as u64;
    let room = most.saturating_sub(osd.used_bytes) / largest;
    let left = osd.drive.as_ref().map_or(0.0, |drive| drive.left(drive.endurance.likely));
    ServerView {
        domain: FailureDomain(domain.unwrap_or(state.tree.nodes.len() + at) as u32),
        serves: is_allowed && osd.room_bytes > 0 && osd.drive.is_some(),
        takes_more: true,
        room: u32::try_from(room).unwrap_or(u32::MAX),
        erases: 0.0,
        life_left_pages: left / state.factor / PAGE,
        pages_most: f64::INFINITY,
        erases_per_page: None,
        flash: FlashLoad::UNKNOWN,
    }
}
