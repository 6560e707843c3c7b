//! The memory of requests.

use std::ops::Range;

use esker_nbd::Slices;
use esker_volume::{Buffer, Gather};

/// What zeroes are sent from.
static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

/// The memory of a request.
#[derive(Debug)]
pub(crate) enum Payload {
    /// A read fills this part of the buffer, which has no other owner.
    Fill(Buffer, Range<usize>),
    /// A write takes its bytes from here.
    Take(Gather),
    /// A write of this many zeroes.
    Zeroes(usize),
}

impl AsMut<[u8]> for Payload {
    fn as_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Fill(buffer, part) => &mut buffer.get_mut().expect("a read has its memory to itself")[part.clone()],
            // They are never filled.
            Self::Take(_) | Self::Zeroes(_) => &mut [],
        }
    }
}

impl Slices for Payload {
    fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let (gather, zeroes) = match self {
            Self::Fill(..) => (None, 0),
            Self::Take(gather) => (Some(gather), 0),
            Self::Zeroes(length) => (None, *length),
        };
        let pieces = (0..zeroes).step_by(ZEROES.len()).map(move |done| &ZEROES[..(zeroes - done).min(ZEROES.len())]);
        gather.into_iter().flat_map(Gather::slices).chain(pieces)
    }
}
