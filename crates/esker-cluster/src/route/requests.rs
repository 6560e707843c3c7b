//! Requests of the host, and copies: what they do on servers, and what follows from how that ended.

use crate::id::{ObjectId, ServerId, SliceReplica};
use crate::map::{MapEpoch, ReplicaPlace};

use super::{
    Effect, EffectId, ObjectRange, ObjectRequest, ReplyKind, RequestError, RequestTag, Router, ServerWork, Stamp,
    UnderWay, WorkId,
};

/// What is done to an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum WorkKind {
    /// A request of the host.
    Request(RequestTag, ObjectRequest),
    /// The copy of an object to the destination of this replica.
    Copy(SliceReplica),
}

/// Work on an object.
#[derive(Clone, Debug)]
pub(super) struct ObjectWork {
    object: ObjectId,
    kind: WorkKind,
    /// Epoch and version as of its beginning.
    pub(super) epoch: MapEpoch,
    version: u64,
    /// Whether it runs, and if so, whether it moves the object, so that nothing else may run.
    running_alone: Option<bool>,
    /// Parts under way.
    parts: u8,
    /// Servers that have performed their part.
    performed: Vec<ServerId>,
    /// Replicas, by bit: those that were read, or those to whose destination the object moves.
    replicas: u8,
    /// Whether a server has failed since it began.
    pub(super) saw_failure: bool,
}

impl ObjectWork {
    pub(super) fn new(object: ObjectId, kind: WorkKind) -> Self {
        let epoch = MapEpoch::default();
        let performed = Vec::new();
        Self {
            object,
            kind,
            epoch,
            version: 0,
            running_alone: None,
            parts: 0,
            performed,
            replicas: 0,
            saw_failure: false,
        }
    }

    fn tag(&self) -> Option<RequestTag> {
        match self.kind {
            WorkKind::Request(tag, _) => Some(tag),
            WorkKind::Copy(_) => None,
        }
    }

    fn stamp(&self) -> Stamp {
        Stamp { epoch: self.epoch, version: self.version }
    }

    /// The bytes that a request reads, `Ok`, or changes, `Err`; all of them are changed by what has no range.
    fn range(&self) -> Result<ObjectRange, ObjectRange> {
        match self.kind {
            WorkKind::Request(_, ObjectRequest::Read(range)) => Ok(range),
            WorkKind::Request(_, ObjectRequest::Write(range)) => Err(range),
            WorkKind::Request(_, ObjectRequest::Delete) | WorkKind::Copy(_) => {
                Err(ObjectRange { begin: 0, end: u32::MAX })
            }
        }
    }
}

impl Router {
    /// Takes a request of the host.
    pub(super) fn request(
        &mut self,
        tag: RequestTag,
        object: ObjectId,
        request: ObjectRequest,
        effects: &mut Vec<Effect>,
    ) {
        let fits = |range: ObjectRange| range.begin < range.end && u64::from(range.end) <= self.map.shape().object.0;
        let is_valid = match request {
            ObjectRequest::Read(range) | ObjectRequest::Write(range) => fits(range),
            ObjectRequest::Delete => true,
        };
        if !is_valid || object.0 >= self.map.shape().objects() {
            effects.push(Effect::Reply { tag, result: Err(RequestError::OutOfRange) });
            return;
        }
        self.enqueue(ObjectWork::new(object, WorkKind::Request(tag, request)));
    }

    /// Adds work; it begins as soon as nothing is in its way.
    pub(super) fn enqueue(&mut self, work: ObjectWork) {
        let id = WorkId(self.next_work);
        self.next_work += 1;
        self.queues.push(work.object, id);
        self.released.push(work.object);
        self.works.insert(id, work);
    }

    /// Begins the work on an object that nothing is in the way of.
    pub(super) fn begin_waiting(&mut self, object: ObjectId, effects: &mut Vec<Effect>) {
        while !self.turning.contains(&self.map.slice_of(object).0) {
            let mut queues = std::mem::take(&mut self.queues);
            let next = queues.next(object, |earlier, later| self.clash(&self.works[&earlier], &self.works[&later]));
            self.queues = queues;
            let Some(id) = next else { return };
            self.begin(id, effects);
        }
    }

