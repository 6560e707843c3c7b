//! Which devices still keep what they promise.

use esker_core::{DeviceError, DeviceState, RequestKind};

use crate::extent::DeviceIndex;

/// The states of the devices and of the journal.
#[derive(Debug)]
pub(crate) struct Health {
    devices: Vec<DeviceState>,
    journal_failed: bool,
    /// A fault for tests: failures are forgotten.
    #[cfg(test)]
    pub(crate) forgives: bool,
}

impl Health {
    /// All of `devices` devices are online.
    pub(crate) fn new(devices: usize) -> Self {
        Self {
            devices: vec![DeviceState::Online; devices],
            journal_failed: false,
            #[cfg(test)]
            forgives: false,
        }
    }

    /// Adds a device, which is online.
    pub(crate) fn add_device(&mut self) {
        self.devices.push(DeviceState::Online);
    }

    pub(crate) fn devices(&self) -> &[DeviceState] {
        &self.devices
    }

    pub(crate) fn device(&self, device: DeviceIndex) -> DeviceState {
        self.devices[device.0 as usize]
    }

    /// The worst state of any device; failed if the journal has failed.
    pub(crate) fn worst(&self) -> DeviceState {
        let journal = if self.journal_failed { DeviceState::Failed } else { DeviceState::Online };
        self.devices.iter().copied().fold(journal, DeviceState::max)
    }

    /// Judges the end of a request to `device`. If the result means that data may be lost, the device has failed.
    /// Writes and flushes of a failed device never count as done, whatever it reports.
    pub(crate) fn judge(
        &mut self,
        device: DeviceIndex,
        kind: RequestKind,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let failed = match result {
            Ok(()) if kind != RequestKind::Read && self.has_failed(device) => return Err(DeviceError::Failed),
            // The request was not even begun.
            Ok(()) | Err(DeviceError::OutOfRange { .. } | DeviceError::Unsupported) => false,
            // Data that had not been flushed were lost with the power.
            Err(DeviceError::Interrupted) => true,
            Err(_) => kind == RequestKind::Flush || kind.is_fua(),
        };
        if failed {
            self.devices[device.0 as usize] = DeviceState::Failed;
        }
        result
    }

    /// Whether nothing can be promised for `device` any more, because it or the journal has failed.
    pub(crate) fn has_failed(&self, device: DeviceIndex) -> bool {
        #[cfg(test)]
        if self.forgives {
            return false;
        }
        self.journal_failed || self.devices[device.0 as usize] == DeviceState::Failed
    }

    /// Takes the state that a device reports. A failed device stays failed.
    pub(crate) fn learn(&mut self, device: DeviceIndex, state: DeviceState) {
        let known = &mut self.devices[device.0 as usize];
        if *known != DeviceState::Failed {
            *known = state;
        }
    }

    pub(crate) fn journal_failed(&self) -> bool {
        self.journal_failed
    }

    /// From now on no record is kept.
    pub(crate) fn fail_journal(&mut self) {
        self.journal_failed = true;
    }
}
