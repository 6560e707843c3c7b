//! The cluster as the dumps tell it, and as planned moves change it.

use std::collections::{BTreeMap, BTreeSet};

use esker_results::advice::PgMove;

use super::pg::PgState;
use super::{OsdDrives, rule, upmap};
use crate::advice::ceph::{CrushRule, CrushTree, OsdMap, PgDump, PgId, PgStat};
use crate::advice::collect::AdviceInputs;
use crate::advice::judged::JudgedDrive;

/// Rates over less time are noise.
const SHORTEST_S: i64 = 86_400;
/// A drive that is written this many times more, or less, than its placement groups explain is written by others.
const UNEXPLAINED: f64 = 2.0;

/// The cluster.
#[derive(Clone, Debug)]
pub(super) struct ClusterState {
    pub(super) map: OsdMap,
    pub(super) tree: CrushTree,
    /// All OSDs, by number.
    pub(super) osds: Vec<OsdState>,
    pub(super) pgs: Vec<PgState>,
    /// The rules of pools whose placement groups may move.
    pub(super) rules: BTreeMap<u64, CrushRule>,
    /// What drives are written for each byte that clients write to a replica.
    pub(super) factor: f64,
    /// What was left out, and why.
    pub(super) left_out: Vec<String>,
}

/// An OSD.
#[derive(Clone, Debug)]
pub(super) struct OsdState {
    pub(super) id: u64,
    /// Its drive, if it can be judged, and nothing but its placement groups is written there.
    pub(super) drive: Option<JudgedDrive>,
    pub(super) room_bytes: u64,
    pub(super) used_bytes: u64,
}

