//! Settings of a synthetic trace.

use esker_core::{Bytes, Hint, Nanos, Ratio, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::named::NameOrTable;
use super::presets::names;
use super::{AddressPattern, ArrivalPattern, PieceKind, PieceSettings, SizePattern};

/// A synthetic workload, as in `synthetic = { requests = 1_000_000, read_fraction = "70%", size = "4KiB" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyntheticSettings {
    /// A workload of this name, for all keys that the table does not contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Number of requests.
    pub requests: u64,
    /// Share of reads.
    #[serde(default = "half")]
    pub read_fraction: Ratio,
    /// Share of trims; the rest are writes.
    #[serde(default)]
    pub trim_fraction: Ratio,
    /// Size of a request, or a list of `{ size, weight }`.
    #[serde(default = "four_kib")]
    pub size: SizePattern,
    /// Size of a write, likewise, if it is not that of reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_size: Option<SizePattern>,
    /// Where requests go.
    #[serde(default = "uniform")]
    #[schemars(with = "NameOrTable<AddressPattern>")]
    pub address: AddressPattern,
    /// Share of requests that begin where the one before ended.
    #[serde(default)]
    pub sequential_fraction: Ratio,
    /// Writes and trims go to this share of the footprint alone, at its end, and reads to the rest. Each of the two
    /// areas has `address` and runs of its own. Default: all requests go everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_area: Option<Ratio>,
    /// Cuts the footprint into pieces that differ in their mix of reads and writes, instead of `write_area`. What is
    /// left at its end is not used. Default: all requests go everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<PieceSettings>,
    /// Requests end at or below this address. Default: the capacity of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<Bytes>,
    /// Requests that do not continue the one before begin at multiples of this. Default: the largest power of two that
    /// divides every size, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<Bytes>,
    /// When requests arrive. Default: all at once, which is only useful in closed-loop replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalPattern>,
    /// Seed of this workload. Default: the seed of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl SyntheticSettings {
    /// `requests` requests, with defaults for all other settings.
    pub fn new(requests: u64) -> Self {
        Self {
            preset: None,
            requests,
            read_fraction: half(),
            trim_fraction: Ratio::ZERO,
            size: four_kib(),
            write_size: None,
            address: uniform(),
            sequential_fraction: Ratio::ZERO,
            write_area: None,
            pieces: None,
            footprint: None,
            alignment: None,
            arrivals: None,
            seed: None,
        }
    }
}

/// The largest size that is drawn.
fn largest_of(sizes: &SizePattern) -> Result<Bytes, SyntheticError> {
    let sizes = sizes.weighted();
    let possible = |size: Bytes| (512..=1 << 31).contains(&size.0) && size.0.is_multiple_of(512);
    if let Some(wrong) = sizes.iter().find(|size| !possible(size.size)) {
        return Err(SyntheticError::Size { size: wrong.size });
    }
    let drawn = sizes.iter().filter(|size| size.weight > 0).map(|size| size.size);
    drawn.max().ok_or(SyntheticError::NoSize)
}

fn half() -> Ratio {
    Ratio::percent(50)
}
fn four_kib() -> SizePattern {
    SizePattern::Fixed(Bytes::kib(4))
}
fn uniform() -> AddressPattern {
    AddressPattern::Uniform {}
}

