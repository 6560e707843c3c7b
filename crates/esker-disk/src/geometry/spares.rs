//! Sectors of a zone that have no addresses: the drive's own, spares, and defective ones that are left out.

use crate::{LayoutSettings, SpareUnit, ZoneSettings};

/// Maps the number of an address within its zone to the number of its sector.
#[derive(Clone, Debug)]
pub(super) struct Spares {
    front: u64,
    unit_sectors: u64,
    unit_addresses: u64,
    /// Spares at the start of each unit.
    unit_front: u64,
    sectors_per_track: u64,
    slips: Vec<Slip>,
    /// Number of tracks that share their shift. `None` if slips shift no tracks.
    shift_tracks: Option<u64>,
}

/// Sectors that are left out.
#[derive(Clone, Copy, Debug)]
struct Slip {
    /// The first of these sectors, less those that are left out before it in its unit: addresses from here on lie
    /// behind the slip.
    at: u64,
    /// The first of these sectors.
    first: u64,
    /// Number of sectors that are left out up to the end of this slip, in its unit and in the zone.
    in_unit: u64,
    in_zone: u64,
}

impl Spares {
    /// The requirements for slips, for error messages.
    pub(super) const EXPECTED: &'static str =
        "sectors of the zone in rising order, in each unit no more than its spare sectors";

    /// Returns the number of sectors of a unit of `zone`.
    fn unit(layout: &LayoutSettings, surfaces: u32, zone: &ZoneSettings) -> u64 {
        let track = u64::from(zone.sectors_per_track);
        let cylinder = track * u64::from(surfaces);
        match layout.spare_unit {
            SpareUnit::Zone => cylinder * u64::from(zone.cylinders),
            SpareUnit::Range => cylinder * u64::from(layout.spare_range.min(zone.cylinders)),
            SpareUnit::Cylinder => cylinder,
            SpareUnit::Track => track,
        }
    }

    /// Returns the number of addresses of `zone`; `None` if a unit or the whole zone has none. The cylinders after the
    /// last whole range have no spares.
    pub(super) fn addresses(layout: &LayoutSettings, surfaces: u32, zone: &ZoneSettings) -> Option<u64> {
        let unit = Self::unit(layout, surfaces, zone);
        let raw = u64::from(zone.cylinders) * u64::from(surfaces) * u64::from(zone.sectors_per_track);
        let of_unit = unit.checked_sub(u64::from(zone.spare_sectors)).filter(|&left| left > 0)?;
        (raw / unit * of_unit + (raw % unit).min(of_unit)).checked_sub(u64::from(zone.front_sectors))
    }

    /// Returns `None` if only the end of the zone has no addresses.
    ///
    /// # Errors
    /// `"slips"` if these do not lie in the zone, are not in order, or are more than there are spares.
    pub(super) fn new(
        layout: &LayoutSettings,
        surfaces: u32,
        zone: &ZoneSettings,
    ) -> Result<Option<Self>, &'static str> {
        let at_the_end = layout.spare_unit == SpareUnit::Zone && !layout.spares_first;
        if at_the_end && zone.front_sectors == 0 && zone.slips.is_empty() {
            return Ok(None);
        }
        let unit_sectors = Self::unit(layout, surfaces, zone);
        let raw = u64::from(zone.cylinders) * u64::from(surfaces) * u64::from(zone.sectors_per_track);
        let (mut slips, mut unit, mut in_unit, mut in_zone, mut next) = (Vec::<Slip>::new(), 0, 0, 0, 0);
        for &(first, count) in &zone.slips {
            let end = first.checked_add(u64::from(count)).filter(|&end| end <= raw && count > 0).ok_or("slips")?;
            if first < next || first / unit_sectors != (end - 1) / unit_sectors {
                return Err("slips");
            }
            if first / unit_sectors != unit {
                (unit, in_unit) = (first / unit_sectors, 0);
            }
            let at = first - in_unit;
            in_unit += u64::from(count);
            in_zone += u64::from(count);
            // The cylinders after the last whole range have no spares.
            let left = unit_sectors.min(raw - unit * unit_sectors);
            if in_unit > left.saturating_sub(unit_sectors - u64::from(zone.spare_sectors)) {
                return Err("slips");
            }
            slips.push(Slip { at, first, in_unit, in_zone });
            next = end;
        }
        let spare = u64::from(zone.spare_sectors);
        let track = u64::from(zone.sectors_per_track);
        let tracks = if layout.spare_unit == SpareUnit::Track { 1 } else { u64::from(surfaces) };
        Ok(Some(Self {
            front: u64::from(zone.front_sectors),
            unit_sectors,
            unit_addresses: unit_sectors - spare,
            unit_front: if layout.spares_first { spare } else { 0 },
            sectors_per_track: track,
            slips,
            shift_tracks: layout.slips_shift_tracks.then_some(tracks),
        }))
    }

    /// Returns the sector of address `within` of the zone, and the number of addresses from it on whose sectors are
    /// consecutive.
    #[inline]
    pub(super) fn locate(&self, within: u64) -> (u64, u64) {
        let address = within + self.front;
        let (unit, rest) = (address / self.unit_addresses, address % self.unit_addresses);
        let start = unit * self.unit_sectors;
        let sector = start + self.unit_front + rest;
        let after = self.slips.partition_point(|slip| slip.at <= sector);
        let slipped = match after.checked_sub(1).map(|index| self.slips[index]) {
            Some(slip) if slip.first >= start => slip.in_unit,
            _ => 0,
        };
        let to_slip = self.slips.get(after).map_or(u64::MAX, |slip| slip.at - sector);
        (sector + slipped, to_slip.min(self.unit_addresses - rest))
    }

    /// Returns the number of sectors by which earlier slips move the start of `track`.
    #[inline]
    pub(super) fn shift(&self, track: u32) -> u64 {
        let Some(together) = self.shift_tracks else { return 0 };
        let cut = u64::from(track) / together * together * self.sectors_per_track;
        let after = self.slips.partition_point(|slip| slip.first < cut);
        after.checked_sub(1).map_or(0, |index| self.slips[index].in_zone)
    }
}
