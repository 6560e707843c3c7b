//! The way from a record to requests.

use std::cell::Cell;

use esker_core::{Arrival, Bytes, Ratio};
use esker_results::LeftOut;
use esker_trace::{Record, Synthesiser};

use super::address::{Addresses, request_at};
use super::marks::Marks;
use super::passes::Passes;
use super::scaled;

/// The requests of records, one after the other. Most records are one request; a trim may be several.
pub(super) struct Arrivals<'a> {
    pub(super) records: std::iter::Take<Records<'a>>,
    pub(super) shifts: &'a [u64],
    pub(super) time_scale: Ratio,
    pub(super) addresses: Addresses<'a>,
    pub(super) capacity: Bytes,
    pub(super) marks: &'a Marks,
    pub(super) left_out: &'a Cell<LeftOut>,
    /// A record with its further places.
    pub(super) rest: Option<(Record, std::vec::IntoIter<(u64, u64)>)>,
}

impl Arrivals<'_> {
    #[inline]
    fn arrival(&self, record: &Record, place: (u64, u64)) -> Option<Arrival> {
        let request = self.marks.mark(record.volume, request_at(record, place)?);
        Some(Arrival { at: scaled(record.at, self.time_scale), request })
    }

    /// The next request of the record in `rest`.
    #[cold]
    fn next_of_rest(&mut self) -> Option<Arrival> {
        while let Some((record, places)) = &mut self.rest {
            let (record, place) = (*record, places.next());
            match place.map(|place| self.arrival(&record, place)) {
                Some(None) => {}
                Some(arrival) => return arrival,
                None => self.rest = None,
            }
        }
        None
    }
}

impl Iterator for Arrivals<'_> {
    type Item = Arrival;

    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        loop {
            if self.rest.is_some()
                && let Some(arrival) = self.next_of_rest()
            {
                return Some(arrival);
            }
            let record = shifted_record(&self.records.next()?, self.shifts);
            let (one, many) = self.addresses.places(&record, self.capacity.0, self.left_out);
            if !many.is_empty() {
                self.rest = Some((record, many.into_iter()));
            }
            if let Some(arrival) = one.and_then(|place| self.arrival(&record, place)) {
                return Some(arrival);
            }
        }
    }
}

/// Returns `record` with its volume's shift added.
#[inline]
pub(super) fn shifted_record(record: &Record, shifts: &[u64]) -> Record {
    let shift = shifts.get(record.volume.0 as usize).copied().unwrap_or(0);
    Record { offset: record.offset.saturating_add(shift), ..*record }
}

/// One iterator type for both sources, to avoid an indirect call per record.
pub(super) enum Records<'a> {
    Recorded(Box<Passes<'a>>),
    Synthetic(Box<Synthesiser>),
}

impl Iterator for Records<'_> {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        match self {
            Self::Recorded(records) => records.next(),
            Self::Synthetic(records) => records.next(),
        }
    }
}
