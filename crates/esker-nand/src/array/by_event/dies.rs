//! A set of dies, one bit each.

/// Dies by index, in ascending order.
#[derive(Clone, Debug)]
pub(super) struct DieSet(Vec<u64>);

impl DieSet {
    /// An empty set for `dies` dies.
    pub(super) fn new(dies: usize) -> Self {
        Self(vec![0; dies.div_ceil(64)])
    }

    #[inline]
    pub(super) fn insert(&mut self, die: usize) {
        self.0[die / 64] |= 1 << (die % 64);
    }

    #[inline]
    pub(super) fn remove(&mut self, die: usize) {
        self.0[die / 64] &= !(1 << (die % 64));
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Returns the first die from `from` on, if it comes before `end`.
    #[inline]
    pub(super) fn next(&self, from: usize, end: usize) -> Option<usize> {
        if from >= end {
            return None;
        }
        let mut word = from / 64;
        let mut bits = self.0[word] & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            if word * 64 >= end {
                return None;
            }
            bits = self.0[word];
        }
        let die = word * 64 + bits.trailing_zeros() as usize;
        (die < end).then_some(die)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_of_dies_is_an_ordered_set(
            changes in prop::collection::vec((0usize..200, any::<bool>(), 0usize..200, 0usize..=200), 1..100),
        ) {
            let (mut set, mut plain) = (DieSet::new(200), std::collections::BTreeSet::new());
            for (die, inserted, from, end) in changes {
                match inserted {
                    true => drop((set.insert(die), plain.insert(die))),
                    false => drop((set.remove(die), plain.remove(&die))),
                }
                let expected = plain.iter().copied().find(|die| (from..end).contains(die));
                prop_assert_eq!(set.next(from, end), expected);
            }
            set.clear();
            prop_assert_eq!(set.next(0, 200), None);
        }
    }
}