/// A wanted move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WantedMove {
    pub(super) pg: usize,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl ClusterState {
    /// Puts the dumps together, or says why they are not enough for a plan.
    pub(super) fn new(inputs: &AdviceInputs, drives: OsdDrives) -> Result<Self, String> {
        let missing = |what: &str| format!("there is no output of `ceph {what} -f json`: no plan without it");
        let map = inputs.osd_map.as_ref().ok_or_else(|| missing("osd dump"))?;
        let tree = inputs.tree.as_ref().ok_or_else(|| missing("osd df tree"))?;
        if inputs.devices.is_empty() {
            return Err(missing("device ls"));
        }
        let (first, last) = match &inputs.pg_dumps[..] {
            [] => return Err(missing("pg dump")),
            [_] => {
                return Err("there is one `ceph pg dump` only; what is written takes two, a day or more apart".into());
            }
            [first, .., last] => (first, last),
        };
        check_map(map)?;
        let pgs = pgs(map, first, last)?;
        let mut state = Self {
            map: map.clone(),
            tree: tree.clone(),
            osds: osds(map, tree, &pgs)?,
            pgs,
            rules: BTreeMap::new(),
            factor: 1.0,
            left_out: Vec::new(),
        };
        state.assign_drives(drives);
        state.find_factor(first)?;
        state.find_rules(inputs);
        Ok(state)
    }

    /// Gives OSDs their drives. One that shares drives, or has several, is judged by none.
    fn assign_drives(&mut self, mut drives: OsdDrives) {
        for osd in &mut self.osds {
            let of_it = drives.remove(&osd.id).unwrap_or_default();
            let reason = match &of_it[..] {
                [] => "no drive of it is known",
                [(1, Some(drive))] => {
                    osd.drive = Some(drive.clone());
                    continue;
                }
                [(1, None)] => "its drive cannot be judged",
                [_] => "it shares its drive with other OSDs",
                _ => "it uses several drives",
            };
            self.left_out.push(format!("osd.{}: {reason}", osd.id));
        }
    }

    /// What drives are written for each byte of their placement groups: the median. Drives that are far from it are
    /// written by something else, too.
    fn find_factor(&mut self, first: &PgDump) -> Result<(), String> {
        let mut written: BTreeMap<u64, f64> = BTreeMap::new();
        for pg in &self.pgs {
            // Placement groups may have moved since: what was measured was written to where they were.
            let then = first.pgs.get(&pg.id).map_or(&pg.homes, |stat| &stat.up);
            then.iter().for_each(|osd| *written.entry(*osd).or_default() += pg.shard_bytes_per_day);
        }
        let ratio = |osd: &OsdState| {
            let drive = osd.drive.as_ref()?;
            let explained = written.get(&osd.id).copied().filter(|explained| *explained > 0.0)?;
            Some(drive.per_day.likely / explained)
        };
        let mut ratios: Vec<f64> = self.osds.iter().filter_map(ratio).filter(|ratio| *ratio > 0.0).collect();
        ratios.sort_by(f64::total_cmp);
        let Some(median) = ratios.get(ratios.len() / 2).copied() else {
            return Err("no OSD has both a drive that can be judged and placement groups that are written".into());
        };
        self.factor = median;
        for osd in &mut self.osds {
            let is_explained =
                ratio(osd).is_some_and(|ratio| (1.0 / UNEXPLAINED..=UNEXPLAINED).contains(&(ratio / median)));
            if osd.drive.is_some() && !is_explained {
                osd.drive = None;
                let reason = "its drive is written far more, or less, than its placement groups explain";
                self.left_out.push(format!("osd.{}: {reason}", osd.id));
            }
        }
        Ok(())
    }

    fn find_rules(&mut self, inputs: &AdviceInputs) {
        for (number, pool) in &self.map.pools {
            let of_pool: Vec<&PgState> = self.pgs.iter().filter(|pg| pg.id.pool == *number).collect();
            let found = if pool.size > u64::from(esker_cluster::REPLICAS_MAX) {
                Err(format!("it has {} copies or shards, and {} are the most", pool.size, esker_cluster::REPLICAS_MAX))
            } else {
                rule::rule_of(inputs, &self.tree, pool, &of_pool)
            };
            match found {
                Ok(rule) => {
                    self.rules.insert(*number, rule);
                }
                Err(reason) => self.left_out.push(format!("pool `{}`: {reason}", pool.name)),
            }
        }
    }

    pub(super) fn osd_index(&self, id: u64) -> Option<usize> {
        self.osds.binary_search_by_key(&id, |osd| osd.id).ok()
    }

    /// What clients write to an OSD's placement groups in a day.
    pub(super) fn bytes_per_day(&self) -> Vec<f64> {
        let mut written = vec![0.0; self.osds.len()];
        for pg in &self.pgs {
            pg.homes.iter().filter_map(|osd| self.osd_index(*osd)).for_each(|at| written[at] += pg.shard_bytes_per_day);
        }
        written
    }

    /// Pools that may move, those written most for each byte that they hold first.
    pub(super) fn pools_by_heat(&self) -> Vec<u64> {
        let heat = |pool: &u64| {
            let of_pool = || self.pgs.iter().filter(|pg| pg.id.pool == *pool);
            let held: f64 = of_pool().map(|pg| pg.shard_bytes as f64).sum();
            of_pool().map(|pg| pg.shard_bytes_per_day).sum::<f64>() / held.max(1.0)
        };
        let mut pools: Vec<u64> = self.rules.keys().copied().collect();
        pools.sort_by(|one, other| heat(other).total_cmp(&heat(one)).then(one.cmp(other)));
        pools
    }

    /// Makes a move here. If no pairs can express it, the placement group stays, and false is returned.
    pub(super) fn make(&mut self, wanted: WantedMove) -> bool {
        let WantedMove { pg: at, from, to } = wanted;
        let pg = &mut self.pgs[at];
        let place = pg.homes.iter().position(|home| *home == from);
        let (Some(place), Some(items)) = (place, upmap::with_move(&pg.homes, &pg.items, from, to)) else {
            pg.may_move = false;
            return false;
        };
        pg.homes[place] = to;
        pg.items = items;
        let bytes = pg.shard_bytes;
        // What has left is still there until all is copied.
        if let Some(target) = self.osd_index(to) {
            self.osds[target].used_bytes = self.osds[target].used_bytes.saturating_add(bytes);
        }
        true
    }

    /// What has moved in comparison with an earlier state.
    pub(super) fn moves_since(&self, before: &Self) -> Vec<PgMove> {
        let mut moves = Vec::new();
        for (now, then) in self.pgs.iter().zip(&before.pgs) {
            let pairs = then.homes.iter().zip(&now.homes).filter(|(from, to)| from != to);
            moves.extend(pairs.map(|(from, to)| PgMove {
                pg: now.id.to_string(),
                from: *from,
                to: *to,
                copied_bytes: now.shard_bytes,
                written_bytes_per_day: now.shard_bytes_per_day.round() as u64,
            }));
        }
        moves
    }
}

