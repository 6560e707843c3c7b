//! Which work on an object has to wait for which.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::id::ObjectId;

/// The name of work within the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkId(pub(super) u64);

/// Work on one object.
#[derive(Clone, Debug, Default)]
struct ObjectQueue {
    running: Vec<WorkId>,
    waiting: VecDeque<WorkId>,
}

/// Work by object: what runs, and what waits, in the order in which it came.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectQueues(BTreeMap<ObjectId, ObjectQueue>);

impl ObjectQueues {
    /// Adds work behind what is there.
    pub(super) fn push(&mut self, object: ObjectId, work: WorkId) {
        self.0.entry(object).or_default().waiting.push_back(work);
    }

    /// Takes the first waiting work that clashes neither with what runs nor with what came before it; it runs from now
    /// on.
    pub(super) fn next(&mut self, object: ObjectId, clash: impl Fn(WorkId, WorkId) -> bool) -> Option<WorkId> {
        let queue = self.0.get_mut(&object)?;
        let ready = |&at: &usize| {
            let mut before = queue.running.iter().chain(queue.waiting.range(..at));
            before.all(|other| !clash(*other, queue.waiting[at]))
        };
        let at = (0..queue.waiting.len()).find(ready)?;
        let work = queue.waiting.remove(at)?;
        queue.running.push(work);
        Some(work)
    }

    /// Has work that runs wait again, before all else.
    pub(super) fn put_back(&mut self, object: ObjectId, work: WorkId) {
        let queue = self.0.get_mut(&object).expect("it runs there");
        queue.running.retain(|other| *other != work);
        queue.waiting.push_front(work);
    }

    /// Removes work that has ended.
    pub(super) fn remove(&mut self, object: ObjectId, work: WorkId) {
        let Some(queue) = self.0.get_mut(&object) else { return };
        queue.running.retain(|other| *other != work);
        if queue.running.is_empty() && queue.waiting.is_empty() {
            self.0.remove(&object);
        }
    }

    /// Returns whether nothing runs or waits on an object.
    pub(super) fn is_idle(&self, object: ObjectId) -> bool {
        !self.0.contains_key(&object)
    }

    /// The objects on which work runs or waits.
    pub(super) fn objects(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.0.keys().copied()
    }

    /// Those of these objects on which work runs or waits.
    pub(super) fn busy(&self, objects: Range<ObjectId>) -> impl Iterator<Item = ObjectId> + '_ {
        self.0.range(objects).map(|(object, _)| *object)
    }

    /// Returns what runs on any of these objects.
    pub(super) fn running(&self, objects: Range<ObjectId>) -> impl Iterator<Item = WorkId> + '_ {
        self.0.range(objects).flat_map(|(_, queue)| queue.running.iter().copied())
    }
}
