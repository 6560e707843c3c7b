//! Slices that get a code once they have been cold for long enough, and copies once they are written again.

use std::collections::BTreeSet;

use esker_cluster::{FailureDomain, ServerState, SliceId, SliceReplica};

use super::{CodeGroup, CodeState, Placement};
use crate::fleet::copies::Cause;
use crate::fleet::place::NEW_SLICE;

/// Groups with room that are tried for a slice before it begins a new one.
const TRIED: usize = 16;

/// Groups that take slices in one epoch.
struct Taking {
    /// Those with room.
    open: Vec<u32>,
    /// Slices of the next new one.
    next: Vec<SliceId>,
    /// How many groups may yet begin to write parity.
    groups: u64,
}

impl Placement {
    /// Ends an epoch: the code covers slices whose parity is written; slices that are written again begin to get
    /// copies; and if all parity is written, as many cold slices begin to join as an epoch may write the parity of.
    pub(in crate::fleet) fn change_codes(&mut self, granted: u64) {
        if self.coding.is_none() {
            return;
        }
        let warm = self.note_cold();
        for group in 0..self.coding().groups.len() as u32 {
            self.end_joining(group);
            self.end_leaving(group);
        }
        warm.into_iter().for_each(|slice| self.begin_leaving(slice));
        if self.coding().groups.iter().all(CodeGroup::is_written) {
            self.begin_joining(granted);
        }
    }

    /// Counts epochs in which slices are cold. Returns the slices of groups that no longer are.
    fn note_cold(&mut self) -> Vec<SliceId> {
        let (hosts, coding) = (self.shape.slices as usize, self.coding.as_mut().expect("there is a code"));
        let slices = &self.slices[..hosts];
        let mean = slices.iter().map(|slice| f64::from(slice.popularity)).sum::<f64>() / hosts as f64;
        let limit = (mean * coding.settings.below.as_f64()) as f32;
        let mut warm = Vec::new();
        for ((at, state), slice) in (0u32..).zip(&mut coding.states).zip(slices) {
            let is_cold = slice.popularity < limit;
            match state {
                CodeState::Copies { cold_for } if is_cold => *cold_for = cold_for.saturating_add(1),
                CodeState::Copies { cold_for } => *cold_for = 0,
                CodeState::Joining { .. } | CodeState::Coded { .. } if !is_cold => warm.push(SliceId(at)),
                CodeState::Joining { .. } | CodeState::Coded { .. } | CodeState::Leaving { .. } => {}
            }
        }
        warm
    }

    /// Has the code cover the slices that join, if its parity is written and nothing of them moves.
    fn end_joining(&mut self, group: u32) {
        let parity = self.coding().parity_of(group);
        let this = self.coding().group(group);
        let moves = |slice: SliceId| self.slices[slice.index()].in_motion;
        if this.joining.is_empty() || !this.is_written() || moves(parity) || this.joining.iter().any(|it| moves(*it)) {
            return;
        }
        let joined = std::mem::take(&mut self.coding_mut().group_mut(group).joining);
        self.coding_mut().changed.0 += joined.len() as u64;
        for slice in joined {
            for replica in self.replicas_of(slice).skip(1) {
                let home = self.home(replica);
                self.servers[home.index()].used -= 1;
                self.take_load(replica);
            }
            self.slices[slice.index()].replicas = 1;
            self.coding_mut().states[slice.index()] = CodeState::Coded { group };
            self.coding_mut().group_mut(group).members.push(slice);
        }
        self.may_be_placed = true;
        self.weigh_parity(group);
    }

    /// Lets slices go that have copies again. A group without slices is none any more; other parity is written anew.
    fn end_leaving(&mut self, group: u32) {
        let coding = self.coding();
        let is_done = |slice: &&SliceId| {
            let state = coding.states[slice.index()];
            state == CodeState::Leaving { group } && !self.slices[slice.index()].in_motion
        };
        let done: Vec<SliceId> = coding.group(group).members.iter().filter(is_done).copied().collect();
        self.coding_mut().changed.1 += done.len() as u64;
        self.leave(group, &done);
    }

    fn leave(&mut self, group: u32, left: &[SliceId]) {
        if left.is_empty() {
            return;
        }
        let objects = self.shape.objects_per_slice;
        let coding = self.coding_mut();
        left.iter().for_each(|slice| coding.states[slice.index()] = CodeState::Copies { cold_for: 0 });
        let this = coding.group_mut(group);
        this.members.retain(|slice| !left.contains(slice));
        this.joining.retain(|slice| !left.contains(slice));
        this.write_anew(objects);
        let is_empty = this.all().next().is_none();
        self.weigh_parity(group);
        if is_empty {
            self.drop_parity(group);
        }
    }

    /// A slice is written again. One that only joins stays as it is; others need copies, for which there has to be
    /// room.
    fn begin_leaving(&mut self, slice: SliceId) {
        match self.coding().states[slice.index()] {
            CodeState::Joining { group } => self.leave(group, &[slice]),
            CodeState::Coded { group } => {
                self.coding_mut().states[slice.index()] = CodeState::Leaving { group };
                let replicas = self.shape.replicas;
                let view = &mut self.slices[slice.index()];
                (view.homes, view.replicas) = ([view.homes[0]; 3], replicas);
                let copies: Vec<SliceReplica> = self.replicas_of(slice).skip(1).collect();
                if self.destination(copies[0]).is_none() {
                    self.coding_mut().states[slice.index()] = CodeState::Coded { group };
                    self.slices[slice.index()].replicas = 1;
                    return;
                }
                for copy in copies {
                    self.add_load(copy);
                    let to = self.destination(copy);
                    self.is_stuck |= to.is_none();
                    self.begin(copy, self.motion(None, to, Cause::Code));
                }
            }
            CodeState::Copies { .. } | CodeState::Leaving { .. } => {}
        }
    }

