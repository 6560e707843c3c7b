//! Cold slices as an erasure code (Salman 2017, section 9.1): a group of them keeps one replica of each, and parity on
//! other servers. What is there stays where it is, so that only parity is written.
//!
//! The parity of a group is a slice of its own, with a number behind those of hosts and a replica on each server that
//! has parity. So it is placed, rebuilt and drained by the rules for all slices.

mod changes;
mod losses;
mod shown;

use std::collections::BTreeSet;

use esker_cluster::{ClusterShape, FailureDomain, ServerId, SliceId, SliceReplica};
use esker_core::Nanos;

use super::Placement;
use crate::fleet::copies::{Cause, CopiedBytes, CopyGrant};
use crate::fleet::settings::ErasureCodeSettings;

/// Which slices have a code, and which are about to.
#[derive(Debug)]
pub(super) struct Coding {
    settings: ErasureCodeSettings,
    /// Servers with parity of a group.
    parity: u8,
    /// Epochs for which a slice has to be cold.
    epochs: u32,
    /// Of each slice of hosts.
    states: Vec<CodeState>,
    /// By the number of their parity behind the slices of hosts.
    groups: Vec<CodeGroup>,
    /// Groups that have no slices any more.
    free: Vec<u32>,
    /// Slices that got a code, and slices that got copies again.
    changed: (u64, u64),
}

/// How a slice is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodeState {
    /// By copies, and how many epochs it has been cold for.
    Copies { cold_for: u32 },
    /// By copies, until the parity of this group covers it.
    Joining { group: u32 },
    /// One replica, and the parity of this group.
    Coded { group: u32 },
    /// As before, until it has copies again.
    Leaving { group: u32 },
}

/// Slices that share parity. A free one has neither.
#[derive(Debug, Default)]
struct CodeGroup {
    /// Those that the parity covers.
    members: Vec<SliceId>,
    /// Those that it will cover once it is written.
    joining: Vec<SliceId>,
    /// Servers with parity: replicas of the slice of parity.
    parity: u8,
    /// Objects that each of them has to write, because slices join or have left.
    to_write: [f64; 3],
}

impl CodeGroup {
    fn all(&self) -> impl Iterator<Item = SliceId> + '_ {
        self.members.iter().chain(&self.joining).copied()
    }

    /// Has all parity written, of this number of objects.
    fn write_anew(&mut self, objects: u32) {
        self.to_write[..usize::from(self.parity)].fill(f64::from(objects));
    }

    fn is_written(&self) -> bool {
        self.to_write.iter().all(|left| *left <= 0.0)
    }
}

impl CodeState {
    /// The group of whose code the slice is a part, or will be.
    fn group(self) -> Option<u32> {
        match self {
            Self::Copies { .. } => None,
            Self::Joining { group } | Self::Coded { group } | Self::Leaving { group } => Some(group),
        }
    }
}

impl Coding {
    /// All slices are kept by copies at first. Epochs have this length.
    pub(super) fn new(settings: ErasureCodeSettings, shape: &ClusterShape, epoch: Nanos) -> Self {
        let epochs = settings.after.0.div_ceil(epoch.0.max(1)).max(1);
        Self {
            settings,
            parity: settings.parity(shape.replicas),
            epochs: u32::try_from(epochs).unwrap_or(u32::MAX),
            states: vec![CodeState::Copies { cold_for: 0 }; shape.slices as usize],
            groups: Vec::new(),
            free: Vec::new(),
            changed: (0, 0),
        }
    }

    fn slices(&self) -> u32 {
        self.states.len() as u32
    }

    fn parity_of(&self, group: u32) -> SliceId {
        SliceId(self.slices() + group)
    }

    /// The group whose parity a slice is.
    fn as_parity(&self, slice: SliceId) -> Option<u32> {
        slice.0.checked_sub(self.slices())
    }

    fn group(&self, group: u32) -> &CodeGroup {
        &self.groups[group as usize]
    }

    fn group_mut(&mut self, group: u32) -> &mut CodeGroup {
        &mut self.groups[group as usize]
    }

