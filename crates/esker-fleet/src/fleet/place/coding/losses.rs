//! What failures cost where there is a code.

use esker_cluster::{SliceId, SliceReplica};

use super::{CodeState, Coding, Placement};
use crate::fleet::place::Motion;

impl Coding {
    /// The group whose code covers a slice, or whose parity it is.
    fn group_that_covers(&self, slice: SliceId) -> Option<u32> {
        match self.states.get(slice.index()) {
            None => self.as_parity(slice),
            Some(CodeState::Coded { group } | CodeState::Leaving { group }) => Some(*group),
            Some(CodeState::Copies { .. } | CodeState::Joining { .. }) => None,
        }
    }
}

impl Placement {
    /// After a failure, of a slice that a code covers: counts objects that more servers lack than there is parity.
    /// Returns false for a slice without a code.
    pub(in crate::fleet::place) fn count_losses_of_code(&mut self, slice: SliceId) -> bool {
        let Some(coding) = &self.coding else { return false };
        let Some(group) = coding.group_that_covers(slice) else { return false };
        let this = coding.group(group);
        let members: Vec<(SliceId, f64)> =
            this.members.iter().map(|member| (*member, self.lacking_everywhere(*member))).collect();
        let parity = (0..this.parity).map(|replica| SliceReplica { slice: coding.parity_of(group), replica });
        let mut lacking: Vec<f64> = members.iter().map(|(_, lacks)| *lacks).collect();
        lacking.extend(parity.map(|piece| self.lacking(piece)));
        lacking.sort_by(|one, two| two.total_cmp(one));
        // Rebuilds go through a group in one order: what one piece lacks, all that lack more lack, too.
        let lost = lacking.get(usize::from(this.parity)).copied().unwrap_or(0.0);
        for (member, lacks) in members {
            self.lose(member, lost.min(lacks));
        }
        true
    }

    /// Objects that no server has a copy of.
    fn lacking_everywhere(&self, slice: SliceId) -> f64 {
        self.replicas_of(slice).map(|replica| self.lacking(replica)).fold(f64::INFINITY, f64::min)
    }

    /// Objects of a replica that are neither where it goes nor where it comes from.
    fn lacking(&self, replica: SliceReplica) -> f64 {
        let motion = self.motions.get(&self.key(replica)).filter(|motion| motion.source.is_none());
        motion.map_or(0.0, Motion::left)
    }
}