    /// Returns whether `later` has to wait for the end of `earlier`.
    fn clash(&self, earlier: &ObjectWork, later: &ObjectWork) -> bool {
        if self.is_alone(earlier) || self.is_alone(later) {
            return true;
        }
        match (earlier.range(), later.range()) {
            (Ok(_), Ok(_)) => false,
            (Ok(one) | Err(one), Ok(other) | Err(other)) => one.overlaps(other),
        }
    }

    /// Returns whether work moves the object to another server, or would if it began now.
    fn is_alone(&self, work: &ObjectWork) -> bool {
        let (slice, index) = self.map.slice_of(work.object);
        work.running_alone.unwrap_or_else(|| match work.kind {
            WorkKind::Copy(_) => true,
            WorkKind::Request(_, ObjectRequest::Read(_)) => false,
            WorkKind::Request(..) => self
                .map
                .replicas_of(slice)
                .any(|replica| self.map.writer(replica, index).is_some_and(|(_, moves)| moves)),
        })
    }

    fn begin(&mut self, id: WorkId, effects: &mut Vec<Effect>) {
        let (epoch, version) = (self.map.epoch(), self.next_version());
        let alone = self.is_alone(&self.works[&id]);
        let Some(work) = self.works.get_mut(&id) else { return };
        (work.epoch, work.version, work.running_alone, work.saw_failure) = (epoch, version, Some(alone), false);
        let kind = work.kind;
        match kind {
            WorkKind::Request(tag, ObjectRequest::Read(range)) => self.read(id, tag, range, effects),
            WorkKind::Request(_, request) => self.change(id, request, effects),
            WorkKind::Copy(replica) => self.copy(id, replica, effects),
        }
    }

    /// Issues a part of work.
    fn part(&mut self, id: WorkId, part: ServerWork, effects: &mut Vec<Effect>) {
        let Some(work) = self.works.get_mut(&id) else { return };
        work.parts += 1;
        let (tag, stamp) = (work.tag(), work.stamp());
        self.issue(part, tag, stamp, UnderWay::Part(id, part.server()), effects);
    }

    /// Reads at the first replica that has the object and was not asked before. Algorithm 3.
    fn read(&mut self, id: WorkId, tag: RequestTag, range: ObjectRange, effects: &mut Vec<Effect>) {
        let (object, tried) = (self.works[&id].object, self.works[&id].replicas);
        let (slice, index) = self.map.slice_of(object);
        let count = u64::from(self.map.shape().replicas);
        let in_turn = (0..count).map(|turn| SliceReplica { slice, replica: (tag.0.wrapping_add(turn) % count) as u8 });
        let mut untried = in_turn.filter(|replica| tried & 1 << replica.replica == 0);
        let found = untried.find_map(|replica| self.map.reader(replica, index).map(|server| (replica, server)));
        match found {
            Some((replica, server)) => {
                if let Some(work) = self.works.get_mut(&id) {
                    work.replicas |= 1 << replica.replica;
                }
                self.part(id, ServerWork::Read { server, object, range }, effects);
            }
            None if self.unwritten.contains(&object) => self.end(id, Ok(ReplyKind::Zeroes), effects),
            None => {
                let error = if tried == 0 { RequestError::Lost } else { RequestError::Failed };
                self.end(id, Err(error), effects);
            }
        }
    }

