//! Keeps commands in order of arrival, and chooses the cheapest.

use super::Waiting;

/// The waiting commands, each with the data on which its cost depends (`P`), so that these are computed only once.
pub(super) struct CheapestQueue<P> {
    /// By arrival.
    waiting: Vec<(Waiting, P)>,
    /// Commands that arrived since the last choice, in order of arrival.
    fresh: Vec<Waiting>,
}

impl<P> Default for CheapestQueue<P> {
    fn default() -> Self {
        Self { waiting: Vec::new(), fresh: Vec::new() }
    }
}

impl<P> CheapestQueue<P> {
    pub(super) fn push(&mut self, command: Waiting) {
        self.fresh.push(command);
    }

    /// Takes out the cheapest command, and the oldest of several. `locate` is called once for each command.
    #[inline]
    pub(super) fn pop_cheapest<C: Ord>(
        &mut self,
        locate: impl Fn(&Waiting) -> P,
        cost: impl Fn(&Waiting, &P) -> C,
    ) -> Option<Waiting> {
        self.waiting.extend(self.fresh.drain(..).map(|command| (command, locate(&command))));
        let costs = self.waiting.iter().map(|(command, place)| cost(command, place)).enumerate();
        let (index, _) = costs.min_by(|(_, one), (_, other)| one.cmp(other))?;
        Some(self.waiting.remove(index).0)
    }

    pub(super) fn oldest(&self) -> Option<Waiting> {
        self.waiting.first().map(|(command, _)| command).or(self.fresh.first()).copied()
    }

    pub(super) fn pop_oldest(&mut self) -> Option<Waiting> {
        match self.waiting.is_empty() {
            false => Some(self.waiting.remove(0).0),
            true => (!self.fresh.is_empty()).then(|| self.fresh.remove(0)),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.fresh.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::read;

    fn queue(starts: &[u64]) -> CheapestQueue<u64> {
        let mut queue = CheapestQueue::default();
        starts.iter().enumerate().for_each(|(index, start)| queue.push(read(*start, index as u64)));
        queue
    }

    #[test]
    fn of_equal_costs_the_oldest_goes_first() {
        let mut queue = queue(&[7, 3, 3, 5]);
        let order = std::iter::from_fn(|| queue.pop_cheapest(|command| command.start, |_, start| *start));
        assert_eq!(order.map(|next| next.sequence).collect::<Vec<_>>(), [1, 2, 3, 0]);
    }

    #[test]
    fn the_oldest_is_that_which_came_first_whether_it_was_considered_or_not() {
        let mut queue = queue(&[7, 3, 5]);
        let cheapest = |queue: &mut CheapestQueue<u64>| queue.pop_cheapest(|command| command.start, |_, start| *start);
        assert_eq!(queue.oldest().map(|oldest| oldest.sequence), Some(0));
        assert_eq!(cheapest(&mut queue).map(|next| next.sequence), Some(1));
        queue.push(read(1, 3));
        let order = std::iter::from_fn(|| {
            let oldest = queue.oldest();
            assert_eq!(queue.pop_oldest(), oldest);
            oldest
        });
        assert_eq!(order.map(|next| next.sequence).collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(cheapest(&mut queue), None);
    }
}
