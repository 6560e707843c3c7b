//! Keeps what drives hold after preconditioning, so that an equal drive need not be written again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use esker_core::{Nanos, Precondition};
use esker_ftl::Ftl;
use esker_nand::state::FlashState;
use esker_results::PreconditionReport;

use super::Ssd;
use super::back::Back;
use crate::SsdSettings;

/// Bytes of memory that all kept drives take together at most.
const BYTES_MAX: usize = 256 << 20;

/// New drives as preconditioning has left them. Whoever runs many experiments gives it to all of their drives
/// ([`Ssd::sharing`]): one with the settings, the seed and the condition of an earlier drive then takes a copy instead
/// of being written again. The results are the same.
///
/// It takes up to 256 MiB, and forgets the drives that were not asked for longest.
#[derive(Debug)]
pub struct PreconditionedDrives {
    /// The one that was asked for last comes last.
    drives: Mutex<VecDeque<Kept>>,
    bytes_max: usize,
}

impl Default for PreconditionedDrives {
    fn default() -> Self {
        Self { drives: Mutex::default(), bytes_max: BYTES_MAX }
    }
}

#[derive(Debug)]
struct Kept {
    of: NewDrive,
    contents: Arc<Mutex<Option<Contents>>>,
    /// Zero while it is being made.
    bytes: usize,
}

/// Everything that decides what a new drive holds after preconditioning.
#[derive(Debug, PartialEq)]
struct NewDrive {
    settings: SsdSettings,
    seed: u64,
    condition: Precondition,
}

/// What a drive holds after preconditioning.
#[derive(Debug)]
struct Contents {
    ftl: Box<dyn Ftl>,
    flash: FlashState,
    report: Option<PreconditionReport>,
    /// Number of pages written.
    writes: u64,
}

impl PreconditionedDrives {
    /// Calls `action` with what is known of `drive`. If that is nothing, `action` makes it known; whoever asks for the
    /// same drive meanwhile waits.
    fn with<T>(&self, drive: NewDrive, action: impl FnOnce(&mut Option<Contents>) -> T) -> T {
        let kept = self.kept(drive);
        // If another drive panicked before it knew, nothing is known.
        let mut contents = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let was_known = contents.is_some();
        let result = action(&mut contents);
        let bytes = contents.as_ref().map_or(0, |made| made.ftl.memory_bytes() + made.flash.memory_bytes());
        contents.take_if(|_| bytes > self.bytes_max);
        drop(contents);
        if !was_known && bytes <= self.bytes_max {
            self.make_room(&kept, bytes);
        }
        result
    }

    fn kept(&self, of: NewDrive) -> Arc<Mutex<Option<Contents>>> {
        let mut drives = self.drives.lock().expect("nothing panics with the lock");
        let known = drives.iter().position(|kept| kept.of == of).and_then(|index| drives.remove(index));
        let kept = known.unwrap_or_else(|| Kept { of, contents: Arc::default(), bytes: 0 });
        let contents = Arc::clone(&kept.contents);
        drives.push_back(kept);
        contents
    }

    /// Notes that `contents` take `bytes`, and forgets other drives if all take too much.
    fn make_room(&self, contents: &Arc<Mutex<Option<Contents>>>, bytes: usize) {
        let mut drives = self.drives.lock().expect("nothing panics with the lock");
        if let Some(kept) = drives.iter_mut().find(|kept| Arc::ptr_eq(&kept.contents, contents)) {
            kept.bytes = bytes;
        }
        while drives.iter().map(|kept| kept.bytes).sum::<usize>() > self.bytes_max {
            drives.pop_front();
        }
    }
}

impl Ssd {
    /// Makes the drive take what it holds after preconditioning from an equal one in `others`, if there is one.
    #[must_use]
    pub fn sharing(mut self, others: Arc<PreconditionedDrives>) -> Self {
        self.others = Some(others);
        self
    }

    /// Discards all data and wear, and brings the drive into `condition`.
    pub(super) fn precondition(&mut self, now: Nanos, condition: Precondition) {
        // A drive that was written before keeps its counts.
        let others = self.others.clone().filter(|_| self.back.is_new());
        let writes;
        (self.precondition, writes) = match others {
            None => self.written(condition),
            Some(others) => {
                let drive = NewDrive { settings: self.settings.clone(), seed: self.back.seed(), condition };
                others.with(drive, |known| self.copied(condition, known))
            }
        };
        self.back.begin(now, writes);
    }

    /// Takes what an equal drive holds in `condition`, or becomes that drive if there is none.
    fn copied(&mut self, condition: Precondition, equal: &mut Option<Contents>) -> (Option<PreconditionReport>, u64) {
        if let Some(Contents { ftl, flash, report, writes }) = equal {
            self.back.ftl = ftl.clone();
            self.back.flash = flash.clone();
            return (*report, *writes);
        }
        let (report, writes) = self.written(condition);
        let Back { ftl, flash, .. } = &self.back;
        *equal = Some(Contents { ftl: ftl.clone(), flash: flash.clone(), report, writes });
        (report, writes)
    }

