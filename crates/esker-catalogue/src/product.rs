//! Products: what is on sale, in which sizes, at which price, and under which names.

use std::collections::BTreeMap;

use esker_core::{ByteRate, Bytes, Nanos, Power, Ratio};
use serde::Serialize;

use crate::class::CLOUD_VOLUME;
use crate::price::Price;
use crate::{Class, Market, Money};

/// A figure with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figure<T> {
    /// The figure.
    pub value: T,
    /// Who published it, and when; `None` if it is assumed.
    pub source: Option<String>,
}

/// A capacity on sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capacity {
    /// Bytes for the host, as sold: drives and disks count by thousands.
    pub bytes: Bytes,
    /// Flash dies in the drive of this capacity; `None` for what has no flash.
    pub dies: Option<u32>,
}

/// A capacity as it is sold: "1.92TB", or "16TiB" where it is whole GiB.
pub fn capacity_in_words(capacity: Bytes) -> String {
    const GIB: u64 = 1 << 30;
    let in_units_of = |unit: u64, name: &str| {
        let (whole, rest) = (capacity.0 / unit, capacity.0 % unit);
        let digits = format!("{:03}", rest / (unit / 1_000));
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        format!("{whole}{point}{digits}{name}")
    };
    match capacity.0 {
        bytes if bytes.is_multiple_of(GIB) || !bytes.is_multiple_of(1_000_000_000) => capacity.to_string(),
        bytes if bytes >= 1_000_000_000_000 => in_units_of(1_000_000_000_000, "TB"),
        _ => in_units_of(1_000_000_000, "GB"),
    }
}

/// The sizes of a cloud volume, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct VolumeSizes {
    /// The smallest.
    pub least: Bytes,
    /// The largest.
    pub most: Bytes,
}

/// How much the host may write over the warranty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rating {
    /// Times the whole capacity, every day ("DWPD").
    DriveWritesPerDay(Ratio),
    /// Bytes in all ("TBW" counts terabytes).
    Written(u128),
    /// Times that each cell may be erased: the host may write the capacity this many times, at a write amplification of
    /// one.
    Cycles(u64),
}

/// What the maker rates the flash for: one rating for each capacity on sale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Endurance {
    /// Capacity and rating.
    pub ratings: Vec<(Bytes, Rating)>,
}

/// Power that a device draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PowerDraw {
    /// While it works.
    pub active: Power,
    /// While it waits.
    pub idle: Power,
    /// What its place in an array needs besides, always: fans, supplies, controllers.
    pub supplement: Power,
}

/// Figures of a data sheet. Those that are not known are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Performance {
    /// Long sequential reads.
    pub sequential_read: Option<ByteRate>,
    /// Long sequential writes.
    pub sequential_write: Option<ByteRate>,
    /// Random reads of 4 KiB per second, at a deep queue.
    pub random_read: Option<u64>,
    /// Random writes of 4 KiB per second, at a deep queue; of drives for data centres in the steady state.
    pub random_write: Option<u64>,
    /// A read of 4 KiB, alone.
    pub read_latency: Option<Nanos>,
    /// A write of 4 KiB, alone.
    pub write_latency: Option<Nanos>,
}

/// What a simulated drive does at the conditions of data sheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Simulated {
    /// Capacity of the drive: the largest on sale, since data sheets state what the best capacity does.
    pub capacity: Bytes,
    /// Its throughput; without latencies.
    pub performance: Performance,
}

/// A published figure beside that of the simulated drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beside {
    /// The figure: its key in the catalogue, such as `random_read`.
    pub figure: &'static str,
    /// Published throughput: operations or bytes per second.
    pub published: f64,
    /// Simulated throughput: operations or bytes per second.
    pub simulated: f64,
}

impl Beside {
    /// Simulated over published.
    pub fn ratio(&self) -> f64 {
        self.simulated / self.published
    }
    /// The figure in words: "random reads".
    pub fn name(&self) -> &'static str {
        THROUGHPUT.iter().find(|(figure, _)| *figure == self.figure).map_or(self.figure, |(_, name)| name)
    }
}

/// The figures of throughput of a data sheet: keys in the catalogue, and words for them.
pub(crate) const THROUGHPUT: [(&str, &str); 4] = [
    ("random_read", "random reads"),
    ("random_write", "random writes"),
    ("sequential_read", "sequential reads"),
    ("sequential_write", "sequential writes"),
];

impl Performance {
    /// Operations or bytes per second, in the order of [`THROUGHPUT`].
    fn throughput(&self) -> [Option<f64>; 4] {
        let rate = |rate: Option<ByteRate>| rate.map(|rate| rate.0 as f64);
        let operations = |count: Option<u64>| count.map(|count| count as f64);
        let Self { sequential_read, sequential_write, random_read, random_write, .. } = *self;
        [operations(random_read), operations(random_write), rate(sequential_read), rate(sequential_write)]
    }
}

/// Something about a product that nobody published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// The figure: the key in the catalogue, such as `power`.
    pub figure: String,
    /// How it was arrived at, if the catalogue says so.
    pub reason: Option<String>,
}

