//! Finds where tracks begin and end. Along a track, the angle grows evenly with the address. From one track to the
//! next, it jumps by the skew.

use super::bench::{Bench, Pair, centred};

/// The angle may be off by this share of a turn before that counts as a skew. Skews are at least as long as a head
/// switch, 0.2 ms or more.
const JUMP: f64 = 0.009;
/// First step from the base, in sectors. Less than half a turn on any track of more than 32 sectors.
const FIRST_STEP: u64 = 16;
/// How far before a place its reference lies, in sectors: more than a drive reads ahead between two commands.
const BEFORE: u64 = 2_048;

/// A track: a run of addresses that pass under one head within a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Track {
    /// First address, in sectors.
    pub(super) start: u64,
    /// Number of addresses on the track.
    pub(super) sectors: u64,
    /// Number of sectors that fit into a turn, including those without addresses.
    pub(super) per_turn: f64,
}

/// Finds a whole track after each of `places`, all of them in turn: while one place is measured, the buffer forgets the
/// others. Places without a track, because of defects or because a zone ends there, are left out.
pub(super) async fn find(bench: &Bench, places: &[u64]) -> Vec<Track> {
    let mut searches: Vec<TrackSearch> =
        places.iter().map(|&place| TrackSearch::new(bench.whole(place.max(BEFORE)), bench.block)).collect();
    loop {
        let (mut asked, mut pairs) = (Vec::new(), Vec::new());
        for (index, search) in searches.iter().enumerate() {
            if let Some(to) = search.next(bench.sectors) {
                asked.push(index);
                pairs.push(Pair { from: search.place - bench.whole(BEFORE), to });
            }
        }
        if pairs.is_empty() {
            break;
        }
        for (index, angle) in asked.into_iter().zip(bench.angles(&pairs).await) {
            searches[index].learn(angle);
        }
    }
    searches.iter().filter_map(TrackSearch::track).collect()
}

/// Looks for the first two ends of tracks after a place.
#[derive(Clone, Debug)]
struct TrackSearch {
    place: u64,
    block: u64,
    /// The first end that was found.
    start: Option<u64>,
    search: EndSearch,
}

/// Looks for the end of the track of sector `base`.
#[derive(Clone, Debug)]
struct EndSearch {
    base: u64,
    /// Angle of `base`.
    origin: Option<f64>,
    /// The greatest distance known to be on the track, and the number of turns from the base to it.
    on_track: u64,
    turns: f64,
    /// The smallest distance known to be on another track.
    beyond: Option<u64>,
    failed: bool,
}

impl EndSearch {
    fn new(base: u64) -> Self {
        Self { base, origin: None, on_track: 0, turns: 0.0, beyond: None, failed: false }
    }

    /// Returns the distance from the base to measure next; `None` at the end.
    fn next(&self, block: u64) -> Option<u64> {
        match (self.origin, self.beyond) {
            (None, _) => Some(0),
            (_, None) => Some((2 * self.on_track).max(FIRST_STEP)),
            (_, Some(beyond)) if beyond - self.on_track > block => Some(self.on_track.midpoint(beyond) / block * block),
            _ => None,
        }
    }

    fn learn(&mut self, block: u64, angle: f64) {
        let Some(distance) = self.next(block) else { return };
        let Some(origin) = self.origin else {
            self.origin = Some(angle);
            return;
        };
        if self.on_track == 0 {
            (self.on_track, self.turns) = (distance, (angle - origin).rem_euclid(1.0));
            return;
        }
        let expected = self.turns * distance as f64 / self.on_track as f64;
        let off = centred(angle - origin - expected);
        if off.abs() < JUMP {
            (self.on_track, self.turns) = (distance, expected + off);
            // No track is longer than a turn, so this disk shows no skew.
            self.failed |= self.turns > 1.2;
        } else {
            self.beyond = Some(distance);
        }
    }
}

impl TrackSearch {
    fn new(place: u64, block: u64) -> Self {
        Self { place, block, start: None, search: EndSearch::new(place) }
    }

    /// Returns the sector to read next.
    fn next(&self, disk: u64) -> Option<u64> {
        let sector = self.search.base + self.search.next(self.block)?;
        (!self.search.failed && sector + self.block <= disk).then_some(sector)
    }

    fn learn(&mut self, angle: Option<f64>) {
        match angle {
            Some(angle) => self.search.learn(self.block, angle),
            None => self.search.failed = true,
        }
        if self.start.is_none()
            && self.search.next(self.block).is_none()
            && let Some(beyond) = self.search.beyond
        {
            let start = self.search.base + beyond;
            self.start = Some(start);
            self.search = EndSearch::new(start);
        }
    }

    /// Returns the track between the two ends, if the findings fit together.
    fn track(&self) -> Option<Track> {
        let (start, search) = (self.start?, &self.search);
        if search.failed || search.next(self.block).is_some() {
            return None;
        }
        let sectors = search.beyond?;
        let per_turn = search.on_track as f64 / search.turns;
        // A few spare sectors may be missing, but no track has more addresses than sectors.
        (0.8..1.02).contains(&(sectors as f64 / per_turn)).then_some(Track { start, sectors, per_turn })
    }
}
