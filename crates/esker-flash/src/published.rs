//! Compares the modern presets with figures of data sheets.

use std::fmt::Write;

/// The comparison of a preset with the data sheets of its class.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Name of the preset.
    pub preset: &'static str,
    /// The vendors of the data sheets, and the capacity of their drives.
    pub sources: &'static str,
    /// The figures that are compared.
    pub figures: &'static [Figure],
}

/// One figure of a preset.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The workload.
    pub work: Work,
    /// Queue depth: the number of requests under way at the same time.
    pub depth: u32,
    /// Lowest and highest figure of the data sheets, in [`Work::unit`]; `None` if none of them states this figure.
    pub published: Option<(f64, f64)>,
    /// What the preset reaches, in [`Work::unit`]. The tests measure it.
    pub measured: f64,
    /// Why the measured figure differs from the published range by more than [`TOLERANCE`]; empty if it does not.
    pub reason: &'static str,
}

/// A workload for which data sheets state figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// 4 KiB requests all over a drive that was written once.
    RandomRead,
    /// 4 KiB requests all over the drive, in the steady state.
    RandomWrite,
    /// Sequential 128 KiB requests, on a drive that was written once.
    SequentialRead,
    /// Sequential 128 KiB requests that overwrite a drive that was written once.
    SequentialWrite,
}

impl Work {
    /// Returns the workload in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::RandomRead => "random reads, 4 KiB",
            Self::RandomWrite => "steady random writes, 4 KiB",
            Self::SequentialRead => "sequential reads, 128 KiB",
            Self::SequentialWrite => "sequential writes, 128 KiB",
        }
    }

    /// Returns the unit of the workload's figures.
    pub fn unit(self) -> &'static str {
        match self {
            Self::RandomRead | Self::RandomWrite => "requests/s",
            Self::SequentialRead | Self::SequentialWrite => "MB/s",
        }
    }
}

/// The share by which a figure may differ from the published range without a reason.
pub const TOLERANCE: f64 = 0.25;

impl Figure {
    /// Returns the measured figure divided by the nearest figure of the published range; 1 if it lies within the range.
    pub fn ratio(&self) -> Option<f64> {
        let (low, high) = self.published?;
        Some(self.measured / self.measured.clamp(low, high))
    }

    /// Returns the cells of a table row: work and depth, published range, measured, ratio, reason.
    pub fn cells(&self) -> [String; 5] {
        let range = match self.published {
            None => "-".to_string(),
            Some((low, high)) if low == high => grouped(low),
            Some((low, high)) => format!("{} to {}", grouped(low), grouped(high)),
        };
        [
            format!("{}, depth {}", self.work.name(), self.depth),
            range,
            format!("{} {}", grouped(self.measured), self.work.unit()),
            self.ratio().map_or_else(|| "-".to_string(), |ratio| format!("{ratio:.2}")),
            self.reason.to_string(),
        ]
    }
}

impl Published {
    /// Returns the comparison of `preset` with data sheets, if there is one.
    pub fn of(preset: &str) -> Option<&'static Self> {
        PUBLISHED.iter().find(|published| published.preset == preset)
    }

    /// Returns the comparison as a Markdown table, as the documents have it.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "`{}`: {}.\n\n| | published | measured | ratio | reason |\n|---|---|---|---|---|\n",
            self.preset, self.sources
        );
        for figure in self.figures {
            let _ = writeln!(text, "| {} |", figure.cells().join(" | ").trim_end());
        }
        text
    }
}

/// Formats a number with commas between thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

const PLANES: &str = "a die reads one page at a time: planes that read on their own are not modelled";

const FEWER: &str = "published for 960 GB, of twice the dies; and planes that read on their own are not modelled: \
                     a die reads one page at a time";
const LARGER: &str = "published for 30 to 122 TB, of four to sixteen times as many dies";
const CACHE: &str = "no cache reads: a die senses its next page only when its register is drained";

/// A figure for which data sheets give a range.
const fn beside(work: Work, depth: u32, published: (f64, f64), measured: f64, reason: &'static str) -> Figure {
    Figure { work, depth, published: Some(published), measured, reason }
}
/// A figure that no data sheet gives.
const fn alone(work: Work, depth: u32, measured: f64) -> Figure {
    Figure { work, depth, published: None, measured, reason: "" }
}

use Work::{RandomRead, RandomWrite, SequentialRead, SequentialWrite};

