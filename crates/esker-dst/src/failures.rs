//! Disks that fail, and those that are given up then.

use esker_volume::{Volume, remove_lost};

use crate::disk::DiskFault;
use crate::members::Fate;
use crate::world::{SetClock, World, boxed};

impl World {
    /// Has a disk fail from now on.
    pub(crate) fn fail_a_disk(&mut self, volume: &Volume<SetClock>) {
        if self.has_copies
            && (self.has_failed || volume.report().cluster.is_some_and(|cluster| cluster.copies_lost > 0))
        {
            return;
        }
        let index = self.rng.below(self.disks.len() as u64) as usize;
        if self.members[index].1 == Fate::WasRemoved {
            return;
        }
        // A disk that goes on after a failed flush is the hardest to get right.
        let faults = [
            DiskFault::FlushFails,
            DiskFault::FlushFails,
            DiskFault::FlushFailsThenSilent,
            DiskFault::Full,
            DiskFault::Dead,
            DiskFault::Silent,
        ];
        let fault = faults[self.rng.below(faults.len() as u64) as usize];
        self.disks[index].set_fault(fault);
        (self.has_failed, self.host.may_fail) = (true, !self.has_copies);
        self.host.may_be_of_other_copies = self.has_copies;
        self.outcome.made_up_for += u64::from(self.has_copies);
        if !matches!(fault, DiskFault::FlushFails | DiskFault::Full) {
            self.members[index].1 = Fate::HasDied;
        }
    }

    /// Takes a disk out that has died and of which others have copies, one time in two; then the volume is written
    /// again.
    pub(crate) fn give_up_lost(&mut self, volume: &mut Volume<SetClock>) -> Result<(), String> {
        let Some(name) = volume.state().missing().next().map(|device| device.name.clone()) else { return Ok(()) };
        if !self.has_copies || self.rng.chance(1, 2) {
            return Ok(());
        }
        let disks = self.present();
        remove_lost(&mut boxed(&disks), &name).map_err(|error| format!("{name} cannot be taken out: {error}"))?;
        self.outcome.given_up += 1;
        *volume = self.open()?.ok_or("the map is gone with one disk")?;
        self.check_recovered(volume)
    }
}