/// Errors in the settings of a synthetic workload.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SyntheticError {
    /// A preset that was not replaced by its settings.
    #[error("there is no preset `{name}`")]
    Preset {
        /// Its name.
        name: String,
    },
    /// No request at all.
    #[error("`requests` is 0: there is nothing to generate")]
    NoRequests,
    /// A share above one.
    #[error("`{key}` is {value}, which is more than the whole")]
    Share {
        /// The setting.
        key: &'static str,
        /// Its value.
        value: Ratio,
    },
    /// The shares of reads and trims exceed one in total.
    #[error("`read_fraction` {read} and `trim_fraction` {trim} are more than the whole together")]
    Fractions {
        /// Share of reads.
        read: Ratio,
        /// Share of trims.
        trim: Ratio,
    },
    /// A size that no request can have.
    #[error("`size` has {size}, which is not between 512B and 2GiB in whole sectors of 512B")]
    Size {
        /// The size.
        size: Bytes,
    },
    /// No sizes, or only sizes of weight zero.
    #[error("`size` lists no size with a weight above zero")]
    NoSize,
    /// An alignment that is not a whole number of sectors.
    #[error("`alignment` is {alignment}, which is not one or more whole sectors of 512B")]
    Alignment {
        /// The alignment.
        alignment: Bytes,
    },
    /// No place is left for reads, or none for writes.
    #[error("`write_area` {share} of a footprint of {footprint} leaves an area of {area} for requests of {size}")]
    Area {
        /// The setting.
        share: Ratio,
        /// The footprint.
        footprint: Bytes,
        /// The smaller area.
        area: Bytes,
        /// The largest size in it.
        size: Bytes,
    },
    /// Pieces and an area of writes.
    #[error("`pieces` and `write_area` exclude each other; give one of them")]
    PiecesAndArea,
    /// Pieces that cannot hold a request, or not in whole places.
    #[error("`pieces.size` is {size}; it has to be a multiple of {alignment} and hold requests of {largest}")]
    PieceSize {
        /// Their size.
        size: Bytes,
        /// The largest request.
        largest: Bytes,
        /// The alignment of requests.
        alignment: Bytes,
    },
    /// No kind of piece, or weights that are all zero.
    #[error("`pieces.kinds` has no kind with a weight above zero for each of `pieces`, `reads` and `writes`")]
    PieceWeights,
    /// A kind that gets requests, but has no piece in this footprint.
    #[error("`pieces.kinds[{index}]` gets requests, but none of the {pieces} pieces of the footprint")]
    NoPieces {
        /// Its place in the list.
        index: usize,
        /// All pieces.
        pieces: u64,
    },
    /// The largest request does not fit.
    #[error("requests of {size} do not fit into a footprint of {footprint}")]
    Footprint {
        /// The largest size.
        size: Bytes,
        /// The footprint.
        footprint: Bytes,
    },
    /// The footprint does not fit onto the device.
    #[error("a footprint of {footprint} does not fit into {capacity}")]
    Capacity {
        /// The footprint.
        footprint: Bytes,
        /// The device's capacity.
        capacity: Bytes,
    },
    /// An exponent that is negative, infinite or not a number.
    #[error("a Zipf exponent lies between 0 and 20, not at {0}")]
    Exponent(f64),
    /// A rate of zero.
    #[error("the arrival rate is zero")]
    Rate,
    /// Bursts so short, or so few requests in them, that nearly all bursts would be empty.
    #[error("bursts of {on} every {on} + {off} hold less than a hundredth of a request at this rate")]
    EmptyBursts {
        /// Their length.
        on: Nanos,
        /// The time between them.
        off: Nanos,
    },
}

impl Hint for SyntheticError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Footprint { size, .. } => {
                Some(format!("set `footprint` to at least {size}, or make requests smaller"))
            }
            Self::Area { .. } => {
                Some("choose a share that leaves room for the largest request on both sides".to_string())
            }
            Self::NoPieces { .. } => {
                Some("make `pieces.size` smaller, `footprint` larger, or its weight `pieces` larger".to_string())
            }
            Self::NoRequests => Some("set `requests` to 1 or more".to_string()),
            Self::Share { key, value } => Some(words::share_hint(key, *value)),
            Self::Preset { .. } => Some(format!("the presets are {}", names().join(", "))),
            Self::Capacity { capacity, .. } => Some(format!("set `footprint` to at most {capacity}, or leave it out")),
            Self::EmptyBursts { .. } => {
                Some("make `on` longer or `rate` higher, or use kind = \"poisson\"".to_string())
            }
            _ => None,
        }
    }
}

impl SyntheticSettings {
    /// The footprint if the device has `capacity`.
    pub fn footprint_on(&self, capacity: Bytes) -> Bytes {
        self.footprint.unwrap_or(capacity)
    }

    /// Checks the settings for a device of `capacity`.
    ///
    /// # Errors
    /// The first error.
    pub fn check(&self, capacity: Bytes) -> Result<(), SyntheticError> {
        let shares = [
            ("read_fraction", self.read_fraction),
            ("trim_fraction", self.trim_fraction),
            ("sequential_fraction", self.sequential_fraction),
            ("write_area", self.write_area.unwrap_or(Ratio::ZERO)),
        ];
        if let Some(name) = &self.preset {
            return Err(SyntheticError::Preset { name: name.clone() });
        }
        if self.requests == 0 {
            return Err(SyntheticError::NoRequests);
        }
        if let Some(&(key, value)) = shares.iter().find(|(_, value)| *value > Ratio::ONE) {
            return Err(SyntheticError::Share { key, value });
        }
        let (read, trim) = (self.read_fraction, self.trim_fraction);
        if trim > read.complement() {
            return Err(SyntheticError::Fractions { read, trim });
        }
        let (read, write) = (largest_of(&self.size)?, self.write_size.as_ref().map(largest_of).transpose()?);
        if let Some(alignment) = self.alignment
            && (alignment.0 == 0 || !alignment.0.is_multiple_of(512))
        {
            return Err(SyntheticError::Alignment { alignment });
        }
        let footprint = self.footprint_on(capacity);
        if footprint > capacity {
            return Err(SyntheticError::Capacity { footprint, capacity });
        }
        self.check_areas(footprint, read, write.unwrap_or(read))?;
        self.check_patterns()
    }

