//! Classes of data: records of the address space that are asked for in the same way (Kim 2009, section 4.5.2).

mod hot;
mod load;
mod merge;
mod records;
#[cfg(test)]
mod tests;

use esker_core::{Bytes, Nanos, Problem};
use esker_trace::{DenseMap, Operation, Record, VolumeIndex};

pub use hot::{HotBin, HotBins};
use load::Seconds;
pub use load::{Demand, Load, demand};
use records::RecordCounts;

/// How records of the address space become classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSettings {
    /// Size of a record: a power of two from 4 KiB to 1 MiB.
    pub record: Bytes,
    /// A record is hot if there is a second in which more requests than this asked for it.
    pub hot_above: u32,
    /// Where bins of hot records by their share of reads begin, rising, each above 0 and at most 1. The first bin
    /// begins at 0.
    pub read_shares: Vec<f64>,
    /// Where bins by the mean size of requests begin, rising, from above 0 on.
    pub sizes: Vec<Bytes>,
    /// Where bins by requests in the busiest second begin, rising, from above 0 on.
    pub intensities: Vec<u32>,
}

impl ClassSettings {
    /// The 32 hot classes and the cold one of Kim 2009: four bins by reads and by sizes, two by intensity. The paper
    /// does not say where its bins begin.
    pub fn kim_33() -> Self {
        Self {
            record: Bytes::mib(1),
            hot_above: 1,
            read_shares: vec![0.25, 0.5, 0.75],
            sizes: vec![Bytes::kib(8), Bytes::kib(32), Bytes::kib(128)],
            intensities: vec![8],
        }
    }

    /// The 17 classes without bins of intensity, each of which holds two of the 33.
    pub fn kim_17() -> Self {
        Self { intensities: Vec::new(), ..Self::kim_33() }
    }

    /// Finer bins, of which [`DataClasses::merged`] makes fewer.
    pub fn fine() -> Self {
        Self {
            read_shares: vec![0.05, 0.25, 0.5, 0.75, 0.95],
            sizes: [8, 16, 32, 64, 128, 256].map(Bytes::kib).to_vec(),
            intensities: vec![4, 8, 16, 32, 64, 128],
            ..Self::kim_33()
        }
    }

    /// The most classes that there can be.
    pub fn classes_max(&self) -> usize {
        1 + (self.read_shares.len() + 1) * (self.sizes.len() + 1) * (self.intensities.len() + 1)
    }

    /// # Errors
    /// What is wrong with a setting.
    pub fn check(&self) -> Result<(), Problem> {
        let record = self.record.0;
        if !record.is_power_of_two() || !(4 << 10..=1 << 20).contains(&record) {
            let message = format!("a record of {record} bytes: it has to be a power of two from 4 KiB to 1 MiB");
            return Err(Problem::new(message));
        }
        let shares = self.read_shares.iter();
        if shares.clone().any(|&share| !(share > 0.0 && share <= 1.0)) || !shares.is_sorted_by(|one, next| one < next) {
            return Err(Problem::new("bins by the share of reads begin above 0, at most at 1, and rise"));
        }
        let sizes = self.sizes.iter();
        if self.sizes.first() == Some(&Bytes::ZERO) || !sizes.is_sorted_by(|one, next| one < next) {
            return Err(Problem::new("bins by the size of requests begin above 0, and rise"));
        }
        let intensities = self.intensities.iter();
        if self.intensities.first() == Some(&0) || !intensities.is_sorted_by(|one, next| one < next) {
            return Err(Problem::new("bins by requests in the busiest second begin above 0, and rise"));
        }
        Ok(())
    }
}

/// The classes of a workload.
#[derive(Clone, Debug)]
pub struct DataClasses {
    /// Those that have records: the hot ones in the order of their bins, then the cold one.
    pub classes: Vec<ClassOfData>,
    /// When the first request comes.
    pub begin: Nanos,
    /// Time from the first to the last request.
    pub time: Nanos,
    /// Size of a record.
    pub record: Bytes,
    /// The class of each touched record, by its place in `touched`.
    of_record: Vec<u32>,
    touched: DenseMap,
}

/// Records that are asked for in the same way.
#[derive(Clone, Debug)]
pub struct ClassOfData {
    /// What they have in common; `None` if they are cold.
    pub bins: Option<HotBins>,
    /// Number of records.
    pub records: u64,
    /// What was asked of it, without the requests that it did not get.
    pub total: Load,
    /// What was asked of it in each second in which it was asked for anything: seconds since the first request, rising.
    pub seconds: Vec<(u32, Load)>,
}

impl ClassOfData {
    /// Bytes of its records.
    pub fn bytes(&self, record: Bytes) -> Bytes {
        Bytes(self.records * record.0)
    }
}

