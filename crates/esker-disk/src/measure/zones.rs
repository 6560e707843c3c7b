//! Zones: runs of tracks with the same number of sectors.

use super::MeasureError;
use super::bench::{Bench, median};
use super::track::{self, Track};

/// Number of places that are measured together, if the buffer forgets one of them meanwhile.
const PLACES: usize = 72;
/// How many times the gaps between tracks of different zones are divided.
const LEVELS: usize = 3;

/// A share of a track's sectors without addresses that is too small to show reliably in the angles.
const SPARED: f64 = 0.004;

/// Tracks fill the same part of a turn if they differ by less than this share, the accuracy of the measurement.
const UNLIKE: f64 = 0.015;

/// The tracks of one zone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundZone {
    /// First address, in sectors, and one past the last address.
    pub(super) first: u64,
    pub(super) end: u64,
    /// Most frequent number of sectors of its tracks.
    pub(super) sectors_per_track: u64,
    /// Its tracks that were measured, from the outside in.
    pub(super) tracks: Vec<Track>,
}

impl FoundZone {
    /// Returns the number of sectors that fit into a turn: those of a track, unless more than a few have no addresses.
    pub(super) fn per_turn(&self) -> f64 {
        let mut all: Vec<f64> = self.tracks.iter().map(|track| track.per_turn).collect();
        let (addresses, room) = (self.sectors_per_track as f64, median(&mut all));
        if (room / addresses - 1.0).abs() < SPARED { addresses } else { room }
    }
}

/// Returns the tracks whose addresses fill the same part of a turn as those of most tracks. Other tracks were measured
/// from a place that is not their start.
fn whole(tracks: Vec<Track>) -> Vec<Track> {
    let filled = |track: &Track| track.sectors as f64 / track.per_turn;
    let usual = median(&mut tracks.iter().map(filled).collect::<Vec<_>>());
    tracks.into_iter().filter(|track| (filled(track) - usual).abs() < UNLIKE).collect()
}

/// Returns how many places are measured together.
pub(super) fn places(bench: &Bench) -> usize {
    PLACES.max(bench.forgets_after.get() / 2)
}

/// Returns the approximate number of reads that [`find`] takes: the sides of two tracks by doubling and halving, each
/// angle twice, from pairs.
pub(super) fn reads(bench: &Bench) -> usize {
    (1 + LEVELS) * 38 * 2 * 2 * places(bench)
}

/// Measures tracks all over the disk, and then more between neighbouring tracks that differ.
pub(super) async fn find(bench: &Bench) -> Result<Vec<FoundZone>, MeasureError> {
    let count = places(bench) as u64;
    let span = bench.sectors / count;
    let spread: Vec<u64> = (0..count).map(|index| index * span + span / 3).collect();
    let mut tracks = whole(track::find(bench, &spread).await);
    for _ in 0..LEVELS {
        let gaps: Vec<(u64, u64)> = tracks
            .windows(2)
            .filter(|pair| !alike(pair[0].sectors, pair[1].sectors))
            .map(|pair| (pair[0].start + pair[0].sectors, pair[1].start))
            .filter(|(from, to)| from < to)
            .collect();
        if gaps.is_empty() {
            break;
        }
        // A zone before the first track has to be found, too.
        let each = (count as usize / gaps.len()).max(1) as u64;
        let between =
            gaps.iter().flat_map(|&(from, to)| (1..=each).map(move |part| from + (to - from) / (each + 1) * part));
        let places: Vec<u64> = between.collect();
        tracks.extend(track::find(bench, &places).await);
        tracks.sort_by_key(|track| track.start);
        tracks.dedup_by_key(|track| track.start);
        tracks = whole(tracks);
    }
    if tracks.len() < 8 {
        return Err(MeasureError::NoTracks { found: tracks.len() });
    }
    Ok(zones(&tracks, bench.sectors))
}

/// Returns true if two tracks belong to one zone. Zones differ by one per cent or more; a defect removes single
/// sectors.
fn alike(one: u64, other: u64) -> bool {
    one.abs_diff(other) * 333 <= one.max(333)
}

/// Returns the zones of `tracks`, which are in order of addresses, of a disk of `sectors`.
fn zones(tracks: &[Track], sectors: u64) -> Vec<FoundZone> {
    let mut runs: Vec<Vec<Track>> = Vec::new();
    for (index, &track) in tracks.iter().enumerate() {
        let run = runs.last().map(|run| most_frequent(run));
        let next = tracks.get(index + 1).map(|next| next.sectors);
        // A track that differs from its neighbours, which are alike, was measured wrongly.
        if run.zip(next).is_some_and(|(run, next)| alike(run, next) && !alike(run, track.sectors)) {
            continue;
        }
        match runs.last_mut().filter(|run| alike(most_frequent(run), track.sectors)) {
            Some(run) => run.push(track),
            None => runs.push(vec![track]),
        }
    }
    // A single track among others counts as an error, or as a track with a defect.
    let mut kept: Vec<Vec<Track>> = Vec::new();
    for run in runs.into_iter().filter(|run| run.len() > 1) {
        match kept.last_mut().filter(|before| alike(most_frequent(before), most_frequent(&run))) {
            Some(before) => before.extend(run),
            None => kept.push(run),
        }
    }
    let starts: Vec<u64> = std::iter::once(0)
        .chain(kept.windows(2).map(|pair| {
            let last = pair[0].last().expect("runs are not empty");
            (last.start + last.sectors).midpoint(pair[1][0].start)
        }))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([sectors]);
    kept.into_iter()
        .zip(starts.iter().zip(ends))
        .map(|(tracks, (&first, end))| FoundZone { first, end, sectors_per_track: most_frequent(&tracks), tracks })
        .collect()
}

fn most_frequent(tracks: &[Track]) -> u64 {
    let count = |sectors: u64| tracks.iter().filter(|track| track.sectors == sectors).count();
    tracks.iter().map(|track| track.sectors).max_by_key(|&sectors| (count(sectors), sectors)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracks(list: &[(u64, u64)]) -> Vec<Track> {
        list.iter().map(|&(start, sectors)| Track { start, sectors, per_turn: sectors as f64 }).collect()
    }

    #[test]
    fn borders_lie_between_tracks_that_differ() {
        // One track has lost sectors to defects, and one was measured wrongly.
        let list = [(1_000, 500), (2_000, 499), (3_000, 500), (4_000, 731), (5_000, 500), (8_500, 480), (9_500, 480)];
        let zones = zones(&tracks(&list), 12_000);
        let found: Vec<(u64, u64, u64)> =
            zones.iter().map(|zone| (zone.first, zone.end, zone.sectors_per_track)).collect();
        assert_eq!(found, [(0, 7_000, 500), (7_000, 12_000, 480)]);
    }
}
