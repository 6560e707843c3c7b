//! Places whose data have moved away or were freed. Before such a place is used again, the record of that has to be
//! durable, and the requests that still go there have to end.
//!
//! Without the first, a crash could bring back a map that points to another extent's data. Without the second, a read
//! could return them.

use std::collections::{BTreeMap, VecDeque};

use crate::engine::RecordNumber;
use crate::extent::{ExtentPlace, LogicalExtent};

/// What a place has to wait for, beside the requests that still go there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// Nothing: no record mentions it.
    Nothing,
    /// The record that says where the data of this extent are now. It was not issued yet.
    RecordOf(LogicalExtent),
    /// This record.
    Record(RecordNumber),
}

#[derive(Clone, Copy, Debug)]
struct Leaving {
    /// Whether the record that frees it was issued.
    issued: bool,
    /// Whether that record is durable.
    freed: bool,
    /// Requests of the host to this place that are under way.
    under_way: u32,
    /// Whether its device has yet to be told that the data are gone.
    trim: bool,
}

/// What can be done with a place now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// Tell its device that the data are gone.
    Trim(ExtentPlace),
    /// Release it: it is free.
    Free(ExtentPlace),
}

/// All places that are to be freed.
#[derive(Debug, Default)]
pub(super) struct LeavingPlaces {
    places: BTreeMap<ExtentPlace, Leaving>,
    /// The recorded places of extents whose data are elsewhere by now, while no record says so.
    unissued: BTreeMap<LogicalExtent, ExtentPlace>,
    /// Places by the record that frees them, in rising order.
    by_record: VecDeque<(RecordNumber, ExtentPlace)>,
    ready: VecDeque<ExtentPlace>,
    durable: RecordNumber,
    /// A fault for tests: places are used again before their record is durable.
    #[cfg(test)]
    pub(super) hurries: bool,
}

impl LeavingPlaces {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn places(&self) -> impl Iterator<Item = ExtentPlace> {
        self.places.keys().copied()
    }

    /// Places that will be free without a further flush.
    pub(super) fn soon_free(&self) -> impl Iterator<Item = ExtentPlace> {
        self.places.iter().filter(|(_, leaving)| leaving.issued).map(|(place, _)| *place)
    }

    /// Extents whose recorded places wait for a record that was not issued yet.
    pub(super) fn unrecorded(&self) -> impl Iterator<Item = LogicalExtent> {
        self.unissued.keys().copied()
    }

    /// The place that the journal knows of an extent whose data are elsewhere.
    pub(super) fn recorded_place(&self, extent: LogicalExtent) -> Option<ExtentPlace> {
        self.unissued.get(&extent).copied()
    }

    /// Adds `place`; `under_way` requests of the host still go there. If `trim`, its device is told that the data are
    /// gone.
    pub(super) fn add(&mut self, place: ExtentPlace, waits_for: WaitsFor, under_way: u32, trim: bool) {
        #[cfg(test)]
        let waits_for = if self.hurries { WaitsFor::Nothing } else { waits_for };
        let issued = !matches!(waits_for, WaitsFor::RecordOf(_));
        let freed = match waits_for {
            WaitsFor::Nothing => true,
            WaitsFor::RecordOf(extent) => {
                let earlier = self.unissued.insert(extent, place);
                assert!(earlier.is_none(), "an extent has two recorded places");
                false
            }
            WaitsFor::Record(number) => self.wait_for(place, number),
        };
        let earlier = self.places.insert(place, Leaving { issued, freed, under_way, trim });
        assert!(earlier.is_none(), "a place leaves twice");
        self.note(place);
    }

    /// Notes that record `number` tells where the data of `extent` are now, or that they are gone.
    pub(super) fn recorded(&mut self, extent: LogicalExtent, number: RecordNumber) {
        if let Some(place) = self.unissued.remove(&extent) {
            let freed = self.wait_for(place, number);
            let leaving = self.places.get_mut(&place).expect("the place is leaving");
            (leaving.issued, leaving.freed) = (true, freed);
            self.note(place);
        }
    }

    /// Returns whether the record is durable already.
    fn wait_for(&mut self, place: ExtentPlace, number: RecordNumber) -> bool {
        if number > self.durable {
            self.by_record.push_back((number, place));
        }
        number <= self.durable
    }

    /// Notes that a request of the host to `place` has ended.
    pub(super) fn ended(&mut self, place: ExtentPlace) {
        self.places.get_mut(&place).expect("requests go to an extent or to a leaving place").under_way -= 1;
        self.note(place);
    }

    /// Notes that records up to `through` are durable.
    pub(super) fn durable(&mut self, through: RecordNumber) {
        self.durable = self.durable.max(through);
        while let Some((_, place)) = self.by_record.pop_front_if(|(number, _)| *number <= through) {
            self.places.get_mut(&place).expect("the place is leaving").freed = true;
            self.note(place);
        }
    }

    /// Notes that the device of `place` knows that the data are gone.
    pub(super) fn trimmed(&mut self, place: ExtentPlace) {
        self.note(place);
    }

    fn note(&mut self, place: ExtentPlace) {
        if self.places.get(&place).is_some_and(|leaving| leaving.freed && leaving.under_way == 0) {
            self.ready.push_back(place);
        }
    }

    /// Takes the next place for which something can be done now.
    pub(super) fn next_ready(&mut self) -> Option<Ready> {
        let place = self.ready.pop_front()?;
        let leaving = self.places.get_mut(&place).expect("the place is leaving");
        if std::mem::take(&mut leaving.trim) {
            return Some(Ready::Trim(place));
        }
        self.places.remove(&place);
        Some(Ready::Free(place))
    }
}
