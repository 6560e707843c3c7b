//! Finds the order in which addresses fill the tracks, from the skews between neighbouring tracks.
//!
//! Two orders are known: **by cylinder**, all surfaces of a cylinder and then the next cylinder, and **by group**, some
//! tracks along a surface, back along the next one, and so on to the next group. In both, a skew that repeats is
//! interrupted after a fixed number of tracks: after the surfaces of a cylinder, or after the tracks of a group on one
//! surface. By group, these exceptions are again of two kinds, which show how many surfaces a group has.

use super::bench::{Bench, Pair, centred};
use super::zones::FoundZone;

/// Number of consecutive tracks that are measured.
const ROW: u64 = 264;
/// Skews that differ by less than this share of a turn are equal.
const SAME: f64 = 0.004;
/// Most surfaces of a cylinder. More tracks than this between two exceptions are a group.
const SURFACES_MAX: u64 = 32;
/// Number of exceptions in which a second kind is looked for: three times the largest number of surfaces.
const EXCEPTIONS: u64 = 3 * SURFACES_MAX;
/// Two kinds of exceptions have to differ by this many times as much as they would by chance.
const CLEAR: f64 = 8.0;
/// Number of zones that are tried, since a defect may hide the order in one.
const ZONES: usize = 3;
/// Most tracks that are described as cylinders of one surface.
const TRACKS_MAX: u64 = 1 << 21;

/// The order of tracks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TrackOrder {
    /// Surface by surface, then the next cylinder.
    ByCylinder { surfaces: u64 },
    /// `tracks` tracks along one surface, then back along the next.
    ByGroup { surfaces: u64, tracks: u64 },
    /// All skews are alike, or nothing repeats. `surfaces` consecutive tracks count as a cylinder; more than one only
    /// if the model has fewer cylinders than the disk has tracks.
    Unknown { surfaces: u64 },
}

/// Skews in turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Skews {
    /// Skew to another surface.
    pub(super) track: f64,
    /// Skew to the next cylinder; if the order is unknown, of any track.
    pub(super) cylinder: f64,
    /// Skew to the next group.
    pub(super) group: f64,
}

/// The order of tracks, where it is anchored, and the skews of each zone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundLayout {
    pub(super) order: TrackOrder,
    /// First track of a cylinder or group, in zone `zone`.
    pub(super) anchor: u64,
    pub(super) zone: usize,
    /// Skews of each zone.
    pub(super) skews: Vec<Skews>,
}

impl TrackOrder {
    pub(super) fn surfaces(self) -> u64 {
        match self {
            Self::ByCylinder { surfaces } | Self::ByGroup { surfaces, .. } | Self::Unknown { surfaces } => surfaces,
        }
    }
}

/// Returns the approximate number of reads that [`find`] takes.
pub(super) fn reads(zones: usize) -> usize {
    4 * (2 * ROW + EXCEPTIONS) as usize + 4 * zones * ROW as usize
}

/// Measures zones with much room after their first measured track until one of them shows the order, and then the skews
/// of all other zones.
pub(super) async fn find(bench: &Bench, zones: &[FoundZone]) -> FoundLayout {
    let mut order: Vec<usize> = (0..zones.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(room(&zones[index])));
    let tracks: u64 = zones.iter().map(|zone| (zone.end - zone.first) / zone.sectors_per_track).sum();
    let unknown = TrackOrder::Unknown { surfaces: tracks / TRACKS_MAX + 1 };
    let mut found: Option<(usize, Pattern)> = None;
    for &index in order.iter().take(ZONES) {
        let pattern = Pattern::find(bench, &zones[index], unknown).await;
        let known = pattern.order != unknown;
        if known || found.is_none() {
            found = Some((index, pattern));
        }
        if known {
            break;
        }
    }
    let (zone, pattern) = found.expect("there is a zone");
    let mut skews = Vec::new();
    for (index, other) in zones.iter().enumerate() {
        skews.push(if index == zone { pattern.skews } else { pattern.skews_of(bench, other).await });
    }
    FoundLayout { order: pattern.order, anchor: pattern.anchor, zone, skews }
}

/// Returns the number of tracks from the first measured one to the end of the zone.
fn room(zone: &FoundZone) -> u64 {
    zone.tracks.first().map_or(0, |track| zone.end.saturating_sub(track.start) / zone.sectors_per_track)
}

