//! A range of addresses that requests go to.

use std::ops::Range;

use esker_core::Rng;

use super::AddressPattern;
use super::address::AddressDraw;

/// An area, how places in it are drawn, and where the last request ended.
#[derive(Clone, Debug)]
pub(super) struct Area {
    /// In bytes.
    range: Range<u64>,
    /// Drawn places are multiples of this from the start, in bytes.
    alignment: u64,
    /// A place is where a request may begin. The last places are too close to the end for large requests, see `place`.
    places: u64,
    addresses: AddressDraw,
    /// End of the last request, from the start of the area.
    end: u64,
}

impl Area {
    /// An area of `range` with places drawn by `pattern`; `seed` scatters them.
    pub(super) fn new(range: Range<u64>, alignment: u64, pattern: AddressPattern, seed: u64) -> Self {
        let places = ((range.end - range.start) / alignment).max(1);
        Self { range, alignment, places, addresses: AddressDraw::new(pattern, places, seed), end: 0 }
    }

    /// Lets the first request that goes on begin at `part / parts` of the area, at a multiple of the alignment.
    pub(super) fn begin_at(&mut self, part: u32, parts: u32) {
        let place = u128::from(self.places) * u128::from(part) / u128::from(parts.max(1));
        self.end = place as u64 * self.alignment;
    }

    /// The address of a request of `length` bytes, which fits into the area. It begins where the last one ended if it
    /// `goes_on`, and at the start of the area if it does not fit there.
    pub(super) fn place(&mut self, length: u64, goes_on: bool, rng: &mut Rng) -> u64 {
        let last_start = self.range.end - self.range.start - length;
        let from_start = match &self.addresses {
            _ if goes_on => Some(self.end).filter(|end| *end <= last_start).unwrap_or(0),
            // Exactly uniform over the places where this request fits.
            AddressDraw::Uniform => rng.below(last_start / self.alignment + 1) * self.alignment,
            // Places at the end where the request does not fit are moved to the last one where it does.
            draw => draw.draw(self.places, rng).min(last_start / self.alignment) * self.alignment,
        };
        self.end = from_start + length;
        self.range.start + from_start
    }
}