impl DataClasses {
    /// Classes of the reads and writes that each call of `records` returns in the order of their times, all within the
    /// areas of `touched` (asserted). Passes over them twice. Needs 48 bytes of memory for a touched record, and 72 for
    /// each second of each class.
    ///
    /// # Errors
    /// What is wrong with `settings`.
    pub fn of<I: Iterator<Item = Record>>(
        touched: DenseMap,
        settings: &ClassSettings,
        records: impl Fn() -> I,
    ) -> Result<Self, Problem> {
        settings.check()?;
        let asked = || records().filter(|record| record.length > 0 && is_transfer(record));
        let first = asked().next().map_or(Nanos::ZERO, |record| record.at);
        let shift = settings.record.0.trailing_zeros();
        let mut counts = vec![RecordCounts::default(); (touched.footprint() >> shift) as usize];
        for record in asked() {
            let (second, is_read) = (second(first, &record), record.operation == Operation::Read);
            pieces(&touched, shift, &record, |number, bytes| counts[number].count(second, is_read, bytes));
        }
        let (of_record, bins) = hot::bins(&counts, settings);
        drop(counts);
        Ok(Self::with_bins((touched, settings.record), of_record, bins, asked))
    }

    /// The same data with fewer classes: neighbouring ones of the same of `kinds` become one, as long as what is of
    /// another kind stays out of it. The reads and writes are those that the classes were made of; passes over them
    /// once.
    pub fn merged<I: Iterator<Item = Record>>(self, kinds: &[usize], records: impl Fn() -> I) -> Self {
        let bins: Vec<Option<HotBins>> = self.classes.iter().map(|class| class.bins).collect();
        let (number, bins) = merge::merge(&bins, kinds);
        let of_record = self.of_record.into_iter().map(|class| number[class as usize]).collect();
        let asked = || records().filter(|record| record.length > 0 && is_transfer(record));
        Self::with_bins((self.touched, self.record), of_record, bins, asked)
    }

    /// What is asked of each class.
    fn with_bins<I: Iterator<Item = Record>>(
        (touched, record_size): (DenseMap, Bytes),
        of_record: Vec<u32>,
        bins: Vec<Option<HotBins>>,
        asked: impl Fn() -> I,
    ) -> Self {
        let shift = record_size.0.trailing_zeros();
        let mut seconds: Vec<Seconds> = bins.iter().map(|_| Seconds::default()).collect();
        let mut ends: Vec<u64> = Vec::new();
        let first = asked().next().map_or(Nanos::ZERO, |record| record.at);
        let mut last = first;
        for record in asked() {
            let volume = record.volume.0 as usize;
            if ends.len() <= volume {
                ends.resize(volume + 1, u64::MAX);
            }
            let is_sequential = std::mem::replace(&mut ends[volume], record.end()) == record.offset;
            last = record.at;
            let (second, mut of_class) = (second(first, &record), None);
            pieces(&touched, shift, &record, |number, bytes| {
                let class = of_record[number];
                // Neighbours of one class are one request.
                let is_new = of_class.replace(class) != Some(class);
                seconds[class as usize].add(second, &Load::of(record.operation, is_sequential, is_new, bytes));
            });
        }
        let mut records = vec![0; bins.len()];
        of_record.iter().for_each(|&class| records[class as usize] += 1);
        let parts = bins.into_iter().zip(records).zip(seconds);
        let classes = parts.map(|((bins, records), seconds)| {
            let (total, seconds) = seconds.into_parts();
            ClassOfData { bins, records, total, seconds }
        });
        Self { classes: classes.collect(), begin: first, time: last - first, record: record_size, of_record, touched }
    }

    /// The class of each touched record, by its place in `classes`; in the order of `touched`.
    pub fn of_records(&self) -> &[u32] {
        &self.of_record
    }

    /// The class of a byte, by its place in `classes`. `None` if nothing near it was asked for: cold data, too.
    pub fn class_of(&self, volume: VolumeIndex, byte: u64) -> Option<usize> {
        let place = self.touched.map(volume, byte)?;
        Some(self.of_record[(place / self.record.0) as usize] as usize)
    }
}

/// The second of a request, counted from the first one.
fn second(first: Nanos, record: &Record) -> u32 {
    ((record.at - first).0 / Nanos::from_secs(1).0) as u32
}

fn is_transfer(record: &Record) -> bool {
    matches!(record.operation, Operation::Read | Operation::Write)
}

/// Calls `each` for the records that a request touches: with their places, and how many bytes of each it touches.
fn pieces(touched: &DenseMap, shift: u32, record: &Record, mut each: impl FnMut(usize, u64)) {
    let begin = touched.map(record.volume, record.offset).expect("it was touched");
    let end = begin + u64::from(record.length);
    let mut at = begin;
    while at < end {
        let next = ((at >> shift) + 1) << shift;
        each((at >> shift) as usize, next.min(end) - at);
        at = next;
    }
}