    /// Slices that have been cold for long enough fill groups with room, and new ones. `granted` is what an epoch may
    /// copy.
    fn begin_joining(&mut self, granted: u64) {
        let coding = self.coding();
        let (data, parity) = (usize::from(coding.settings.data), u64::from(coding.parity));
        let is_open = |group: &u32| {
            let this = coding.group(*group);
            this.parity > 0 && this.all().count() < data && !self.slices[coding.parity_of(*group).index()].in_motion
        };
        let bytes = parity * u64::from(self.shape.objects_per_slice) * self.shape.object.0;
        let mut taking = Taking {
            open: (0..coding.groups.len() as u32).filter(is_open).collect(),
            next: Vec::new(),
            groups: (granted / bytes.max(1)).max(1),
        };
        let is_due = |state: &CodeState| matches!(state, CodeState::Copies { cold_for } if *cold_for >= coding.epochs);
        let due = (0u32..).zip(&coding.states).filter(|(_, state)| is_due(state));
        let due: Vec<SliceId> = due.map(|(at, _)| SliceId(at)).collect();
        for slice in due {
            if taking.groups == 0 {
                break;
            }
            if !self.slices[slice.index()].in_motion {
                self.take_cold(slice, &mut taking);
            }
        }
    }

    /// Has a slice join the first group that it may, or the next new one. One that may not waits for another epoch.
    fn take_cold(&mut self, slice: SliceId, taking: &mut Taking) {
        for at in 0..taking.open.len().min(TRIED) {
            let group = taking.open[at];
            if self.keep_apart(slice, &self.domains_of(group)) {
                let begins = self.coding().group(group).is_written();
                taking.groups -= u64::from(begins);
                self.join_group(slice, group);
                if self.coding().group(group).all().count() >= usize::from(self.coding().settings.data) {
                    taking.open.remove(at);
                }
                return;
            }
        }
        let domains = taking.next.iter().map(|other| self.domain(self.slices[other.index()].homes[0])).collect();
        if self.keep_apart(slice, &domains) {
            taking.next.push(slice);
            if taking.next.len() == usize::from(self.coding().settings.data) {
                taking.groups -= 1;
                self.begin_group(std::mem::take(&mut taking.next));
            }
        }
    }

    /// Makes a replica of a slice the first that is in none of these failure domains. Returns false if there is none.
    fn keep_apart(&mut self, slice: SliceId, domains: &BTreeSet<FailureDomain>) -> bool {
        let homes = self.slices[slice.index()].homes;
        let mut replicas = 0..usize::from(self.shape.replicas);
        let found = replicas.find(|at| !domains.contains(&self.domain(homes[*at])));
        found.inspect(|at| self.slices[slice.index()].homes.swap(0, *at)).is_some()
    }

    fn join_group(&mut self, slice: SliceId, group: u32) {
        let objects = self.shape.objects_per_slice;
        let coding = self.coding_mut();
        coding.states[slice.index()] = CodeState::Joining { group };
        let this = coding.group_mut(group);
        this.joining.push(slice);
        this.write_anew(objects);
    }

    /// Begins a group of slices that are apart, if there are servers for its parity.
    fn begin_group(&mut self, slices: Vec<SliceId>) {
        let coding = self.coding_mut();
        let parity = coding.parity;
        let free = coding.free.pop();
        let group = free.unwrap_or(coding.groups.len() as u32);
        if free.is_none() {
            coding.groups.push(CodeGroup::default());
            self.slices.push(NEW_SLICE);
            self.weights.push(0.0);
        }
        slices.into_iter().for_each(|slice| self.join_group(slice, group));
        let slice = self.coding().parity_of(group);
        for replica in 0..parity {
            let piece = SliceReplica { slice, replica };
            let Some(to) = self.destination(piece) else {
                let joining = self.coding().group(group).joining.clone();
                return self.leave(group, &joining);
            };
            self.servers[to.index()].used += 1;
            self.slices[slice.index()].homes[usize::from(replica)] = to;
            self.slices[slice.index()].replicas += 1;
            self.add_load(piece);
            let objects = self.shape.objects_per_slice;
            let this = self.coding_mut().group_mut(group);
            this.parity += 1;
            this.write_anew(objects);
        }
    }

    /// Takes the parity of a group off its servers.
    fn drop_parity(&mut self, group: u32) {
        let slice = self.coding().parity_of(group);
        for piece in self.replicas_of(slice) {
            for end in self.ends(piece).into_iter().flatten() {
                let server = &mut self.servers[end.index()];
                server.used -= u32::from(server.state != ServerState::Failed);
            }
            self.take_load(piece);
            self.motions.remove(&self.key(piece));
        }
        self.slices[slice.index()] = NEW_SLICE;
        *self.coding_mut().group_mut(group) = CodeGroup::default();
        self.coding_mut().free.push(group);
        self.may_be_placed = true;
    }

    /// Sets what is written to the parity of a group to what is written to its slices.
    fn weigh_parity(&mut self, group: u32) {
        let slice = self.coding().parity_of(group);
        let pieces: Vec<SliceReplica> = self.replicas_of(slice).collect();
        pieces.iter().for_each(|piece| self.take_load(*piece));
        self.weights[slice.index()] = self.pages_of(slice, &self.weights);
        pieces.iter().for_each(|piece| self.add_load(*piece));
    }

    /// Weighs the parity of all groups anew, after weights have changed. Loads have to be summed up after it.
    pub(in crate::fleet::place) fn reweigh_parity(&mut self) {
        for slice in self.all_slices().skip(self.shape.slices as usize) {
            self.weights[slice.index()] = self.pages_of(slice, &self.weights);
        }
    }
}
