//! The capacity that is offered to the host, how it is filled before the first request, the extents that are kept free
//! for moves, and whether the policy's shares fit into the devices.

use esker_core::{Bytes, Ratio};

use super::map::RecordedPlace;
use super::{DeviceView, PlacementEngine, SettingsError};
use crate::engine::Engine;
use crate::extent::{DeviceIndex, LogicalExtent};

/// A policy wants a device to hold more extents than fit into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnmetShare {
    /// The device.
    pub device: DeviceIndex,
    /// Number of extents that it would have to hold if all extents of the host had data.
    pub wanted: u32,
    /// Number of extents that fit into it.
    pub holds: u32,
    /// The largest capacity of the volume with which every share fits into its device; zero if there is none.
    pub fitting: Bytes,
}

/// Share of each device that is kept free where a policy moves extents: five of a hundred extents can be copied to a
/// device before one has to leave it.
const RESERVE: Ratio = Ratio::percent(5);

impl PlacementEngine {
    /// Offers the host `capacity`, and keeps `reserve` of each device free so that extents can move there. By default,
    /// all is offered beside the reserve, which is 5% for policies that move extents if each device has several, and
    /// nothing for others.
    ///
    /// # Errors
    /// As [`offer`](Self::offer).
    pub fn offer_beside(&mut self, capacity: Option<Bytes>, reserve: Option<Ratio>) -> Result<(), SettingsError> {
        self.reserve = reserve;
        self.offer(capacity.unwrap_or_else(|| self.capacity_beside(self.reserve_now())))?;
        self.keep_reserve();
        Ok(())
    }

    /// Returns the share of each device that is to be kept free.
    fn reserve_now(&self) -> Ratio {
        let moves = self.needs_free_extents() && self.sizes_of_present().all(|size| size > 1);
        self.reserve.unwrap_or(if moves { RESERVE } else { Ratio::ZERO })
    }

    /// Returns the number of extents of each device but of those that were removed.
    fn sizes_of_present(&self) -> impl Iterator<Item = u32> {
        self.map.sizes().filter(|&size| size > 0)
    }

    /// Keeps the share of each device free that the settings or the policy ask for.
    pub(super) fn keep_reserve(&mut self) {
        self.keep_free(self.reserve_now());
    }

    /// Offers the host only the first `capacity` bytes, in whole extents. The rest of the devices stays free. No data
    /// may lie beyond (asserted).
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

    /// Keeps `share` of each device's extents free, rounded up, so that extents can move there: new extents get no
    /// place in the free part while another device has room. All offered extents have to find a place: if they leave
    /// less free, the share is reduced.
    pub fn keep_free(&mut self, share: Ratio) {
        let (all, offered): (u64, u64) = (self.map.sizes().map(u64::from).sum(), u64::from(self.map.len()));
        self.kept_free = share;
        if self.places_for_new() < offered {
            // Because of rounding up, each device may keep one extent more.
            let left = all.saturating_sub(offered + self.sizes_of_present().count() as u64);
            let left = Ratio::parts_per_billion((u128::from(left) * 1_000_000_000 / u128::from(all)) as u64);
            self.kept_free = share.min(left);
        }
    }

    /// Returns the capacity that can be offered to the host if each device keeps `share` of its extents free.
    pub fn capacity_beside(&self, share: Ratio) -> Bytes {
        let rest = self.map.sizes().map(|size| share.complement().of(u64::from(size)));
        Bytes(rest.sum::<u64>() * self.extent)
    }

    /// Returns the capacity that can be offered beside what the devices keep free, without those being drained.
    pub(super) fn largest_offer(&self) -> Bytes {
        let stays = |(index, _): &(usize, u32)| !self.is_drained(DeviceIndex(*index as u16));
        let sizes = self.map.sizes().enumerate().filter(stays);
        Bytes(sizes.map(|(_, size)| u64::from(size - self.kept_of(size))).sum::<u64>() * self.extent)
    }

    /// Returns how many extents a device of `size` extents keeps free.
    fn kept_of(&self, size: u32) -> u32 {
        let kept = u64::from(size) - self.kept_free.complement().of(u64::from(size));
        kept as u32
    }

