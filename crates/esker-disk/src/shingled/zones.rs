//! The place of each zone on the platters, and how far it has been written.

use std::ops::Range;

/// The zones of the host's addresses. There is one more place than zones: a zone that is cleaned is rewritten to the
/// free place, and leaves its own place free.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    zone_sectors: u64,
    /// Sectors of the media cache, which lies before all places.
    before: u64,
    zones: Vec<Zone>,
    free: u32,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    place: u32,
    /// Number of sectors from its start that have been written.
    written: u64,
}

impl Zones {
    pub(super) fn new(count: u32, zone_sectors: u64, before: u64) -> Self {
        let zones = (0..count).map(|place| Zone { place, written: 0 }).collect();
        Self { zone_sectors, before, zones, free: count }
    }

    pub(super) fn sectors(&self) -> u64 {
        self.zones.len() as u64 * self.zone_sectors
    }

    /// Returns the zone of an address.
    pub(super) fn of(&self, address: u64) -> usize {
        (address / self.zone_sectors) as usize
    }

    /// Returns the addresses of a zone.
    pub(super) fn range(&self, zone: usize) -> Range<u64> {
        zone as u64 * self.zone_sectors..(zone as u64 + 1) * self.zone_sectors
    }

    /// Splits `range` into parts that lie in one zone each.
    pub(super) fn split(&self, range: Range<u64>) -> impl Iterator<Item = (usize, Range<u64>)> + use<> {
        let zone_sectors = self.zone_sectors;
        let mut next = range.start;
        std::iter::from_fn(move || {
            let zone = next / zone_sectors;
            let part = next..range.end.min((zone + 1) * zone_sectors);
            next = part.end;
            (part.start < part.end).then_some((zone as usize, part))
        })
    }

    /// Returns the address of the first sector of `zone` that has not been written.
    pub(super) fn pointer(&self, zone: usize) -> u64 {
        zone as u64 * self.zone_sectors + self.zones[zone].written
    }

    /// Moves the write pointer of `zone` to `address`.
    pub(super) fn wrote_to(&mut self, zone: usize, address: u64) {
        self.zones[zone].written = address - zone as u64 * self.zone_sectors;
    }

    /// Returns the sector of the platters that belongs to an address.
    pub(super) fn home(&self, address: u64) -> u64 {
        self.in_place(self.zones[self.of(address)].place, address)
    }

    /// Returns the sector of the platters where an address will lie once its zone has been cleaned.
    pub(super) fn new_home(&self, address: u64) -> u64 {
        self.in_place(self.free, address)
    }

    fn in_place(&self, place: u32, address: u64) -> u64 {
        self.before + u64::from(place) * self.zone_sectors + address % self.zone_sectors
    }

    /// Assigns `zone` the place to which it was rewritten.
    pub(super) fn exchange(&mut self, zone: usize) {
        std::mem::swap(&mut self.zones[zone].place, &mut self.free);
    }

    /// Sets how far zones have been written: the first `sectors` sectors of the disk.
    pub(super) fn fill(&mut self, sectors: u64) {
        for (index, zone) in self.zones.iter_mut().enumerate() {
            zone.written = sectors.saturating_sub(index as u64 * self.zone_sectors).min(self.zone_sectors);
        }
    }
}