/// Something that can be bought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Product {
    /// The name in commands and reports: "micron-7450-pro".
    pub name: String,
    /// Maker and model: "Micron 7450 PRO".
    pub title: String,
    /// The year in which it came out.
    pub year: u16,
    /// Where it is bought.
    pub market: Market,
    /// What it is like.
    pub class: Class,
    /// How it is attached: "NVMe, PCIe 4.0 x4".
    pub interface: String,
    /// Kind of device: "ssd", "hdd", "cloud-volume"; that of its class, if the catalogue does not say.
    pub kind: String,
    /// The preset that models it.
    pub preset: String,
    /// The settings of the simulated device: those of the preset with the product's own laid over them. `None` until
    /// whoever simulates products has filled them in, and so checked them.
    pub settings: Option<serde_json::Value>,
    /// The keys of the settings that the product states itself.
    pub own_settings: Vec<String>,
    /// Capacities on sale, smallest first; empty for cloud volumes.
    pub capacities: Vec<Capacity>,
    /// Sizes of a cloud volume; `None` for devices.
    pub volume_sizes: Option<VolumeSizes>,
    /// Who says that all volumes of the type at an instance share the limits of one of their total size; `None` if each
    /// has its own.
    pub shared_limits: Option<String>,
    /// Flash of one die; `None` for what has no flash.
    pub die: Option<Bytes>,
    /// What the flash is rated for; `None` for what does not wear, or is not known.
    pub endurance: Option<Figure<Endurance>>,
    /// Years of warranty, over which `endurance` holds.
    pub warranty_years: f64,
    /// Power of one device; `None` if not known, or somebody else pays for it.
    pub power: Option<Figure<PowerDraw>>,
    /// Share of devices that fail in a year.
    pub annual_failure_rate: Option<Figure<Ratio>>,
    /// What data sheets promise.
    pub performance: Option<Figure<Performance>>,
    /// Why the simulated drive is far from a published figure, by the key of the figure.
    pub performance_differs: BTreeMap<String, String>,
    /// What the simulated drive does; `None` for what is no drive, and where it was not measured.
    pub simulated: Option<Simulated>,
    /// What it costs.
    pub price: Figure<Price>,
    /// Why it is no longer sold, and since when; `None` if it is on sale.
    pub discontinued: Option<String>,
    /// Whether it was asked for by its name: then it is offered though it is no longer sold.
    pub asked_for: bool,
    /// The source of everything that has none of its own; `None` if everything has, or is assumed.
    pub source: Option<String>,
    /// What is assumed, by the names of keys.
    pub assumed: Vec<Assumption>,
}

impl Product {
    /// Whether it is a volume of a cloud, which is rented by the month.
    pub fn is_cloud_volume(&self) -> bool {
        self.kind == CLOUD_VOLUME
    }

    /// Whether it may be advised: it is sold, or it was asked for by its name.
    pub fn may_be_advised(&self) -> bool {
        self.discontinued.is_none() || self.asked_for
    }

    /// Host bytes that the flash of a device of `capacity` is rated for, over the warranty. A capacity that is not on
    /// sale is rated like the nearest one that is. `None` if there is no rating.
    pub fn endurance_bytes(&self, capacity: Bytes) -> Option<u128> {
        let ratings = &self.endurance.as_ref()?.value.ratings;
        let (of, rating) = ratings.iter().min_by_key(|(of, _)| of.0.abs_diff(capacity.0))?;
        let bytes = u128::from(capacity.0);
        Some(match *rating {
            Rating::DriveWritesPerDay(times) => {
                let days = (self.warranty_years * 365.0 * 1e3).round() as u128;
                bytes * u128::from(times.as_parts_per_billion()) / 1_000_000 * days / 1_000_000
            }
            Rating::Written(written) => (written / 1_000) * bytes / (u128::from(of.0) / 1_000).max(1),
            Rating::Cycles(cycles) => bytes * u128::from(cycles),
        })
    }

    /// Flash dies of a drive of `capacity`. One that is not on sale has as many as the nearest that is, by the byte.
    pub fn dies_at(&self, capacity: Bytes) -> Option<u32> {
        let nearest = self.capacities.iter().min_by_key(|on_sale| on_sale.bytes.0.abs_diff(capacity.0))?;
        let Capacity { bytes, dies } = *nearest;
        let dies = u128::from(dies?);
        let scaled = (dies * u128::from(capacity.0)).div_ceil(u128::from(bytes.0.max(1)));
        Some(u32::try_from(scaled).unwrap_or(u32::MAX).max(1))
    }

    /// Drive writes per day over the warranty that a device of `capacity` is rated for; `None` without a rating.
    pub fn drive_writes_per_day_sold(&self, capacity: Bytes) -> Option<f64> {
        let days = self.warranty_years * 365.0;
        let bytes = self.endurance_bytes(capacity)?;
        (capacity > Bytes::ZERO && days > 0.0).then(|| bytes as f64 / capacity.0 as f64 / days)
    }

    /// The price of one device of `capacity`; zero for what is rented (see [`crate::cloud_cost`]).
    pub fn purchase(&self, capacity: Bytes) -> Money {
        self.price.value.purchase(capacity)
    }

    /// What of the product is assumed, in words: one sentence for each, without a full stop.
    pub fn assumptions(&self) -> Vec<String> {
        let sentence = |assumption: &Assumption| {
            let reason = assumption.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            format!("`{}` of {} is assumed{reason}", assumption.figure, self.name)
        };
        self.assumed.iter().map(sentence).collect()
    }

    /// The published throughput beside that of the simulated drive. Figures without a source are left out: nothing is
    /// held against them.
    pub fn beside_published(&self) -> Vec<Beside> {
        let published = self.performance.as_ref().filter(|figure| figure.source.is_some());
        let Some((published, simulated)) = published.zip(self.simulated) else { return Vec::new() };
        let figures = THROUGHPUT.iter().zip(published.value.throughput()).zip(simulated.performance.throughput());
        let beside = |(((figure, _), published), simulated): ((&(&'static str, _), Option<f64>), Option<f64>)| {
            Some(Beside { figure, published: published?, simulated: simulated? })
        };
        figures.filter_map(beside).collect()
    }

    /// Whether `figure`, the name of a key, is assumed.
    pub fn is_assumed(&self, figure: &str) -> bool {
        self.assumed.iter().any(|assumption| assumption.figure == figure)
    }
}
