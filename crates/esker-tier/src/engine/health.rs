//! Tracks which devices can still be trusted.

use esker_core::{DeviceError, DeviceState, RequestKind};

use crate::extent::DeviceIndex;

/// Number of failed writes in a row after which a device gets no new data.
const FAILED_WRITES_MAX: u8 = 8;

/// Whether a device is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Present,
    /// The device was not there when the engine was restored. Its data cannot be read.
    Missing,
    /// The device was drained and removed. It holds no data.
    Removed,
}

/// The states of the devices and of the journal.
#[derive(Debug)]
pub struct Health {
    devices: Vec<DeviceState>,
    /// Whether each device is there, so that requests can be sent to it.
    presence: Vec<Presence>,
    /// For each device, how many writes have failed since the last success, up to [`FAILED_WRITES_MAX`].
    failed_writes: Vec<u8>,
    journal_failed: bool,
    /// A fault for tests: failures of devices and of the journal are ignored.
    #[cfg(test)]
    pub forgives: bool,
}

impl Health {
    /// The health of `devices` devices, all of them online.
    pub fn new(devices: usize) -> Self {
        Self {
            devices: vec![DeviceState::Online; devices],
            presence: vec![Presence::Present; devices],
            failed_writes: vec![0; devices],
            journal_failed: false,
            #[cfg(test)]
            forgives: false,
        }
    }

    /// Adds an online device.
    pub fn add_device(&mut self) {
        self.devices.push(DeviceState::Online);
        self.presence.push(Presence::Present);
        self.failed_writes.push(0);
    }

    /// Marks `device` as missing: it has failed, but has lost nothing that it acknowledged since the engine was
    /// restored.
    pub fn miss(&mut self, device: DeviceIndex) {
        self.leave(device, Presence::Missing);
    }

    /// Marks `device`, which holds no data, as removed.
    pub fn remove(&mut self, device: DeviceIndex) {
        self.leave(device, Presence::Removed);
    }

    fn leave(&mut self, device: DeviceIndex, presence: Presence) {
        self.devices[usize::from(device.0)] = DeviceState::Failed;
        self.presence[usize::from(device.0)] = presence;
    }

    /// Returns true if `device` is missing or was removed: nothing is sent to it, and flushes leave it out.
    pub fn is_absent(&self, device: DeviceIndex) -> bool {
        self.presence[usize::from(device.0)] != Presence::Present
    }

    /// Returns true if the device was removed.
    pub fn is_removed(&self, device: DeviceIndex) -> bool {
        self.presence[usize::from(device.0)] == Presence::Removed
    }

    /// Lets a device that refused writes take writes again, because it has grown or its owner says so.
    pub fn try_again(&mut self, device: DeviceIndex) {
        self.failed_writes[usize::from(device.0)] = 0;
        self.learn(device, DeviceState::Online);
    }

    /// Returns the states of all devices.
    pub fn devices(&self) -> &[DeviceState] {
        &self.devices
    }

    /// Returns the state of a device.
    pub fn device(&self, device: DeviceIndex) -> DeviceState {
        self.devices[device.0 as usize]
    }

    /// Returns the worst state of any device; `Failed` if the journal has failed.
    pub fn worst(&self) -> DeviceState {
        let journal = if self.journal_failed { DeviceState::Failed } else { DeviceState::Online };
        let present = self.devices.iter().zip(&self.presence).filter(|(_, presence)| **presence != Presence::Removed);
        present.map(|(state, _)| *state).fold(journal, DeviceState::max)
    }

    /// Judges the result of a request to `device`, and returns the result that counts. If data may be lost, the device
    /// has failed. If the device refuses writes, it becomes read-only. Writes and flushes of a failed device never
    /// count as successful, whatever the device reports.
    pub fn judge(
        &mut self,
        device: DeviceIndex,
        kind: RequestKind,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        // A flush may have been under way when the device was removed. The data that it covers are durable elsewhere.
        if self.is_removed(device) {
            return Ok(());
        }
        let is_write = kind.is_write();
        let state = match result {
            Ok(()) if kind != RequestKind::Read && self.has_failed(device) => return Err(DeviceError::Failed),
            Ok(()) if is_write => {
                self.failed_writes[usize::from(device.0)] = 0;
                return result;
            }
            // A request with one of these errors was not even begun.
            Ok(()) | Err(DeviceError::OutOfRange { .. } | DeviceError::Unsupported) => return result,
            // Unflushed data were lost with the power, or their state is unknown.
            Err(DeviceError::Interrupted | DeviceError::Failed) => DeviceState::Failed,
            Err(_) if kind == RequestKind::Flush => DeviceState::Failed,
            // The device refused this write and touched no other data, even if the write was to be durable.
            Err(DeviceError::NoSpace | DeviceError::ReadOnly) if is_write => DeviceState::ReadOnly,
            Err(_) if kind.is_fua() => DeviceState::Failed,
            Err(_) if is_write && self.fails_again(device) => DeviceState::ReadOnly,
            Err(_) => return result,
        };
        let known = &mut self.devices[usize::from(device.0)];
        *known = state.max(*known);
        result
    }

