//! Maps addresses to zones, tracks, and the angle at which each track begins.

use esker_core::Nanos;

use self::spares::Spares;
use crate::{DiskError, DiskSettings, LayoutSettings, Rotation, SeekCurve, SpareUnit, ZoneSettings};

mod spares;

/// Where a sector lies on the platters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorPlace {
    /// Cylinder, from zero at the outer edge.
    pub cylinder: u32,
    /// Head, from zero.
    pub surface: u32,
    /// Index on the track, in order of addresses.
    pub sector: u32,
    /// Number of consecutive sectors from this one on, including it: to the end of the track, to the end of the zone's
    /// addresses, or to the next sector that is left out.
    pub run: u32,
    /// Angle at which the sector begins.
    pub angle: u64,
    /// Angle that the sector covers.
    pub sector_angle: u64,
}

/// The map from addresses to places on the platters.
#[derive(Clone, Debug)]
pub struct Geometry {
    zones: Vec<Zone>,
    surfaces: u32,
    group: u32,
    layout: LayoutSettings,
    cylinders: u32,
    sectors: u64,
}

#[derive(Clone, Debug)]
struct Zone {
    /// The first address, and one past the last address.
    first: u64,
    end: u64,
    first_cylinder: u32,
    cylinders: u32,
    sectors_per_track: u32,
    sector_angle: u64,
    /// Angle of the first sector.
    angle: u64,
    /// Sectors without addresses; `None` if these are only spares at the end of the zone.
    spares: Option<Spares>,
    /// Angles by which the first sector lags from track to track, and from cylinder to cylinder.
    track_skew: u64,
    cylinder_skew: u64,
    /// Angle from the start of a whole group to the start of the next.
    per_group: u64,
    /// Groups that count before the zone's first group if surfaces alternate.
    groups_before: u32,
}

const CYLINDERS_MAX: u32 = 1 << 22;
const SURFACES_MAX: u32 = 64;

/// Checks the number of surfaces of a disk.
pub(crate) fn check_surfaces(surfaces: u32) -> Result<(), DiskError> {
    if (1..=SURFACES_MAX).contains(&surfaces) {
        return Ok(());
    }
    Err(DiskError::OutOfRange { key: "surfaces", expected: "1 to 64", found: surfaces.to_string() })
}
const SECTORS_PER_TRACK_MAX: u32 = 1 << 20;

impl Geometry {
    /// Lays out the zones of `settings`.
    ///
    /// # Errors
    /// Numbers beyond what the model represents, and zones without addresses.
    pub fn new(settings: &DiskSettings, rotation: &Rotation, seek: &SeekCurve) -> Result<Self, DiskError> {
        let surfaces = settings.surfaces;
        let group = settings.layout.cylinders_per_group;
        let within = |key, found: u32, most: u32, expected| {
            if (1..=most).contains(&found) {
                Ok(())
            } else {
                Err(DiskError::OutOfRange { key, expected, found: found.to_string() })
            }
        };
        check_surfaces(surfaces)?;
        within("layout.cylinders_per_group", group, 1 << 16, "1 to 65,536")?;
        within("layout.spare_range", settings.layout.spare_range, CYLINDERS_MAX, "1 to 4,194,304")?;
        if group > 1 && settings.layout.spare_unit != SpareUnit::Zone {
            let (key, expected) = ("layout.spare_unit", "\"zone\" if layout.cylinders_per_group is over 1");
            return Err(DiskError::OutOfRange { key, expected, found: "another".to_string() });
        }
        if settings.zones.is_empty() {
            let key = "zones";
            return Err(DiskError::OutOfRange { key, expected: "at least one zone", found: "an empty list".into() });
        }
        // A group wider than the disk is never left. The seek curve is only checked up to the width of the disk.
        let width = settings.zones.iter().fold(0u32, |sum, zone| sum.saturating_add(zone.cylinders)).max(1);
        let same_head = settings.layout.alternate_surfaces || surfaces == 1;
        let reach = |distance, same_head| {
            let switch = if same_head { Nanos::ZERO } else { settings.head_switch };
            (seek.time(distance).max(switch) + settings.write_settle).saturating_sub(settings.write_advance)
        };
        let switches = Switches {
            track: reach(0, false),
            cylinder: reach(1, same_head || group > 1),
            group: reach(group.min(width), same_head),
        };
        let mut geometry = Self {
            zones: Vec::with_capacity(settings.zones.len()),
            surfaces,
            group,
            layout: settings.layout,
            cylinders: 0,
            sectors: 0,
        };
        for (index, zone) in settings.zones.iter().enumerate() {
            geometry.add_zone(index, zone, rotation, switches)?;
        }
        Ok(geometry)
    }