/// The comparisons of all presets that have one.
pub static PUBLISHED: &[Published] = &[
    Published {
        preset: "tlc-data-centre",
        sources: "Samsung PM983 of 960 GB, data sheet rev. 1.0 (2018): random reads, and random writes of 960 GB \
                  to 3.84 TB; latency of PM983 and Micron 7450 (2022): reads 80 to 85 us, writes 15 to 50 us; \
                  sequential writes of Micron 7450 below 1 TB; sequential reads of drives with PCIe 3.0",
        figures: &[
            beside(RandomRead, 1, (11_800.0, 12_500.0), 12_700.0, ""),
            alone(RandomRead, 32, 126_000.0),
            beside(RandomRead, 256, (400_000.0, 400_000.0), 140_000.0, FEWER),
            beside(RandomWrite, 1, (20_000.0, 66_000.0), 43_000.0, ""),
            alone(RandomWrite, 32, 45_900.0),
            beside(RandomWrite, 256, (40_000.0, 50_000.0), 45_900.0, ""),
            beside(SequentialRead, 32, (3_200.0, 3_200.0), 2_750.0, ""),
            beside(SequentialWrite, 32, (700.0, 1_400.0), 1_110.0, ""),
        ],
    },
    Published {
        preset: "tlc-data-centre-4t",
        sources: "data-centre drives with PCIe 4.0, as announced 2020 to 2023: Samsung PM9A3, Intel P5500, \
                  Micron 7400, Kioxia CD6-R and CD8-R; latency of Micron 7450 and 7500: reads 70 to 80 us, \
                  writes 15 us",
        figures: &[
            beside(RandomRead, 1, (12_500.0, 14_300.0), 14_600.0, ""),
            alone(RandomRead, 32, 320_000.0),
            beside(RandomRead, 256, (900_000.0, 1_250_000.0), 544_000.0, PLANES),
            beside(RandomWrite, 1, (66_700.0, 66_700.0), 66_500.0, ""),
            alone(RandomWrite, 32, 190_000.0),
            beside(RandomWrite, 256, (85_000.0, 200_000.0), 190_000.0, ""),
            beside(SequentialRead, 32, (6_200.0, 7_200.0), 7_000.0, ""),
            beside(SequentialWrite, 32, (3_500.0, 6_000.0), 4_830.0, ""),
        ],
    },
    Published {
        preset: "mlc-3d-512g",
        sources: "Samsung 970 PRO of 512 GB (2018): peak rates as sellers list them. The rate of random writes \
                  is that of a new drive, not compared with the steady state",
        figures: &[
            alone(RandomRead, 1, 15_600.0),
            alone(RandomRead, 32, 280_000.0),
            beside(RandomRead, 256, (370_000.0, 370_000.0), 366_000.0, ""),
            alone(RandomWrite, 1, 28_800.0),
            alone(RandomWrite, 32, 33_300.0),
            alone(RandomWrite, 256, 43_500.0),
            beside(SequentialRead, 32, (3_500.0, 3_500.0), 3_360.0, ""),
            beside(SequentialWrite, 32, (2_300.0, 2_300.0), 1_860.0, ""),
        ],
    },
    Published {
        preset: "tlc-consumer-512g",
        sources: "Samsung 960 EVO (2016): random and sequential reads; 970 EVO Plus of 500 GB (2019), user \
                  manual: sequential writes beyond its cache of single-level cells. Random writes are published \
                  for the cache only, or for a new drive",
        figures: &[
            beside(RandomRead, 1, (14_000.0, 14_000.0), 13_400.0, ""),
            alone(RandomRead, 32, 111_000.0),
            beside(RandomRead, 256, (330_000.0, 330_000.0), 121_000.0, PLANES),
            alone(RandomWrite, 1, 22_400.0),
            alone(RandomWrite, 32, 22_300.0),
            alone(RandomWrite, 256, 22_300.0),
            beside(SequentialRead, 32, (3_200.0, 3_200.0), 2_240.0, CACHE),
            beside(SequentialWrite, 32, (900.0, 900.0), 914.0, ""),
        ],
    },
    Published {
        preset: "qlc-data-centre-2t",
        sources: "Solidigm D5-P5430 (2023): reads in 108 us, sequential writes; D5-P5336 of 61 and 122 TB (2023, \
                  2024). Random writes are published of other units than 16 KiB (D5-P5430), or without their \
                  size (D5-P5336: 25,000 to 38,000), and not compared",
        figures: &[
            beside(RandomRead, 1, (9_260.0, 9_260.0), 7_370.0, ""),
            alone(RandomRead, 32, 185_000.0),
            beside(RandomRead, 256, (930_000.0, 1_005_000.0), 428_000.0, LARGER),
            alone(RandomWrite, 1, 18_700.0),
            alone(RandomWrite, 32, 18_700.0),
            alone(RandomWrite, 256, 18_800.0),
            beside(SequentialRead, 32, (7_000.0, 7_400.0), 7_880.0, ""),
            beside(SequentialWrite, 32, (3_000.0, 3_300.0), 1_640.0, LARGER),
        ],
    },
    Published {
        preset: "z-nand-240g",
        sources: "Samsung SZ985 of 800 GB, performance brief and launch (2017, 2018): reads in 12 to 20 us, \
                  writes in 16 us",
        figures: &[
            beside(RandomRead, 1, (50_000.0, 83_300.0), 60_100.0, ""),
            alone(RandomRead, 32, 781_000.0),
            beside(RandomRead, 256, (750_000.0, 750_000.0), 781_000.0, ""),
            beside(RandomWrite, 1, (62_500.0, 62_500.0), 62_600.0, ""),
            alone(RandomWrite, 32, 154_000.0),
            beside(RandomWrite, 256, (170_000.0, 170_000.0), 153_000.0, ""),
            beside(SequentialRead, 32, (3_200.0, 3_200.0), 3_200.0, ""),
            beside(SequentialWrite, 32, (3_200.0, 3_200.0), 2_510.0, ""),
        ],
    },
];
