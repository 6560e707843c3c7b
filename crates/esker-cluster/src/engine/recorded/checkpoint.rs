//! Checkpoints of the recorded map, in steps.

use std::ops::Range;

use esker_core::bits;
use esker_tier::parts::Snapshot;
use esker_tier::{Record, RecordNumber};

use super::RecordedMap;
use crate::engine::record::ClusterRecord;
use crate::id::{ServerId, SliceId, SliceReplica};

impl RecordedMap {
    /// Keeps what a checkpoint under way has to show of what a record changes.
    pub(super) fn keep_for_checkpoint(&mut self, record: ClusterRecord) {
        if self.snapshot.is_none() {
            return;
        }
        match record {
            ClusterRecord::Placed { replica, .. }
            | ClusterRecord::Homeless { replica }
            | ClusterRecord::Begun { replica, .. }
            | ClusterRecord::Turned { replica }
            | ClusterRecord::Moved { replica, .. }
            | ClusterRecord::Written { replica, .. }
            | ClusterRecord::Discarded { replica, .. }
            | ClusterRecord::Missed { replica, .. }
            | ClusterRecord::Unsure { replica, .. }
            | ClusterRecord::Sure { replica, .. } => self.keep(replica.slice.0),
            ClusterRecord::Dirty { slice } | ClusterRecord::Clean { slice } => self.keep(slice.0),
            ClusterRecord::Worn { .. } => self.keep(self.shape.slices),
            ClusterRecord::Resync => self.dirty.clone().into_iter().for_each(|slice| self.keep(slice.0)),
            ClusterRecord::Failed { server } => {
                self.keep(self.shape.slices);
                self.slices_at(server).into_iter().for_each(|slice| self.keep(slice.0));
            }
        }
    }

    fn keep(&mut self, number: u32) {
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
        let failed = self.failed.iter().map(|&server| ClusterRecord::Failed { server });
        let worn = self.worn.iter().enumerate().filter(|(_, worn)| **worn != [0; 2]);
        let worn = worn.map(|(server, &[pages, erases])| {
            let server = ServerId(server as u16);
            ClusterRecord::Worn { server, pages, erases }
        });
        failed.chain(worn).map(Record::from).collect()
    }

    /// Returns the records that make a slice what it is.
    fn records_of(&self, slice: SliceId) -> Vec<Record> {
        let mut records = Vec::new();
        for replica in self.shape.replicas_of(slice) {
            self.records_of_replica(replica, &mut records);
        }
        records.extend(self.dirty.contains(&slice).then_some(ClusterRecord::Dirty { slice }));
        records.into_iter().map(Record::from).collect()
    }

    fn records_of_replica(&self, replica: SliceReplica, records: &mut Vec<ClusterRecord>) {
        let (number, objects) = (self.index(replica), 0..self.shape.objects_per_slice);
        let runs = |has: &dyn Fn(usize) -> bool| -> Vec<(u32, u32)> {
            let runs = runs_of(objects.clone(), |index| has(index as usize).then_some(()));
            runs.map(|(run, ())| (run.start, run.end - run.start)).collect()
        };
        records.push(match self.home(replica) {
            Some(place) => ClusterRecord::Placed { replica, place },
            None => ClusterRecord::Homeless { replica },
        });
        let written = runs(&|index| self.is_written(replica, index)).into_iter();
        records.extend(written.map(|(first, count)| ClusterRecord::Written { replica, first, count }));
        if self.stale.has_any(number) {
            let missed = runs(&|index| self.stale.has(number, index)).into_iter();
            records.extend(missed.map(|(first, count)| ClusterRecord::Missed { replica, first, count }));
        }
        if let Some(motion) = self.motion(replica) {
            records.push(ClusterRecord::Begun { replica, place: motion.to });
            let moved = runs_of(objects.clone(), |index| {
                let is_moved = bits::is_set(&motion.moved, index as usize);
                is_moved.then(|| self.is_written(replica, index as usize))
            });
            records.extend(moved.map(|(run, written)| {
                let count = run.end - run.start;
                ClusterRecord::Moved { replica, first: run.start, count, written }
            }));
        }
        if self.unsure.has_any(number) {
            let unsure = runs(&|index| self.unsure.has(number, index)).into_iter();
            records.extend(unsure.map(|(first, count)| ClusterRecord::Unsure { replica, first, count }));
        }
    }

    /// Begins a checkpoint; one that was under way is given up.
    pub(in crate::engine) fn begin_checkpoint(&mut self, issued: RecordNumber) -> RecordNumber {
        self.snapshot = Some(Snapshot::new(self.shape.slices + 1));
        issued
    }

    /// Goes on with a checkpoint, by up to `most` slices. Returns true if it is complete.
    pub(in crate::engine) fn continue_checkpoint(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
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
