//! Where slices lie, and which replicas are in motion: what `esker_cluster::Router` knows, but counts of objects in
//! place of a bit for each. Partitions, destinations and failures follow the router's rules; a test holds both to the
//! same places.

#[cfg(test)]
mod check;
mod coding;
mod members;
mod motions;
mod spread;

use std::collections::{BTreeMap, BTreeSet};

use esker_cluster::{
    ClusterShape, FailureDomain, PartitionId, Ring, Server, ServerId, ServerSpec, ServerState, ShapeError, SliceId,
    SliceReplica, SliceView, WriteSpread,
};

use coding::Coding;
pub(super) use motions::{HostWrites, Motion};
use spread::SpreadCount;

use super::copies::Cause;

/// Slices, servers, and what moves between them.
#[derive(Debug)]
pub(super) struct Placement {
    shape: ClusterShape,
    ring: Ring,
    /// All servers that ever took part, by number.
    servers: Vec<Server>,
    /// The servers of each partition, one for each replica.
    partitions: Vec<ServerId>,
    /// What balancers are told of slices, and behind those of hosts the parity of codes. The home of a replica in
    /// motion is its destination, which takes its writes; that of one without any server is the server that failed.
    slices: Vec<SliceView>,
    /// Pages that hosts write to each of them in an epoch of the first day.
    weights: Vec<f32>,
    /// The sum of the weights of the replicas at home on each server.
    loads: Vec<f64>,
    /// How unevenly the replicas at home on each server are written, relative to `mean`.
    spreads: Vec<SpreadCount>,
    mean: f64,
    /// Replicas in motion: slice times replicas, and which.
    motions: BTreeMap<u32, Motion>,
    by_partition: SlicesByPartition,
    /// Objects of a slice that are written, and those that never are.
    written_objects: f64,
    never_written: f64,
    /// Whether a replica has found no server to go to, and whether that may have changed since.
    is_stuck: bool,
    may_be_placed: bool,
    pub(super) lost: Losses,
    /// Slices that were lost in this epoch: before hosts have written them again, they are lost but once.
    lost_now: BTreeSet<SliceId>,
    /// Which slices are kept as an erasure code, if cold ones are.
    coding: Option<Coding>,
}

/// What is known of a slice that has neither servers nor writes.
const NEW_SLICE: SliceView =
    SliceView { homes: [ServerId(0); 3], popularity: 0.0, pages: 0.0, hot: 0, replicas: 0, in_motion: false };

/// What failures have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    pub(super) replicas: u64,
    pub(super) slices: u64,
    pub(super) objects: u64,
}

/// Slices in the order of their partitions.
#[derive(Debug)]
struct SlicesByPartition {
    /// Where the slices of each partition begin.
    first: Vec<u32>,
    slices: Vec<u32>,
}

impl SlicesByPartition {
    fn new(shape: &ClusterShape) -> Self {
        let partition = |slice: u32| shape.partition_of(SliceId(slice)).0 as usize;
        let mut first = vec![0u32; shape.partitions as usize + 1];
        (0..shape.slices).for_each(|slice| first[partition(slice) + 1] += 1);
        (1..first.len()).for_each(|at| first[at] += first[at - 1]);
        let (mut next, mut slices) = (first.clone(), vec![0; shape.slices as usize]);
        for slice in 0..shape.slices {
            let at = &mut next[partition(slice)];
            slices[*at as usize] = slice;
            *at += 1;
        }
        Self { first, slices }
    }

    fn of(&self, partition: PartitionId) -> &[u32] {
        let at = partition.0 as usize;
        &self.slices[self.first[at] as usize..self.first[at + 1] as usize]
    }
}

