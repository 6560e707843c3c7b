//! Arm, heads and platters: how long an access takes from where they stand.

use esker_core::Nanos;

use crate::{DiskError, DiskSettings, Geometry, Place, Rotation, RotationSpeed, SeekCurve};

/// One access, in its parts: the three times add up to the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Cylinders that the arm passed before the first sector.
    pub cylinders: u32,
    /// Moving the arm, changing heads and settling.
    pub seek: Nanos,
    /// Waiting for the first sector, and before that for the data to write.
    pub rotation: Nanos,
    /// From the begin of the first sector to the end of the last, track changes included.
    pub transfer: Nanos,
    /// Time that one sector takes under the head, rounded down.
    pub sector: Nanos,
}

impl Access {
    /// From the begin of the move to the end of the last sector.
    pub fn total(&self) -> Nanos {
        self.seek + self.rotation + self.transfer
    }
}

/// The moving parts and their state.
#[derive(Clone, Debug)]
pub struct Mechanics {
    geometry: Geometry,
    rotation: Rotation,
    seek: SeekCurve,
    head_switch: Nanos,
    write_settle: Nanos,
    cylinder: u32,
    surface: u32,
}

impl Mechanics {
    /// The mechanics of `settings`, arm at cylinder 0 and surface 0.
    ///
    /// # Errors
    /// Any number that the model cannot represent.
    pub fn new(settings: &DiskSettings) -> Result<Self, DiskError> {
        let speed = settings.rotation_speed;
        if !(RotationSpeed::rpm(60)..=RotationSpeed::rpm(1_000_000)).contains(&speed) {
            let (key, expected) = ("rotation_speed", "60rpm to 1000000rpm");
            return Err(DiskError::OutOfRange { key, expected, found: speed.to_string() });
        }
        for (key, time) in [("head_switch", settings.head_switch), ("write_settle", settings.write_settle)] {
            if time > Nanos::from_secs(1) {
                return Err(DiskError::OutOfRange { key, expected: "at most 1s", found: time.to_string() });
            }
        }
        let rotation = Rotation::new(speed);
        let cylinders = settings
            .zones
            .iter()
            .fold(0u32, |sum, zone| sum.saturating_add(zone.cylinders).saturating_add(zone.unused_cylinders));
        let seek = SeekCurve::new(&settings.seek, cylinders.max(1))?;
        let geometry = Geometry::new(settings, &rotation, &seek)?;
        Ok(Self {
            geometry,
            rotation,
            seek,
            head_switch: settings.head_switch,
            write_settle: settings.write_settle,
            cylinder: 0,
            surface: 0,
        })
    }

    /// The map of addresses.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The platters.
    pub fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    /// The arm's times.
    pub fn seek_curve(&self) -> &SeekCurve {
        &self.seek
    }

    /// Where the arm stands.
    pub fn cylinder(&self) -> u32 {
        self.cylinder
    }

    /// Time until the head is over the first of the sectors from `start`, were it sent there at `now`.
    pub fn positioning_time(&self, now: Nanos, start: u64, write: bool) -> Nanos {
        let place = self.geometry.locate(start);
        let seek = self.move_time(self.cylinder, self.surface, &place, write);
        seek + self.rotation.time(self.wait(now + seek, &place))
    }

    /// Reads or writes `sectors` (at least one, all within the disk) from `start`, beginning at `now`, and leaves
    /// the head behind the last. The arm moves at once, but the head touches no sector before `data`, when the data
    /// to write are there. Sector by sector: where a track ends, the next one is reached by a head switch or a seek
    /// and its first sector waited for.
    #[inline]
    pub fn access(&mut self, now: Nanos, data: Nanos, start: u64, sectors: u64, write: bool) -> Access {
        let place = self.geometry.locate(start);
        let cylinders = place.cylinder.abs_diff(self.cylinder);
        let seek = self.move_time(self.cylinder, self.surface, &place, write);
        let settled = data.max(now + seek);
        let wait = self.wait(settled, &place);
        let run = sectors.min(u64::from(place.run));
        // All angles are added before the one division: rounding never adds up.
        let mut end = settled + self.rotation.time(wait + run * place.sector_angle);
        (self.cylinder, self.surface) = (place.cylinder, place.surface);
        let mut next = start + run;
        while next < start + sectors {
            let place = self.geometry.locate(next);
            let settled = end + self.move_time(self.cylinder, self.surface, &place, write);
            let run = (start + sectors - next).min(u64::from(place.run));
            end = settled + self.rotation.time(self.wait(settled, &place) + run * place.sector_angle);
            (self.cylinder, self.surface) = (place.cylinder, place.surface);
            next += run;
        }
        let first = settled + self.rotation.time(wait);
        let (rotation, transfer) = (first - (now + seek), end - first);
        Access { cylinders, seek, rotation, transfer, sector: self.rotation.time(place.sector_angle) }
    }

    /// Reads on from sector `next` up to `limit`, beginning at `from`, for as long as `until` allows. Gives the sector
    /// it has not read whole, and when the one before it ended; the head stays there.
    pub fn read_on(&mut self, from: Nanos, next: u64, limit: u64, until: Nanos) -> (u64, Nanos) {
        let (mut next, mut at) = (next, from);
        while next < limit {
            let place = self.geometry.locate(next);
            let settled = at + self.move_time(self.cylinder, self.surface, &place, false);
            if settled >= until {
                break;
            }
            (self.cylinder, self.surface) = (place.cylinder, place.surface);
            let wait = self.wait(settled, &place);
            let run = (limit - next).min(u64::from(place.run));
            let passed = self.rotation.angle_of(until - settled).saturating_sub(u128::from(wait));
            let read = (passed / u128::from(place.sector_angle)).min(u128::from(run)) as u64;
            if read == 0 {
                at = settled;
                break;
            }
            at = settled + self.rotation.time(wait + read * place.sector_angle);
            next += read;
            if read < run {
                break;
            }
        }
        (next, at)
    }

    /// Angle from where the platters stand at `now` to the begin of `place`.
    #[inline]
    fn wait(&self, now: Nanos, place: &Place) -> u64 {
        Rotation::ahead(self.rotation.angle_at(now), place.angle)
    }

    /// The longer of seek and head switch, plus settling for a write; nothing on the same track.
    #[inline]
    fn move_time(&self, cylinder: u32, surface: u32, to: &Place, write: bool) -> Nanos {
        let switch = if to.surface == surface { Nanos::ZERO } else { self.head_switch };
        let distance = to.cylinder.abs_diff(cylinder);
        if distance == 0 && to.surface == surface {
            return Nanos::ZERO;
        }
        let settle = if write { self.write_settle } else { Nanos::ZERO };
        self.seek.time(distance).max(switch) + settle
    }
}
