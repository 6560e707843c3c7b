//! Replicas in motion: they begin, are written and copied, turn back and are complete.

use esker_cluster::{Plan, ServerId, ServerState, SliceId, SliceReplica};

use super::{Placement, replica_of};
use crate::fleet::copies::{Cause, CopiedBytes, CopyGrant};

/// A replica in motion. Objects that hosts write have moved; others have to be copied.
#[derive(Clone, Copy, Debug)]
pub(in crate::fleet) struct Motion {
    /// Has what has not moved; `None` if it has failed, so that other replicas have it.
    pub(in crate::fleet) source: Option<ServerId>,
    /// Takes all writes; `None` as long as no server does.
    pub(in crate::fleet) destination: Option<ServerId>,
    pub(in crate::fleet) cause: Cause,
    /// Copied before hosts have written to it.
    pub(in crate::fleet) is_copied_at_once: bool,
    /// Objects that have not moved, of those that hosts write and of those that they never do.
    written: f64,
    never_written: f64,
}

impl Motion {
    /// Objects that have not moved.
    pub(in crate::fleet) fn left(&self) -> f64 {
        self.written + self.never_written
    }

    /// Notes that objects have moved, those first that no write moves.
    pub(super) fn copied(&mut self, objects: f64) {
        let never_written = self.never_written.min(objects);
        self.never_written -= never_written;
        self.written = (self.written - (objects - never_written)).max(0.0);
    }
}

/// What hosts write in an epoch, as far as motions are concerned.
#[derive(Clone, Copy, Debug)]
pub(in crate::fleet) struct HostWrites {
    /// Factor of the weights of slices: load has grown.
    pub(in crate::fleet) growth: f64,
    /// Pages of a write.
    pub(in crate::fleet) pages: f64,
    /// Bytes of an object that a write lacks.
    pub(in crate::fleet) rest: f64,
}

impl Placement {
    /// Sets a replica in motion. The room at the source is free only once it is complete.
    pub(super) fn begin(&mut self, replica: SliceReplica, motion: Motion) {
        self.slices[replica.slice.index()].in_motion = true;
        if let Some(to) = motion.destination {
            self.servers[to.index()].used += 1;
            self.set_home(replica, to);
        }
        self.motions.insert(self.key(replica), motion);
    }

    pub(super) fn motion(&self, source: Option<ServerId>, destination: Option<ServerId>, cause: Cause) -> Motion {
        let (written, never_written) = (self.written_objects, self.never_written);
        Motion { source, destination, cause, is_copied_at_once: false, written, never_written }
    }

    pub(super) fn begin_move(&mut self, replica: SliceReplica, from: ServerId, to: ServerId, cause: Cause) {
        self.begin(replica, self.motion(Some(from), Some(to), cause));
    }

    /// Sets a replica in motion of which no server is left.
    pub(super) fn begin_rebuild(&mut self, replica: SliceReplica) {
        let to = self.destination(replica);
        self.is_stuck |= to.is_none();
        self.begin(replica, self.motion(None, to, Cause::Rebuild));
        self.lost.replicas += 1;
    }

    /// Begins the moves of a plan, unless anything is in motion that can be copied. Returns how many began and how many
    /// were refused.
    pub(in crate::fleet) fn begin_plan(&mut self, plan: &Plan) -> (u64, u64) {
        let (may_begin, mut begun) = (self.is_settled(), 0);
        for wanted in &plan.moves {
            let mut replicas = self.replicas_of(wanted.slice);
            let found = replicas.find(|replica| self.complete_home(*replica) == Some(wanted.from));
            if let Some(replica) = found.filter(|replica| may_begin && self.may_go(*replica, wanted.to)) {
                let motion = self.motion(Some(wanted.from), Some(wanted.to), Cause::Balance);
                self.begin(replica, Motion { is_copied_at_once: plan.copy_at_once, ..motion });
                begun += 1;
            }
        }
        (begun, plan.moves.len() as u64 - begun)
    }

    /// A source or destination has failed. Returns false for a replica that has to be rebuilt as a whole.
    pub(super) fn turn(&mut self, replica: SliceReplica, failed: ServerId) -> bool {
        let key = self.key(replica);
        let (written, never_written) = (self.written_objects, self.never_written);
        let Some(motion) = self.motions.get_mut(&key) else { return false };
        match motion.source {
            // The destination gets the rest from other replicas.
            Some(source) if source == failed => (motion.source, motion.cause) = (None, Cause::Rebuild),
            // The source takes the destination's place, and gets back what had left.
            Some(source) => {
                (motion.source, motion.destination, motion.cause) = (None, Some(source), Cause::Rebuild);
                motion.written = written - motion.written;
                motion.never_written = never_written - motion.never_written;
                let lost = motion.left();
                if let Some(coding) = &mut self.coding {
                    coding.note_lost(replica, lost, written + never_written);
                }
                self.set_home(replica, source);
            }
            None => return false,
        }
        true
    }

