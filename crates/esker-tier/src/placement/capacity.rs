//! The capacity that the host is offered, and whether the policy's shares fit into the devices.

use esker_core::Bytes;

use super::{PlacementEngine, SettingsError};
use crate::engine::Engine;
use crate::extent::DeviceIndex;

/// A policy asks a device to hold a share of the extents that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnmetShare {
    /// The device.
    pub device: DeviceIndex,
    /// Extents that it would have to hold if all extents of the host had data.
    pub wanted: u32,
    /// Extents that fit into it.
    pub holds: u32,
    /// The largest capacity with which every share fits into its device; zero if there is none.
    pub fitting: Bytes,
}

impl PlacementEngine {
    /// Offers the host only the first `capacity` bytes, in whole extents. The rest of the devices stays free. Only
    /// before any data lie there (asserted).
    ///
    /// # Errors
    /// If that is less than an extent, or more than the devices hold.
    pub fn offer(&mut self, capacity: Bytes) -> Result<(), SettingsError> {
        let holds = self.capacity();
        let extents = capacity.0 / self.extent;
        if extents == 0 || capacity > holds {
            return Err(SettingsError::Capacity { capacity, holds, extent: Bytes(self.extent) });
        }
        self.map.resize(extents as u32);
        Ok(())
    }

    /// The first device that would be too small for its share if all extents of the host had data. `None` if every
    /// share fits, and for policies without fixed shares.
    pub fn unmet_share(&self) -> Option<UnmetShare> {
        let sizes: Vec<u32> = self.map.sizes().collect();
        let shares = |extents: u32| self.policy.shares(extents, Bytes(self.extent), sizes.len());
        let too_small = |shares: &[u32]| shares.iter().zip(&sizes).position(|(share, size)| share > size);
        let wanted = shares(self.map.len())?;
        let device = too_small(&wanted)?;
        // Shares grow with the number of extents: search between a number that fits and one that does not.
        let (mut fits, mut does_not) = (0, self.map.len());
        while does_not - fits > 1 {
            let middle = fits + (does_not - fits) / 2;
            match shares(middle).is_some_and(|shares| too_small(&shares).is_none()) {
                true => fits = middle,
                false => does_not = middle,
            }
        }
        Some(UnmetShare {
            device: DeviceIndex(device as u16),
            wanted: wanted[device],
            holds: sizes[device],
            fitting: Bytes(u64::from(fits) * self.extent),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementSettings;

    fn engine(devices: &[u64], policy: &str) -> PlacementEngine {
        let devices = devices.iter().map(|&kib| Bytes::kib(4 * kib)).collect();
        let policy = serde_json::from_str(policy).unwrap();
        PlacementEngine::new(&PlacementSettings { extent: Bytes::kib(4), devices, policy, free_on_trim: false })
            .unwrap()
    }

    #[test]
    fn a_share_that_goes_into_no_device_is_told_with_what_would_do() {
        let mut split = engine(&[100, 100], r#"{"kind":"static-split","weights":[3,1]}"#);
        let unmet = split.unmet_share().unwrap();
        // Turns 0, 0, 1, 0: after 133 extents the first device holds 100, and would have to hold the next one.
        assert_eq!((unmet.device, unmet.wanted, unmet.holds), (DeviceIndex(0), 150, 100));
        assert_eq!(unmet.fitting, Bytes::kib(4 * 133));
        split.offer(unmet.fitting).unwrap();
        assert_eq!((split.capacity(), split.unmet_share()), (unmet.fitting, None));
        let too_much = engine(&[100, 100], r#"{"kind":"static-split","weights":[3,1]}"#).offer(Bytes::kib(4 * 134));
        assert_eq!(too_much, Ok(()));
    }

    #[test]
    fn without_weights_no_share_is_asked_for() {
        assert_eq!(engine(&[10, 1000], r#"{"kind":"static-split"}"#).unmet_share(), None);
        assert_eq!(engine(&[100, 300], r#"{"kind":"static-split","weights":[1,3]}"#).unmet_share(), None);
    }

    #[test]
    fn what_is_offered_goes_into_the_devices() {
        let mut split = engine(&[100, 100], r#"{"kind":"static-split"}"#);
        assert!(split.offer(Bytes(4095)).is_err());
        let error = split.offer(Bytes::kib(804)).unwrap_err().to_string();
        assert_eq!(error, "`capacity` is 804KiB; the devices hold 800KiB, in whole pieces of one `extent` of 4KiB");
        split.offer(Bytes(400 * 1024 + 700)).unwrap();
        assert_eq!(split.capacity(), Bytes::kib(400));
    }
}
