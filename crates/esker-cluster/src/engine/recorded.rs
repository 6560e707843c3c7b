//! The map as the records issued so far describe it: what an engine is restored from.

use std::collections::BTreeMap;
use std::ops::Range;

use esker_core::bits;
use esker_tier::parts::Snapshot;
use esker_tier::{Record, RecordError, RecordNumber};

use super::record::{ClusterRecord, SlotPlace};
use crate::id::{ServerId, SliceId, SliceReplica};
use crate::shape::ClusterShape;

/// Places of all replicas, and which of their objects were written.
#[derive(Debug)]
pub(super) struct RecordedMap {
    shape: ClusterShape,
    /// Where each replica is complete, or was before the motion that is under way.
    homes: Vec<SlotPlace>,
    /// Replicas in motion.
    motions: BTreeMap<usize, Motion>,
    /// A bit for each object of each replica.
    written: Vec<u64>,
    /// Pages and erases of each server.
    worn: Vec<[u64; 2]>,
    /// A checkpoint that is being taken, in numbers of slices; the number after the last of them stands for wear.
    snapshot: Option<Snapshot>,
}

/// Where a replica is going, and which of its objects are there.
#[derive(Clone, Debug)]
pub(super) struct Motion {
    pub(super) to: SlotPlace,
    pub(super) moved: Vec<u64>,
}

impl RecordedMap {
    /// A new map of this number of servers: nothing was written. `homes` has the places of all replicas of
    /// slice 0, then those of slice 1, and so on.
    pub(super) fn new(shape: ClusterShape, homes: Vec<SlotPlace>, servers: usize) -> Self {
        let written = vec![0; bits::words(homes.len() * shape.objects_per_slice as usize)];
        Self { shape, homes, motions: BTreeMap::new(), written, worn: vec![[0; 2]; servers], snapshot: None }
    }

    /// Adds a server that joins.
    pub(super) fn add_server(&mut self) {
        self.worn.push([0; 2]);
    }

    /// Pages that were written to each server, and their erases.
    pub(super) fn worn(&self) -> &[[u64; 2]] {
        &self.worn
    }

    fn index(&self, replica: SliceReplica) -> usize {
        replica.slice.index() * usize::from(self.shape.replicas) + usize::from(replica.replica)
    }

    /// Returns where a replica is complete, or was before its motion.
    pub(super) fn home(&self, replica: SliceReplica) -> SlotPlace {
        self.homes[self.index(replica)]
    }

    /// Returns the motion of a replica.
    pub(super) fn motion(&self, replica: SliceReplica) -> Option<&Motion> {
        self.motions.get(&self.index(replica))
    }

    /// The bits of some objects of a replica.
    fn objects(&self, replica: SliceReplica, objects: Range<u32>) -> Range<usize> {
        let first = self.index(replica) * self.shape.objects_per_slice as usize;
        first + objects.start as usize..first + objects.end as usize
    }

    /// Returns whether an object of a replica was written.
    pub(super) fn is_written(&self, replica: SliceReplica, index: usize) -> bool {
        bits::is_set(&self.written, self.objects(replica, 0..0).start + index)
    }

    /// Takes a record of a journal or a checkpoint.
    pub(super) fn replay(&mut self, record: Record) -> Result<(), RecordError> {
        let known = ClusterRecord::try_from(record)?;
        if self.is_possible(known) {
            self.apply(known)
        } else {
            return Err(RecordError::meaning(record));
        }
        Ok(())
    }

    /// Whether a record names replicas and objects that there are.
    fn is_possible(&self, record: ClusterRecord) -> bool {
        let (replica, objects) = match record {
            ClusterRecord::Placed { replica, .. } | ClusterRecord::Begun { replica, .. } => (replica, 0..1),
            ClusterRecord::Moved { replica, first, count, .. } => {
                if !self.motions.contains_key(&self.index(replica)) {
                    return false;
                }
                (replica, first..first.saturating_add(count))
            }
            ClusterRecord::Written { replica, first, count } => (replica, first..first.saturating_add(count)),
            ClusterRecord::Discarded { replica, index } => (replica, index..index.saturating_add(1)),
            ClusterRecord::Worn { server, .. } => return server.index() < self.worn.len(),
        };
        replica.slice.0 < self.shape.slices
            && replica.replica < self.shape.replicas
            && objects.start < objects.end
            && objects.end <= self.shape.objects_per_slice
    }

    /// Takes a record that was issued.
    pub(super) fn apply(&mut self, record: ClusterRecord) {
        self.keep_for_checkpoint(record);
        match record {
            ClusterRecord::Placed { replica, place } => {
                let index = self.index(replica);
                self.homes[index] = place;
            }
            ClusterRecord::Begun { replica, place } => {
                let moved = vec![0; bits::words(self.shape.objects_per_slice as usize)];
                self.motions.insert(self.index(replica), Motion { to: place, moved });
            }
            ClusterRecord::Moved { replica, first, count, written } => {
                self.set_written(replica, first..first + count, written);
                self.set_moved(replica, first..first + count);
            }
            ClusterRecord::Written { replica, first, count } => {
                self.set_written(replica, first..first + count, true);
            }
            ClusterRecord::Discarded { replica, index } => self.set_written(replica, index..index + 1, false),
            ClusterRecord::Worn { server, pages, erases } => self.worn[server.index()] = [pages, erases],
        }
    }

