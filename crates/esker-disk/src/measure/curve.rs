//! The seek curve: which distances are measured, and between which tracks.

use super::bench::{Bench, median};
use super::layout::{FoundLayout, TrackOrder};
use super::seeks::{self, Way};
use super::zones::FoundZone;

/// Number of moves measured for each distance, at different places; the median counts.
const PLACES: usize = 5;
/// Factor from one distance to the next one, at first.
const STEP: f64 = 1.3;
/// If two neighbouring times differ by more than this share, another distance between them is measured.
const COARSE: f64 = 0.05;
/// How many times distances are added.
const LEVELS: usize = 9;

/// Seek times and the other times of the arm, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundSeeks {
    /// In the order of distances, which are in cylinders.
    pub(super) points: Vec<(u32, f64)>,
    /// Time to another surface of the same cylinder, if it was found.
    pub(super) head_switch: Option<f64>,
    /// Time that a read takes besides seek, rotation and transfer.
    pub(super) overhead: f64,
}

/// Returns the approximate number of reads that [`find`] takes.
pub(super) fn reads(bench: &Bench) -> usize {
    2 * 12 * PLACES * 100 + LEVELS * 12 * bench.forgets_after.get()
}

/// Measures the curve. `hit_ns` is the time of a read of one block that the buffer answers, if there is one.
pub(super) async fn find(bench: &Bench, zones: &[FoundZone], layout: &FoundLayout, hit_ns: Option<f64>) -> FoundSeeks {
    let mut map = Map { zones, layout, used: 0, bench };
    let overhead = match hit_ns {
        // Without a buffer, a sector that passes just after another one only waits for the overhead.
        None => map.time_of(|map| map.along_track()).await,
        // The first sector of the track passes just after the last one, unless spare sectors lie between them.
        Some(hit) if map.zone().per_turn() > map.zone().sectors_per_track as f64 => Some(hit),
        // A drive may take longer for data in its buffer than for other data, or the other way round.
        Some(hit) => map.time_of(|map| map.around_track()).await.or(Some(hit)),
    };
    let overhead = overhead.unwrap_or(0.0).max(0.0);
    let head_switch = match layout.order {
        TrackOrder::Unknown { surfaces: 1 } => None,
        _ => map.time_of(|map| map.next_surface()).await.map(|time| (time - overhead).max(0.0)),
    };
    let innermost = zones.iter().rev().find_map(|zone| zone.tracks.last()).map_or(1, |track| track.start);
    let last = map.cylinder_of(innermost).max(1);
    let mut distances = vec![1];
    while let Some(&distance) = distances.last().filter(|&&distance| distance < last) {
        distances.push(((distance as f64 * STEP) as u64).clamp(distance + 1, last));
    }
    let mut points: Vec<(u32, f64)> = Vec::new();
    for _ in 0..=LEVELS {
        points.extend(map.times(&distances, overhead).await);
        points.sort_by_key(|point| point.0);
        points.dedup_by_key(|point| point.0);
        let coarse = |pair: &&[(u32, f64)]| {
            pair[1].0 - pair[0].0 > 1 && (pair[1].1 - pair[0].1).abs() > COARSE * pair[0].1.max(1.0)
        };
        let between = |pair: &[(u32, f64)]| (f64::from(pair[0].0) * f64::from(pair[1].0)).sqrt().round() as u64;
        distances = points.windows(2).filter(coarse).map(between).collect();
        if distances.is_empty() {
            break;
        }
    }
    FoundSeeks { points, head_switch, overhead }
}

/// The positions of cylinders, as far as they are known.
struct Map<'a> {
    bench: &'a Bench,
    zones: &'a [FoundZone],
    layout: &'a FoundLayout,
    /// Number of ways made so far, so that no two of them begin at the same sector.
    used: u64,
}

