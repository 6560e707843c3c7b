//! Where RAID-0 puts each byte.

use esker_core::{Bytes, Lba};

use crate::device::DeviceFault;

/// Stripe units over the children in turns: unit u lies on child u mod n, as its unit u div n.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stripes {
    children: u64,
    unit: u64,
    capacity: Bytes,
}

/// The part of a request on one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) child: usize,
    pub(crate) start: Lba,
    pub(crate) length: Bytes,
    /// Where its first byte lies in the request.
    pub(crate) offset: u64,
}

impl Stripes {
    /// `children` devices of which the smallest holds `smallest`; its whole units count, the rest is left unused.
    pub(crate) fn new(children: u64, unit: Bytes, smallest: Bytes) -> Result<Self, DeviceFault> {
        if unit == Bytes::ZERO || !unit.0.is_multiple_of(Bytes::SECTOR.0) {
            return Err(DeviceFault::new(format!("`stripe` is {unit}; it has to be whole sectors of 512B")));
        }
        let capacity = (smallest.0 / unit.0).checked_mul(unit.0).and_then(|bytes| bytes.checked_mul(children));
        match capacity {
            Some(0) => Err(DeviceFault::new(format!("`stripe` is {unit}, more than its smallest child's {smallest}"))),
            Some(capacity) => Ok(Self { children, unit: unit.0, capacity: Bytes(capacity) }),
            None => Err(DeviceFault::new("the children hold more than 16 EiB together")),
        }
    }

    pub(crate) fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// The parts of `length` bytes (at least one) from byte `start`, at most one per child, by the address of their
    /// first bytes. Units of a range that lie on the same child follow each other there, so each part is one range.
    pub(crate) fn split(self, start: u64, length: u64) -> impl Iterator<Item = Piece> {
        let (end, first) = (start + length, start / self.unit);
        let last = (end - 1) / self.unit;
        (first..=last.min(first + self.children - 1)).map(move |unit| {
            let last_here = unit + (last - unit) / self.children * self.children;
            let begin = start.max(unit * self.unit);
            let place = |byte: u64| byte / self.unit / self.children * self.unit + byte % self.unit;
            let stop = place(end.min((last_here + 1) * self.unit) - 1) + 1;
            let begin_here = place(begin);
            Piece {
                child: (unit % self.children) as usize,
                start: Lba::containing(begin_here),
                length: Bytes(stop - begin_here),
                offset: begin - start,
            }
        })
    }
}