    fn set_written(&mut self, replica: SliceReplica, objects: Range<u32>, written: bool) {
        let objects = self.objects(replica, objects);
        if written { bits::set_all(&mut self.written, objects) } else { bits::clear_all(&mut self.written, objects) }
    }

    fn set_moved(&mut self, replica: SliceReplica, objects: Range<u32>) {
        let index = self.index(replica);
        let motion = self.motions.get_mut(&index).expect("the replica is in motion");
        bits::set_all(&mut motion.moved, objects.start as usize..objects.end as usize);
        if bits::all_set(&motion.moved, 0..self.shape.objects_per_slice as usize) {
            self.homes[index] = motion.to;
            self.motions.remove(&index);
        }
    }

    fn keep_for_checkpoint(&mut self, record: ClusterRecord) {
        let number = match record {
            ClusterRecord::Placed { replica, .. }
            | ClusterRecord::Begun { replica, .. }
            | ClusterRecord::Moved { replica, .. }
            | ClusterRecord::Written { replica, .. }
            | ClusterRecord::Discarded { replica, .. } => replica.slice.0,
            ClusterRecord::Worn { .. } => self.shape.slices,
        };
        if self.snapshot.as_ref().is_some_and(|snapshot| snapshot.needs(number)) {
            let records = self.records_at(number);
            self.snapshot.as_mut().expect("it was there").keep(number, records);
        }
    }

    /// The records that a checkpoint has for a number.
    fn records_at(&self, number: u32) -> Vec<Record> {
        if number < self.shape.slices {
            return self.records_of(SliceId(number));
        }
        let worn = self.worn.iter().enumerate().filter(|(_, worn)| **worn != [0; 2]);
        let record = |(server, &[pages, erases]): (usize, &[u64; 2])| {
            Record::from(ClusterRecord::Worn { server: ServerId(server as u16), pages, erases })
        };
        worn.map(record).collect()
    }

    /// Returns the records that make a slice what it is.
    fn records_of(&self, slice: SliceId) -> Vec<Record> {
        let mut records = Vec::new();
        for replica in (0..self.shape.replicas).map(|replica| SliceReplica { slice, replica }) {
            records.push(ClusterRecord::Placed { replica, place: self.home(replica) });
            let objects = 0..self.shape.objects_per_slice;
            let runs = runs_of(objects.clone(), |index| self.is_written(replica, index as usize).then_some(()));
            records.extend(runs.map(|(run, ())| ClusterRecord::Written {
                replica,
                first: run.start,
                count: run.end - run.start,
            }));
            let Some(motion) = self.motion(replica) else { continue };
            records.push(ClusterRecord::Begun { replica, place: motion.to });
            let moved = runs_of(objects, |index| {
                let is_moved = bits::is_set(&motion.moved, index as usize);
                is_moved.then(|| self.is_written(replica, index as usize))
            });
            records.extend(moved.map(|(run, written)| {
                let count = run.end - run.start;
                ClusterRecord::Moved { replica, first: run.start, count, written }
            }));
        }
        records.into_iter().map(Record::from).collect()
    }

    /// Begins a checkpoint; one that was under way is given up.
    pub(super) fn begin_checkpoint(&mut self, issued: RecordNumber) -> RecordNumber {
        self.snapshot = Some(Snapshot::new(self.shape.slices + 1));
        issued
    }

    /// Goes on with a checkpoint, by up to `most` slices. Returns true if it is complete.
    pub(super) fn continue_checkpoint(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        let Some(mut snapshot) = self.snapshot.take() else { return true };
        for number in snapshot.advance(most) {
            let records = snapshot.take_kept(number).unwrap_or_else(|| self.records_at(number));
            records.into_iter().for_each(&mut *visit);
        }
        let is_complete = snapshot.is_complete();
        self.snapshot = (!is_complete).then_some(snapshot);
        is_complete
    }
}

/// Runs of numbers for which `value` gives the same; numbers without a value are in none.
fn runs_of<T: PartialEq>(
    numbers: Range<u32>,
    value: impl Fn(u32) -> Option<T>,
) -> impl Iterator<Item = (Range<u32>, T)> {
    let mut at = numbers.start;
    std::iter::from_fn(move || {
        while at < numbers.end {
            let (first, found) = (at, value(at));
            at += 1;
            let Some(found) = found else { continue };
            while at < numbers.end && value(at).as_ref() == Some(&found) {
                at += 1;
            }
            return Some((first..at, found));
        }
        None
    })
}
