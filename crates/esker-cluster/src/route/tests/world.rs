//! A cluster of stores under a router, and the reference: all changes of each object in the order in which they came.

use std::collections::{BTreeMap, BTreeSet};

use esker_core::Bytes;

use super::store::{PAGES, Store, host_values, lost_of, object_of};
use crate::id::{FailureDomain, ObjectId, ServerId, SliceId, SliceReplica};
use crate::map::{ReplicaPlace, SliceMap};
use crate::plan::{Plan, SliceMove};
use crate::route::{
    Effect, EffectId, ObjectRange, ObjectRequest, ReplyKind, RequestError, RequestTag, Router, RouterInput, ServerWork,
    Stamp,
};
use crate::shape::{ClusterShape, ServerSpec};

pub(super) const WHOLE: ObjectRange = ObjectRange { begin: 0, end: PAGES as u32 };

/// How work on a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Done,
    /// Not performed, and the router is told so.
    Failed,
    /// Performed, but the router is told otherwise: the answer was lost.
    AnswerLost,
    /// The router is told that it failed, and it is performed later.
    Late,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) id: EffectId,
    pub(super) tag: Option<RequestTag>,
    pub(super) work: ServerWork,
    pub(super) stamp: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    UnderWay,
    Succeeded,
    /// Some servers may have it.
    Unknown,
    /// No server was asked.
    NotBegun,
}

/// A change of an object in the reference.
#[derive(Clone, Debug)]
struct Change {
    tag: RequestTag,
    values: [Option<u64>; PAGES],
    outcome: Outcome,
}

pub(super) struct World {
    pub(super) router: Router,
    pub(super) stores: Vec<Store>,
    pub(super) pending: Vec<Pending>,
    late: Vec<Pending>,
    changes: BTreeMap<ObjectId, Vec<Change>>,
    requests: BTreeMap<RequestTag, (ObjectId, ObjectRequest)>,
    read: BTreeMap<EffectId, [u64; PAGES]>,
    next_tag: u64,
    pub(super) lost: u64,
    pub(super) replies: u64,
    pub(super) copied: u64,
}

pub(super) fn spec(domain: u32, room: u32) -> ServerSpec {
    ServerSpec { domain: FailureDomain(domain), room, virtual_nodes: 16 }
}

impl World {
    pub(super) fn new(replicas: u8, slices: u32, objects_per_slice: u32, servers: &[ServerSpec]) -> Self {
        let object = Bytes(PAGES as u64);
        let shape = ClusterShape { slices, objects_per_slice, object, partitions: 5, replicas };
        Self {
            router: Router::new(shape, servers).unwrap(),
            stores: vec![Store::default(); servers.len()],
            pending: Vec::new(),
            late: Vec::new(),
            changes: BTreeMap::new(),
            requests: BTreeMap::new(),
            read: BTreeMap::new(),
            next_tag: 0,
            lost: 0,
            replies: 0,
            copied: 0,
        }
    }

    pub(super) fn map(&self) -> &SliceMap {
        self.router.map()
    }

    fn shape(&self) -> ClusterShape {
        *self.router.map().shape()
    }

    pub(super) fn on(&mut self, input: RouterInput) {
        let mut effects = Vec::new();
        self.router.on(input, &mut effects);
        for effect in effects {
            match effect {
                Effect::Work { id, tag, work, stamp } => {
                    self.copied += u64::from(matches!(work, ServerWork::Copy { .. }));
                    if let (ServerWork::Trim { server, .. }, Some(object)) = (work, object_of(&work))
                        && let Some(stored) = self.stores[server.index()].objects.get_mut(&object)
                    {
                        stored.confirmed = false;
                    }
                    self.pending.push(Pending { id, tag, work, stamp });
                }
                Effect::Missed { .. } | Effect::Turned { .. } => {}
                Effect::Reply { tag, result } => self.reply(tag, result),
            }
        }
        self.check_map();
    }