    /// Counts a failed write. Returns true if that makes [`FAILED_WRITES_MAX`] in a row.
    fn fails_again(&mut self, device: DeviceIndex) -> bool {
        let failed = &mut self.failed_writes[usize::from(device.0)];
        *failed = (*failed + 1).min(FAILED_WRITES_MAX);
        *failed == FAILED_WRITES_MAX
    }

    /// Returns true if nothing can be promised for `device`, because it or the journal has failed.
    pub fn has_failed(&self, device: DeviceIndex) -> bool {
        #[cfg(test)]
        if self.forgives {
            return false;
        }
        self.journal_failed || self.devices[device.0 as usize] == DeviceState::Failed
    }

    /// Takes over the state that a device reports. A failed device stays failed, and a device whose writes keep failing
    /// stays read-only whatever it reports.
    pub fn learn(&mut self, device: DeviceIndex, state: DeviceState) {
        let keeps_failing = self.failed_writes[usize::from(device.0)] == FAILED_WRITES_MAX;
        let known = &mut self.devices[usize::from(device.0)];
        if *known != DeviceState::Failed {
            *known = if keeps_failing { state.max(DeviceState::ReadOnly) } else { state };
        }
    }

    /// Returns true if the journal has failed.
    pub fn journal_failed(&self) -> bool {
        self.journal_failed
    }

    /// Notes that the journal has failed: no further record becomes durable.
    pub fn fail_journal(&mut self) {
        self.journal_failed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DeviceIndex = DeviceIndex(0);
    const WRITE: RequestKind = RequestKind::Write { fua: false };
    const DURABLE: RequestKind = RequestKind::Write { fua: true };

    fn after(kind: RequestKind, error: DeviceError) -> DeviceState {
        let mut health = Health::new(1);
        assert_eq!(health.judge(DEVICE, kind, Err(error)), Err(error));
        health.device(DEVICE)
    }

    #[test]
    fn errors_tell_what_can_still_be_relied_on() {
        use DeviceError::{Failed, Interrupted, NoSpace, ReadOnly, Unsupported};
        const MEDIUM: DeviceError = DeviceError::MEDIUM;
        let read = RequestKind::Read;
        for (kind, error, state) in [
            (WRITE, NoSpace, DeviceState::ReadOnly),
            (DURABLE, ReadOnly, DeviceState::ReadOnly),
            (RequestKind::Flush, NoSpace, DeviceState::Failed),
            (DURABLE, MEDIUM, DeviceState::Failed),
            (WRITE, MEDIUM, DeviceState::Online),
            (read, MEDIUM, DeviceState::Online),
            (read, Failed, DeviceState::Failed),
            (WRITE, Interrupted, DeviceState::Failed),
            (RequestKind::Trim, NoSpace, DeviceState::Online),
            (DURABLE, Unsupported, DeviceState::Online),
        ] {
            assert_eq!(after(kind, error), state, "{kind:?} {error:?}");
        }
    }

    #[test]
    fn a_device_whose_writes_keep_failing_gets_no_more_whatever_it_says() {
        let mut health = Health::new(1);
        let fail = |health: &mut Health, times| {
            for _ in 0..times {
                let _ = health.judge(DEVICE, WRITE, Err(DeviceError::MEDIUM));
            }
        };
        fail(&mut health, FAILED_WRITES_MAX - 1);
        let _ = health.judge(DEVICE, WRITE, Ok(()));
        fail(&mut health, FAILED_WRITES_MAX - 1);
        assert_eq!(health.device(DEVICE), DeviceState::Online);
        fail(&mut health, 1);
        assert_eq!(health.device(DEVICE), DeviceState::ReadOnly);
        health.learn(DEVICE, DeviceState::Online);
        assert_eq!(health.device(DEVICE), DeviceState::ReadOnly);
        health.try_again(DEVICE);
        assert_eq!(health.device(DEVICE), DeviceState::Online);
    }

    #[test]
    fn a_removed_device_is_no_failure_and_a_missing_one_is() {
        let mut health = Health::new(2);
        health.remove(DEVICE);
        assert_eq!((health.worst(), health.is_absent(DEVICE)), (DeviceState::Online, true));
        for result in [Ok(()), Err(DeviceError::Interrupted)] {
            assert_eq!(health.judge(DEVICE, RequestKind::Flush, result), Ok(()), "it no longer matters");
        }
        assert_eq!(health.worst(), DeviceState::Online);
        health.miss(DeviceIndex(1));
        assert_eq!((health.worst(), health.is_absent(DeviceIndex(1))), (DeviceState::Failed, true));
    }
}