/// Refuses maps of clusters that should be left alone now.
fn check_map(map: &OsdMap) -> Result<(), String> {
    // `require_min_compat_client` names releases in the order of the alphabet, from Argonaut on.
    if map.oldest_client.as_str() < "luminous" {
        return Err("clients older than Luminous may connect, which pg-upmap does not allow: see \
                    `ceph osd set-require-min-compat-client luminous`"
            .into());
    }
    if map.nearfull_ratio <= 0.0 {
        return Err("`osd dump` has no `nearfull_ratio`: it is not known how full OSDs may become".into());
    }
    let stopped = ["pauserd", "pausewr", "norebalance", "nobackfill", "norecover", "noup", "noin"];
    match map.flags.split(',').find(|flag| stopped.contains(flag)) {
        Some(flag) => Err(format!("the flag `{flag}` is set: somebody is at work on the cluster")),
        None => Ok(()),
    }
}

fn osds(map: &OsdMap, tree: &CrushTree, pgs: &[PgState]) -> Result<Vec<OsdState>, String> {
    let used: BTreeSet<u64> = pgs.iter().flat_map(|pg| pg.homes.iter().copied()).collect();
    let unknown = |osd: &&u64| !i64::try_from(**osd).is_ok_and(|id| tree.nodes.contains_key(&id));
    if let Some(osd) = used.iter().find(unknown) {
        return Err(format!(
            "osd.{osd} holds placement groups, but `osd df tree` does not have it: foreign or old dumps?"
        ));
    }
    let of_tree = tree.nodes.iter().filter(|(_, node)| node.kind == "osd");
    let osds: Vec<OsdState> = of_tree
        .filter_map(|(id, node)| {
            let id = u64::try_from(*id).ok()?;
            let bytes = |kib: u64| kib.saturating_mul(1024);
            let serves = map.serving.contains(&id) && node.reweight > 0.0;
            let room_bytes = if serves { bytes(node.room_kib) } else { 0 };
            Some(OsdState { id, drive: None, room_bytes, used_bytes: bytes(node.used_kib) })
        })
        .collect();
    if osds.len() >= usize::from(u16::MAX) {
        return Err(format!("{} OSDs are more than are planned for here", osds.len()));
    }
    Ok(osds)
}

/// Placement groups with their rates.
fn pgs(map: &OsdMap, first: &PgDump, last: &PgDump) -> Result<Vec<PgState>, String> {
    let seconds = last.unix_s - first.unix_s;
    if seconds < SHORTEST_S {
        let hours = seconds as f64 / 3_600.0;
        return Err(format!("the dumps of placement groups are {hours:.1} hours apart; a day is the least"));
    }
    for (number, pool) in &map.pools {
        let found = last.pgs.keys().filter(|pg| pg.pool == *number).count() as u64;
        if found != pool.pgs {
            let name = &pool.name;
            return Err(format!("pool `{name}` has {} placement groups, {found} of them in `pg dump`", pool.pgs));
        }
    }
    last.pgs.iter().map(|(id, stat)| pg(map, *id, stat, first, seconds)).collect()
}

fn pg(map: &OsdMap, id: PgId, stat: &PgStat, first: &PgDump, seconds: i64) -> Result<PgState, String> {
    let pool = map.pools.get(&id.pool).ok_or_else(|| format!("placement group {id} is of no pool of `osd dump`"))?;
    if !stat.is_clean() {
        return Err(format!("placement group {id} is {}: wait until all are active+clean", stat.state));
    }
    let distinct: BTreeSet<u64> = stat.up.iter().copied().collect();
    if stat.up.len() as u64 != pool.size || distinct.len() != stat.up.len() {
        return Err(format!("placement group {id} is on {} OSDs instead of {}", distinct.len(), pool.size));
    }
    let before =
        first.pgs.get(&id).ok_or_else(|| format!("placement group {id} is in the last dump only: was it split?"))?;
    let kib = stat.written_kib.checked_sub(before.written_kib).ok_or_else(|| {
        format!("what was written to placement group {id} goes backwards between its dumps: are they of one cluster?")
    })?;
    let items = map.upmap_items.get(&id).cloned().unwrap_or_default();
    let days = seconds as f64 / SHORTEST_S as f64;
    Ok(PgState {
        id,
        shard_bytes: stat.stored_bytes.div_ceil(pool.data_shards),
        shard_bytes_per_day: kib as f64 * 1024.0 / pool.data_shards as f64 / days,
        may_move: !map.upmaps.contains(&id) && upmap::raw(&stat.up, &items).is_some(),
        homes: stat.up.clone(),
        items,
    })
}
