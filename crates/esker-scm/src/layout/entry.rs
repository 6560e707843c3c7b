//! Entries of the mapping table, eight bytes each.
//!
//! | bits | field |
//! |---|---|
//! | 0-1 | 0 nothing is mapped, 1 a page, 2 a leaf of the table, 3 a run of 512 pages |
//! | 2-41 | physical page |
//! | 42-63 | checksum of the other bits and of the entry's place |

/// What an entry maps. An entry of the table's first level is [`Entry::Leaf`] or [`Entry::Run`], one of a leaf
/// [`Entry::Page`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Nothing. All bits are zero.
    Empty,
    /// A physical page.
    Page(u64),
    /// The physical page with the 512 entries of this region.
    Leaf(u64),
    /// The first of 512 physical pages, a multiple of 512.
    Run(u64),
}

/// Bits above the physical page.
const CHECKSUM: u32 = 42;

impl Entry {
    /// The eight bytes of this entry at `place`: the region, or the index in a leaf.
    pub(crate) fn encode(self, place: u64) -> u64 {
        let (kind, page) = match self {
            Entry::Empty => return 0,
            Entry::Page(page) => (1, page),
            Entry::Leaf(page) => (2, page),
            Entry::Run(page) => (3, page),
        };
        let fields = kind | page << 2;
        fields | checksum(fields, place) << CHECKSUM
    }

    /// The entry of these bytes at `place`; none if they are damaged.
    pub(crate) fn decode(bits: u64, place: u64) -> Option<Entry> {
        if bits == 0 {
            return Some(Entry::Empty);
        }
        let fields = bits & ((1 << CHECKSUM) - 1);
        let page = fields >> 2;
        let entry = match fields & 3 {
            1 => Entry::Page(page),
            2 => Entry::Leaf(page),
            3 => Entry::Run(page),
            _ => return None,
        };
        (bits >> CHECKSUM == checksum(fields, place)).then_some(entry)
    }
}

/// The 22 bits that seal `fields` at `place`.
fn checksum(fields: u64, place: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&fields.to_le_bytes());
    bytes[8..].copy_from_slice(&place.to_le_bytes());
    u64::from(crc32c::crc32c(&bytes)) >> 10
}

#[cfg(test)]
mod tests {
    use super::super::{number64, seal::turn_back_one_bit};
    use super::*;

    #[test]
    fn entries_come_back_and_flipped_bits_are_noticed() {
        for entry in [Entry::Empty, Entry::Page(1), Entry::Page((1 << 28) - 1), Entry::Leaf(77), Entry::Run(512)] {
            let bits = entry.encode(5);
            assert_eq!(Entry::decode(bits, 5), Some(entry));
            // Miri takes its time.
            for bit in (0..64).step_by(if cfg!(miri) { 21 } else { 1 }) {
                assert_eq!(Entry::decode(bits ^ 1 << bit, 5), None, "{entry:?}, bit {bit}");
                let mut bytes = (bits ^ 1 << bit).to_le_bytes();
                assert!(turn_back_one_bit(&mut bytes, |bytes| Entry::decode(number64(bytes, 0), 5).is_some()));
                assert_eq!(bytes, bits.to_le_bytes(), "{entry:?}, bit {bit}");
            }
        }
        assert_eq!(Entry::decode(Entry::Page(9).encode(5), 6), None, "the place counts");
    }
}
