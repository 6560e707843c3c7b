//! Places whose data have gone. Before one is used again, the record that says so has to be durable, the requests that
//! still go there have to end, and the place has to hold zeroes.
//!
//! Without the first rule a crash could bring back a map that points to somebody else's data; without the second a read
//! could return them; without the third the unwritten part of the next extent there would show them.

use crate::engine::RecordNumber;
use crate::extent::Place;

#[derive(Clone, Copy, Debug)]
struct Leaving {
    place: Place,
    /// The record that frees it; `None` where no record ever spoke of it.
    record: Option<RecordNumber>,
    /// Requests of the host that go there.
    under_way: u32,
    content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Old,
    BeingZeroed,
    Zeroes,
}

/// What can be done for a place now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// To be overwritten with zeroes.
    Zero(Place),
    /// Free.
    Free(Place),
}

/// All such places. There are few: they wait for the journal.
#[derive(Debug, Default)]
pub(super) struct LeavingPlaces {
    list: Vec<Leaving>,
    durable: RecordNumber,
    /// Whether places are zeroed and used again before their record is durable, as a wrong twin for the tests.
    #[cfg(test)]
    pub(super) hurries: bool,
}

impl LeavingPlaces {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.list.iter().map(|leaving| leaving.place)
    }

    /// `place` was freed by `record`, and so many requests of the host still go there.
    pub(super) fn add(&mut self, place: Place, record: Option<RecordNumber>, under_way: u32) {
        self.list.push(Leaving { place, record, under_way, content: Content::Old });
    }

    /// A request of the host that went to `place` has ended.
    pub(super) fn ended(&mut self, place: Place) {
        if let Some(leaving) = self.list.iter_mut().find(|leaving| leaving.place == place) {
            leaving.under_way -= 1;
        }
    }

    /// Records up to `through` are durable.
    pub(super) fn durable(&mut self, through: RecordNumber) {
        self.durable = self.durable.max(through);
    }

    /// `place` holds zeroes. One that could not be zeroed (`ok`) stays out of use: its device has failed.
    pub(super) fn zeroed(&mut self, place: Place, ok: bool) {
        let leaving = self.list.iter_mut().find(|leaving| leaving.place == place).expect("the place is leaving");
        leaving.content = if ok { Content::Zeroes } else { Content::Old };
    }

    /// The next place for which something can be done, where `takes_writes` says so of its device.
    pub(super) fn next_ready(&mut self, takes_writes: impl Fn(Place) -> bool) -> Option<Ready> {
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
