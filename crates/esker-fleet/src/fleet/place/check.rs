//! What has to hold between any two steps.

use esker_cluster::{ServerId, ServerState, SliceReplica};

use super::Placement;

impl Placement {
    /// Panics where places, motions, room or loads contradict each other.
    pub(in crate::fleet) fn check(&self) {
        let (mut used, mut loads) = (vec![0; self.servers.len()], vec![0.0; self.servers.len()]);
        for slice in self.all_slices() {
            let mut domains = Vec::new();
            for replica in self.replicas_of(slice) {
                let motion = self.motions.get(&self.key(replica));
                let home = self.home(replica);
                loads[home.index()] += f64::from(self.weights[slice.index()]);
                if let Some(motion) = motion {
                    assert!(self.slices[slice.index()].in_motion, "{slice} has a replica in motion");
                    assert!(motion.left() >= 0.0 && motion.left() <= f64::from(self.shape.objects_per_slice));
                    assert_eq!(motion.destination.unwrap_or(home), home, "writes go to the destination");
                }
                let ends = if motion.is_none_or(|motion| motion.destination.is_some()) {
                    self.ends(replica).into_iter().flatten().collect()
                } else {
                    Vec::new()
                };
                for end in &ends {
                    assert!(self.serves(end.index()), "{end} has failed and has a replica of {slice}");
                    used[end.index()] += 1;
                    assert!(!domains.contains(&self.domain(*end)), "two replicas of {slice} share a failure domain");
                }
                domains.extend(ends.into_iter().map(|end| self.domain(end)));
            }
            let is_moving = self.replicas_of(slice).any(|replica| self.motions.contains_key(&self.key(replica)));
            assert_eq!(self.slices[slice.index()].in_motion, is_moving);
            self.check_code(slice);
        }
        for (at, server) in self.servers.iter().enumerate() {
            assert_eq!(server.used, used[at], "server {at}");
            assert!(server.used <= server.spec.room, "server {at} has {} of {}", server.used, server.spec.room);
            assert!((self.loads[at] - loads[at]).abs() <= 1e-6 * self.loads[at].abs() + 1e-3, "load of server {at}");
        }
    }

    /// The servers that a replica is leaving and going to; none for one that has not found any.
    pub(in crate::fleet) fn places(&self, replica: SliceReplica) -> [Option<ServerId>; 2] {
        self.ends(replica)
    }

    /// Objects that have not moved, of all replicas in motion.
    pub(in crate::fleet) fn left(&self) -> f64 {
        self.motions.values().map(super::Motion::left).sum()
    }

    /// Motions because of this.
    pub(in crate::fleet) fn moving(&self, cause: super::super::copies::Cause) -> usize {
        self.motions.values().filter(|motion| motion.cause == cause).count()
    }

    /// The servers that hold data and take more.
    pub(in crate::fleet) fn up(&self) -> Vec<ServerId> {
        let all = self.servers.iter().enumerate();
        all.filter(|(_, server)| server.state == ServerState::Up).map(|(at, _)| ServerId(at as u16)).collect()
    }
}
