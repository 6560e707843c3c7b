//! A set of numbers whose first member is found in a few steps.

/// Bits in words, and above them one bit for each word that is not zero, until one word is left.
#[derive(Debug, Clone)]
pub(super) struct FirstSet {
    levels: Vec<Vec<u64>>,
    members: u64,
}

impl FirstSet {
    /// An empty set of numbers below `count`. Its memory is touched only where there are members.
    pub(super) fn new(count: u64) -> FirstSet {
        let mut levels = Vec::new();
        let mut words = count.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words as usize]);
            if words == 1 {
                return FirstSet { levels, members: 0 };
            }
            words = words.div_ceil(64);
        }
    }

    /// Whether `number` is a member. None beyond the count is.
    pub(super) fn contains(&self, number: u64) -> bool {
        self.levels[0].get((number / 64) as usize).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds a number that is no member.
    pub(super) fn insert(&mut self, number: u64) {
        self.members += 1;
        let mut index = number;
        for level in &mut self.levels {
            let word = &mut level[(index / 64) as usize];
            let was_empty = *word == 0;
            *word |= 1 << (index % 64);
            if !was_empty {
                return;
            }
            index /= 64;
        }
    }

    /// Takes a member out.
    pub(super) fn remove(&mut self, number: u64) {
        self.members -= 1;
        let mut index = number;
        for level in &mut self.levels {
            let word = &mut level[(index / 64) as usize];
            *word &= !(1 << (index % 64));
            if *word != 0 {
                return;
            }
            index /= 64;
        }
    }

    /// The smallest member.
    pub(super) fn first(&self) -> Option<u64> {
        if self.members == 0 {
            return None;
        }
        Some(
            self.levels
                .iter()
                .rev()
                .fold(0, |index, level| index * 64 + u64::from(level[index as usize].trailing_zeros())),
        )
    }

    /// Members from `from` to `to`.
    pub(super) fn count(&self, from: u64, to: u64) -> u64 {
        let words = &self.levels[0];
        let (first, last) = (from / 64, to.div_ceil(64).min(words.len() as u64));
        (first..last.max(first))
            .map(|index| {
                let below = |number: u64| match number.saturating_sub(index * 64) {
                    0 => 0,
                    bits @ 1..64 => (1_u64 << bits) - 1,
                    _ => u64::MAX,
                };
                u64::from((words[index as usize] & below(to) & !below(from)).count_ones())
            })
            .sum()
    }

    /// Members.
    pub(super) fn len(&self) -> u64 {
        self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn members_are_those_of_an_ordinary_set() {
        // Miri takes its time.
        for &count in if cfg!(miri) { &[1, 65, 5000][..] } else { &[1, 64, 65, 5000, 300_000] } {
            let (mut set, mut reference, mut rng) = (FirstSet::new(count), BTreeSet::new(), Rng::new(count));
            for _ in 0..if cfg!(miri) { 50 } else { 5000 } {
                let number = rng.below(count);
                assert_eq!(set.contains(number), reference.contains(&number));
                if reference.insert(number) {
                    set.insert(number);
                } else {
                    reference.remove(&number);
                    set.remove(number);
                }
                assert_eq!(set.first(), reference.first().copied());
                assert_eq!(set.len(), reference.len() as u64);
                let (from, to) = (rng.below(count + 1), rng.below(count + 1));
                let expected = if from < to { reference.range(from..to).count() } else { 0 };
                assert_eq!(set.count(from, to), expected as u64, "{from} to {to} of {count}");
            }
        }
    }
}
