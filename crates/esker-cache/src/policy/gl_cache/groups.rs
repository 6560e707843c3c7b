//! Groups of objects in the order in which they were written, and how several become one.

use esker_core::{Linked, Links, List};

use super::learner::Features;

/// What the cache holds: a chain of groups that are full, one that is being filled, and objects that are to leave.
#[derive(Debug)]
pub(super) struct Groups {
    objects: Vec<Entry>,
    groups: Vec<Group>,
    /// Full groups, in the order in which they were written. A merged one stands where those were that it is made of.
    chain: List,
    /// Groups that are not in use.
    unused: List,
    open: Option<u32>,
    /// When the last group was full.
    closed_at: u32,
    /// The group behind the one that was merged last.
    hand: Option<u32>,
    /// Objects that were not kept when groups were merged, the first to leave first.
    leaving: List,
    held: u32,
    /// Objects of groups that are being merged.
    merging: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    links: Links,
    /// Its group, and whether it was used since it was written.
    place: u32,
    used_at: u32,
    /// The row of the training data that its next use belongs to.
    row: u32,
}

const NOWHERE: u32 = u32::MAX >> 1;
const LEAVING: u32 = NOWHERE - 1;

/// Set in a place: the object was used since it was written.
const ACTIVE: u32 = 1 << 31;

/// No row: the object was not in the last sample, or has been used since.
pub(super) const NO_ROW: u32 = u32::MAX;

/// All times are numbers of accesses.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    links: Links,
    objects: List,
    formed_at: u32,
    /// How long it took to be filled; of a merged group, the sum.
    filled_in: u32,
    /// The objects that were written to it, and their bytes; of a merged group, the sums.
    written: u32,
    bytes: u64,
    /// Uses of its objects since it was formed.
    uses: u32,
    /// Objects that were used since they were written.
    active: u32,
    /// It is among those that the last ranking wants to let go.
    ranked_last: bool,
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

impl Linked for Group {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Groups {
    /// No groups, for objects below `objects`.
    pub(super) fn new(objects: u32) -> Self {
        let entry = Entry { links: Links::NONE, place: NOWHERE, used_at: 0, row: NO_ROW };
        Self {
            objects: vec![entry; objects as usize],
            groups: Vec::new(),
            chain: List::EMPTY,
            unused: List::EMPTY,
            open: None,
            closed_at: 0,
            hand: None,
            leaving: List::EMPTY,
            held: 0,
            merging: Vec::new(),
        }
    }

    /// How many objects are held.
    pub(super) fn held(&self) -> u32 {
        self.held
    }

    /// How many full groups there are.
    pub(super) fn full(&self) -> u32 {
        self.chain.len()
    }

    /// The full groups, in the order in which they were written.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.chain.iter(&self.groups)
    }

    #[inline]
    pub(super) fn holds(&self, object: u32) -> bool {
        self.objects[object as usize].place != NOWHERE
    }

    /// Takes out the row that the use of an object belongs to.
    #[inline]
    pub(super) fn take_row(&mut self, object: u32) -> u32 {
        std::mem::replace(&mut self.objects[object as usize].row, NO_ROW)
    }

    /// Lets the next use of each object of a group belong to `row`.
    pub(super) fn set_row(&mut self, group: u32, row: u32) {
        let mut next = self.groups[group as usize].objects.first();
        while let Some(object) = next {
            let entry = &mut self.objects[object as usize];
            entry.row = row;
            next = entry.links.next();
        }
    }

    /// A use of an object that is held. One that was to leave is written anew instead.
    #[inline]
    pub(super) fn hit(&mut self, object: u32, bytes: u32, now: u32, size: u32) {
        let entry = &mut self.objects[object as usize];
        let place = entry.place & !ACTIVE;
        if place == LEAVING {
            self.leaving.remove(&mut self.objects, object);
            self.held -= 1;
            self.write(object, bytes, now, size);
            return;
        }
        let group = &mut self.groups[place as usize];
        group.uses = group.uses.saturating_add(1);
        group.active += u32::from(entry.place & ACTIVE == 0);
        (entry.place, entry.used_at) = (place | ACTIVE, now);
    }

    /// Writes an object that is not held to the open group, which is full with `size` objects.
    pub(super) fn write(&mut self, object: u32, bytes: u32, now: u32, size: u32) {
        let open = match self.open {
            Some(open) => open,
            None => self.unused_group(),
        };
        self.open = Some(open);
        let entry = &mut self.objects[object as usize];
        (entry.place, entry.used_at) = (open, now);
        let group = &mut self.groups[open as usize];
        group.objects.push_back(&mut self.objects, object);
        group.written += 1;
        group.bytes += u64::from(bytes);
        self.held += 1;
        if group.objects.len() >= size {
            self.close(now);
        }
    }

    /// Takes the open group for full. Returns false if there is none.
    pub(super) fn close(&mut self, now: u32) -> bool {
        let Some(open) = self.open.take() else { return false };
        let group = &mut self.groups[open as usize];
        group.formed_at = now;
        group.filled_in = now.wrapping_sub(self.closed_at).max(1);
        self.closed_at = now;
        self.chain.push_back(&mut self.groups, open);
        true
    }

    fn unused_group(&mut self) -> u32 {
        match self.unused.first() {
            Some(group) => {
                self.unused.remove(&mut self.groups, group);
                self.groups[group as usize] = Group::default();
                group
            }
            None => {
                self.groups.push(Group::default());
                (self.groups.len() - 1) as u32
            }
        }
    }