/// Returns the skews after the tracks `numbers` of `zone`, counted from its first measured track.
async fn skews(bench: &Bench, zone: &FoundZone, numbers: impl Iterator<Item = u64>) -> Vec<Option<f64>> {
    let (track, sectors) = (zone.tracks[0], zone.sectors_per_track);
    // The second sector is read from after the point where the next pair begins, so that it never comes with that pair.
    let (from, to) = (bench.whole(sectors / 2), bench.whole(sectors * 3 / 4));
    let pairs: Vec<Pair> = numbers
        .map(|number| track.start + number * sectors)
        .map(|start| Pair { from: start + from, to: start + sectors + to })
        .take_while(|pair| pair.to < zone.end)
        .collect();
    let along = (to - from) as f64 / zone.per_turn();
    bench.angles(&pairs).await.into_iter().map(|angle| Some((angle? - along).rem_euclid(1.0))).collect()
}

/// Returns the value that is close to most others; the smallest of several.
fn most_common(values: &[f64]) -> Option<f64> {
    let like = |value: f64| values.iter().filter(move |&&other| centred(other - value).abs() < SAME);
    let best = values.iter().copied().max_by(|&one, &other| {
        let count = like(one).count().cmp(&like(other).count());
        count.then(other.total_cmp(&one))
    })?;
    Some(mean(best, like(best).copied()))
}

/// Returns `values` without those that are close to no other: they are delayed reads, not skews.
fn without_lonely(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let like = |value: f64| values.iter().flatten().filter(|&&other| centred(other - value).abs() < SAME).count();
    values.iter().map(|value| value.filter(|&value| like(value) > 1)).collect()
}

/// Returns the mean of angles around `centre`.
fn mean(centre: f64, values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + centred(value - centre), count + 1.0));
    (centre + if count > 0.0 { sum / count } else { 0.0 }).rem_euclid(1.0)
}

/// The findings of one zone.
struct Pattern {
    order: TrackOrder,
    anchor: u64,
    /// Tracks from one exception to the next; zero without exceptions.
    period: u64,
    skews: Skews,
}

impl Pattern {
    async fn find(bench: &Bench, zone: &FoundZone, unknown: TrackOrder) -> Self {
        let start = zone.tracks[0].start;
        let row = skews(bench, zone, 0..ROW.min(room(zone))).await;
        let base = most_common(&row.iter().flatten().copied().collect::<Vec<_>>()).unwrap_or(0.0);
        let skews_alike = Skews { track: base, cylinder: base, group: base };
        let mut pattern = Self { order: unknown, anchor: start, period: 0, skews: skews_alike };
        let exceptions: Vec<u64> = (0..)
            .zip(&row)
            .filter(|(_, skew)| skew.is_some_and(|skew| centred(skew - base).abs() > SAME))
            .map(|(number, _)| number)
            .collect();
        let Some((first, period)) = period_of(&exceptions, row.len() as u64) else { return pattern };
        pattern.period = period;
        let count = EXCEPTIONS.min(room(zone).saturating_sub(first) / period);
        let values = skews(bench, zone, (0..count).map(|number| first + number * period)).await;
        let values = without_lonely(&values);
        let all: Vec<f64> = values.iter().flatten().copied().collect();
        let Some(common) = most_common(&all) else { return pattern };
        let mut next = first + 1;
        if let Some(kinds) = TwoKinds::find(&values) {
            pattern.order = TrackOrder::ByGroup { surfaces: kinds.period, tracks: period };
            pattern.skews = Skews { track: kinds.rest, cylinder: base, group: kinds.rare };
            next += kinds.first * period;
        } else if period <= SURFACES_MAX {
            pattern.order = TrackOrder::ByCylinder { surfaces: period };
            pattern.skews = Skews { track: base, cylinder: common, group: common };
        }
        pattern.anchor = start + next * zone.sectors_per_track;
        pattern
    }

    /// Returns the skews of another zone. Skews that do not show there are taken from this one: switches take the same
    /// time everywhere, and so the same share of a turn.
    async fn skews_of(&self, bench: &Bench, zone: &FoundZone) -> Skews {
        let count = (3 * self.period + 2).clamp(8, 3 * ROW / 2).min(room(zone));
        let all: Vec<f64> = skews(bench, zone, 0..count).await.into_iter().flatten().collect();
        let Some(base) = most_common(&all) else { return self.skews };
        let others: Vec<f64> = all.into_iter().filter(|skew| centred(skew - base).abs() > SAME).collect();
        let other = most_common(&others);
        match self.order {
            TrackOrder::Unknown { .. } => Skews { track: base, cylinder: base, group: base },
            TrackOrder::ByCylinder { .. } => {
                let cylinder = other.unwrap_or(self.skews.cylinder);
                Skews { track: base, cylinder, group: cylinder }
            }
            TrackOrder::ByGroup { surfaces, .. } => {
                // If a row shows both kinds, the one that is closer to its value in the first zone.
                let nearest = |wanted: f64| {
                    others
                        .iter()
                        .copied()
                        .min_by(|one, other| centred(one - wanted).abs().total_cmp(&centred(other - wanted).abs()))
                };
                let near = |wanted: f64| nearest(wanted).filter(|skew| centred(skew - wanted).abs() < 4.0 * SAME);
                // With too few exceptions, those to another surface do not differ from the others.
                let hidden = surfaces > 2 && 2 * others.len() as u64 * self.period < count;
                let shown = || near(self.skews.track).or(other).unwrap_or(self.skews.track);
                let track = if hidden { base } else { shown() };
                let group = (track + self.skews.group - self.skews.track).rem_euclid(1.0);
                let seen = if hidden { other } else { near(group) };
                let seen = seen.filter(|skew| centred(skew - track).abs() > SAME / 2.0);
                Skews { track, cylinder: base, group: seen.unwrap_or(group) }
            }
        }
    }
}

