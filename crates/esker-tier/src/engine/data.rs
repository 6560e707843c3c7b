//! Where the bytes of requests are in memory. An engine names buffers and parts of them; it never sees a byte.

use esker_core::{Bytes, Tag};

/// Names a buffer that the driver keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BufferId {
    /// The buffer of a host's request, as long as the request: the data of a write, or the memory that a read fills.
    Host(Tag),
    /// A buffer of a cache. It is as long as what was read into it and zeroed.
    Cache(u32),
    /// A buffer in which an extent is copied from device to device. It is as long as what was read into it.
    Copy(u32),
}

/// A place in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferPlace {
    /// The buffer.
    pub buffer: BufferId,
    /// Offset in it.
    pub offset: Bytes,
}

/// A part of a buffer, or zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins; `None` for zeroes.
    pub place: Option<BufferPlace>,
    /// Its length.
    pub length: Bytes,
}

/// The bytes that a request to a device moves, in their order on the device: zeroes, parts of one buffer, zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRef {
    /// Where the first part begins.
    pub place: BufferPlace,
    /// How the parts are spread over the buffer.
    pub spread: Spread,
    /// Zeroes before the parts. Only a write has some: the first one to a block that it does not fill.
    pub head: Bytes,
    /// Zeroes after the parts.
    pub tail: Bytes,
}

/// How the bytes of a request are spread over a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// One part.
    Whole,
    /// The units of one device of a stripe. From the end of one part to the end of the next are `round` bytes.
    Striped {
        /// Length of the first part, if the request is that long.
        first: Bytes,
        /// Length of each later part; the last one may be shorter.
        unit: Bytes,
        /// Distance from the end of one part to the end of the next.
        round: Bytes,
    },
}

impl BufferPlace {
    /// The place `offset` bytes into `buffer`.
    pub const fn new(buffer: BufferId, offset: Bytes) -> Self {
        Self { buffer, offset }
    }
}

impl DataRef {
    /// The bytes from `offset` on in `buffer`.
    pub const fn new(buffer: BufferId, offset: Bytes) -> Self {
        let (head, tail) = (Bytes::ZERO, Bytes::ZERO);
        Self { place: BufferPlace::new(buffer, offset), spread: Spread::Whole, head, tail }
    }

    /// The same bytes where the buffer that they are in begins `offset` bytes into `buffer`.
    pub fn moved(self, buffer: BufferId, offset: Bytes) -> Self {
        Self { place: BufferPlace::new(buffer, self.place.offset + offset), ..self }
    }

    /// The segments of a request of `length` bytes, in their order on the device. None is empty.
    pub fn segments(self, length: Bytes) -> impl Iterator<Item = Segment> {
        let (first, unit, round) = match self.spread {
            Spread::Whole => (u64::MAX, 0, 0),
            Spread::Striped { first, unit, round } => (first.0, unit.0, round.0),
        };
        let BufferPlace { buffer, offset } = self.place;
        let (mut begin, mut part) = (offset.0, first);
        let mut left = length.0 - self.head.0 - self.tail.0;
        let parts = std::iter::from_fn(move || {
            let size = part.min(left);
            let place = BufferPlace::new(buffer, Bytes(begin));
            (begin, part) = (begin.saturating_add(part).saturating_add(round).saturating_sub(unit), unit);
            left -= size;
            (size > 0).then_some(Segment { place: Some(place), length: Bytes(size) })
        });
        let zeroes = |length| (length > Bytes::ZERO).then_some(Segment { place: None, length });
        zeroes(self.head).into_iter().chain(parts).chain(zeroes(self.tail))
    }
}

/// A change of a buffer, which the driver makes at once. Parts of one buffer do not overlap in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferStep {
    /// The bytes become zeroes. A buffer of a cache grows so far.
    Zero {
        /// The first of them.
        into: BufferPlace,
        /// Their number.
        length: Bytes,
    },
    /// The bytes become those of another place.
    Copy {
        /// Where these are.
        from: BufferPlace,
        /// Where they go.
        into: BufferPlace,
        /// Their number.
        length: Bytes,
    },
    /// To the bytes is added what another place holds, times a factor: parity. Bytes are elements of GF(256) with the
    /// polynomial x^8 + x^4 + x^3 + x^2 + 1 of RAID-6; addition is exclusive or.
    Add {
        /// The factor: 1 for plain parity.
        factor: u8,
        /// Where the other bytes are.
        from: BufferPlace,
        /// The bytes that change.
        into: BufferPlace,
        /// Their number.
        length: Bytes,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_striped_buffer_is_taken_part_by_part() {
        let buffer = BufferId::Host(Tag::new(0, 0));
        let spread = Spread::Striped { first: Bytes(3), unit: Bytes(10), round: Bytes(40) };
        let striped = DataRef { spread, ..DataRef::new(buffer, Bytes(2)) };
        let segments = |data: DataRef, length| {
            data.segments(Bytes(length))
                .map(|segment| (segment.place.map(|place| place.offset.0), segment.length.0))
                .collect::<Vec<_>>()
        };
        assert_eq!(segments(striped, 2), [(Some(2), 2)]);
        assert_eq!(segments(striped, 3), [(Some(2), 3)]);
        assert_eq!(segments(striped, 25), [(Some(2), 3), (Some(35), 10), (Some(75), 10), (Some(115), 2)]);
        let whole = DataRef::new(buffer, Bytes(7));
        assert_eq!(segments(whole, 9), [(Some(7), 9)]);
        let padded = DataRef { head: Bytes(2), tail: Bytes(3), ..whole };
        assert_eq!(segments(padded, 9), [(None, 2), (Some(7), 4), (None, 3)]);
        assert_eq!(segments(padded.moved(BufferId::Cache(1), Bytes(100)), 6), [(None, 2), (Some(107), 1), (None, 3)]);
    }
}
