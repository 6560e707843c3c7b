//! Places whose data have moved away or were freed. Such a place may be reused once the record of that is durable, and
//! the requests that still go there have ended.
//!
//! Without the first rule, a crash could bring back a map that points to another extent's data. Without the second, a
//! read could return another extent's data.

use std::collections::{BTreeMap, VecDeque};

use crate::engine::RecordNumber;
use crate::extent::{ExtentPlace, LogicalExtent};

/// What a place has to wait for, in addition to the requests that still go there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// Nothing: no record mentions the place.
    Nothing,
    /// The record, not issued yet, that says where the data of this extent are now.
    RecordOf(LogicalExtent),
    /// This record.
    Record(RecordNumber),
}

#[derive(Clone, Copy, Debug)]
struct LeavingPlace {
    /// Whether the record that frees the place was issued.
    issued: bool,
    /// Whether that record is durable.
    freed: bool,
    /// Number of the host's requests to this place that are under way.
    under_way: u32,
    /// Whether its device still has to be told, by a trim, that the data are gone.
    trim: bool,
}

/// What can be done now with a place that waits for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadyPlace {
    /// Trim it: tell its device that the data are gone.
    Trim(ExtentPlace),
    /// Release it: it is free for new data.
    Free(ExtentPlace),
}

/// All places that will become free.
#[derive(Debug, Default)]
pub(super) struct LeavingPlaces {
    places: BTreeMap<ExtentPlace, LeavingPlace>,
    /// For each extent whose data have moved without a record yet: the place that the journal still names.
    unissued: BTreeMap<LogicalExtent, ExtentPlace>,
    /// Places with the record that frees each, by rising number.
    by_record: VecDeque<(RecordNumber, ExtentPlace)>,
    ready: VecDeque<ExtentPlace>,
    durable: RecordNumber,
    /// A fault for tests: places are reused before their record is durable.
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

    /// Returns the places that will become free without a further flush.
    pub(super) fn soon_free(&self) -> impl Iterator<Item = ExtentPlace> {
        self.places.iter().filter(|(_, leaving)| leaving.issued).map(|(place, _)| *place)
    }

    /// Returns the extents whose recorded places wait for a record that was not issued yet.
    pub(super) fn unrecorded(&self) -> impl Iterator<Item = LogicalExtent> {
        self.unissued.keys().copied()
    }

    /// Returns the place that the journal names for an extent whose data have moved.
    pub(super) fn recorded_place(&self, extent: LogicalExtent) -> Option<ExtentPlace> {
        self.unissued.get(&extent).copied()
    }

    /// Adds `place`, to which `under_way` requests of the host still go. If `trim`, its device has to be told that the
    /// data are gone.
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
        let earlier = self.places.insert(place, LeavingPlace { issued, freed, under_way, trim });
        assert!(earlier.is_none(), "a place leaves twice");
        self.note(place);
    }

    /// Notes that the journal names `place` for `extent`, whose data have moved, although that place does not leave.
    pub(super) fn names(&mut self, extent: LogicalExtent, place: ExtentPlace) {
        let earlier = self.unissued.insert(extent, place);
        assert!(earlier.is_none(), "an extent has two recorded places");
    }

    /// Notes that record `number` says where the data of `extent` are now, or that they are gone.
    pub(super) fn recorded(&mut self, extent: LogicalExtent, number: RecordNumber) {
        if let Some(place) = self.unissued.remove(&extent) {
            // A place that has the second copy of its extent does not leave.
            if !self.places.contains_key(&place) {
                return;
            }
            let freed = self.wait_for(place, number);
            let leaving = self.places.get_mut(&place).expect("the place is leaving");
            (leaving.issued, leaving.freed) = (true, freed);
            self.note(place);
        }
    }

    /// Has `place` wait for record `number`. Returns true if that record is durable already.
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

    /// Takes the next place that waits for nothing.
    pub(super) fn next_ready(&mut self) -> Option<ReadyPlace> {
        let place = self.ready.pop_front()?;
        let leaving = self.places.get_mut(&place).expect("the place is leaving");
        if std::mem::take(&mut leaving.trim) {
            return Some(ReadyPlace::Trim(place));
        }
        self.places.remove(&place);
        Some(ReadyPlace::Free(place))
    }
}
