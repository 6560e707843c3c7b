//! A random walk that takes every step as often as it was counted.

use std::collections::BTreeMap;

use esker_core::Rng;

use super::deck::Deck;

/// Counts how often each state follows each other state.
#[derive(Clone, Debug, Default)]
pub(super) struct WalkCounts(BTreeMap<(u32, u32), u64>);

impl WalkCounts {
    pub(super) fn push(&mut self, from: u32, to: u32) {
        *self.0.entry((from, to)).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (&step, count) in &other.0 {
            *self.0.entry(step).or_default() += count;
        }
    }

    /// Number of steps.
    pub(super) fn steps(&self) -> u64 {
        self.0.values().sum()
    }
}

/// Draws steps.
#[derive(Clone, Debug, Default)]
pub(super) struct WalkDraw {
    follows: BTreeMap<u32, Deck<u32>>,
    /// Steps left in all decks together.
    left: u64,
    state: u32,
}

impl WalkDraw {
    /// A walk that starts in `state`.
    pub(super) fn new(counts: &WalkCounts, state: u32) -> Self {
        let mut follows: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
        for (&(from, to), &count) in &counts.0 {
            follows.entry(from).or_default().push((to, count));
        }
        let follows: BTreeMap<u32, Deck<u32>> =
            follows.into_iter().map(|(from, cards)| (from, Deck::new(cards))).collect();
        Self { left: follows.values().map(Deck::left).sum(), follows, state }
    }

    /// The present state.
    pub(super) fn state(&self) -> u32 {
        self.state
    }

    /// Goes to the next state and returns it; stays if no step was counted.
    pub(super) fn step(&mut self, rng: &mut Rng) -> u32 {
        if self.left == 0 {
            self.follows.values_mut().for_each(Deck::refill);
            self.left = self.follows.values().map(Deck::left).sum();
        }
        let from = match self.follows.get(&self.state) {
            Some(deck) if deck.left() > 0 => self.state,
            // A dead end: jump to a state with a probability proportional to the steps left there.
            _ if self.left > 0 => self.jump(rng),
            _ => return self.state,
        };
        let deck = self.follows.get_mut(&from).expect("steps are left there");
        self.state = deck.draw(rng);
        self.left -= 1;
        self.state
    }

    fn jump(&self, rng: &mut Rng) -> u32 {
        let mut goal = rng.below(self.left);
        for (&state, deck) in &self.follows {
            if goal < deck.left() {
                return state;
            }
            goal -= deck.left();
        }
        unreachable!("the decks hold `left` cards together")
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_state_is_reached_as_often_as_counted(
            states in prop::collection::vec(0u32..6, 2..200), seed: u64, rounds in 1usize..4,
        ) {
            let mut counts = WalkCounts::default();
            for pair in states.windows(2) {
                counts.push(pair[0], pair[1]);
            }
            prop_assert_eq!(counts.steps(), states.len() as u64 - 1);
            let mut draw = WalkDraw::new(&counts, states[0]);
            let mut rng = Rng::new(seed);
            for _ in 0..rounds {
                let mut reached: Vec<u32> = (1..states.len()).map(|_| draw.step(&mut rng)).collect();
                reached.sort_unstable();
                let mut expected = states[1..].to_vec();
                expected.sort_unstable();
                prop_assert_eq!(reached, expected);
            }
        }
    }

    #[test]
    fn a_walk_without_steps_stays() {
        assert_eq!(WalkDraw::new(&WalkCounts::default(), 7).step(&mut Rng::new(1)), 7);
    }
}
