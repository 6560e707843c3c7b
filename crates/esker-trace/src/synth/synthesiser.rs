//! Generates records from settings.

use esker_core::{Bytes, Nanos, Ratio, Rng};

use super::area::Area;
use super::arrivals::ArrivalDraw;
use super::pieces::Pieces;
use super::size::SizeDraw;
use super::{AddressPattern, SyntheticError, SyntheticSettings};
use crate::{Operation, Record, VolumeIndex};

/// The records of a synthetic workload. The same settings, capacity and seed give the same records. Takes constant time
/// per record and constant memory. All records are on one volume.
///
/// ```
/// use esker_core::Bytes;
/// use esker_trace::{Synthesiser, SyntheticSettings};
/// let settings: SyntheticSettings = serde_json::from_str(
///     r#"{ "requests": 1000, "read_fraction": "70%", "address": { "kind": "zipf", "exponent": 1.0 } }"#,
/// ).unwrap();
/// let records = Synthesiser::new(&settings, Bytes::gib(1), 7).unwrap();
/// assert_eq!(records.filter(|record| record.end() <= 1 << 30).count(), 1000);
/// ```
#[derive(Clone, Debug)]
pub struct Synthesiser {
    left: u64,
    sequential: Ratio,
    read_below: u64,
    trim_below: u64,
    sizes: SizeDraw,
    /// Sizes of writes and trims, if they have their own.
    write_sizes: Option<SizeDraw>,
    area: Area,
    /// Where writes and trims go, if not to the same area.
    write_area: Option<Area>,
    /// Where all requests go, if the footprint is in pieces.
    pieces: Option<Pieces>,
    arrivals: Option<ArrivalDraw>,
    rngs: Rngs,
}

/// One generator per kind of draw, so that changing one setting does not change the other draws.
#[derive(Clone, Debug)]
struct Rngs {
    operation: Rng,
    size: Rng,
    sequential: Rng,
    kind: Rng,
    address: Rng,
    arrival: Rng,
}

const WHOLE: u64 = Ratio::ONE.as_parts_per_billion();

impl Synthesiser {
    /// The name of the only volume.
    pub const VOLUME: &str = "synthetic";

    /// Records for a device of `capacity`. `run_seed` is used if the settings have no seed.
    ///
    /// # Errors
    /// The first error in the settings.
    pub fn new(settings: &SyntheticSettings, capacity: Bytes, run_seed: u64) -> Result<Self, SyntheticError> {
        settings.check(capacity)?;
        let seed = settings.seed.unwrap_or(run_seed);
        let footprint = settings.footprint_on(capacity).0;
        let writes_from = settings.writes_from(Bytes(footprint)).0;
        let area = |from, to, scatter| {
            Area::new(from..to, settings.alignment(), settings.address, Rng::derive(seed, scatter).next_u64())
        };
        let (area, write_area) = match settings.write_area {
            None => (area(0, footprint, "scatter"), None),
            Some(_) => (area(0, writes_from, "scatter"), Some(area(writes_from, footprint, "scatter of writes"))),
        };
        let pieces = settings.pieces.as_ref().map(|pieces| {
            let seed_of = |name: &str| Rng::derive(seed, name).next_u64();
            Pieces::new(pieces, footprint, settings.alignment(), settings.address, seed_of)
        });
        let read_below = settings.read_fraction.as_parts_per_billion();
        let sequential = match settings.address {
            AddressPattern::Sequential {} => Ratio::ONE,
            _ => settings.sequential_fraction,
        };
        Ok(Self {
            left: settings.requests,
            sequential,
            read_below,
            trim_below: read_below + settings.trim_fraction.as_parts_per_billion(),
            sizes: SizeDraw::new(&settings.size.weighted()),
            write_sizes: settings.write_size.as_ref().map(|sizes| SizeDraw::new(&sizes.weighted())),
            area,
            write_area,
            pieces,
            arrivals: settings.arrivals.map(ArrivalDraw::new),
            rngs: Rngs {
                operation: Rng::derive(seed, "operation"),
                size: Rng::derive(seed, "size"),
                sequential: Rng::derive(seed, "sequential"),
                kind: Rng::derive(seed, "kind"),
                address: Rng::derive(seed, "address"),
                arrival: Rng::derive(seed, "arrival"),
            },
        })
    }