    /// Returns how many extents of all devices new extents may take.
    fn places_for_new(&self) -> u64 {
        self.map.sizes().map(|size| u64::from(size - self.kept_of(size))).sum()
    }

    pub(super) fn update_views(&mut self) {
        self.views.clear();
        for ((device, &state), extents) in self.health.devices().iter().enumerate().zip(self.map.sizes()) {
            let drained = self.is_drained(DeviceIndex(device as u16));
            let (free_extents, under_way) = (self.map.free_extents(device), self.under_way[device]);
            self.views.push(DeviceView { extents, free_extents, state, drained, is_held: false, under_way });
        }
    }

    /// Updates the views for placing a new extent: extents that are kept free count as taken, if any device has room
    /// without them, and those of devices that are left asleep, if any other one has room.
    pub(super) fn update_views_for_new(&mut self) {
        self.update_views();
        if self.leaves_any_asleep() {
            self.hide_free_extents(true);
            if self.any_has_room() {
                return;
            }
            self.update_views();
        }
        if self.kept_free > Ratio::ZERO {
            self.hide_free_extents(false);
            if !self.any_has_room() {
                self.update_views();
            }
        }
    }

    fn any_has_room(&self) -> bool {
        self.views.iter().any(super::DeviceView::has_room)
    }

    /// Hides in the views the extents that are kept free; `of_asleep` if also all of devices that are left asleep.
    fn hide_free_extents(&mut self, of_asleep: bool) {
        for index in 0..self.views.len() {
            let hides_all = of_asleep && self.is_left_asleep(DeviceIndex(index as u16));
            let hidden = if hides_all { u32::MAX } else { self.kept_of(self.views[index].extents) };
            self.views[index].free_extents = self.views[index].free_extents.saturating_sub(hidden);
        }
    }

    /// Gives the first `share` of the extents places, as if they had been written. No request may be under way
    /// (asserted).
    pub(super) fn fill_extents(&mut self, share: Ratio) {
        assert!(self.ios.is_empty() && self.hosts.is_empty(), "requests are under way");
        let end = share.of(u64::from(self.map.len())).min(u64::from(self.map.len())) as u32;
        let mut next = vec![0; self.health.devices().len()];
        // Pinned extents go first: the others have to leave room for them.
        for pinned in [true, false] {
            for extent in (0..end).map(LogicalExtent) {
                let is_pinned = self.policy.is_pinned(Bytes(u64::from(extent.0) * self.extent));
                if is_pinned == pinned && self.map.place(extent).is_none() {
                    let device = self.choose(extent, None).expect("there are as many physical as logical extents");
                    let place = self.map.map_at(extent, device, next[device]);
                    next[device] = place.extent.0 + 1;
                    self.map.set_recorded(extent, RecordedPlace::Here);
                    self.tell_place(extent);
                }
            }
        }
        (0..end).map(LogicalExtent).for_each(|extent| self.map.blocks.record(self.map.blocks_of(extent)));
    }

    /// Returns true if the policy moves extents to devices that new extents may have filled.
    pub fn needs_free_extents(&self) -> bool {
        self.policy.needs_free_extents()
    }

