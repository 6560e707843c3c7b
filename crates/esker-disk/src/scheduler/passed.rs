//! Commands in order of arrival, of which the cheapest goes first.

use super::Waiting;

/// How many later commands may pass a command, for each one that waits with it. Assumed: enough to hardly ever matter
/// where commands are spread.
pub(super) const PASSES: u64 = 8;

/// The waiting commands. Any of them can be taken out before the others; once many have passed the oldest one, it is
/// next.
#[derive(Default)]
pub(super) struct PassedQueue {
    /// By arrival, each with the number of commands that had been served when it came.
    waiting: Vec<(Waiting, u64)>,
    served: u64,
}

impl PassedQueue {
    pub(super) fn push(&mut self, command: Waiting) {
        self.waiting.push((command, self.served));
    }

    /// Takes out the command of least cost, of equal ones the oldest.
    pub(super) fn pop_cheapest<C: Ord>(&mut self, cost: impl Fn(&Waiting) -> C) -> Option<Waiting> {
        let &(_, came) = self.waiting.first()?;
        let patience = PASSES * self.waiting.len() as u64;
        let index = if self.served - came > patience {
            0
        } else {
            let cheapest = self.waiting.iter().enumerate().min_by_key(|(_, (command, _))| cost(command));
            cheapest.expect("at least one waits").0
        };
        self.served += 1;
        Some(self.waiting.remove(index).0)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(start: u64, sequence: u64) -> Waiting {
        Waiting { start, write: false, sequence, slot: sequence as u32 }
    }

    #[test]
    fn of_equal_costs_the_oldest_goes_first() {
        let mut queue = PassedQueue::default();
        [7, 3, 3, 5].iter().enumerate().for_each(|(index, start)| queue.push(command(*start, index as u64)));
        let order = std::iter::from_fn(|| queue.pop_cheapest(|command| command.start));
        assert_eq!(order.map(|next| next.sequence).collect::<Vec<_>>(), [1, 2, 3, 0]);
    }

    #[test]
    fn a_dear_command_is_passed_only_so_often() {
        let mut queue = PassedQueue::default();
        queue.push(command(70_000_000, 0));
        let mut passed = 0;
        loop {
            passed += 1;
            queue.push(command(10, passed));
            if queue.pop_cheapest(|command| command.start).unwrap().sequence == 0 {
                break;
            }
        }
        assert_eq!(passed, 2 * PASSES + 2);
    }
}
