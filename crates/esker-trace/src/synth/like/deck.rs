//! Draws values without replacement.

use esker_core::Rng;

/// Values with counts, like a deck of cards. Each is drawn as often as its count before the deck is shuffled again.
#[derive(Clone, Debug)]
pub(super) struct Deck<T> {
    cards: Vec<(T, u64)>,
    /// A Fenwick tree of how many cards of each value are left.
    left: Vec<u64>,
    left_total: u64,
}

impl<T: Copy> Deck<T> {
    /// A deck of at least one card (asserted).
    pub(super) fn new(cards: impl IntoIterator<Item = (T, u64)>) -> Self {
        let cards: Vec<(T, u64)> = cards.into_iter().filter(|(_, count)| *count > 0).collect();
        assert!(!cards.is_empty(), "a deck has cards");
        let mut deck = Self { cards, left: Vec::new(), left_total: 0 };
        deck.refill();
        deck
    }

    /// Puts all cards back.
    pub(super) fn refill(&mut self) {
        self.left = self.cards.iter().map(|(_, count)| *count).collect();
        self.left_total = self.left.iter().sum();
        for index in 1..=self.left.len() {
            let parent = index + (index & index.wrapping_neg());
            if parent <= self.left.len() {
                self.left[parent - 1] += self.left[index - 1];
            }
        }
    }

    /// How many cards are left before the deck is shuffled again.
    pub(super) fn left(&self) -> u64 {
        self.left_total
    }

    /// Draws a card. If none is left, the deck is shuffled first.
    pub(super) fn draw(&mut self, rng: &mut Rng) -> T {
        if self.left_total == 0 {
            self.refill();
        }
        let mut goal = rng.below(self.left_total);
        let mut before = 0;
        let mut step = self.left.len().next_power_of_two();
        while step > 0 {
            let next = before + step;
            if next <= self.left.len() && self.left[next - 1] <= goal {
                goal -= self.left[next - 1];
                before = next;
            }
            step /= 2;
        }
        let mut index = before + 1;
        while index <= self.left.len() {
            self.left[index - 1] -= 1;
            index += index & index.wrapping_neg();
        }
        self.left_total -= 1;
        self.cards[before].0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use esker_core::Rng;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_card_comes_as_often_as_it_is_there(counts in prop::collection::vec(0u64..5, 1..40), seed: u64) {
            prop_assume!(counts.iter().sum::<u64>() > 0);
            let mut deck = Deck::new(counts.iter().copied().enumerate());
            let mut rng = Rng::new(seed);
            for round in 1..4 {
                let mut drawn = BTreeMap::new();
                for _ in 0..counts.iter().sum() {
                    *drawn.entry(deck.draw(&mut rng)).or_insert(0) += 1;
                }
                prop_assert_eq!(deck.left(), 0, "round {}", round);
                prop_assert!(counts.iter().enumerate().all(|(card, count)| drawn.get(&card).unwrap_or(&0) == count));
            }
        }
    }

    #[test]
    fn the_first_card_is_fair() {
        let mut rng = Rng::new(3);
        let firsts = (0..30_000).filter(|_| Deck::new([(0, 1), (1, 2)]).draw(&mut rng) == 0).count();
        assert!((9_700..10_300).contains(&firsts), "{firsts}");
    }
}