    pub(super) fn request(&mut self, object: ObjectId, request: ObjectRequest) -> RequestTag {
        let tag = RequestTag(self.next_tag);
        self.next_tag += 1;
        let values = match request {
            ObjectRequest::Read(_) => None,
            ObjectRequest::Write(range) => Some(host_values(range, tag.0 + 1)),
            ObjectRequest::Delete => Some([Some(0); PAGES]),
        };
        if let Some(values) = values {
            self.changes.entry(object).or_default().push(Change { tag, values, outcome: Outcome::UnderWay });
        }
        self.requests.insert(tag, (object, request));
        self.on(RouterInput::Request { tag, object, request });
        tag
    }

    /// The values that each page may have for a request that came after all before `tag`.
    fn allowed(&self, object: ObjectId, before: RequestTag, pages: ObjectRange) -> [BTreeSet<u64>; PAGES] {
        let mut allowed: [BTreeSet<u64>; PAGES] = std::array::from_fn(|_| BTreeSet::from([0]));
        for change in self.changes.get(&object).into_iter().flatten().filter(|change| change.tag < before) {
            let pages = pages.begin as usize..pages.end as usize;
            for (allowed, value) in allowed[pages.clone()].iter_mut().zip(&change.values[pages]) {
                let Some(value) = *value else { continue };
                match change.outcome {
                    Outcome::UnderWay => panic!("{before:?} has overtaken {:?}", change.tag),
                    Outcome::Succeeded => *allowed = BTreeSet::from([value]),
                    Outcome::Unknown => _ = allowed.insert(value),
                    Outcome::NotBegun => {}
                }
            }
        }
        allowed
    }

    fn reply(&mut self, tag: RequestTag, result: Result<ReplyKind, RequestError>) {
        let (object, request) = self.requests.remove(&tag).expect("a request is answered once");
        self.replies += 1;
        let ObjectRequest::Read(range) = request else {
            let outcome = match result {
                Ok(_) => Outcome::Succeeded,
                Err(RequestError::Failed) => Outcome::Unknown,
                Err(_) => Outcome::NotBegun,
            };
            let changes = self.changes.get_mut(&object).unwrap();
            changes.iter_mut().filter(|change| change.tag == tag).for_each(|change| change.outcome = outcome);
            if result == Err(RequestError::Lost) {
                self.check_lost(object, tag);
            }
            return;
        };
        match result {
            Ok(ReplyKind::Read(effect)) => {
                let (values, allowed) = (self.read[&effect], self.allowed(object, tag, range));
                for page in range.begin as usize..range.end as usize {
                    assert!(allowed[page].contains(&values[page]), "{tag:?} {object:?}: {values:?}, not {allowed:?}");
                }
            }
            Ok(other) => panic!("{object:?} was read: {other:?}"),
            Err(RequestError::Lost) => self.check_lost(object, tag),
            Err(_) => {}
        }
    }

    /// An object may be called lost only if no server has its newest version that the router was told of. Values tell
    /// versions apart only where each page was written, and it is known what became of each change.
    fn check_lost(&mut self, object: ObjectId, tag: RequestTag) {
        self.lost += 1;
        if self.changes.get(&object).into_iter().flatten().any(|change| change.outcome != Outcome::Succeeded) {
            return;
        }
        let newest = self.allowed(object, tag, WHOLE);
        if newest.iter().any(|values| values.contains(&0)) {
            return;
        }
        for (id, _) in self.router.servers().iter().filter(|(id, _)| self.router.servers().serves(*id)) {
            let Some(stored) = self.stores[id.index()].objects.get(&object) else { continue };
            let has = stored.pages.iter().zip(&newest).all(|(page, newest)| newest.contains(&page.value));
            assert!(!(stored.confirmed && has), "{object:?} is called lost, and {id} has it");
        }
    }