    /// Forgets that an object is held.
    pub(super) fn forget(&mut self, object: u32) {
        let place = std::mem::replace(&mut self.objects[object as usize].place, NOWHERE) & !ACTIVE;
        match place {
            NOWHERE => return,
            LEAVING => {
                self.leaving.remove(&mut self.objects, object);
            }
            group => {
                let objects = &mut self.groups[group as usize].objects;
                objects.remove(&mut self.objects, object);
                if objects.is_empty() && self.open != Some(group) {
                    self.drop_group(group);
                }
            }
        }
        self.held -= 1;
    }

    /// Takes an empty group out of the chain. Returns the one behind it.
    fn drop_group(&mut self, group: u32) -> Option<u32> {
        let next = self.chain.remove(&mut self.groups, group);
        self.groups[group as usize].ranked_last = false;
        self.unused.push_back(&mut self.groups, group);
        if self.hand == Some(group) {
            self.hand = next;
        }
        next
    }

    /// The next object that is to leave; it is held no more.
    pub(super) fn leave(&mut self) -> Option<u32> {
        let object = self.leaving.first()?;
        self.forget(object);
        Some(object)
    }

    /// Whether objects are to leave.
    pub(super) fn any_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// The group behind the one that was merged last, or the first one if fewer than `count` follow from there.
    pub(super) fn next_in_turn(&self, count: u32) -> Option<u32> {
        let run = self.hand.and_then(|hand| {
            let rest = std::iter::successors(Some(hand), |group| self.groups[*group as usize].links.next());
            (rest.take(count as usize).count() == count as usize).then_some(hand)
        });
        run.or(self.chain.first())
    }

    /// Marks a group as one that the last ranking wants to let go.
    pub(super) fn rank_last(&mut self, group: u32) {
        self.groups[group as usize].ranked_last = true;
    }

    /// Whether the group is still what was marked; takes the mark away.
    pub(super) fn take_rank(&mut self, group: u32) -> bool {
        std::mem::take(&mut self.groups[group as usize].ranked_last)
    }

    /// What the model is to know of a group.
    pub(super) fn features(&self, group: u32, now: u32) -> Features {
        let group = &self.groups[group as usize];
        [
            f64::from(now.wrapping_sub(group.formed_at)),
            f64::from(group.uses),
            f64::from(group.active),
            f64::from(group.written) / f64::from(group.filled_in),
            group.bytes as f64 / f64::from(group.written),
        ]
    }

    /// Makes one of `count` neighbours in the chain, of which `group` is the first, or a later one if too few follow.
    /// The `size` objects that were used last are kept, all others are to leave. A group without neighbours goes.
    pub(super) fn merge(&mut self, group: u32, count: u32, size: u32, now: u32) {
        let (first, count) = self.neighbours(group, count);
        let mut merged = Group { formed_at: now, ..Group::default() };
        let mut objects = std::mem::take(&mut self.merging);
        let mut next = Some(first);
        for _ in 0..count {
            let Some(group) = next else { break };
            let parts = &mut self.groups[group as usize];
            while let Some(object) = parts.objects.first() {
                parts.objects.remove(&mut self.objects, object);
                objects.push(object);
            }
            merged.filled_in = merged.filled_in.saturating_add(parts.filled_in);
            merged.written = merged.written.saturating_add(parts.written);
            merged.bytes = merged.bytes.saturating_add(parts.bytes);
            next = self.drop_group(group);
        }
        // The one that was not used for the longest time first.
        objects.sort_unstable_by_key(|object| {
            (std::cmp::Reverse(now.wrapping_sub(self.objects[*object as usize].used_at)), *object)
        });
        let kept = if count == 1 { 0 } else { objects.len().min(size as usize) };
        let (left, kept) = objects.split_at(objects.len() - kept);
        for object in left {
            self.objects[*object as usize].place = LEAVING;
            self.leaving.push_back(&mut self.objects, *object);
        }
        if !kept.is_empty() {
            let group = self.unused_group();
            for object in kept {
                let entry = &mut self.objects[*object as usize];
                merged.active += u32::from(entry.place & ACTIVE != 0);
                entry.place = group | entry.place & ACTIVE;
                merged.objects.push_back(&mut self.objects, *object);
            }
            self.groups[group as usize] = merged;
            match next {
                Some(next) => self.chain.insert_before(&mut self.groups, next, group),
                None => {
                    self.chain.push_back(&mut self.groups, group);
                }
            }
        }
        objects.clear();
        (self.merging, self.hand) = (objects, next);
    }

    /// The first of `count` neighbours, and how many there are.
    fn neighbours(&self, group: u32, count: u32) -> (u32, u32) {
        let links = |group: &u32| self.groups[*group as usize].links;
        let following = std::iter::successors(Some(group), |group| links(group).next()).take(count as usize).count();
        let missing = count as usize - following;
        let before = std::iter::successors(links(&group).previous(), |group| links(group).previous()).take(missing);
        before.fold((group, following as u32), |(_, found), group| (group, found + 1))
    }

    /// Loads what an access to the object will need into the processor's cache.
    #[inline]
    pub(super) fn touch(&self, object: u32) -> u32 {
        self.objects[object as usize].place
    }

    /// Bytes of memory in use.
    pub(super) fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>()
            + self.groups.capacity() * size_of::<Group>()
            + self.merging.capacity() * size_of::<u32>()
    }
}