    /// Writes or removes an object on all replicas. Algorithm 2; a part write to an object that has not moved needs the
    /// rest of it.
    fn change(&mut self, id: WorkId, request: ObjectRequest, effects: &mut Vec<Effect>) {
        let object = self.works[&id].object;
        let (slice, index) = self.map.slice_of(object);
        let size = self.map.shape().object.0;
        let mut error = RequestError::Unavailable;
        for replica in self.map.replicas_of(slice) {
            let Some((server, moves)) = self.map.writer(replica, index) else { continue };
            let part = match request {
                ObjectRequest::Write(range) if moves && u64::from(range.end - range.begin) < size => {
                    // What was never written is as much on the destination as anywhere.
                    let zeroes = self.unwritten.contains(&object).then_some(server);
                    let Some(from) = self.holder(replica, index).or(zeroes) else {
                        error = RequestError::Lost;
                        continue;
                    };
                    self.report.merges += 1;
                    ServerWork::Merge { from, to: server, object, range }
                }
                ObjectRequest::Write(range) => ServerWork::Write { server, object, range },
                ObjectRequest::Read(_) | ObjectRequest::Delete => ServerWork::Delete { server, object },
            };
            if moves && let Some(work) = self.works.get_mut(&id) {
                work.replicas |= 1 << replica.replica;
            }
            self.part(id, part, effects);
        }
        if request == ObjectRequest::Delete {
            self.with_tombstones.insert(slice);
        }
        if self.works[&id].parts == 0 {
            self.end(id, Err(error), effects);
        }
    }

    /// Copies an object that no request has moved.
    fn copy(&mut self, id: WorkId, replica: SliceReplica, effects: &mut Vec<Effect>) {
        let object = self.works[&id].object;
        let (_, index) = self.map.slice_of(object);
        match (self.map.writer(replica, index), self.holder(replica, index)) {
            (Some((to, true)), Some(from)) => self.part(id, ServerWork::Copy { from, to, object }, effects),
            (Some((to, true)), None) if self.unwritten.contains(&object) => {
                self.part(id, ServerWork::Delete { server: to, object }, effects);
            }
            _ => self.end(id, Err(RequestError::Unavailable), effects),
        }
    }

    /// Returns a server that has the newest version of an object: that of the replica, or else of another one.
    pub(super) fn holder(&self, replica: SliceReplica, index: usize) -> Option<ServerId> {
        let others = self.map.replicas_of(replica.slice).filter(|other| *other != replica);
        std::iter::once(replica).chain(others).find_map(|any| self.map.reader(any, index))
    }

    /// Returns whether it is known what an object is: a server has it, or it was never written.
    pub(super) fn is_known(&self, replica: SliceReplica, index: usize) -> bool {
        let is_unwritten = || self.unwritten.contains(&self.map.shape().object_of(replica.slice, index));
        self.holder(replica, index).is_some() || is_unwritten()
    }

    /// A part of work has ended.
    pub(super) fn part_done(
        &mut self,
        id: WorkId,
        effect: EffectId,
        server: ServerId,
        ok: bool,
        effects: &mut Vec<Effect>,
    ) {
        let Some(work) = self.works.get_mut(&id) else { return };
        work.parts -= 1;
        if ok {
            work.performed.push(server);
        }
        let (kind, parts) = (work.kind, work.parts);
        match kind {
            WorkKind::Request(_, ObjectRequest::Read(_)) if ok => {
                self.end(id, Ok(ReplyKind::Read(effect)), effects);
            }
            WorkKind::Request(tag, ObjectRequest::Read(range)) => self.read(id, tag, range, effects),
            _ if parts > 0 => {}
            WorkKind::Request(..) if self.may_try_again(id) => self.try_again(id),
            WorkKind::Request(..) => {
                let result = self.settle_change(id, effects);
                self.end(id, result, effects);
            }
            WorkKind::Copy(replica) => self.settle_copy(id, replica, effects),
        }
    }

    /// Whether no server that counts has performed a change, one has failed meanwhile, and another one has the object.
    fn may_try_again(&self, id: WorkId) -> bool {
        let work = &self.works[&id];
        let (slice, index) = self.map.slice_of(work.object);
        let is_left = || self.map.replicas_of(slice).any(|replica| self.map.reader(replica, index).is_some());
        work.saw_failure && self.that_have(work).next().is_none() && is_left()
    }