    fn add_zone(
        &mut self,
        index: usize,
        zone: &ZoneSettings,
        rotation: &Rotation,
        switches: Switches,
    ) -> Result<(), DiskError> {
        let refuse =
            |key, expected, found: u32| Err(DiskError::Zone { zone: index, key, expected, found: u64::from(found) });
        let left = CYLINDERS_MAX - self.cylinders;
        if zone.cylinders == 0 || zone.cylinders > left {
            return refuse("cylinders", "at least 1, and at most 4,194,304 in all zones", zone.cylinders);
        }
        if zone.unused_cylinders > left - zone.cylinders {
            return refuse("unused_cylinders", "at most 4,194,304 cylinders in all zones", zone.unused_cylinders);
        }
        if !(1..=SECTORS_PER_TRACK_MAX).contains(&zone.sectors_per_track) {
            return refuse("sectors_per_track", "1 to 1,048,576", zone.sectors_per_track);
        }
        let addresses = Spares::addresses(&self.layout, self.surfaces, zone);
        let Some(addresses) = addresses.filter(|&addresses| addresses > 0) else {
            return refuse("spare_sectors", "fewer than all sectors of their unit", zone.spare_sectors);
        };
        let spares = Spares::new(&self.layout, self.surfaces, zone).map_err(|key| DiskError::Zone {
            zone: index,
            key,
            expected: Spares::EXPECTED,
            found: zone.slips.len() as u64,
        })?;
        let sector_angle = Rotation::TURN / u64::from(zone.sectors_per_track);
        let skew = |given: Option<u32>, switch: Nanos| {
            // The number of sectors that pass during the switch. Whole turns do not matter.
            let sectors = rotation.angle_of(switch).div_ceil(u128::from(sector_angle));
            let sectors = given.map_or(sectors, u128::from) % u128::from(zone.sectors_per_track);
            sectors as u64 * sector_angle
        };
        let cylinder_skew = skew(zone.cylinder_skew, switches.cylinder);
        // With one cylinder per group, the next group is the next cylinder.
        let group_skew = if self.group == 1 { cylinder_skew } else { skew(zone.group_skew, switches.group) };
        let mut laid_out = Zone {
            first: self.sectors,
            end: self.sectors + addresses,
            first_cylinder: self.cylinders,
            cylinders: zone.cylinders,
            sectors_per_track: zone.sectors_per_track,
            sector_angle,
            angle: u64::from(zone.first_sector_offset % zone.sectors_per_track) * sector_angle,
            spares,
            track_skew: skew(zone.track_skew, switches.track),
            cylinder_skew,
            per_group: 0,
            groups_before: if self.layout.alternate_across_zones { self.cylinders } else { 0 },
        };
        laid_out.per_group = laid_out.group_to_group(self.surfaces, self.group, group_skew);
        self.zones.push(laid_out);
        self.sectors += addresses;
        self.cylinders += zone.cylinders + zone.unused_cylinders;
        Ok(())
    }