    /// After a failure: counts objects of the slice that no server has any more. Nobody copies them.
    pub(super) fn count_losses(&mut self, slice: SliceId) {
        if self.count_losses_of_code(slice) {
            return;
        }
        let mut lost = f64::INFINITY;
        for replica in self.replicas_of(slice) {
            match self.motions.get(&self.key(replica)) {
                Some(motion) if motion.source.is_none() => lost = lost.min(motion.left()),
                _ => return,
            }
        }
        // Copies go through a slice in one order: who has copied most has all that the others have.
        self.lose(slice, lost);
    }

    /// Counts objects of a slice that are lost. Nobody copies them to where its replicas go.
    pub(super) fn lose(&mut self, slice: SliceId, lost: f64) {
        let whole = lost.round();
        if whole >= 1.0 && self.lost_now.insert(slice) {
            self.lost.slices += 1;
            self.lost.objects += whole as u64;
        }
        for replica in self.replicas_of(slice) {
            if let Some(motion) = self.motions.get_mut(&self.key(replica)) {
                motion.copied(lost);
            }
        }
    }

    /// Hosts write for an epoch: each write moves the object that it goes to, if that has not moved. Returns the bytes
    /// that were fetched because writes lack the rest of an object.
    pub(in crate::fleet) fn write_to_motions(&mut self, writes: HostWrites, drawn: Option<&[f32]>, merged: &mut [u64]) {
        let mut motions = std::mem::take(&mut self.motions);
        for (key, motion) in &mut motions {
            let Some(to) = motion.destination else { continue };
            let slice = self.replica_of(*key).slice;
            let expected = || f64::from(self.weights[slice.index()]) * writes.growth;
            let pages = drawn.map_or_else(expected, |drawn| f64::from(self.pages_of(slice, drawn)));
            // Writes hit objects at random: the share that none hits.
            let missed = (-pages / writes.pages / self.written_objects).exp();
            let left = motion.written * missed;
            // What is below half an object is none.
            let left = if left < 0.5 { 0.0 } else { left };
            merged[to.index()] += ((motion.written - left) * writes.rest) as u64;
            motion.written = left;
        }
        self.motions = motions;
    }

    /// Copies objects, as far as `grant` goes, of the motions that `wanted` selects, in the order of their slices.
    /// Motions of which every object has moved then are complete. Objects of parity are computed anew on their way.
    pub(in crate::fleet) fn copy(
        &mut self,
        grant: &mut CopyGrant,
        copied: &mut CopiedBytes,
        wanted: impl Fn(&Motion) -> bool,
    ) {
        let (object, replicas) = (self.shape.object.0, self.shape.replicas);
        for (key, motion) in self.motions.iter_mut().filter(|(_, motion)| wanted(motion)) {
            let Some(to) = motion.destination else { continue };
            if grant.is_used_up() {
                break;
            }
            let objects = grant.take(to, motion.left().ceil() as u64);
            motion.copied(objects as f64);
            if let Some(coding) = &mut self.coding {
                coding.note_written(replica_of(*key, replicas), objects as f64);
            }
            copied.add(motion.cause, to, objects * object);
        }
        self.complete();
    }

    /// Ends the motions of which every object has moved.
    pub(super) fn complete(&mut self) {
        let done: Vec<u32> =
            self.motions.iter().filter(|(_, motion)| motion.left() <= 0.0).map(|(key, _)| *key).collect();
        done.into_iter().for_each(|key| self.complete_if_moved(self.replica_of(key)));
    }

    /// Ends a motion of which every object has moved: the destination is the home, and the source forgets the slice.
    pub(super) fn complete_if_moved(&mut self, replica: SliceReplica) {
        let key = self.key(replica);
        let motion = self.motions.get(&key).copied().filter(|motion| motion.left() <= 0.0);
        let Some(Motion { source, destination: Some(home), .. }) = motion else { return };
        self.motions.remove(&key);
        let mut others = self.replicas_of(replica.slice);
        let is_moving = others.any(|other| self.motions.contains_key(&self.key(other)));
        self.slices[replica.slice.index()].in_motion = is_moving;
        if let Some(source) = source {
            self.servers[source.index()].used -= 1;
            self.may_be_placed = true;
        }
        self.leave_if_draining(replica, home);
    }

    /// Sets a complete replica in motion if its server is being drained.
    pub(super) fn leave_if_draining(&mut self, replica: SliceReplica, home: ServerId) {
        if self.servers[home.index()].state == ServerState::Draining {
            match self.destination(replica) {
                Some(to) => self.begin_move(replica, home, to, Cause::Member),
                None => self.is_stuck = true,
            }
        }
    }
}
