//! Slices whose replicas may differ. A change of several replicas is not made in one step: before the first one, it is
//! durable that the slice is dirty, and it stays so until all of them have all changes, durably. After a loss of power
//! only dirty slices have to be compared.

use std::collections::{BTreeMap, VecDeque};

use esker_core::DeviceState;
use esker_tier::{DeviceIndex, Effect, RecordNumber};

use super::ClusterEngine;
use super::record::ClusterRecord;
use super::task::object_of;
use crate::id::{ServerId, SliceId};
use crate::route::EffectId;

/// The slices that are dirty.
#[derive(Debug, Default)]
pub(super) struct DirtySlices {
    slices: BTreeMap<SliceId, DirtySlice>,
    /// Slices whose records are not durable yet.
    unrecorded: VecDeque<(RecordNumber, SliceId)>,
}

#[derive(Debug, Default)]
struct DirtySlice {
    /// Whether it is durable that the slice is dirty.
    is_recorded: bool,
    /// Changes that wait for that.
    waiting: Vec<EffectId>,
    /// Changes under way.
    changes: u32,
    /// Whether nothing has changed since the last tick.
    is_quiet: bool,
    /// How many writes to a server have to be durable before the slice is clean.
    unflushed: BTreeMap<ServerId, u64>,
}

impl DirtySlices {
    /// Adds a slice of which records say that it is dirty.
    pub(super) fn add_recorded(&mut self, slice: SliceId) {
        self.slices.insert(slice, DirtySlice { is_recorded: true, ..DirtySlice::default() });
    }

    /// Notes that a change has ended.
    pub(super) fn change_ended(&mut self, slice: SliceId) {
        self.slices.get_mut(&slice).expect("it is dirty while it is being changed").changes -= 1;
    }

    /// Takes the changes that waited for records that are durable now.
    pub(super) fn durable(&mut self, through: RecordNumber) -> Vec<EffectId> {
        let mut released = Vec::new();
        while let Some((_, slice)) = self.unrecorded.pop_front_if(|(number, _)| *number <= through) {
            let dirty = self.slices.get_mut(&slice).expect("it stays until it was recorded");
            dirty.is_recorded = true;
            released.append(&mut dirty.waiting);
        }
        released
    }

    /// Takes all changes that wait for records.
    pub(super) fn give_up(&mut self) -> Vec<EffectId> {
        self.unrecorded.clear();
        self.slices.values_mut().flat_map(|dirty| std::mem::take(&mut dirty.waiting)).collect()
    }
}

impl ClusterEngine {
    /// Whether a task may change its slice now. Otherwise it is released once it is durable that the slice is dirty.
    pub(super) fn may_change(&mut self, id: EffectId, slice: SliceId, effects: &mut Vec<Effect>) -> bool {
        let task = self.tasks.get_mut(&id).expect("it is under way");
        // What is copied comes from a replica that counts.
        if self.settings.replicas == 1 || task.tag.is_none() || task.makes_dirty {
            return true;
        }
        if !self.dirty.slices.contains_key(&slice) {
            let number = self.note(ClusterRecord::Dirty { slice }, effects);
            self.durability.harden(effects);
            self.dirty.unrecorded.push_back((number, slice));
        }
        let dirty = self.dirty.slices.entry(slice).or_default();
        if !dirty.is_recorded {
            dirty.waiting.push(id);
            return false;
        }
        (dirty.is_quiet, dirty.changes) = (false, dirty.changes + 1);
        self.tasks.get_mut(&id).expect("it is under way").makes_dirty = true;
        true
    }

    /// A task has written to a server, and not through.
    pub(super) fn written_unflushed(&mut self, id: EffectId, server: ServerId) {
        let task = &self.tasks[&id];
        if task.makes_dirty {
            let slice = self.router.map().slice_of(object_of(&task.work)).0;
            let writes = self.durability.writes(DeviceIndex(server.0));
            let dirty = self.dirty.slices.get_mut(&slice).expect("it is dirty while it is being changed");
            dirty.unflushed.insert(server, writes);
        }
    }

    /// Notes that slices are clean which have been quiet for a while, and whose writes are durable. Returns true if
    /// others will be at the next tick.
    pub(super) fn clean_slices(&mut self, effects: &mut Vec<Effect>) -> bool {
        let mut clean = Vec::new();
        let mut will_be = false;
        for (slice, dirty) in &mut self.dirty.slices {
            let is_durable = |(server, writes): (&ServerId, &u64)| {
                let device = DeviceIndex(server.0);
                self.health.device(device) == DeviceState::Failed || self.durability.durable_writes(device) >= *writes
            };
            if !dirty.is_recorded || dirty.changes > 0 || !dirty.unflushed.iter().all(is_durable) {
                continue;
            }
            match dirty.is_quiet {
                true => clean.push(*slice),
                false => (dirty.is_quiet, will_be) = (true, true),
            }
        }
        for slice in clean {
            self.dirty.slices.remove(&slice);
            self.note(ClusterRecord::Clean { slice }, effects);
        }
        will_be
    }
}