    /// Begins the first sequential run at `part / parts` of each area instead of its beginning, at a multiple of the
    /// alignment. So several sequences of records share the footprint.
    pub fn beginning_at(mut self, part: u32, parts: u32) -> Self {
        self.area.begin_at(part, parts);
        self.write_area.iter_mut().for_each(|area| area.begin_at(part, parts));
        self.pieces.iter_mut().for_each(|pieces| pieces.begin_at(part, parts));
        self
    }
}

impl Iterator for Synthesiser {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        self.left = self.left.checked_sub(1)?;
        let operation = match self.rngs.operation.below(WHOLE) {
            draw if draw < self.read_below => Operation::Read,
            draw if draw < self.trim_below => Operation::Trim,
            _ => Operation::Write,
        };
        let read = operation == Operation::Read;
        let sizes = if read { &self.sizes } else { self.write_sizes.as_ref().unwrap_or(&self.sizes) };
        let length = sizes.draw(&mut self.rngs.size);
        let goes_on =
            self.sequential > Ratio::ZERO && self.rngs.sequential.chance(self.sequential.as_parts_per_billion(), WHOLE);
        let Rngs { kind, address, .. } = &mut self.rngs;
        let offset = match &mut self.pieces {
            Some(pieces) => pieces.place(read, u64::from(length), goes_on, kind, address),
            None => {
                let area = if read { &mut self.area } else { self.write_area.as_mut().unwrap_or(&mut self.area) };
                area.place(u64::from(length), goes_on, address)
            }
        };
        let at = self.arrivals.as_mut().map_or(Nanos::ZERO, |arrivals| arrivals.draw(&mut self.rngs.arrival));
        Some(Record { at, offset, length, volume: VolumeIndex(0), operation, response: None })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Characteriser, CharacteriserSettings};
    use esker_results::profile::Profile;

    fn settings(json: &str) -> SyntheticSettings {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
    }

    fn records(json: &str) -> Vec<Record> {
        Synthesiser::new(&settings(json), Bytes::gib(1), 1).unwrap().collect()
    }

    fn profile(json: &str) -> Profile {
        let mut characteriser = Characteriser::new(CharacteriserSettings::default());
        characteriser.push_all(&records(json));
        characteriser.finish(&[])
    }

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected} within {tolerance}");
    }

    #[test]
    fn mix_sizes_and_footprint_are_as_asked() {
        let profile = profile(
            r#"{ "requests": 100000, "read_fraction": "30%", "trim_fraction": 0.1, "footprint": "64MiB",
                 "size": [{ "size": "4KiB", "weight": 3 }, { "size": "64KiB", "weight": 1 }] }"#,
        );
        assert_eq!(profile.requests, 100_000);
        near(profile.read_requests as f64, 30_000.0, 600.0);
        near(profile.trim_requests as f64, 10_000.0, 400.0);
        near(profile.mean_size_bytes, 4096.0 * 0.75 + 65536.0 * 0.25, 300.0);
        near(profile.footprint_bytes as f64, f64::from(64 << 20), 16_384.0);
        assert_eq!(profile.aligned_4k_fraction, 1.0);
        assert_eq!(profile.duration_s, None);
        assert!(profile.sequential_fraction < 0.01);
    }

    #[test]
    fn sequential_runs_go_round() {
        let all = records(r#"{ "requests": 1000, "address": "sequential", "size": "96KiB", "footprint": "1MiB" }"#);
        assert!(all.iter().take(10).enumerate().all(|(index, record)| record.offset == index as u64 * 98_304));
        assert_eq!(all[10].offset, 0);
        let half = profile(r#"{ "requests": 50000, "sequential_fraction": "40%" }"#);
        near(half.sequential_fraction, 0.4, 0.01);
    }

    #[test]
    fn hot_places_get_their_share_and_lie_scattered() {
        let profile = profile(
            r#"{ "requests": 400000, "footprint": "16MiB",
                 "address": { "kind": "hot-cold", "hot_share": "20%", "hot_accesses": "80%" } }"#,
        );
        let top = profile.skew.top.iter().find(|top| top.page_share == 0.2).unwrap();
        near(top.access_share, 0.8, 0.01);
        // All areas are about equally busy, because hot pages are everywhere.
        let all = records(
            r#"{ "requests": 100000, "footprint": "16MiB",
                 "address": { "kind": "hot-cold", "hot_share": "20%", "hot_accesses": "80%" } }"#,
        );
        let low = all.iter().filter(|record| record.offset < 8 << 20).count();
        near(low as f64, 50_000.0, 5_000.0);
    }

    #[test]
    fn zipf_requests_are_skewed_as_zipf_says() {
        let profile =
            profile(r#"{ "requests": 300000, "footprint": "4MiB", "address": { "kind": "zipf", "exponent": 1.0 } }"#);
        // 1,024 pages: the hottest gets 1/H(1024) of all, H(1024) = 7.5092.
        near(profile.skew.max_accesses as f64, 300_000.0 / 7.5092, 800.0);
    }

    #[test]
    fn arrivals_have_their_rate_and_burstiness() {
        let inter_arrival = |arrivals: &str| {
            let profile = profile(&format!(r#"{{ "requests": 1000000, "arrivals": {arrivals} }}"#));
            near(profile.requests_per_s.unwrap(), 1000.0, 30.0);
            profile.inter_arrival.unwrap().squared_coefficient_of_variation
        };
        near(inter_arrival(r#"{ "kind": "fixed", "rate": "1000/s" }"#), 0.0, 1e-9);
        near(inter_arrival(r#"{ "kind": "poisson", "rate": "1/ms" }"#), 1.0, 0.02);
        // An interrupted Poisson process: 1 + 2 * rate * off^2 / (on + off) in requests, with means on and off.
        let expected = 1.0 + 2.0 * 1000.0 * 0.09 * 0.09 / 0.1;
        let found = inter_arrival(r#"{ "kind": "bursty", "rate": "1000/s", "on": "10ms", "off": "90ms" }"#);
        near(found / expected, 1.0, 0.08);
    }

    #[test]
    fn the_same_seed_gives_the_same_trace_and_settings_do_not_disturb_each_other() {
        let base = records(r#"{ "requests": 1000, "seed": 5 }"#);
        assert_eq!(base, records(r#"{ "requests": 1000, "seed": 5 }"#));
        assert_ne!(base, records(r#"{ "requests": 1000, "seed": 6 }"#));
        let reads = records(r#"{ "requests": 1000, "seed": 5, "read_fraction": 1.0 }"#);
        assert!(base.iter().zip(&reads).all(|(base, reads)| base.offset == reads.offset));
        assert!(reads.iter().all(|record| record.operation == Operation::Read));
    }

    #[test]
    fn writes_have_sizes_and_an_area_of_their_own() {
        let all = records(
            r#"{ "requests": 40000, "read_fraction": "60%", "size": "64KiB", "write_size": "12KiB",
                 "sequential_fraction": "50%", "footprint": "10MiB", "write_area": "25%" }"#,
        );
        let (reads, writes): (Vec<&Record>, Vec<&Record>) =
            all.iter().partition(|record| record.operation == Operation::Read);
        assert!(reads.iter().all(|read| read.length == 64 << 10 && read.end() <= 15 << 19));
        assert!(writes.iter().all(|write| write.length == 12 << 10 && write.offset >= 15 << 19));
        assert!(writes.iter().any(|write| write.offset == 15 << 19), "the first place of writes is used");
        near(reads.len() as f64, 24_000.0, 400.0);
        // Runs go on within each area, whatever comes in between.
        for area in [&reads, &writes] {
            let runs = area.windows(2).filter(|pair| pair[0].end() == pair[1].offset).count();
            near(runs as f64 / area.len() as f64, 0.5, 0.02);
        }
    }

    #[test]
    fn requests_stay_inside_odd_footprints() {
        for address in [r#""uniform""#, r#"{ "kind": "zipf", "exponent": 0.5 }"#] {
            let all = records(&format!(
                r#"{{ "requests": 20000, "address": {address}, "size": "12KiB", "footprint": "50000B" }}"#
            ));
            assert!(all.iter().all(|record| record.end() <= 50_000));
            assert!(all.iter().any(|record| record.offset == 36_864), "the last place is used");
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let refused = |json: &str| Synthesiser::new(&settings(json), Bytes::gib(1), 1).unwrap_err();
        use SyntheticError as E;
        assert!(matches!(refused(r#"{ "requests": 1, "read_fraction": "101%" }"#), E::Share { .. }));
        let mix = r#"{ "requests": 1, "read_fraction": "60%", "trim_fraction": "50%" }"#;
        assert!(matches!(refused(mix), E::Fractions { .. }));
        assert!(matches!(refused(r#"{ "requests": 1, "size": "100B" }"#), E::Size { .. }));
        assert!(matches!(refused(r#"{ "requests": 1, "size": "0B" }"#), E::Size { .. }));
        assert!(matches!(refused(r#"{ "requests": 1, "size": [] }"#), E::NoSize));
        assert!(matches!(refused(r#"{ "requests": 1, "alignment": "1000B" }"#), E::Alignment { .. }));
        assert!(matches!(refused(r#"{ "requests": 1, "footprint": "2KiB" }"#), E::Footprint { .. }));
        assert!(matches!(refused(r#"{ "requests": 1, "footprint": "2GiB" }"#), E::Capacity { .. }));
        let area = r#"{ "requests": 1, "footprint": "64KiB", "write_size": "16KiB", "write_area": "10%" }"#;
        assert!(matches!(refused(area), E::Area { .. }));
        assert!(matches!(refused(r#"{ "requests": 1, "write_area": "100%" }"#), E::Area { .. }));
        assert!(matches!(refused(r#"{ "requests": 1, "write_area": "101%" }"#), E::Share { .. }));
        assert!(matches!(refused(r#"{ "requests": 1, "write_size": "100B" }"#), E::Size { .. }));
        assert!(matches!(refused(r#"{ "requests": 1, "preset": "wu-dbench" }"#), E::Preset { .. }));
        let zipf = r#"{ "requests": 1, "address": { "kind": "zipf", "exponent": -1.0 } }"#;
        assert!(matches!(refused(zipf), E::Exponent(_)));
        let rate = r#"{ "requests": 1, "arrivals": { "kind": "fixed", "rate": "0/s" } }"#;
        assert!(matches!(refused(rate), E::Rate));
        let burst = r#"{ "requests": 1, "arrivals": { "kind": "bursty", "rate": "1/s", "on": "0s", "off": "1s" } }"#;
        assert!(matches!(refused(burst), E::EmptyBursts { .. }));
        let burst = r#"{ "requests": 1, "arrivals": { "kind": "bursty", "rate": "1/h", "on": "1ns", "off": "1ns" } }"#;
        assert!(matches!(refused(burst), E::EmptyBursts { .. }));
    }

    #[test]
    fn unknown_keys_and_kinds_are_refused() {
        for json in [
            r#"{ "requests": 1, "reads": 0.5 }"#,
            r#"{ "requests": 1, "address": "random" }"#,
            r#"{ "requests": 1, "address": "zipf" }"#,
            r#"{ "requests": 1, "address": { "kind": "uniform", "exponent": 1.0 } }"#,
            r#"{ "requests": 1, "address": { "kind": "zipf", "exponent": 1.0, "seed": 1 } }"#,
            r#"{ "requests": 1, "arrivals": { "kind": "fixed", "rate": "10" } }"#,
            r#"{ "requests": 1, "size": 4096 }"#,
        ] {
            assert!(serde_json::from_str::<SyntheticSettings>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn settings_survive_json() {
        let given = settings(
            r#"{ "requests": 9, "size": [{ "size": "4KiB", "weight": 1 }], "address": "uniform", "seed": 3,
                 "arrivals": { "kind": "poisson", "rate": "0.5/s" } }"#,
        );
        let text = serde_json::to_string(&given).unwrap();
        assert_eq!(settings(&text), given, "{text}");
    }
}