    /// The group in which a replica is a piece of the code, or will be.
    fn group_of(&self, replica: SliceReplica) -> Option<u32> {
        match self.as_parity(replica.slice) {
            Some(group) => Some(group),
            None if replica.replica == 0 => self.states[replica.slice.index()].group(),
            None => None,
        }
    }

    /// Objects that a server with parity has to write.
    fn to_write(&self, piece: SliceReplica) -> f64 {
        let group = self.as_parity(piece.slice);
        group.map_or(0.0, |group| self.group(group).to_write[usize::from(piece.replica)])
    }

    /// Notes that objects of parity were written where it goes. They are computed from the slices that the group has
    /// by then. A replica that is no parity has nothing to note.
    pub(super) fn note_written(&mut self, replica: SliceReplica, objects: f64) {
        if let Some(group) = self.as_parity(replica.slice) {
            let left = &mut self.group_mut(group).to_write[usize::from(replica.replica)];
            *left = (*left - objects).max(0.0);
        }
    }

    /// Notes that of `all` objects of parity some were lost where it went to. Where it came from has them as they were
    /// before.
    pub(super) fn note_lost(&mut self, replica: SliceReplica, lost: f64, all: f64) {
        if let Some(group) = self.as_parity(replica.slice) {
            let left = &mut self.group_mut(group).to_write[usize::from(replica.replica)];
            *left = (*left + lost).min(all);
        }
    }

    /// The replicas of which a group's code consists, or will.
    fn pieces(&self, group: u32) -> impl Iterator<Item = SliceReplica> + '_ {
        let parity = self.parity_of(group);
        let own = (0..self.group(group).parity).map(move |replica| SliceReplica { slice: parity, replica });
        self.group(group).all().map(|slice| SliceReplica { slice, replica: 0 }).chain(own)
    }
}

impl Placement {
    /// Has cold slices kept as an erasure code.
    pub(in crate::fleet) fn with_erasure_code(mut self, settings: Option<ErasureCodeSettings>, epoch: Nanos) -> Self {
        self.coding = settings.map(|settings| Coding::new(settings, &self.shape, epoch));
        self
    }

    /// Pages that are written to a slice, if this many are to each slice of hosts: parity is written with each member.
    pub(super) fn pages_of(&self, slice: SliceId, pages: &[f32]) -> f32 {
        match self.coding.as_ref().and_then(|coding| Some((coding, coding.as_parity(slice)?))) {
            Some((coding, group)) => coding.group(group).members.iter().map(|member| pages[member.index()]).sum(),
            None => pages[slice.index()],
        }
    }

    /// Whether a replica may go to a server as far as the other pieces of its code are concerned.
    pub(super) fn is_apart_from_code(&self, replica: SliceReplica, to: ServerId) -> bool {
        let Some((coding, group)) = self.coding.as_ref().and_then(|coding| Some((coding, coding.group_of(replica)?)))
        else {
            return true;
        };
        let mut others = coding.pieces(group).filter(|piece| piece.slice != replica.slice);
        !others.any(|piece| self.ends(piece).into_iter().flatten().any(|end| self.domain(end) == self.domain(to)))
    }

    /// The failure domains of the pieces of a group.
    fn domains_of(&self, group: u32) -> BTreeSet<FailureDomain> {
        self.coding().pieces(group).flat_map(|piece| self.ends(piece)).flatten().map(|end| self.domain(end)).collect()
    }

    fn coding(&self) -> &Coding {
        self.coding.as_ref().expect("only called if there is a code")
    }

    fn coding_mut(&mut self) -> &mut Coding {
        self.coding.as_mut().expect("only called if there is a code")
    }

    /// Writes parity of groups that slices join or have left, as far as `grant` goes.
    pub(in crate::fleet) fn write_parity(&mut self, grant: &mut CopyGrant, copied: &mut CopiedBytes) {
        let Some(coding) = &self.coding else { return };
        let due = (0u32..).zip(&coding.groups).filter(|(_, group)| !group.is_written());
        let parity = |(at, group): (u32, &CodeGroup)| {
            let slice = coding.parity_of(at);
            (0..group.parity).map(move |replica| SliceReplica { slice, replica })
        };
        let pieces: Vec<SliceReplica> = due.flat_map(parity).collect();
        for piece in pieces {
            if grant.is_used_up() {
                break;
            }
            self.write_piece(piece, grant, copied);
        }
        self.complete();
    }