    /// Returns the first device that would be too small for its share if all extents of the host had data. `None` if
    /// every share fits, or the policy has no fixed shares.
    pub fn unmet_share(&self) -> Option<UnmetShare> {
        let sizes: Vec<u32> = self.map.sizes().map(|size| size - self.kept_of(size)).collect();
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
    use esker_results::ExtentPlaces;

    use crate::placement::{PLACEMENTS, PlacementSettings};

    fn engine(devices: &[u64], policy: &str) -> PlacementEngine {
        let devices = devices.iter().map(|&kib| Bytes::kib(4 * kib)).collect();
        let policy = serde_json::from_str(policy).unwrap();
        PlacementEngine::new(&PlacementSettings {
            extent: Bytes::kib(4),
            devices,
            policy,
            policies: PLACEMENTS,
            free_on_trim: false,
        })
        .unwrap()
    }

    fn held(engine: &PlacementEngine) -> Vec<u64> {
        engine.placed().devices.iter().map(|device| device.extents).collect()
    }

    #[test]
    fn a_share_that_goes_into_no_device_is_told_with_what_would_do() {
        let mut split = engine(&[100, 100], r#"{"kind":"static-split","weights":[3,1]}"#);
        let unmet = split.unmet_share().unwrap();
        // In turns 0, 0, 1, 0 the first device holds 100 of the first 133 extents, and would have to hold the next one.
        assert_eq!((unmet.device, unmet.wanted, unmet.holds), (DeviceIndex(0), 150, 100));
        assert_eq!(unmet.fitting, Bytes::kib(4 * 133));
        split.offer(unmet.fitting).unwrap();
        assert_eq!((split.capacity(), split.unmet_share()), (unmet.fitting, None));
        let too_much = engine(&[100, 100], r#"{"kind":"static-split","weights":[3,1]}"#).offer(Bytes::kib(4 * 134));
        assert_eq!(too_much, Ok(()));
    }

    /// Two devices of a hundred extents each keep ten free: of the new extents the first takes ninety, the second the
    /// rest.
    #[test]
    fn what_is_kept_free_takes_new_extents_last() {
        let mut first = engine(&[100, 100], r#"{"kind":"fast-first"}"#);
        first.offer(first.capacity_beside(Ratio::percent(10))).unwrap();
        first.keep_free(Ratio::percent(10));
        assert_eq!(first.capacity(), Bytes::kib(4 * 180));
        first.fill(Ratio::ONE);
        assert_eq!(held(&first), [90, 90]);
        // If the capacity leaves less free, each device keeps its part of what is left.
        let mut first = engine(&[100, 100], r#"{"kind":"fast-first"}"#);
        first.offer(Bytes::kib(4 * 190)).unwrap();
        first.keep_free(Ratio::percent(10));
        first.fill(Ratio::ONE);
        assert_eq!((first.capacity(), held(&first)), (Bytes::kib(4 * 190), vec![96, 94]));
        // Too little is left for both devices to keep anything.
        let mut first = engine(&[100, 100], r#"{"kind":"fast-first"}"#);
        first.offer(Bytes::kib(4 * 199)).unwrap();
        first.keep_free(Ratio::percent(10));
        first.fill(Ratio::ONE);
        assert_eq!(held(&first), [100, 99]);
    }

    /// A device that was removed has no extents, and keeps none of the others from keeping some free.
    #[test]
    fn a_device_that_was_removed_takes_no_reserve_away() {
        let with_reserve = |mut engine: PlacementEngine| {
            engine.offer_beside(Some(Bytes::kib(4 * 190)), None).unwrap();
            (engine.kept_free, engine.largest_offer())
        };
        let policy = r#"{"kind":"wardrop"}"#;
        let all = with_reserve(engine(&[100, 100], policy));
        assert_eq!(all, (RESERVE, Bytes::kib(4 * 190)));
        let removed = engine(&[100, 100, 100], policy).with_removed(DeviceIndex(2)).unwrap();
        assert_eq!(with_reserve(removed), all);
        // Too little is left for both to keep five extents.
        let tight = |mut engine: PlacementEngine| {
            engine.offer(Bytes::kib(4 * 196)).unwrap();
            engine.keep_free(RESERVE);
            engine.kept_free
        };
        let removed = engine(&[100, 100, 100], policy).with_removed(DeviceIndex(2)).unwrap();
        assert_eq!(tight(removed), tight(engine(&[100, 100], policy)));
    }

    #[test]
    fn shares_have_to_fit_beside_what_is_kept_free() {
        let mut split = engine(&[100, 300], r#"{"kind":"static-split","weights":[1,3]}"#);
        split.offer(split.capacity_beside(Ratio::percent(10))).unwrap();
        split.keep_free(Ratio::percent(10));
        assert_eq!((split.capacity(), split.unmet_share()), (Bytes::kib(4 * 360), None));
        let mut split = engine(&[100, 100], r#"{"kind":"static-split","weights":[3,1]}"#);
        split.offer(split.capacity_beside(Ratio::percent(10))).unwrap();
        split.keep_free(Ratio::percent(10));
        let unmet = split.unmet_share().unwrap();
        assert_eq!((unmet.wanted, unmet.holds), (135, 90));
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
