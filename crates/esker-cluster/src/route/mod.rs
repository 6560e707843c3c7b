//! Routing: where requests go while slices move, servers fail, and copies succeed or not. Algorithms 2 and 3 of the
//! thesis, with what they leave open.
//!
//! A [`Router`] is a state machine without a clock and without data: [`RouterInput`] in, [`Effect`] out.
//!
//! - Work on one object is done in the order in which it came, as far as ranges overlap. Work that moves an object to
//!   another server runs alone.
//! - A change goes to all replicas. It succeeds if one has it; a replica that misses it gets the object from that one.
//! - An object counts as moved only once the destination has it. Then the source is told to trim its copy.

mod copies;
mod members;
mod message;
mod objects;
mod purges;
mod requests;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::{BTreeMap, BTreeSet};

use esker_core::bits;

use crate::id::{FailureDomain, ObjectId, PartitionId, ServerId, SliceId, SliceReplica};
use crate::map::{MapEpoch, ReplicaPlace, SliceMap};
use crate::ring::Ring;
use crate::servers::ServerList;
use crate::shape::{ClusterShape, ServerSpec, ShapeError};

pub use message::{
    Effect, EffectId, ObjectRange, ObjectRequest, ReplyKind, RequestError, RequestTag, RouterInput, ServerWork, Stamp,
};

use copies::CopyCursor;
use objects::{ObjectQueues, WorkId};
use requests::ObjectWork;

/// Where requests go.
#[derive(Clone, Debug)]
pub struct Router {
    map: SliceMap,
    servers: ServerList,
    ring: Ring,
    queues: ObjectQueues,
    works: BTreeMap<WorkId, ObjectWork>,
    effects: BTreeMap<EffectId, UnderWay>,
    copies: CopyCursor,
    /// Slices in which an object was deleted since the last purge.
    with_tombstones: BTreeSet<SliceId>,
    /// Purges to be issued as soon as no work of an epoch before this one runs on the slice.
    purges: BTreeMap<(SliceId, ServerId), MapEpoch>,
    /// Servers that take no writes, so that nothing may be on its way there.
    refusing: BTreeSet<ServerId>,
    /// Those of them whose devices take writes again.
    take_again: BTreeSet<ServerId>,
    /// Slices on which no work begins until what is on its way to a server that takes no writes has turned round.
    turning: BTreeSet<SliceId>,
    /// Objects on which waiting work may begin.
    released: Vec<ObjectId>,
    /// Objects that no server has any more.
    lost: BTreeSet<ObjectId>,
    /// Objects that no server has, and that were never written: they are zeroes.
    unwritten: BTreeSet<ObjectId>,
    next_work: u64,
    next_effect: u64,
    version: u64,
    report: RouterReport,
}

/// Work on servers that has not ended.
#[derive(Clone, Copy, Debug)]
enum UnderWay {
    Part(WorkId, ServerId),
    Trim,
    Purge(SliceId, ServerId, MapEpoch),
}

/// What a router has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterReport {
    /// Moves that began, by plan, drain or join.
    pub moves_begun: u64,
    /// Moves and rebuilds that are complete.
    pub moves_done: u64,
    /// Moves of plans that were refused: an earlier round is not complete, the slice is in motion or elsewhere, there
    /// is no room, or another replica is in the same failure domain.
    pub moves_refused: u64,
    /// Objects that the host's requests moved.
    pub moved_by_requests: u64,
    /// Objects that were copied.
    pub copies: u64,
    /// Copies that failed.
    pub copies_failed: u64,
    /// Part writes for which the rest of the object had to be fetched.
    pub merges: u64,
    /// Stale copies that sources were told to trim.
    pub trims: u64,
    /// Replicas of slices that were on servers that failed.
    pub replicas_lost: u64,
}

