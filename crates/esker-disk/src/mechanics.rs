//! Arm, heads and platters, and how long an access takes from their present position.

use esker_core::Nanos;

use crate::{DiskError, DiskSettings, Geometry, Rotation, RotationSpeed, SectorPlace, SeekCurve};

/// One access and its parts. The three times add up to the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Cylinders that the arm passed before the first sector.
    pub cylinders: u32,
    /// Moving the arm, changing heads and settling.
    pub seek: Nanos,
    /// Waiting for the first sector, and before that for the data to write.
    pub rotation: Nanos,
    /// From the start of the first sector to the end of the last, including track changes.
    pub transfer: Nanos,
    /// Time of one sector under the head, rounded down.
    pub sector: Nanos,
}

impl Access {
    /// Returns the time from the start of the arm's move to the end of the last sector.
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
    write_advance: Nanos,
    cylinder: u32,
    surface: u32,
}

impl Mechanics {
    /// Creates the mechanics of `settings`, with the arm at cylinder 0 and surface 0.
    ///
    /// # Errors
    /// Any number that the model cannot represent.
    pub fn new(settings: &DiskSettings) -> Result<Self, DiskError> {
        let speed = settings.rotation_speed;
        if !(RotationSpeed::rpm(60)..=RotationSpeed::rpm(1_000_000)).contains(&speed) {
            let (key, expected) = ("rotation_speed", "60rpm to 1000000rpm");
            return Err(DiskError::OutOfRange { key, expected, found: speed.to_string() });
        }
        for (key, time) in [
            ("head_switch", settings.head_switch),
            ("write_settle", settings.write_settle),
            ("write_advance", settings.write_advance),
        ] {
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
            write_advance: settings.write_advance,
            cylinder: 0,
            surface: 0,
        })
    }

    /// Returns the map of addresses.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the platters.
    pub fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    /// Returns the seek curve.
    pub fn seek_curve(&self) -> &SeekCurve {
        &self.seek
    }

    /// Returns the cylinder of the arm.
    pub fn cylinder(&self) -> u32 {
        self.cylinder
    }

    /// Returns the time until the head would be over the sector at `place` if it were sent there at `now`.
    #[inline]
    pub fn positioning_time(&self, now: Nanos, place: &SectorPlace, write: bool) -> Nanos {
        let seek = self.move_time(self.cylinder, self.surface, place, write);
        seek + self.rotation.time(self.wait(now + seek, place))
    }

    /// Reads or writes `sectors` (at least one, all within the disk) from `start`, beginning at `now`, and leaves the
    /// head after the last sector. The arm moves at once. A write begins no earlier than `data`, when its data arrive.
    /// At the end of a track, the head reaches the next one by a head switch or a seek, and waits for its first sector.
    #[inline]
    pub fn access(&mut self, now: Nanos, data: Nanos, start: u64, sectors: u64, write: bool) -> Access {
        let place = self.geometry.locate(start);
        let cylinders = place.cylinder.abs_diff(self.cylinder);
        let seek = self.move_time(self.cylinder, self.surface, &place, write);
        let settled = data.max(now + seek);
        let wait = self.wait(settled, &place);
        let run = sectors.min(u64::from(place.run));
        // Angles are added up before the single division, so that rounding errors do not accumulate.
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

    /// Reads on from sector `next` up to `limit`, from the time `from` until `until`. Returns the first sector that was
    /// not read completely, and when the sector before it ended. The head stays there.
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

    /// Returns the angle from the position of the platters at `now` to the start of `place`.
    #[inline]
    fn wait(&self, now: Nanos, place: &SectorPlace) -> u64 {
        Rotation::ahead(self.rotation.angle_at(now), place.angle)
    }

    /// Returns the longer of seek and head switch, plus settling for a write; zero on the same track.
    #[inline]
    fn move_time(&self, cylinder: u32, surface: u32, to: &SectorPlace, write: bool) -> Nanos {
        let switch = if to.surface == surface { Nanos::ZERO } else { self.head_switch };
        let distance = to.cylinder.abs_diff(cylinder);
        if distance == 0 && to.surface == surface {
            return Nanos::ZERO;
        }
        let reached = self.seek.time(distance).max(switch);
        if write { (reached + self.write_settle).saturating_sub(self.write_advance) } else { reached }
    }
}
