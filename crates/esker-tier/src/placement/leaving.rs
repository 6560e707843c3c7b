//! Places whose data have moved away or were freed. Before such a place is used again: (1) the record of that has to be
//! durable, (2) the requests that still go there have to end, (3) the place has to hold zeroes.
//!
//! Without (1), a crash could bring back a map that points to another extent's data. Without (2), a read could return
//! them. Without (3), the unwritten part of the next extent there would show them.

use crate::engine::RecordNumber;
use crate::extent::ExtentPlace;

#[derive(Clone, Copy, Debug)]
struct Leaving {
    place: ExtentPlace,
    /// The record that frees the place; `None` if no record mentions the place.
    record: Option<RecordNumber>,
    /// Requests of the host to this place that are under way.
    under_way: u32,
    content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Old,
    BeingZeroed,
    Zeroes,
}

/// What can be done with a place now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// Overwrite it with zeroes.
    Zero(ExtentPlace),
    /// Release it: it is free.
    Free(ExtentPlace),
}

/// All places that are to be freed. They are few: each waits for the journal.
#[derive(Debug, Default)]
pub(super) struct LeavingPlaces {
    list: Vec<Leaving>,
    durable: RecordNumber,
    /// A fault for tests: places are zeroed and used again before their record is durable.
    #[cfg(test)]
    pub(super) hurries: bool,
}

impl LeavingPlaces {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn places(&self) -> impl Iterator<Item = ExtentPlace> {
        self.list.iter().map(|leaving| leaving.place)
    }

    /// Adds `place`, which `record` frees; `under_way` requests of the host still go there.
    pub(super) fn add(&mut self, place: ExtentPlace, record: Option<RecordNumber>, under_way: u32) {
        self.list.push(Leaving { place, record, under_way, content: Content::Old });
    }

    /// Notes that a request of the host to `place` has ended.
    pub(super) fn ended(&mut self, place: ExtentPlace) {
        if let Some(leaving) = self.list.iter_mut().find(|leaving| leaving.place == place) {
            leaving.under_way -= 1;
        }
    }

    /// Notes that records up to `through` are durable.
    pub(super) fn durable(&mut self, through: RecordNumber) {
        self.durable = self.durable.max(through);
    }

    /// Notes that `place` was zeroed. If that failed (`ok` is false), the place stays out of use: its device has
    /// failed.
    pub(super) fn zeroed(&mut self, place: ExtentPlace, ok: bool) {
        let leaving = self.list.iter_mut().find(|leaving| leaving.place == place).expect("the place is leaving");
        leaving.content = if ok { Content::Zeroes } else { Content::Old };
    }

    /// Takes the next place for which something can be done now. `takes_writes` tells whether the device of a place
    /// takes writes.
    pub(super) fn next_ready(&mut self, takes_writes: impl Fn(ExtentPlace) -> bool) -> Option<Ready> {
        let durable = self.durable;
        #[cfg(test)]
        let durable = if self.hurries { RecordNumber(u64::MAX) } else { durable };
        let index = self.list.iter().position(|leaving| match leaving.content {
            Content::BeingZeroed => false,
            Content::Zeroes => true,
            Content::Old => {
                leaving.under_way == 0
                    && leaving.record.is_none_or(|record| record <= durable)
                    && takes_writes(leaving.place)
            }
        })?;
        let leaving = &mut self.list[index];
        if leaving.content == Content::Old {
            leaving.content = Content::BeingZeroed;
            return Some(Ready::Zero(leaving.place));
        }
        Some(Ready::Free(self.list.remove(index).place))
    }
}