impl Router {
    /// A router for a cluster of these servers, which get the numbers from 0 on. Each slice begins where the ring puts
    /// its partition.
    pub fn new(shape: ClusterShape, servers: &[ServerSpec]) -> Result<Self, ShapeError> {
        shape.check()?;
        let on_ring = servers.iter().filter(|server| server.virtual_nodes > 0);
        let domains: BTreeSet<FailureDomain> = on_ring.map(|server| server.domain).collect();
        if domains.len() < usize::from(shape.replicas) {
            return Err(ShapeError::TooFewDomains { replicas: shape.replicas, domains: domains.len() });
        }
        let (mut list, mut ring) = (ServerList::default(), Ring::default());
        ring.extend(servers.iter().map(|spec| (list.add(*spec), spec.virtual_nodes)));
        let replicas = usize::from(shape.replicas);
        let homes = |partition| ring.homes(shape.point_of(partition), replicas, |server| list.domain(server));
        let partitions: Vec<ServerId> = (0..shape.partitions).flat_map(|at| homes(PartitionId(at))).collect();
        let map = SliceMap::new(shape, partitions);
        for slice in (0..shape.slices).map(SliceId) {
            for home in map.partition_homes(shape.partition_of(slice)) {
                list.get_mut(*home).used += 1;
            }
        }
        if let Some((id, full)) = list.iter().find(|(_, server)| server.used > server.spec.room) {
            return Err(ShapeError::NoRoom { server: id.0, room: full.spec.room, share: full.used });
        }
        Ok(Self {
            map,
            servers: list,
            ring,
            queues: ObjectQueues::default(),
            works: BTreeMap::new(),
            effects: BTreeMap::new(),
            copies: CopyCursor::default(),
            with_tombstones: BTreeSet::new(),
            purges: BTreeMap::new(),
            refusing: BTreeSet::new(),
            take_again: BTreeSet::new(),
            turning: BTreeSet::new(),
            released: Vec::new(),
            lost: BTreeSet::new(),
            unwritten: BTreeSet::new(),
            next_work: 0,
            next_effect: 0,
            version: 0,
            report: RouterReport::default(),
        })
    }

    /// Puts a replica where it was when the map was recorded: nowhere, complete on `home`, or on its way from there
    /// with the objects that have moved. Only for a new router.
    pub(crate) fn restore(
        &mut self,
        replica: SliceReplica,
        home: Option<ServerId>,
        motion: Option<(ServerId, &[u64])>,
    ) {
        if let Some(former) = self.home(replica) {
            self.servers.get_mut(former).used -= 1;
        }
        let Some(home) = home else { return self.map.begin(replica, None, None) };
        self.servers.get_mut(home).used += 1;
        self.map.settle(replica, home);
        if let Some((to, moved)) = motion {
            self.servers.get_mut(to).used += 1;
            self.map.begin(replica, Some(home), Some(to));
            let objects = 0..self.map.shape().objects_per_slice as usize;
            for index in objects.filter(|index| bits::is_set(moved, *index)) {
                self.map.set_moved(replica, index);
            }
        }
    }

    /// An object of a replica does not count any more, by records or because of them: it comes from another replica.
    pub(crate) fn distrust(&mut self, replica: SliceReplica, index: usize) {
        self.map.distrust(replica, index);
    }

    /// An object of a replica counts again, as it is on this server.
    pub(crate) fn trust(&mut self, replica: SliceReplica, index: usize, server: ServerId) {
        match self.map.place(replica) {
            ReplicaPlace::Complete(_) => {}
            ReplicaPlace::Offloading { destination, .. } if destination == Some(server) => {
                self.map.set_moved(replica, index);
                self.complete_if_moved(replica);
            }
            ReplicaPlace::Offloading { .. } => self.map.trust_source(replica, index),
        }
        self.is_found(self.map.shape().object_of(replica.slice, index));
    }

    /// The objects on which work is under way.
    pub(crate) fn objects_under_way(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.queues.objects()
    }

    /// Another replica of an object counts instead of one that cannot be read. Work on the object may go there, too.
    pub(crate) fn fall_back(&mut self, object: ObjectId, from: SliceReplica, to: SliceReplica, server: ServerId) {
        let index = self.map.slice_of(object).1;
        self.map.distrust(from, index);
        self.trust(to, index, server);
        for work in self.queues.running(object..ObjectId(object.0 + 1)) {
            self.works.get_mut(&work).expect("it runs").saw_failure = true;
        }
    }

