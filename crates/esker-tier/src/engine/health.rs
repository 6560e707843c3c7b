//! Which devices can still be believed.

use esker_core::{DeviceError, DeviceState, RequestKind};

use crate::extent::DeviceIndex;

/// The states of the devices and of the journal.
#[derive(Debug)]
pub(crate) struct Health {
    devices: Vec<DeviceState>,
    journal_failed: bool,
    /// Whether failures are forgotten, as a wrong twin for the tests.
    #[cfg(test)]
    pub(crate) forgives: bool,
}

impl Health {
    /// Of so many devices, all of them online.
    pub(crate) fn new(devices: usize) -> Self {
        Self {
            devices: vec![DeviceState::Online; devices],
            journal_failed: false,
            #[cfg(test)]
            forgives: false,
        }
    }

    pub(crate) fn devices(&self) -> &[DeviceState] {
        &self.devices
    }

    pub(crate) fn device(&self, device: DeviceIndex) -> DeviceState {
        self.devices[device.0 as usize]
    }

    /// The worst state of a device; failed, too, once the journal has.
    pub(crate) fn worst(&self) -> DeviceState {
        let journal = if self.journal_failed { DeviceState::Failed } else { DeviceState::Online };
        self.devices.iter().copied().fold(journal, DeviceState::max)
    }

    /// What the end of a request to `device` is worth: one that says that data may be lost fails the device, and what
    /// it writes or flushes after that counts for nothing, whatever it says.
    pub(crate) fn judge(
        &mut self,
        device: DeviceIndex,
        kind: RequestKind,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let failed = match result {
            Ok(()) if kind != RequestKind::Read && self.has_failed(device) => return Err(DeviceError::Failed),
            // It was not even begun.
            Ok(()) | Err(DeviceError::OutOfRange { .. } | DeviceError::Unsupported) => false,
            // Without power, what had not been flushed is gone.
            Err(DeviceError::Interrupted) => true,
            Err(_) => kind == RequestKind::Flush || kind.is_fua(),
        };
        if failed {
            self.devices[device.0 as usize] = DeviceState::Failed;
        }
        result
    }

    /// Whether nothing can be promised for `device` any more.
    pub(crate) fn has_failed(&self, device: DeviceIndex) -> bool {
        #[cfg(test)]
        if self.forgives {
            return false;
        }
        self.journal_failed || self.devices[device.0 as usize] == DeviceState::Failed
    }

    /// Takes what a device says of itself. What has failed stays so.
    pub(crate) fn learn(&mut self, device: DeviceIndex, state: DeviceState) {
        let known = &mut self.devices[device.0 as usize];
        if *known != DeviceState::Failed {
            *known = state;
        }
    }

    pub(crate) fn journal_failed(&self) -> bool {
        self.journal_failed
    }

    /// No record is kept any more.
    pub(crate) fn fail_journal(&mut self) {
        self.journal_failed = true;
    }
}