impl Placement {
    /// Places slices as the ring has them. `weights` are pages an epoch of each slice, `written` the share of its
    /// objects that are ever written.
    pub(super) fn new(
        shape: ClusterShape,
        specs: &[ServerSpec],
        weights: Vec<f32>,
        written: f64,
    ) -> Result<Self, ShapeError> {
        shape.check()?;
        let domains: BTreeSet<FailureDomain> = specs.iter().map(|spec| spec.domain).collect();
        if domains.len() < usize::from(shape.replicas) {
            return Err(ShapeError::TooFewDomains { replicas: shape.replicas, domains: domains.len() });
        }
        let mut ring = Ring::default();
        ring.extend((0u16..).zip(specs).map(|(at, spec)| (ServerId(at), spec.virtual_nodes)));
        let domain = |server: ServerId| specs[server.index()].domain;
        let homes = |at| ring.homes(shape.point_of(PartitionId(at)), usize::from(shape.replicas), domain);
        let partitions: Vec<ServerId> = (0..shape.partitions).flat_map(homes).collect();
        let objects = f64::from(shape.objects_per_slice);
        let written_objects = (objects * written).max(1.0).min(objects);
        let mut all = Self {
            shape,
            ring,
            servers: specs.iter().map(|spec| Server { spec: *spec, state: ServerState::Up, used: 0 }).collect(),
            partitions,
            slices: Vec::with_capacity(shape.slices as usize),
            weights,
            loads: vec![0.0; specs.len()],
            spreads: vec![SpreadCount::default(); specs.len()],
            mean: 0.0,
            motions: BTreeMap::new(),
            by_partition: SlicesByPartition::new(&shape),
            written_objects,
            never_written: objects - written_objects,
            is_stuck: false,
            may_be_placed: false,
            lost: Losses::default(),
            lost_now: BTreeSet::new(),
            coding: None,
        };
        all.place_slices()?;
        Ok(all)
    }

    fn place_slices(&mut self) -> Result<(), ShapeError> {
        for slice in 0..self.shape.slices {
            let mut view = SliceView { replicas: self.shape.replicas, ..NEW_SLICE };
            let partition = self.shape.partition_of(SliceId(slice));
            for replica in 0..self.shape.replicas {
                let home = self.partitions[self.partition_index(partition, replica)];
                view.homes[usize::from(replica)] = home;
                self.servers[home.index()].used += 1;
            }
            self.slices.push(view);
        }
        self.sum_loads();
        match self.servers.iter().position(|server| server.used > server.spec.room) {
            Some(at) => {
                let Server { spec, used, .. } = self.servers[at];
                Err(ShapeError::NoRoom { server: at as u16, room: spec.room, share: used })
            }
            None => Ok(()),
        }
    }

    /// Sums up the weights on each server anew, after they have changed.
    fn sum_loads(&mut self) {
        self.loads.iter_mut().for_each(|load| *load = 0.0);
        self.spreads.iter_mut().for_each(SpreadCount::clear);
        let weights = self.weights();
        self.mean = weights.iter().map(|weight| f64::from(*weight)).sum::<f64>() / weights.len() as f64;
        for slice in self.all_slices() {
            self.replicas_of(slice).for_each(|replica| self.add_load(replica));
        }
    }

    /// Lets slices change places in popularity.
    pub(super) fn change_weights(&mut self, change: impl FnOnce(&mut [f32])) {
        change(&mut self.weights[..self.shape.slices as usize]);
        self.reweigh_parity();
        self.sum_loads();
    }

    /// Counts a replica among those at home where it is.
    fn add_load(&mut self, replica: SliceReplica) {
        let (home, weight) = (self.home(replica), self.weights[replica.slice.index()]);
        self.loads[home.index()] += f64::from(weight);
        self.spreads[home.index()].add(weight, self.mean);
    }

    fn take_load(&mut self, replica: SliceReplica) {
        let (home, weight) = (self.home(replica), self.weights[replica.slice.index()]);
        self.loads[home.index()] -= f64::from(weight);
        self.spreads[home.index()].remove(weight, self.mean);
    }

    /// Hosts have written since the last failures.
    pub(super) fn begin_epoch(&mut self) {
        self.lost_now.clear();
    }

    pub(super) fn shape(&self) -> &ClusterShape {
        &self.shape
    }

    pub(super) fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The slices of hosts, and behind them the parity of codes.
    pub(super) fn slices(&self) -> &[SliceView] {
        &self.slices
    }

    /// Slices with the pages that hosts write to each in an epoch of the first day.
    pub(super) fn slices_and_weights(&mut self) -> (&mut [SliceView], &[f32]) {
        let hosts = self.shape.slices as usize;
        (&mut self.slices[..hosts], &self.weights[..hosts])
    }

    /// Pages that hosts write to each slice in an epoch of the first day.
    pub(super) fn weights(&self) -> &[f32] {
        &self.weights[..self.shape.slices as usize]
    }

    /// Sums up what is written to each server, of pages that are written to each slice.
    pub(super) fn sum_by_server(&self, pages: &[f32]) -> Vec<f64> {
        let mut sums = vec![0.0; self.servers.len()];
        for slice in self.all_slices() {
            let pages = f64::from(self.pages_of(slice, pages));
            self.replicas_of(slice).for_each(|replica| sums[self.home(replica).index()] += pages);
        }
        sums
    }