    /// Adds a server that joined earlier: only records say what is there. Only for a new router, before
    /// [`Self::restore`].
    pub(crate) fn restore_joined(&mut self, spec: ServerSpec) {
        let joined = self.servers.add(spec);
        self.ring.add(joined, spec.virtual_nodes);
    }

    /// The map.
    pub fn map(&self) -> &SliceMap {
        &self.map
    }

    /// The servers.
    pub fn servers(&self) -> &ServerList {
        &self.servers
    }

    /// What was done so far.
    pub fn report(&self) -> &RouterReport {
        &self.report
    }

    /// Returns the number of requests and copies that have not ended.
    pub fn works_under_way(&self) -> usize {
        self.works.len()
    }

    /// Takes an input, and appends the effects that follow from it.
    pub fn on(&mut self, input: RouterInput, effects: &mut Vec<Effect>) {
        match input {
            RouterInput::Request { tag, object, request } => self.request(tag, object, request, effects),
            RouterInput::Done { effect, ok } => self.done(effect, ok, effects),
            RouterInput::Plan(plan) => self.begin_plan(&plan),
            RouterInput::CopyBudget(bytes) => self.grant(bytes),
            RouterInput::Join(spec) => self.join(spec, effects),
            RouterInput::Drain(server) => self.drain(server),
            RouterInput::Refuse(server) => self.refuse(server, effects),
            RouterInput::Keep(server) => self.keep(server),
            RouterInput::Fail(server) => self.fail(server),
            RouterInput::EpochEnds => self.end_epoch(effects),
        }
        // Not where work ends: a long queue of work that fails at once would be a deep recursion.
        while let Some(object) = self.released.pop() {
            let slice = self.map.slice_of(object).0;
            self.turn_if_quiet(slice, effects);
            self.begin_waiting(object, effects);
            self.purge_if_quiet(slice, effects);
        }
    }

    fn done(&mut self, effect: EffectId, ok: bool, effects: &mut Vec<Effect>) {
        match self.effects.remove(&effect) {
            Some(UnderWay::Part(work, server)) => self.part_done(work, effect, server, ok, effects),
            Some(UnderWay::Purge(slice, server, epoch)) if !ok => self.want_purge(slice, server, epoch),
            Some(UnderWay::Purge(..) | UnderWay::Trim) | None => {}
        }
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Issues work on servers.
    fn issue(
        &mut self,
        work: ServerWork,
        tag: Option<RequestTag>,
        stamp: Stamp,
        under_way: UnderWay,
        effects: &mut Vec<Effect>,
    ) {
        let id = EffectId(self.next_effect);
        self.next_effect += 1;
        self.effects.insert(id, under_way);
        effects.push(Effect::Work { id, tag, work, stamp });
    }

    /// Notes that an object of a replica is on its destination, has the source trimmed, and ends the motion if this was
    /// the last one.
    fn object_moved(&mut self, replica: SliceReplica, index: usize, effects: &mut Vec<Effect>) {
        let place = self.map.place(replica);
        self.map.set_moved(replica, index);
        self.is_found(self.map.shape().object_of(replica.slice, index));
        if let ReplicaPlace::Offloading { source: Some(server), .. } = place {
            let object = self.map.shape().object_of(replica.slice, index);
            self.report.trims += 1;
            let stamp = Stamp { epoch: self.map.epoch(), version: self.next_version() };
            self.issue(ServerWork::Trim { server, object }, None, stamp, UnderWay::Trim, effects);
        }
        self.complete_if_moved(replica);
    }

    fn complete_if_moved(&mut self, replica: SliceReplica) {
        if !self.map.all_moved(replica) {
            return;
        }
        let (source, home) = self.map.complete(replica);
        self.report.moves_done += 1;
        let epoch = self.map.epoch();
        if let Some(server) = source {
            self.servers.get_mut(server).used -= 1;
            self.want_purge(replica.slice, server, epoch);
        }
        // Other replicas may have been copied from, which leaves the version of an object that does not exist.
        for other in self.map.replicas_of(replica.slice) {
            if let Some(home) = self.home(other) {
                self.want_purge(replica.slice, home, epoch);
            }
        }
        self.leave_if_draining(replica, home);
    }
}