/// Returns the first of `exceptions` and the distance between them, if most of them follow at that distance, all along
/// `row` tracks.
fn period_of(exceptions: &[u64], row: u64) -> Option<(u64, u64)> {
    let apart: Vec<u64> = exceptions.windows(2).map(|pair| pair[1] - pair[0]).filter(|&apart| apart > 1).collect();
    let count = |period: u64| apart.iter().filter(|&&distance| distance == period).count();
    let period = apart.iter().copied().max_by_key(|&distance| (count(distance), distance))?;
    let in_step = |first: u64| exceptions.iter().filter(|&&number| number % period == first % period).count();
    let first = exceptions.iter().copied().max_by_key(|&first| (in_step(first), std::cmp::Reverse(first)))?;
    let most = 10 * in_step(first) >= 7 * exceptions.len();
    (most && 10 * in_step(first) as u64 * period >= 6 * row).then_some((first, period))
}

/// A sequence of values in which every `period`th value differs from the others, beginning with number `first`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TwoKinds {
    period: u64,
    first: u64,
    rest: f64,
    rare: f64,
}

impl TwoKinds {
    /// Finds the period and phase at which two kinds differ most clearly.
    fn find(values: &[Option<f64>]) -> Option<Self> {
        let mut best: Option<(f64, Self)> = None;
        for period in 2..=SURFACES_MAX.min(values.len() as u64 / 2) {
            for first in 0..period {
                let Some((clear, kinds)) = Self::at(values, period, first) else { continue };
                // With two surfaces, each kind is every second one. The longer one goes to the next group.
                if (period > 2 || kinds.rare > kinds.rest) && best.is_none_or(|(most, _)| clear > most) {
                    best = Some((clear, kinds));
                }
            }
        }
        best.filter(|(clear, _)| *clear > CLEAR).map(|(_, kinds)| kinds)
    }

    /// Returns how clearly the values of this period and phase differ from the rest.
    fn at(values: &[Option<f64>], period: u64, first: u64) -> Option<(f64, Self)> {
        /// The scatter that comes from whole sectors alone.
        const LEAST_SCATTER: f64 = 0.0004;
        let of = |rare: bool| {
            let kind = move |(number, value): (u64, &Option<f64>)| value.filter(|_| (number % period == first) == rare);
            (0..).zip(values).filter_map(kind)
        };
        let (rare, rest) = (mean(of(true).next()?, of(true)), mean(of(false).next()?, of(false)));
        let squares: f64 = [(true, rare), (false, rest)]
            .into_iter()
            .map(|(kind, mean)| of(kind).map(|value| centred(value - mean).powi(2)).sum::<f64>())
            .sum();
        let scatter = (squares / values.len() as f64).sqrt().max(LEAST_SCATTER);
        // The scatter of the difference of two means.
        let by_chance = scatter * (1.0 / of(true).count() as f64 + 1.0 / of(false).count() as f64).sqrt();
        Some((centred(rare - rest).abs() / by_chance, Self { period, first, rest, rare }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_shows_through_single_faults() {
        assert_eq!(period_of(&[3, 11, 19, 22, 27, 35, 43], 48), Some((3, 8)));
        // Delays come one after another, seldom, or at any distance.
        for faults in [&[1, 2, 3, 4][..], &[7], &[5, 8, 11], &[1, 4, 9, 11, 19, 30, 43]] {
            assert_eq!(period_of(faults, 48), None, "{faults:?}");
        }
    }

    #[test]
    fn two_kinds_show_if_they_differ_by_more_than_their_scatter() {
        let of = |rare: f64| -> Vec<Option<f64>> {
            (0..60_u32)
                .map(|number| {
                    let scatter = f64::from(number * 7 % 5) * 0.0002;
                    (number != 17).then_some(scatter + if number % 6 == 4 { rare } else { 0.998 })
                })
                .collect()
        };
        let kinds = TwoKinds::find(&of(0.004)).unwrap();
        assert_eq!((kinds.period, kinds.first), (6, 4));
        assert_eq!(TwoKinds::find(&of(0.998)), None);
    }
}
