//! Where each zone lies on the platters, and up to where it has been written.

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
    /// Sectors from its start that have been written.
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

    /// The zone of an address.
    pub(super) fn of(&self, address: u64) -> usize {
        (address / self.zone_sectors) as usize
    }

    /// The addresses of a zone.
    pub(super) fn range(&self, zone: usize) -> Range<u64> {
        zone as u64 * self.zone_sectors..(zone as u64 + 1) * self.zone_sectors
    }

    /// `range` in parts that lie in one zone each.
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

    /// The address of the first sector of `zone` that has not been written.
    pub(super) fn pointer(&self, zone: usize) -> u64 {
        zone as u64 * self.zone_sectors + self.zones[zone].written
    }

    /// Moves that on to `address`.
    pub(super) fn wrote_to(&mut self, zone: usize, address: u64) {
        self.zones[zone].written = address - zone as u64 * self.zone_sectors;
    }

    /// The sector of the platters where an address has its place.
    pub(super) fn home(&self, address: u64) -> u64 {
        self.in_place(self.zones[self.of(address)].place, address)
    }

    /// The sector of the platters where an address lies once its zone has been cleaned.
    pub(super) fn new_home(&self, address: u64) -> u64 {
        self.in_place(self.free, address)
    }

    fn in_place(&self, place: u32, address: u64) -> u64 {
        self.before + u64::from(place) * self.zone_sectors + address % self.zone_sectors
    }

    /// Makes the place to which `zone` was rewritten its own.
    pub(super) fn exchange(&mut self, zone: usize) {
        std::mem::swap(&mut self.zones[zone].place, &mut self.free);
    }

    /// Sets up to where zones have been written: the first `sectors` sectors of all.
    pub(super) fn fill(&mut self, sectors: u64) {
        for (index, zone) in self.zones.iter_mut().enumerate() {
            zone.written = sectors.saturating_sub(index as u64 * self.zone_sectors).min(self.zone_sectors);
        }
    }
}