    /// What is written where a piece moves to has moved.
    fn write_piece(&mut self, piece: SliceReplica, grant: &mut CopyGrant, copied: &mut CopiedBytes) {
        let to = self.home(piece);
        if !self.ends(piece).contains(&Some(to)) {
            return;
        }
        let objects = grant.take(to, self.coding().to_write(piece).ceil() as u64);
        self.coding_mut().note_written(piece, objects as f64);
        let key = self.key(piece);
        if let Some(motion) = self.motions.get_mut(&key) {
            motion.copied(objects as f64);
        }
        copied.add(Cause::Code, to, objects * self.shape.object.0);
    }

    /// Slices that have a code; those that ever got one, and those that got copies again.
    pub(in crate::fleet) fn coded(&self) -> (u64, u64, u64) {
        let Some(coding) = &self.coding else { return (0, 0, 0) };
        let now = coding.states.iter().filter(|state| matches!(state, CodeState::Coded { .. })).count();
        (now as u64, coding.changed.0, coding.changed.1)
    }
}

#[cfg(test)]
impl Placement {
    /// Pieces of codes that a balancer moves.
    pub(in crate::fleet) fn moving_pieces(&self) -> usize {
        let is_piece = |replica: SliceReplica| match self.coding().states.get(replica.slice.index()) {
            Some(state) => matches!(state, CodeState::Coded { .. }),
            None => true,
        };
        let moving = self.motions.iter().filter(|(_, motion)| motion.cause == Cause::Balance);
        moving.filter(|(key, _)| is_piece(self.replica_of(**key))).count()
    }

    /// The slices of a group, and its parity behind them.
    pub(in crate::fleet) fn slices_of_code(&self, group: u32) -> Vec<SliceId> {
        self.coding().group(group).all().chain([self.coding().parity_of(group)]).collect()
    }

    /// The servers of the pieces of a group: of its slices, and then of its parity.
    pub(in crate::fleet) fn servers_of_code(&self, group: u32) -> Vec<ServerId> {
        self.coding().pieces(group).map(|piece| self.home(piece)).collect()
    }

    /// Panics where a slice, its state and its group contradict each other, or pieces of a code share a failure domain.
    pub(in crate::fleet::place) fn check_code(&self, slice: SliceId) {
        let Some(coding) = &self.coding else { return };
        if let Some(group) = coding.states.get(slice.index()).and_then(|state| state.group()) {
            let this = coding.group(group);
            let is_joining = matches!(coding.states[slice.index()], CodeState::Joining { .. });
            assert_eq!((this.joining.contains(&slice), this.members.contains(&slice)), (is_joining, !is_joining));
        }
        let Some(group) = coding.as_parity(slice) else {
            let is_coded = matches!(coding.states[slice.index()], CodeState::Coded { .. });
            return assert_eq!(self.replicas(slice), if is_coded { 1 } else { self.shape.replicas });
        };
        let this = coding.group(group);
        assert_eq!(this.parity > 0, this.all().next().is_some(), "{slice} is parity of something");
        assert!(this.all().count() <= usize::from(coding.settings.data));
        let mut domains = Vec::new();
        for piece in coding.pieces(group) {
            let own = self.ends(piece).into_iter().flatten().filter(|end| self.serves(end.index()));
            let own: BTreeSet<FailureDomain> = own.map(|end| self.domain(end)).collect();
            assert!(own.iter().all(|domain| !domains.contains(domain)), "two pieces of {slice} share a failure domain");
            domains.extend(own);
        }
        assert_eq!(self.replicas(slice), this.parity, "{slice} has a replica on each server with parity");
        let weight: f32 = this.members.iter().map(|member| self.weights[member.index()]).sum();
        assert_eq!(self.weights[slice.index()], weight);
    }
}
