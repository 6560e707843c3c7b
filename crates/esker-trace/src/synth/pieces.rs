//! Pieces of the footprint with different mixes of reads and writes, scattered over it.

use esker_core::{Bytes, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::area::Area;
use super::{AddressPattern, Permutation};

/// The footprint in pieces of equal size, each of one of several kinds. Kinds lie scattered over the footprint, and
/// differ in how many of the reads and of the writes go to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PieceSettings {
    /// Bytes of a piece, a multiple of the alignment and at least the largest request. A request that would go beyond
    /// the end of its piece begins so much earlier that it does not.
    pub size: Bytes,
    /// The kinds of piece. Each has `address` and runs of its own.
    pub kinds: Vec<PieceKind>,
}

/// A kind of piece, by weights among all kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PieceKind {
    /// Relative number of pieces of this kind.
    pub pieces: u32,
    /// Relative number of reads that go there.
    pub reads: u32,
    /// Relative number of writes and trims that go there.
    pub writes: u32,
}

impl PieceSettings {
    /// Where each kind's pieces begin among all, and the end of the last one's.
    pub(super) fn bounds(&self, footprint: u64) -> Vec<u64> {
        let pieces = u128::from(footprint / self.size.0);
        let all: u128 = self.kinds.iter().map(|kind| u128::from(kind.pieces)).sum();
        let mut before = 0u128;
        let mut bounds = vec![0];
        for kind in &self.kinds {
            before += u128::from(kind.pieces);
            bounds.push((pieces * before / all) as u64);
        }
        bounds
    }
}

/// Draws places in pieces.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    size: u64,
    alignment: u64,
    /// Kind after kind, as if their pieces lay side by side.
    kinds: Vec<Area>,
    /// For each kind, the sum of the weights up to and including it: of reads, and of writes.
    reads: Vec<u64>,
    writes: Vec<u64>,
    scatter: Permutation,
}

impl Pieces {
    /// Pieces of a footprint, as checked. `seed_of` gives a seed for each name.
    pub(super) fn new(
        settings: &PieceSettings,
        footprint: u64,
        alignment: u64,
        pattern: AddressPattern,
        seed_of: impl Fn(&str) -> u64,
    ) -> Self {
        let size = settings.size.0;
        let bounds = settings.bounds(footprint);
        let areas = bounds.windows(2).enumerate().map(|(kind, pair)| {
            let seed = seed_of(&format!("scatter of kind {kind}"));
            Area::new(pair[0] * size..pair[1] * size, alignment, pattern, seed)
        });
        let sums = |weight: fn(&PieceKind) -> u32| {
            let mut sum = 0;
            let sums = settings.kinds.iter().map(|kind| {
                sum += u64::from(weight(kind));
                sum
            });
            sums.collect()
        };
        Self {
            size,
            alignment,
            kinds: areas.collect(),
            reads: sums(|kind| kind.reads),
            writes: sums(|kind| kind.writes),
            scatter: Permutation::new(footprint / size, seed_of("scatter of pieces")),
        }
    }

    /// Lets the first run of each kind begin at `part / parts` of its pieces.
    pub(super) fn begin_at(&mut self, part: u32, parts: u32) {
        self.kinds.iter_mut().for_each(|area| area.begin_at(part, parts));
    }

    /// The address of a request of `length` bytes. `kind_rng` draws its kind, `rng` its place.
    pub(super) fn place(
        &mut self,
        is_read: bool,
        length: u64,
        goes_on: bool,
        kind_rng: &mut Rng,
        rng: &mut Rng,
    ) -> u64 {
        let sums = if is_read { &self.reads } else { &self.writes };
        let goal = kind_rng.below(sums.last().copied().unwrap_or(1));
        let kind = sums.partition_point(|&sum| sum <= goal);
        let place = self.kinds[kind].place(length, goes_on, rng);
        let last_start = (self.size - length) / self.alignment * self.alignment;
        self.scatter.apply(place / self.size) * self.size + (place % self.size).min(last_start)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use esker_core::Bytes;

    use crate::{Operation, Record, Synthesiser, SyntheticError, SyntheticSettings};

    fn made(json: &str) -> Result<Vec<Record>, SyntheticError> {
        let settings: SyntheticSettings = serde_json::from_str(json).unwrap();
        Synthesiser::new(&settings, Bytes::gib(1), 3).map(Iterator::collect)
    }

    const MIXED: &str = r#"{ "requests": 400000, "read_fraction": "20%", "footprint": "64MiB",
        "size": [{ "size": "4KiB", "weight": 1 }, { "size": "12KiB", "weight": 1 }],
        "pieces": { "size": "64KiB", "kinds": [
            { "pieces": 1, "reads": 9, "writes": 1 }, { "pieces": 3, "reads": 1, "writes": 19 }] } }"#;

