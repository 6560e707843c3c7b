//! Changes of a volume's devices that its owner asks for: they reach the superblocks before the engine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::device::VolumeDevice;
use crate::format::{Layout, Member, MemberState};

/// A change of the superblocks.
pub(crate) struct MemberChange {
    pub(crate) edit: MemberEdit,
    /// The settings from then on.
    pub(crate) settings: String,
}

/// What happens to a device.
pub(crate) enum MemberEdit {
    /// Nothing: only settings change.
    None,
    /// It joins, behind all others. Its own superblocks are on it, and do not count before the others name it.
    Join(Box<VolumeDevice>),
    /// It has grown.
    Grow { device: usize, layout: Layout },
    /// It gets another state.
    State { device: usize, state: MemberState },
}

/// What the owner of a volume and its journal share: one change at a time, and what the superblocks say.
#[derive(Clone, Default)]
pub(crate) struct MemberChanges(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    asked: Option<MemberChange>,
    is_under_way: bool,
    /// Why the change under way cannot be made.
    failure: Option<String>,
    ended: Option<Result<(), String>>,
    generation: u64,
    devices: Vec<DeviceNow>,
}

/// A device, as its superblock says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceNow {
    pub(crate) member: Member,
    pub(crate) layout: Layout,
}

/// What has happened to the superblocks.
pub(crate) struct News {
    /// How the change that was asked for has ended.
    pub(crate) ended: Option<Result<(), String>>,
    pub(crate) generation: u64,
    pub(crate) devices: Vec<DeviceNow>,
}

impl MemberChanges {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a change, which the journal makes with its next step. The one before has ended (asserted).
    pub(crate) fn ask(&self, change: MemberChange) {
        let mut shared = self.shared();
        assert!(shared.asked.is_none() && !shared.is_under_way, "one change is under way at a time");
        shared.asked = Some(change);
    }

    /// Returns what has happened since the superblocks had this generation, if a change has ended or they have another
    /// one now.
    pub(crate) fn news(&self, generation: u64) -> Option<News> {
        let mut shared = self.shared();
        if shared.ended.is_none() && shared.generation == generation {
            return None;
        }
        let ended = shared.ended.take();
        Some(News { ended, generation: shared.generation, devices: shared.devices.clone() })
    }

    /// Returns all devices, as the superblocks say that are written now.
    pub(crate) fn devices(&self) -> Vec<DeviceNow> {
        self.shared().devices.clone()
    }

    /// Takes the change that is asked for, which is under way from now on.
    pub(super) fn begin(&self) -> Option<MemberChange> {
        let mut shared = self.shared();
        let asked = shared.asked.take()?;
        shared.is_under_way = true;
        Some(asked)
    }

    /// Returns true if a change is asked for or under way.
    pub(super) fn are_wanted(&self) -> bool {
        let shared = self.shared();
        shared.asked.is_some() || shared.is_under_way
    }

    /// Notes that the change under way, if there is one, cannot be made.
    pub(super) fn fail(&self, why: String) {
        let mut shared = self.shared();
        if shared.is_under_way {
            shared.failure.get_or_insert(why);
        }
    }

    /// Notes that all superblocks are as they should be.
    pub(super) fn end(&self) {
        let mut shared = self.shared();
        if std::mem::take(&mut shared.is_under_way) {
            shared.ended = Some(shared.failure.take().map_or(Ok(()), Err));
        }
    }

    /// Refuses what is asked for or under way, because no superblock can be written any more.
    pub(super) fn refuse(&self, why: &str) {
        let mut shared = self.shared();
        if shared.asked.take().is_some() || std::mem::take(&mut shared.is_under_way) {
            shared.ended = Some(Err(why.to_string()));
        }
    }

    pub(super) fn tell(&self, generation: u64, devices: Vec<DeviceNow>) {
        let mut shared = self.shared();
        (shared.generation, shared.devices) = (generation, devices);
    }
}