    /// The map is within its bytes, no two replicas of a slice share a failure domain, and room and losses are known.
    fn check_map(&self) {
        let (map, servers) = (self.router.map(), self.router.servers());
        assert_eq!(self.router.lost, lost_of(map));
        let most = SliceMap::bytes_at_most(map.shape(), map.settled_count(), map.moving_count(), map.stale_count());
        assert!(map.bytes() <= most, "{} bytes, at most {most}", map.bytes());
        let mut used = vec![0; servers.len()];
        for slice in (0..map.shape().slices).map(SliceId) {
            let mut domains = Vec::new();
            for replica in map.replicas_of(slice) {
                let ends: Vec<ServerId> = match map.place(replica) {
                    ReplicaPlace::Complete(home) => vec![home],
                    ReplicaPlace::Offloading { source, destination } => source.into_iter().chain(destination).collect(),
                };
                let mut own: Vec<_> = ends.iter().map(|end| servers.domain(*end)).collect();
                ends.iter().for_each(|end| used[end.index()] += 1);
                assert!(ends.iter().all(|end| servers.serves(*end)), "{replica:?} is on a server that has failed");
                own.dedup();
                domains.extend(own);
            }
            let count = domains.len();
            domains.sort_unstable();
            domains.dedup();
            assert_eq!(domains.len(), count, "two replicas of {slice} share a failure domain");
        }
        for (id, server) in servers.iter().filter(|(id, _)| servers.serves(*id)) {
            assert_eq!(server.used, used[id.index()], "{id}");
            assert!(server.used <= server.spec.room, "{id} is too full");
        }
    }

    /// Ends the work at `index`.
    pub(super) fn end(&mut self, index: usize, ending: Ending) {
        let pending = self.pending.swap_remove(index);
        let serves = |server: ServerId| self.router.servers().serves(server);
        let can = serves(pending.work.server()) && pending.work.source().is_none_or(serves);
        let ok = ending == Ending::Done && can;
        if can && matches!(ending, Ending::Done | Ending::AnswerLost) {
            let performed = self.perform(&pending, ok);
            assert!(performed, "a server refuses {pending:?}, which is not late");
        } else if ending == Ending::Late {
            self.late.push(pending);
        }
        self.on(RouterInput::Done { effect: pending.id, ok });
    }

    /// Ends all work, also what follows from it.
    pub(super) fn end_all(&mut self) {
        while !self.pending.is_empty() {
            self.end(0, Ending::Done);
        }
    }

    /// Performs late work that servers do not refuse.
    pub(super) fn perform_late(&mut self, count: usize) {
        for _ in 0..count.min(self.late.len()) {
            let late = self.late.remove(0);
            let serves = |server: ServerId| self.router.servers().serves(server);
            if serves(late.work.server()) && late.work.source().is_none_or(serves) {
                self.perform(&late, false);
            }
        }
    }

    /// Performs work as a server does. Returns whether nothing of it was refused.
    fn perform(&mut self, pending: &Pending, confirmed: bool) -> bool {
        let (work, stamp) = (pending.work, pending.stamp);
        let shape = self.shape();
        let slice = match (object_of(&work), work) {
            (Some(object), _) => shape.slice_of(object).0,
            (None, ServerWork::Purge { slice, .. }) => slice,
            _ => unreachable!("only a purge has no object"),
        };
        let servers = [Some(work.server()), work.source()];
        if !servers.into_iter().flatten().all(|server| self.stores[server.index()].admits(slice, stamp)) {
            return matches!(work, ServerWork::Trim { .. } | ServerWork::Purge { .. });
        }
        let (value, store) = (pending.tag.map_or(0, |tag| tag.0 + 1), work.server().index());
        let performed = match work {
            ServerWork::Read { object, .. } => {
                self.read.insert(pending.id, self.stores[store].values(object));
                return true;
            }
            ServerWork::Write { object, range, .. } => {
                self.stores[store].put(object, host_values(range, value), false, stamp)
            }
            ServerWork::Delete { object, .. } => self.stores[store].put(object, [Some(0); PAGES], true, stamp),
            ServerWork::Merge { from, object, range, .. } => {
                let old = self.stores[from.index()].hand_over(object, stamp).map(Some);
                let new = host_values(range, value);
                let merged = std::array::from_fn(|page| new[page].or(old[page]));
                self.stores[store].put(object, merged, false, stamp)
            }
            ServerWork::Copy { from, object, .. } => {
                let old = self.stores[from.index()].hand_over(object, stamp).map(Some);
                let is_nothing = self.stores[from.index()].objects[&object].tombstone;
                self.stores[store].put(object, old, is_nothing, stamp)
            }
            ServerWork::Trim { object, .. } => {
                self.stores[store].trim(object, stamp);
                return true;
            }
            ServerWork::Purge { keep, .. } => {
                let objects = shape.objects_of(slice);
                self.stores[store].purge(slice, |object| objects.contains(&object), keep, stamp.epoch);
                return true;
            }
        };
        if let Some(stored) = object_of(&work).and_then(|object| self.stores[store].objects.get_mut(&object)) {
            // A part write leaves the rest as it was.
            let is_part = matches!(work, ServerWork::Write { range, .. } if range != WHOLE);
            stored.confirmed = confirmed && (stored.confirmed || !is_part);
        }
        performed
    }