    #[test]
    fn pieces_have_the_mix_of_their_kind_and_lie_scattered() {
        let records = made(MIXED).unwrap();
        let mut pieces: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
        for record in &records {
            assert_eq!(record.offset >> 16, (record.end() - 1) >> 16, "a request stays in its piece");
            assert_eq!(record.offset % 4096, 0);
            let (reads, writes) = pieces.entry(record.offset >> 16).or_default();
            *(if record.operation == Operation::Read { reads } else { writes }) += 1;
        }
        let reads = records.iter().filter(|record| record.operation == Operation::Read).count();
        assert!((reads as f64 / 80_000.0 - 1.0).abs() < 0.02, "the mix as a whole stays: {reads}");
        // A quarter has 0.2 * 90 % of all as reads and 0.8 * 5 % as writes: 82 % reads. The others have 2.6 %.
        let mostly_read: Vec<u64> =
            pieces.iter().filter(|(_, (reads, writes))| reads > writes).map(|(p, _)| *p).collect();
        assert_eq!((pieces.len(), mostly_read.len()), (1024, 256));
        let share = |is_read: bool| {
            let of = pieces.iter().filter(|(piece, _)| mostly_read.contains(piece) == is_read);
            let (reads, all) = of.fold((0, 0), |sum, (_, (reads, writes))| (sum.0 + reads, sum.1 + reads + writes));
            f64::from(reads) / f64::from(all)
        };
        assert!((share(true) - 0.818).abs() < 0.01 && (share(false) - 0.0256).abs() < 0.003);
        let low = mostly_read.iter().filter(|piece| **piece < 512).count();
        assert!((90..166).contains(&low), "{low} of 256 lie in the first half");
    }

    #[test]
    fn runs_go_on_within_their_kind() {
        let text = MIXED.replace("\"requests\": 400000,", "\"requests\": 60000, \"sequential_fraction\": \"80%\",");
        let text = text.replace(r#"{ "size": "12KiB", "weight": 1 }"#, r#"{ "size": "4KiB", "weight": 1 }"#);
        let records = made(&text).unwrap();
        let mut ends = BTreeMap::new();
        let mut runs = 0;
        // Runs of one kind are broken by requests of the others alone, and where a piece ends (every 16 requests).
        for (index, record) in records.iter().enumerate() {
            runs += u32::from(ends.remove(&record.offset).is_some_and(|before| index - before < 200));
            ends.insert(record.end(), index);
        }
        let share = f64::from(runs) / records.len() as f64;
        assert!((share - 0.8 * 15.0 / 16.0).abs() < 0.03, "{share}");
    }

    #[test]
    fn pieces_that_make_no_sense_are_refused() {
        let refused = |pieces: &str| {
            let text = r#"{ "requests": 1, "footprint": "1MiB", "size": "8KiB", "pieces": PIECES }"#;
            made(&text.replace("PIECES", pieces)).unwrap_err()
        };
        let kinds = r#""kinds": [{ "pieces": 1, "reads": 1, "writes": 1 }]"#;
        use SyntheticError as E;
        for size in ["4KiB", "10KiB", "0B"] {
            let error = refused(&format!(r#"{{ "size": "{size}", {kinds} }}"#));
            assert!(matches!(error, E::PieceSize { .. }), "{error}");
        }
        assert!(matches!(refused(&format!(r#"{{ "size": "2MiB", {kinds} }}"#)), E::NoPieces { index: 0, pieces: 0 }));
        assert!(matches!(refused(r#"{ "size": "64KiB", "kinds": [] }"#), E::PieceWeights));
        for zero in ["reads", "writes", "pieces"] {
            let kinds = kinds.replace(&format!("\"{zero}\": 1"), &format!("\"{zero}\": 0"));
            assert!(matches!(refused(&format!(r#"{{ "size": "64KiB", {kinds} }}"#)), E::PieceWeights), "{zero}");
        }
        let rare = r#"{ "pieces": 1, "reads": 1, "writes": 0 }, { "pieces": 1000, "reads": 1, "writes": 1 }"#;
        let error = refused(&format!(r#"{{ "size": "64KiB", "kinds": [{rare}] }}"#));
        assert!(matches!(error, E::NoPieces { index: 0, pieces: 16 }), "{error}");
        let both = r#"{ "requests": 1, "write_area": "50%", "pieces": { "size": "64KiB", KINDS } }"#;
        assert!(matches!(made(&both.replace("KINDS", kinds)), Err(E::PiecesAndArea)));
    }
}