    /// Discards all data and wear, and writes the drive until it is in `condition`. Returns a report, and the number of
    /// pages written.
    fn written(&mut self, condition: Precondition) -> (Option<PreconditionReport>, u64) {
        let written = self.back.precondition(condition, &self.settings);
        #[cfg(debug_assertions)]
        self.check_if_small();
        written
    }
}

#[cfg(test)]
mod tests {
    use esker_core::{Control, Device, Ratio};
    use esker_ftl::{Choice, FTLS, VICTIM_POLICIES};

    use super::super::tests::{agrawal, read, serve, write};
    use super::*;

    fn small() -> SsdSettings {
        let mut settings = agrawal();
        settings.geometry.channels = 1;
        settings.geometry.dies_per_package = 2;
        settings.geometry.planes_per_die = 1;
        settings.geometry.blocks_per_plane = 64;
        settings.geometry.pages_per_block = 8;
        settings.over_provisioning = Some(Ratio::percent(30));
        settings
    }

    const STEADY: Precondition = Precondition::Steady { utilisation: Ratio::ONE, seed: 3 };

    fn conditioned(ssd: Ssd, condition: Precondition) -> Ssd {
        let mut ssd = ssd;
        ssd.control(Nanos::ZERO, Control::Precondition(condition)).unwrap();
        ssd
    }

    /// What a drive answers, and reports in the end.
    fn used(mut ssd: Ssd) -> String {
        let mut rng = esker_core::Rng::new(4);
        let pages = ssd.capacity().0 / 4096;
        let mut now = Nanos::ZERO;
        for _ in 0..600 {
            let page = rng.below(pages);
            now = serve(&mut ssd, now, if rng.chance(1, 3) { read(page) } else { write(page) }).at;
        }
        ssd.check();
        format!("{now:?} {:?}", ssd.report_at(ssd.now))
    }

    fn known(drives: &PreconditionedDrives) -> Vec<usize> {
        drives.drives.lock().unwrap().iter().map(|kept| kept.bytes).collect()
    }

    /// In the steady state, a layer has a past that a copy has to have, too.
    #[test]
    fn a_copy_goes_on_as_the_drive_itself_would() {
        let layers = FTLS.iter().map(|layer| SsdSettings { ftl: Choice::named(layer.name), ..small() });
        let victims = VICTIM_POLICIES.iter().map(|victim| {
            let mut settings = small();
            settings.cleaning.victim = Choice::named(victim.name);
            settings
        });
        let mut works = 0;
        for settings in layers.chain(victims) {
            let drives = Arc::<PreconditionedDrives>::default();
            let new = || Ssd::new("flash", &settings, 7);
            // Some layers need more than the smallest drive.
            if new().is_err() {
                continue;
            }
            works += 1;
            let expected = used(conditioned(new().unwrap(), STEADY));
            for _ in 0..2 {
                let shared = conditioned(new().unwrap().sharing(Arc::clone(&drives)), STEADY);
                assert_eq!(used(shared), expected, "{settings:?}");
            }
            assert_eq!(known(&drives).len(), 1);
        }
        assert!(works > FTLS.len(), "{works} kinds of drives work");
    }

    /// Its counts go on.
    #[test]
    fn a_drive_that_was_written_before_is_no_copy() {
        let drives = Arc::<PreconditionedDrives>::default();
        let twice = |ssd: Ssd| used(conditioned(conditioned(ssd, STEADY), STEADY));
        let new = || Ssd::new("flash", &small(), 7).unwrap();
        let expected = twice(new());
        assert_eq!(twice(new().sharing(Arc::clone(&drives))), expected);
        assert_eq!(twice(new().sharing(Arc::clone(&drives))), expected);
        assert_eq!(known(&drives).len(), 1);
    }

    #[test]
    fn the_drives_that_were_not_asked_for_longest_are_forgotten() {
        let one = Arc::<PreconditionedDrives>::default();
        let precondition = |drives: &Arc<PreconditionedDrives>, seed: u64| {
            conditioned(Ssd::new("flash", &small(), seed).unwrap().sharing(Arc::clone(drives)), STEADY);
        };
        precondition(&one, 1);
        let bytes = known(&one)[0];
        assert!(bytes > 64 * 8 * 2 * 8, "{bytes}");
        let drives =
            Arc::new(PreconditionedDrives { bytes_max: 2 * bytes + bytes / 2, ..PreconditionedDrives::default() });
        for seed in [1, 2, 1, 3] {
            precondition(&drives, seed);
        }
        let seeds: Vec<u64> = drives.drives.lock().unwrap().iter().map(|kept| kept.of.seed).collect();
        assert_eq!(seeds, [1, 3]);
        // One that would take more than all may is written each time.
        let none = Arc::new(PreconditionedDrives { bytes_max: bytes - 1, ..PreconditionedDrives::default() });
        precondition(&none, 1);
        assert!(none.drives.lock().unwrap().iter().all(|kept| kept.contents.lock().unwrap().is_none()));
    }
}