impl Map<'_> {
    /// Returns the seek times, less `overhead`, of those of `distances` that could be measured.
    async fn times(&mut self, distances: &[u64], overhead: f64) -> Vec<(u32, f64)> {
        let mut ways = Vec::new();
        for &distance in distances {
            ways.extend((0..PLACES).filter_map(|_| self.over(distance)));
        }
        let only: Vec<Way> = ways.iter().map(|(_, way)| *way).collect();
        let times = seeks::least_times(self.bench, &only).await;
        let mut found: Vec<(u64, f64)> =
            ways.iter().zip(times).filter_map(|((distance, _), time)| Some((*distance, time? - overhead))).collect();
        found.sort_by_key(|(distance, _)| *distance);
        found
            .chunk_by(|one, other| one.0 == other.0)
            .map(|same| {
                (same[0].0 as u32, median(&mut same.iter().map(|(_, time)| *time).collect::<Vec<_>>()).max(0.0))
            })
            .collect()
    }

    /// Returns the median time of several ways of one kind.
    async fn time_of(&mut self, way: impl Fn(&mut Self) -> Option<Way>) -> Option<f64> {
        let ways: Vec<Way> = (0..2 * PLACES).filter_map(|_| way(self)).collect();
        let mut times: Vec<f64> = seeks::least_times(self.bench, &ways).await.into_iter().flatten().collect();
        (!times.is_empty()).then(|| median(&mut times))
    }

    /// Returns the number of cylinders of the disk.
    fn cylinders(&self) -> u64 {
        self.zones.iter().map(|zone| self.cylinders_of(zone)).sum()
    }

    fn cylinders_of(&self, zone: &FoundZone) -> u64 {
        (zone.end - zone.first) / (zone.sectors_per_track * self.layout.order.surfaces())
    }

    /// Returns a way over `distance` cylinders on one surface, or nearly as many: the actual distance, and the way.
    fn over(&mut self, distance: u64) -> Option<(u64, Way)> {
        let units = self.units();
        let near = match self.layout.order {
            TrackOrder::ByGroup { tracks, .. } => units * tracks / 2,
            _ => units / 2,
        };
        if distance > near {
            return self.far(distance).map(|way| (distance, way));
        }
        if let TrackOrder::ByGroup { tracks, .. } = self.layout.order {
            // An even number of groups further on, addresses are on the same surface, whether or not surfaces
            // alternate.
            let groups = (distance + tracks) / (2 * tracks) * 2;
            let (near, far) = (distance.saturating_sub(groups * tracks), (groups * tracks).saturating_sub(distance));
            let (from, to) = (far.min(tracks - 1), near.min(tracks - 1));
            let start = self.next_unit(units.saturating_sub(groups));
            let way = self.way((start, 0, from), (start + groups, 0, to));
            return Some((groups * tracks + to - from, way));
        }
        let start = self.next_unit(units - distance);
        Some((distance, self.way((start, 0, 0), (start + distance, 0, 0))))
    }

    /// Returns a way between two zones or two ends of one, where cylinders are only known to within a few. The arm goes
    /// to a track that was measured.
    fn far(&mut self, distance: u64) -> Option<Way> {
        let total = self.cylinders();
        let usual = |zone: &FoundZone| zone.sectors_per_track;
        let targets: Vec<(u64, u64, &FoundZone)> = self
            .zones
            .iter()
            .flat_map(|zone| zone.tracks.iter().map(move |track| (track, zone)))
            .filter(|(track, zone)| track.sectors == usual(zone))
            .map(|(track, zone)| (self.cylinder_of(track.start), track.start, zone))
            .filter(|(cylinder, ..)| *cylinder >= distance || cylinder + distance < total)
            .collect();
        let used = self.used;
        self.used += 1;
        let (cylinder, start, zone) = *targets.get(used as usize * 31 % targets.len().max(1))?;
        let outwards = cylinder >= distance && (cylinder + distance >= total || used.is_multiple_of(2));
        let from = if outwards { cylinder - distance } else { cylinder + distance };
        let from = self.address_of(from) + used % 16 * self.bench.block * 61;
        let from = self.bench.whole(from.min(self.bench.sectors - self.bench.block));
        Some(Way { from, track: start, sectors: zone.sectors_per_track, per_turn: zone.per_turn() })
    }

    /// Returns the approximate cylinder of an address.
    fn cylinder_of(&self, address: u64) -> u64 {
        let surfaces = self.layout.order.surfaces();
        let mut before = 0;
        for zone in self.zones {
            if address < zone.end {
                return before + (address - zone.first) / (zone.sectors_per_track * surfaces);
            }
            before += self.cylinders_of(zone);
        }
        before
    }

    /// Returns the approximate first address of a cylinder.
    fn address_of(&self, cylinder: u64) -> u64 {
        let surfaces = self.layout.order.surfaces();
        let mut left = cylinder;
        for zone in self.zones {
            let cylinders = self.cylinders_of(zone);
            if left < cylinders {
                return zone.first + left * zone.sectors_per_track * surfaces;
            }
            left -= cylinders;
        }
        self.bench.sectors - 1
    }

    /// Returns a way from a sector to other sectors of its track.
    fn along_track(&mut self) -> Option<Way> {
        let unit = self.next_unit(self.units());
        Some(self.way((unit, 0, 0), (unit, 0, 0)))
    }

    /// Returns a way from the last sector of a track to other sectors of it. Its first sector passes right after the
    /// last one, and read-ahead does not bring it.
    fn around_track(&mut self) -> Option<Way> {
        let way = self.along_track()?;
        Some(Way { from: way.track + self.bench.whole(way.sectors - self.bench.block), ..way })
    }

    /// Returns a way from a track to the next surface of the same cylinder.
    fn next_surface(&mut self) -> Option<Way> {
        let unit = self.next_unit(self.units());
        Some(match self.layout.order {
            // Tracks go along one surface and back along the next.
            TrackOrder::ByGroup { tracks, .. } => self.way((unit, 0, tracks - 1), (unit, 1, 0)),
            _ => self.way((unit, 0, 0), (unit, 1, 0)),
        })
    }

    fn zone(&self) -> &FoundZone {
        &self.zones[self.layout.zone]
    }

    /// Returns the number of groups, cylinders or tracks after the layout's anchor in its zone.
    fn units(&self) -> u64 {
        let zone = self.zone();
        let tracks = zone.end.saturating_sub(self.layout.anchor) / zone.sectors_per_track;
        (tracks / self.unit_tracks()).saturating_sub(1).max(1)
    }

    fn unit_tracks(&self) -> u64 {
        match self.layout.order {
            TrackOrder::ByGroup { surfaces, tracks } => surfaces * tracks,
            TrackOrder::ByCylinder { surfaces } | TrackOrder::Unknown { surfaces } => surfaces,
        }
    }

    /// Returns another one of the first `units` units each time.
    fn next_unit(&mut self, units: u64) -> u64 {
        self.used += 1;
        (self.used * 37) % units.max(1)
    }

    /// Returns a way between two tracks in the layout's zone. Each is given by its unit, its surface in the unit, and
    /// its track on the surface.
    fn way(&self, from: (u64, u64, u64), to: (u64, u64, u64)) -> Way {
        let zone = self.zone();
        let along = match self.layout.order {
            TrackOrder::ByGroup { tracks, .. } => tracks,
            _ => 1,
        };
        let track = |(unit, surface, track): (u64, u64, u64)| {
            self.layout.anchor + (unit * self.unit_tracks() + surface * along + track) * zone.sectors_per_track
        };
        let within = zone.sectors_per_track / 4 + self.used % 16 * (zone.sectors_per_track / 32);
        Way {
            from: self.bench.whole(track(from) + within),
            track: self.bench.whole(track(to)),
            sectors: zone.sectors_per_track,
            per_turn: zone.per_turn(),
        }
    }
}