    /// Returns the number of addresses on the disk, in sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Returns the number of cylinders, including unused ones.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Returns the place of sector `address`, which has to be below [`Geometry::sectors`].
    #[inline]
    pub fn locate(&self, address: u64) -> SectorPlace {
        let zone = &self.zones[self.zones.partition_point(|zone| zone.first <= address) - 1];
        debug_assert!(address < zone.end, "sector {address} is beyond the disk");
        let (within, together) = match &zone.spares {
            None => (address - zone.first, zone.end - address),
            Some(spares) => {
                let (within, together) = spares.locate(address - zone.first);
                (within, together.min(zone.end - address))
            }
        };
        // At most 2^28 tracks.
        let track = (within / u64::from(zone.sectors_per_track)) as u32;
        let sector = (within % u64::from(zone.sectors_per_track)) as u32;
        let (group, position, along, cylinder) = if self.group == 1 {
            let group = track / self.surfaces;
            (group, track % self.surfaces, 0, group)
        } else {
            self.locate_in_group(zone, track)
        };
        let reversed = self.layout.alternate_surfaces && (group + zone.groups_before) % 2 == 1;
        let surface = if reversed { self.surfaces - 1 - position } else { position };
        // Wraps at 2^64, which is a whole number of turns.
        let mut skew = zone
            .per_group
            .wrapping_mul(u64::from(group))
            .wrapping_add(
                zone.per_surface(self.group.min(zone.cylinders - group * self.group)).wrapping_mul(u64::from(position)),
            )
            .wrapping_add(zone.cylinder_skew.wrapping_mul(u64::from(along)))
            .wrapping_add(zone.angle);
        if let Some(spares) = &zone.spares {
            skew = skew.wrapping_add(spares.shift(track).wrapping_mul(zone.sector_angle));
        }
        SectorPlace {
            cylinder: zone.first_cylinder + cylinder,
            surface,
            sector,
            run: u64::from(zone.sectors_per_track - sector).min(together) as u32,
            angle: skew.wrapping_add(u64::from(sector) * zone.sector_angle) % Rotation::TURN,
            sector_angle: zone.sector_angle,
        }
    }

    /// Returns the first address after the track of `address`, if the disk has that address.
    pub fn track_end(&self, address: u64) -> u64 {
        let start = self.locate(address);
        self.end_while(address, |place| (place.cylinder, place.surface) == (start.cylinder, start.surface))
    }

    /// Returns the first address after the cylinder of `address`.
    pub fn cylinder_end(&self, address: u64) -> u64 {
        let start = self.locate(address);
        self.end_while(address, |place| place.cylinder == start.cylinder)
    }

    fn end_while(&self, address: u64, within: impl Fn(&SectorPlace) -> bool) -> u64 {
        let mut next = address;
        while next < self.sectors {
            let place = self.locate(next);
            if !within(&place) {
                break;
            }
            next += u64::from(place.run);
        }
        next
    }

    /// Returns the group, the number of surfaces filled before within it, the number of tracks filled before on the
    /// surface, and the cylinder within the zone.
    fn locate_in_group(&self, zone: &Zone, track: u32) -> (u32, u32, u32, u32) {
        let group = track / (self.group * self.surfaces);
        let rest = track - group * self.group * self.surfaces;
        // The last group of a zone may have fewer cylinders.
        let cylinders = self.group.min(zone.cylinders - group * self.group);
        let (position, along) = (rest / cylinders, rest % cylinders);
        let offset = if position % 2 == 1 { cylinders - 1 - along } else { along };
        (group, position, along, group * self.group + offset)
    }
}

#[derive(Clone, Copy)]
struct Switches {
    track: Nanos,
    cylinder: Nanos,
    group: Nanos,
}

impl Zone {
    /// Returns the angle from the start of one surface's tracks in a group to the start of the next surface's.
    #[inline]
    fn per_surface(&self, cylinders: u32) -> u64 {
        self.cylinder_skew.wrapping_mul(u64::from(cylinders - 1)).wrapping_add(self.track_skew)
    }

    /// Returns the angle from the start of a whole group to the start of the next.
    fn group_to_group(&self, surfaces: u32, group: u32, group_skew: u64) -> u64 {
        self.per_surface(group).wrapping_mul(u64::from(surfaces)).wrapping_sub(self.track_skew).wrapping_add(group_skew)
    }
}
