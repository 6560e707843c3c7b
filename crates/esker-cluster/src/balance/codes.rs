//! Slices that share an erasure code, as balancers see them.

use crate::id::{ServerId, SliceId};

/// Slices that are kept as erasure codes. A group of them shares one code: each has a single replica, and the group's
/// parity is a slice of its own with a replica for each server that holds parity. No two replicas of a group may be in
/// one failure domain.
#[derive(Clone, Debug, Default)]
pub struct CodeGroups {
    /// The group of each slice; slices behind the last one have none.
    group_of: Vec<Option<u32>>,
    groups: Vec<CodeGroup>,
}

#[derive(Clone, Debug)]
struct CodeGroup {
    homes: Vec<ServerId>,
    is_written: bool,
}

impl CodeGroups {
    /// Adds a group: its slices with that of the parity, and the servers of all their replicas. `is_written` is false
    /// while parity has yet to be written: nothing of the group moves until then.
    pub fn add(&mut self, slices: impl IntoIterator<Item = SliceId>, homes: Vec<ServerId>, is_written: bool) {
        let group = Some(self.groups.len() as u32);
        for slice in slices {
            self.group_of.resize(self.group_of.len().max(slice.index() + 1), None);
            self.group_of[slice.index()] = group;
        }
        self.groups.push(CodeGroup { homes, is_written });
    }

    /// The number of a slice's group.
    pub(super) fn group_of(&self, slice: SliceId) -> Option<u32> {
        self.group_of.get(slice.index()).copied().flatten()
    }

    /// The servers of a slice's group; none if it has no code.
    pub(super) fn homes(&self, slice: SliceId) -> &[ServerId] {
        self.group_of(slice).map_or(&[], |group| &self.groups[group as usize].homes)
    }

    /// Returns whether all parity of a slice's group is written, also for a slice without a code.
    pub(super) fn is_written(&self, slice: SliceId) -> bool {
        self.group_of(slice).is_none_or(|group| self.groups[group as usize].is_written)
    }
}
