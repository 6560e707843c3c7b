//! Which bytes of a read have come.

/// The most separate pieces of a read. A server that sends more of them, out of order, is at fault.
pub(crate) const PIECES_MAX: usize = 1024;

/// The bytes of a read that have come, as ranges in their order that do not touch each other.
#[derive(Debug, Default)]
pub(crate) struct Coverage(Vec<(u32, u32)>);

impl Coverage {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds the bytes from `begin` to `end`; an error if some have come before, or if there are too many pieces.
    pub(crate) fn add(&mut self, begin: u32, end: u32) -> Result<(), &'static str> {
        let ranges = &mut self.0;
        let index = ranges.partition_point(|&(first, _)| first < begin);
        let after = ranges.get(index).copied();
        let before = index.checked_sub(1).map(|index| ranges[index]);
        if before.is_some_and(|(_, last)| last > begin) || after.is_some_and(|(first, _)| first < end) {
            return Err("pieces of a read overlap");
        }
        let (joins_before, joins_after) =
            (before.is_some_and(|(_, last)| last == begin), after.is_some_and(|(first, _)| first == end));
        match (joins_before, joins_after) {
            (true, true) => {
                ranges[index - 1].1 = ranges[index].1;
                ranges.remove(index);
            }
            (true, false) => ranges[index - 1].1 = end,
            (false, true) => ranges[index].0 = begin,
            (false, false) if ranges.len() == PIECES_MAX => return Err("a read comes in too many pieces"),
            (false, false) => ranges.insert(index, (begin, end)),
        }
        Ok(())
    }

    /// Returns true if all of `length` bytes have come.
    pub(crate) fn is_whole(&self, length: u32) -> bool {
        self.0 == [(0, length)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pieces_that_never_touch_are_limited() {
        let mut coverage = Coverage::default();
        for piece in 0..1024 {
            coverage.add(2 * piece, 2 * piece + 1).unwrap();
        }
        assert_eq!(coverage.add(4096, 4097), Err("a read comes in too many pieces"));
        assert_eq!(coverage.add(1, 2), Ok(()), "joined pieces are one");
        assert_eq!(coverage.add(4096, 4097), Ok(()));
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_list_of_bytes(pieces in prop::collection::vec((0u32..40, 1u32..8), 1..40)) {
            let (mut coverage, mut bytes) = (Coverage::default(), [false; 48]);
            for (begin, length) in pieces {
                let range = begin as usize..(begin + length) as usize;
                let overlaps = bytes[range.clone()].iter().any(|&covered| covered);
                prop_assert_eq!(coverage.add(begin, begin + length).is_err(), overlaps);
                if !overlaps {
                    bytes[range].fill(true);
                }
                for end in 1..48 {
                    let is_whole = bytes[..end].iter().all(|&covered| covered) && !bytes[end..].contains(&true);
                    prop_assert_eq!(coverage.is_whole(end as u32), is_whole);
                }
            }
        }
    }
}