    /// The servers that have performed a change, and count: those that will be read. One that has missed another change
    /// meanwhile does not: else two changes of which each missed another replica would leave none that may be read.
    fn that_have(&self, work: &ObjectWork) -> impl Iterator<Item = ServerId> {
        let ((slice, index), moving) = (self.map.slice_of(work.object), work.replicas);
        let counts = move |server: &ServerId| {
            self.servers.serves(*server)
                && self.map.replicas_of(slice).any(|replica| {
                    self.map.reader(replica, index) == Some(*server)
                        || moving & 1 << replica.replica != 0 && self.destination_is_in(replica, index, &[*server])
                })
        };
        work.performed.iter().copied().filter(counts)
    }

    /// Has work begin anew, before all that waits behind it.
    fn try_again(&mut self, id: WorkId) {
        let work = self.works.get_mut(&id).expect("it is under way");
        (work.running_alone, work.replicas) = (None, 0);
        work.performed.clear();
        self.queues.put_back(work.object, id);
        self.released.push(work.object);
    }

    /// All replicas have answered to a change: those that have it count, the others have to get it from them.
    fn settle_change(&mut self, id: WorkId, effects: &mut Vec<Effect>) -> Result<ReplyKind, RequestError> {
        let work = &self.works[&id];
        let (object, moving) = (work.object, work.replicas);
        let (slice, index) = self.map.slice_of(object);
        let have: Vec<ServerId> = self.that_have(work).collect();
        if have.is_empty() {
            self.keep_one_version(object, effects);
            return Err(RequestError::Failed);
        }
        for replica in self.map.replicas_of(slice) {
            if moving & 1 << replica.replica != 0 && self.destination_is_in(replica, index, &have) {
                self.report.moved_by_requests += 1;
                self.object_moved(replica, index, effects);
                continue;
            }
            match self.map.reader(replica, index) {
                Some(server) if have.contains(&server) => {}
                Some(_) => self.miss(replica, index, effects),
                None => effects.push(Effect::Missed { replica, index }),
            }
        }
        Ok(ReplyKind::Changed(have.len()))
    }

    /// Returns whether an object has yet to move to one of these servers.
    fn destination_is_in(&self, replica: SliceReplica, index: usize, servers: &[ServerId]) -> bool {
        let ReplicaPlace::Offloading { destination: Some(to), .. } = self.map.place(replica) else { return false };
        servers.contains(&to) && !self.map.has_moved(replica, index)
    }

    /// No server has told that it performed a change, though some may have: one replica decides what the object is, and
    /// the others get it from there.
    fn keep_one_version(&mut self, object: ObjectId, effects: &mut Vec<Effect>) {
        let (slice, index) = self.map.slice_of(object);
        let readable = self.map.replicas_of(slice).filter(|replica| self.map.reader(*replica, index).is_some());
        let others: Vec<SliceReplica> = readable.skip(1).collect();
        others.into_iter().for_each(|replica| self.miss(replica, index, effects));
    }

    /// A replica does not count for an object any more.
    fn miss(&mut self, replica: SliceReplica, index: usize, effects: &mut Vec<Effect>) {
        self.map.distrust(replica, index);
        effects.push(Effect::Missed { replica, index });
    }

    fn settle_copy(&mut self, id: WorkId, replica: SliceReplica, effects: &mut Vec<Effect>) {
        let work = &self.works[&id];
        let (_, index) = self.map.slice_of(work.object);
        let have: Vec<ServerId> = work.performed.iter().copied().filter(|it| self.servers.serves(*it)).collect();
        let has_it = self.destination_is_in(replica, index, &have);
        if matches!(self.map.place(replica), ReplicaPlace::Offloading { source: None, .. }) {
            self.copies.rebuild_ended(has_it);
        }
        if has_it {
            self.report.copies += 1;
            self.object_moved(replica, index, effects);
        } else {
            self.report.copies_failed += 1;
        }
        self.end(id, Ok(ReplyKind::Changed(1)), effects);
    }

    /// Ends work, and answers to its request.
    fn end(&mut self, id: WorkId, result: Result<ReplyKind, RequestError>, effects: &mut Vec<Effect>) {
        let Some(work) = self.works.remove(&id) else { return };
        self.queues.remove(work.object, id);
        self.released.push(work.object);
        if let Some(tag) = work.tag() {
            effects.push(Effect::Reply { tag, result });
        }
    }
}