    /// Checks that the largest `read` and the largest `write` fit where they go.
    fn check_areas(&self, footprint: Bytes, read: Bytes, write: Bytes) -> Result<(), SyntheticError> {
        let size = read.max(write);
        if size > footprint {
            return Err(SyntheticError::Footprint { size, footprint });
        }
        self.check_pieces(footprint, size)?;
        let Some(share) = self.write_area else { return Ok(()) };
        let writes_from = self.writes_from(footprint).0;
        let areas = [(writes_from, read), (footprint.0 - writes_from, write)];
        match areas.into_iter().find(|&(area, size)| area < size.0) {
            Some((area, size)) => Err(SyntheticError::Area { share, footprint, area: Bytes(area), size }),
            None => Ok(()),
        }
    }

    /// Checks the pieces for requests of up to `largest` bytes.
    fn check_pieces(&self, footprint: Bytes, largest: Bytes) -> Result<(), SyntheticError> {
        let Some(pieces) = &self.pieces else { return Ok(()) };
        if self.write_area.is_some() {
            return Err(SyntheticError::PiecesAndArea);
        }
        let PieceSettings { size, ref kinds } = *pieces;
        let alignment = self.alignment();
        if size < largest || !size.0.is_multiple_of(alignment) {
            return Err(SyntheticError::PieceSize { size, largest, alignment: Bytes(alignment) });
        }
        let of = |weight: fn(&PieceKind) -> u32| kinds.iter().any(|kind| weight(kind) > 0);
        if !(of(|kind| kind.pieces) && of(|kind| kind.reads) && of(|kind| kind.writes)) {
            return Err(SyntheticError::PieceWeights);
        }
        let bounds = pieces.bounds(footprint.0);
        let used = |kind: &PieceKind| kind.reads > 0 || kind.writes > 0;
        let empty = kinds.iter().zip(bounds.windows(2)).position(|(kind, pair)| used(kind) && pair[0] == pair[1]);
        empty.map_or(Ok(()), |index| Err(SyntheticError::NoPieces { index, pieces: footprint.0 / size.0 }))
    }

    /// Where the area of writes begins; zero if they go everywhere.
    pub(super) fn writes_from(&self, footprint: Bytes) -> Bytes {
        let from = self.write_area.map_or(0, |share| footprint.0 - share.of(footprint.0));
        Bytes(from / self.alignment() * self.alignment())
    }

    fn check_patterns(&self) -> Result<(), SyntheticError> {
        match self.address {
            AddressPattern::Zipf { exponent } if !(0.0..=20.0).contains(&exponent) => {
                return Err(SyntheticError::Exponent(exponent));
            }
            AddressPattern::HotCold { hot_share, hot_accesses } => {
                for (key, value) in [("hot_share", hot_share), ("hot_accesses", hot_accesses)] {
                    if value > Ratio::ONE {
                        return Err(SyntheticError::Share { key, value });
                    }
                }
            }
            _ => {}
        }
        match self.arrivals {
            Some(arrivals) if arrivals.rate().is_zero() => Err(SyntheticError::Rate),
            Some(ArrivalPattern::Bursty { rate, on, off })
                if on == Nanos::ZERO || (on.0 as f64 + off.0 as f64) < 0.01 * rate.mean_gap_ns() =>
            {
                Err(SyntheticError::EmptyBursts { on, off })
            }
            _ => Ok(()),
        }
    }

    /// The alignment, as given or derived from the sizes.
    pub(super) fn alignment(&self) -> u64 {
        self.alignment.map_or_else(
            || {
                let sizes = std::iter::once(&self.size).chain(&self.write_size).flat_map(SizePattern::weighted);
                1 << sizes.map(|size| size.size.0.trailing_zeros()).min().unwrap_or(12).min(12)
            },
            |alignment| alignment.0,
        )
    }
}
