//! Queues of objects, from which most policies are built.

use esker_core::{Linked, Links, List};

use crate::{Access, ObjectId};

/// The place of an object that is in no queue.
pub(super) const NOWHERE: u8 = u8::MAX;

/// `N` queues of objects, numbered from zero. An object is in one of them or in none. It has a mark of eight bits,
/// which is zero until the policy sets it. Takes 12 bytes per existing object.
#[derive(Debug)]
pub(super) struct Queues<const N: usize> {
    objects: Vec<Entry>,
    lists: [List; N],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    links: Links,
    place: u8,
    mark: u8,
}

impl Linked for Entry {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl<const N: usize> Queues<N> {
    /// Creates empty queues for objects below `objects`.
    pub(super) fn new(objects: u32) -> Self {
        let entry = Entry { links: Links::NONE, place: NOWHERE, mark: 0 };
        Self { objects: vec![entry; objects as usize], lists: [List::EMPTY; N] }
    }

    /// Returns the queue that contains the object, or [`NOWHERE`].
    #[inline]
    pub(super) fn place(&self, object: ObjectId) -> u8 {
        self.objects[object.index()].place
    }

    /// Returns the number of objects in a queue.
    #[inline]
    pub(super) fn len(&self, queue: u8) -> u32 {
        self.lists[queue as usize].len()
    }

    #[inline]
    pub(super) fn is_empty(&self, queue: u8) -> bool {
        self.len(queue) == 0
    }

    /// Returns the first object of a queue, which has been there longest.
    #[inline]
    pub(super) fn first(&self, queue: u8) -> Option<ObjectId> {
        self.lists[queue as usize].first().map(ObjectId)
    }

    /// Returns the object after this one in its queue.
    #[inline]
    pub(super) fn next(&self, object: ObjectId) -> Option<ObjectId> {
        self.objects[object.index()].links.next().map(ObjectId)
    }

    /// Appends an object that is in no queue to this queue.
    #[inline]
    pub(super) fn push(&mut self, queue: u8, object: ObjectId) {
        self.lists[queue as usize].push_back(&mut self.objects, object.0);
        self.objects[object.index()].place = queue;
    }

    /// Removes an object from `queue`.
    #[inline]
    pub(super) fn take(&mut self, queue: u8, object: ObjectId) {
        debug_assert_eq!(self.place(object), queue, "{object:?} is elsewhere");
        self.lists[queue as usize].remove(&mut self.objects, object.0);
        self.objects[object.index()].place = NOWHERE;
    }

    /// Removes and returns the first object of a queue.
    #[inline]
    pub(super) fn pop(&mut self, queue: u8) -> Option<ObjectId> {
        let first = self.first(queue)?;
        self.take(queue, first);
        Some(first)
    }

    /// Moves an object from queue `from` to the end of queue `to`, which may be the same queue.
    #[inline]
    pub(super) fn shift(&mut self, from: u8, to: u8, object: ObjectId) {
        debug_assert_eq!(self.place(object), from, "{object:?} is elsewhere");
        self.lists[from as usize].remove(&mut self.objects, object.0);
        self.push(to, object);
    }

    /// Returns the mark of an object.
    #[inline]
    pub(super) fn mark(&self, object: ObjectId) -> u8 {
        self.objects[object.index()].mark
    }

    /// Sets the mark of an object.
    #[inline]
    pub(super) fn set_mark(&mut self, object: ObjectId, mark: u8) {
        self.objects[object.index()].mark = mark;
    }

    /// Loads the data that accesses to these objects will need into the processor's cache. The loads overlap here; when
    /// accesses are performed one after another, they would not.
    #[inline]
    pub(super) fn warm(&self, accesses: &[Access]) {
        let sum = accesses.iter().fold(0, |sum, access| sum ^ self.objects[access.object.index()].place);
        std::hint::black_box(sum);
    }

    /// Returns the bytes of memory in use.
    pub(super) fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>()
    }
}