    pub(super) fn replica(slice: u32, replica: u8) -> SliceReplica {
        SliceReplica { slice: SliceId(slice), replica }
    }

    /// Plans to move a replica, if it is complete.
    pub(super) fn plan(&mut self, slice: u32, replica: u8, to: ServerId) {
        if let ReplicaPlace::Complete(from) = self.map().place(Self::replica(slice, replica)) {
            let moves = vec![SliceMove { slice: SliceId(slice), from, to, copied: Bytes::ZERO }];
            self.on(RouterInput::Plan(Plan { moves, copy_at_once: false }));
        }
    }

    pub(super) fn join(&mut self, spec: ServerSpec) {
        self.stores.push(Store::default());
        self.on(RouterInput::Join(spec));
    }

    pub(super) fn fail(&mut self, server: ServerId) {
        self.on(RouterInput::Fail(server));
        self.stores[server.index()] = Store::default();
    }

    pub(super) fn up(&self) -> Vec<ServerId> {
        self.router.servers().iter().map(|(id, _)| id).filter(|id| self.router.servers().serves(*id)).collect()
    }

    /// Lets everything end well, and checks what is left: each replica is complete on one server, all agree, all reads
    /// are right, and no server has what it should not.
    pub(super) fn finish(&mut self) {
        self.end_all();
        // Room and domains for whatever has none.
        (0..3).for_each(|at| self.join(spec(1000 + at, 1000)));
        self.copy_all(3);
        self.keep_split();
        for object in (0..self.shape().objects()).map(ObjectId) {
            let before = self.lost;
            self.request(object, ObjectRequest::Read(WHOLE));
            self.end_all();
            if self.lost > before {
                self.request(object, ObjectRequest::Write(WHOLE));
                self.end_all();
            }
        }
        self.perform_late(usize::MAX);
        // What arrives at a server that is drained leaves again: a few rounds until all is at rest.
        self.copy_all(5);
        self.check_end();
    }

    fn check_end(&mut self) {
        assert!(self.requests.is_empty() && self.router.works_under_way() == 0, "every request is answered");
        let map = self.router.map();
        assert!(self.router.is_settled());
        assert_eq!(map.moving_count(), 0, "every replica is complete");
        let last = RequestTag(u64::MAX);
        for object in (0..self.shape().objects()).map(ObjectId) {
            let (slice, _) = map.slice_of(object);
            let homes: Vec<_> = map.replicas_of(slice).filter_map(|it| map.reader(it, 0)).collect();
            assert_eq!(homes.len(), usize::from(self.shape().replicas));
            let allowed = self.allowed(object, last, WHOLE);
            let values = self.stores[homes[0].index()].values(object);
            assert!(values.iter().zip(&allowed).all(|(value, allowed)| allowed.contains(value)), "{object:?}");
            for id in self.up() {
                let store = &self.stores[id.index()];
                if homes.contains(&id) {
                    assert_eq!(store.values(object), values, "{object:?}: replicas differ");
                } else {
                    assert!(!store.objects.contains_key(&object), "{object:?}: {id} has a stale copy");
                }
                assert!(store.objects.values().all(|stored| !stored.tombstone), "{id} keeps a tombstone");
            }
        }
    }
}