    /// Pages that hosts write to a server in an epoch of the first day.
    pub(super) fn load(&self, server: usize) -> f64 {
        // Sums that slices have left may be rounded to less than nothing.
        self.loads[server].max(0.0)
    }

    /// How often what is written to a server has changed, and how unevenly its pages are written.
    pub(super) fn spread(&self, server: usize) -> (u32, impl FnOnce() -> WriteSpread + use<'_>) {
        let count = &self.spreads[server];
        (count.changes(), || count.spread(self.written_objects, self.never_written))
    }

    pub(super) fn serves(&self, server: usize) -> bool {
        self.servers[server].state != ServerState::Failed
    }

    /// Returns whether nothing is in motion that can be copied, so that a balancing round may begin. Slices that leave
    /// a code do so when nothing else is copied, and hold up no round.
    pub(super) fn is_settled(&self) -> bool {
        self.motions.values().all(|motion| motion.destination.is_none() || motion.cause == Cause::Code)
    }

    /// Replicas that have no server.
    pub(super) fn homeless(&self) -> u64 {
        self.motions.values().filter(|motion| motion.destination.is_none()).count() as u64
    }

    fn key(&self, replica: SliceReplica) -> u32 {
        replica.slice.0 * u32::from(self.shape.replicas) + u32::from(replica.replica)
    }

    fn replica_of(&self, key: u32) -> SliceReplica {
        replica_of(key, self.shape.replicas)
    }

    /// Replicas of a slice.
    fn replicas(&self, slice: SliceId) -> u8 {
        self.slices[slice.index()].replicas
    }

    /// All slices, those of parity behind those of hosts.
    fn all_slices(&self) -> impl Iterator<Item = SliceId> + use<> {
        (0..self.slices.len() as u32).map(SliceId)
    }

    fn replicas_of(&self, slice: SliceId) -> impl Iterator<Item = SliceReplica> + use<> {
        (0..self.replicas(slice)).map(move |replica| SliceReplica { slice, replica })
    }

    fn partition_index(&self, partition: PartitionId, replica: u8) -> usize {
        partition.0 as usize * usize::from(self.shape.replicas) + usize::from(replica)
    }

    fn home(&self, replica: SliceReplica) -> ServerId {
        self.slices[replica.slice.index()].homes[usize::from(replica.replica)]
    }

    /// Returns the server that a replica is complete on.
    fn complete_home(&self, replica: SliceReplica) -> Option<ServerId> {
        let is_moving = self.slices[replica.slice.index()].in_motion && self.motions.contains_key(&self.key(replica));
        (!is_moving).then(|| self.home(replica))
    }

    fn set_home(&mut self, replica: SliceReplica, to: ServerId) {
        self.take_load(replica);
        self.slices[replica.slice.index()].homes[usize::from(replica.replica)] = to;
        self.add_load(replica);
    }

    fn takes_more(&self, server: ServerId) -> bool {
        let Server { spec, state, used } = self.servers[server.index()];
        state == ServerState::Up && used < spec.room
    }

    fn domain(&self, server: ServerId) -> FailureDomain {
        self.servers[server.index()].spec.domain
    }

    /// Returns the servers that a replica is on, on its way to, or leaving.
    fn ends(&self, replica: SliceReplica) -> [Option<ServerId>; 2] {
        let is_moving = self.slices[replica.slice.index()].in_motion;
        match self.motions.get(&self.key(replica)).filter(|_| is_moving) {
            Some(motion) => [motion.source, motion.destination],
            None => [Some(self.home(replica)), None],
        }
    }

    /// Returns whether a replica may go to a server: it has room, and no other replica of the slice or of its code is
    /// there, on its way there or leaving there, or shares its failure domain.
    fn may_go(&self, replica: SliceReplica, to: ServerId) -> bool {
        let shares = |other: ServerId| self.domain(other) == self.domain(to);
        self.takes_more(to)
            && self.is_apart_from_code(replica, to)
            && self.replicas_of(replica.slice).all(|other| {
                let mut ends = self.ends(other).into_iter().flatten();
                if other == replica { ends.all(|end| end != to) } else { !ends.any(shares) }
            })
    }
}

fn replica_of(key: u32, replicas: u8) -> SliceReplica {
    let replicas = u32::from(replicas);
    SliceReplica { slice: SliceId(key / replicas), replica: (key % replicas) as u8 }
}
