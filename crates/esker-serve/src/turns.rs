//! How many requests a client is served in a turn. One thread takes turns with all clients: what it does for one of
//! them is what the others wait for.

use esker_core::Nanos;

/// Requests that a client is served in a turn if nobody else asks; and at most if others do.
const ALONE: usize = 64;
const BESIDE_OTHERS: usize = 4;

/// Requests of a client with more of them whose replies are sent together beside others.
const TOGETHER: usize = 16;

/// How long a client counts as one that asks.
const ASKING: Nanos = Nanos::from_millis(1);

/// What a client has asked for lately.
pub(crate) struct Demand {
    /// When it last asked for something.
    asked: Nanos,
    /// Requests that it had at once; [`ALONE`] if they were more than it was served.
    at_once: usize,
    /// Whether there may be more requests than its last turn served.
    was_cut_short: bool,
    /// Requests that were taken since replies were sent.
    unsent: usize,
}

impl Demand {
    pub(crate) fn new(now: Nanos) -> Self {
        Self { asked: now, at_once: ALONE, was_cut_short: false, unsent: 0 }
    }

    /// Returns true if it has asked for something a moment ago.
    pub(crate) fn is_asking(&self, now: Nanos) -> bool {
        self.asked + ASKING > now
    }

    /// Notes that a turn of at most `most` requests has served `taken`; `was_read` if the client has sent something.
    pub(crate) fn served(&mut self, now: Nanos, (taken, most): (usize, usize), was_read: bool) {
        self.was_cut_short = taken >= most;
        self.unsent += taken;
        if taken > 0 {
            self.at_once = if self.was_cut_short { ALONE } else { taken };
        }
        if was_read || taken > 0 {
            self.asked = now;
        }
    }

    /// Whether its replies wait for those of the next turn. A call of the operating system for each reply would cost
    /// the others more time than the requests.
    pub(crate) fn replies_wait(&mut self, others_ask: bool) -> bool {
        let wait = others_ask && self.was_cut_short && self.unsent < TOGETHER;
        if !wait {
            self.unsent = 0;
        }
        wait
    }
}

/// The clients that ask, as far as turns depend on them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asking {
    /// The client that asks for the fewest at once, and how many.
    fewest: Option<(u32, usize)>,
    /// How many the next one asks for at once.
    next_fewest: Option<usize>,
}

impl Asking {
    /// Of clients with their numbers.
    pub(crate) fn of<'a>(clients: impl Iterator<Item = (u32, &'a Demand)>, now: Nanos) -> Self {
        let mut asking = Self::default();
        for (number, demand) in clients.filter(|(_, demand)| demand.is_asking(now)) {
            match asking.fewest {
                Some((_, fewest)) if demand.at_once >= fewest => {
                    let next = asking.next_fewest.map_or(demand.at_once, |next| next.min(demand.at_once));
                    asking.next_fewest = Some(next);
                }
                before => {
                    asking.next_fewest = before.map(|(_, fewest)| fewest);
                    asking.fewest = Some((number, demand.at_once));
                }
            }
        }
        asking
    }

    /// Whether a client other than this one asks.
    pub(crate) fn is_beside(&self, client: u32) -> bool {
        self.least_beside(client).is_some()
    }

    /// Requests that this client is served in a turn: no more than any other one asks for at once, so that one that
    /// floods the server holds up one with a single request for one request at a time.
    pub(crate) fn turn_of(&self, client: u32) -> usize {
        self.least_beside(client).map_or(ALONE, |least| least.min(BESIDE_OTHERS))
    }

    fn least_beside(&self, client: u32) -> Option<usize> {
        match self.fewest {
            Some((number, _)) if number == client => self.next_fewest,
            fewest => fewest.map(|(_, fewest)| fewest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients that ask for these numbers of requests at once.
    fn asking(at_once: &[usize]) -> Asking {
        let demands: Vec<_> = at_once.iter().map(|&at_once| Demand { at_once, ..Demand::new(Nanos::ZERO) }).collect();
        Asking::of((0..).zip(&demands), Nanos::ZERO)
    }

    #[test]
    fn turns_are_short_beside_clients_with_few_requests_at_once() {
        for (at_once, turns) in [
            (&[ALONE][..], &[ALONE][..]),
            (&[1], &[ALONE]),
            (&[ALONE, 1], &[1, BESIDE_OTHERS]),
            (&[1, ALONE], &[BESIDE_OTHERS, 1]),
            (&[ALONE, 3, ALONE], &[3, BESIDE_OTHERS, 3]),
            (&[2, 1, 1], &[1, 1, 1]),
            (&[2, 1, 3], &[1, 2, 1]),
            (&[32, 32], &[BESIDE_OTHERS, BESIDE_OTHERS]),
        ] {
            let asking = asking(at_once);
            let found: Vec<_> = (0..at_once.len() as u32).map(|client| asking.turn_of(client)).collect();
            assert_eq!(found, turns, "{at_once:?}");
        }
    }

    #[test]
    fn who_asked_long_ago_shortens_no_turn() {
        let (mut shallow, deep) = (Demand::new(Nanos::ZERO), Demand::new(ASKING));
        shallow.served(Nanos::ZERO, (1, ALONE), true);
        let asking = |now| Asking::of([(1, &shallow), (2, &deep)].into_iter(), now);
        assert_eq!(asking(ASKING - Nanos(1)).turn_of(2), 1);
        assert_eq!(asking(ASKING).turn_of(2), ALONE);
    }

    #[test]
    fn a_client_that_is_cut_short_may_have_many_requests() {
        let mut demand = Demand::new(Nanos::ZERO);
        demand.served(Nanos::ZERO, (1, 4), true);
        assert_eq!(demand.at_once, 1);
        demand.served(Nanos::ZERO, (4, 4), true);
        assert_eq!(demand.at_once, ALONE);
        // A turn without requests says nothing.
        demand.served(Nanos::ZERO, (0, 4), true);
        assert_eq!(demand.at_once, ALONE);
    }

    #[test]
    fn replies_wait_while_more_are_to_come_and_never_long() {
        let mut demand = Demand::new(Nanos::ZERO);
        for in_a_turn in [1, 4] {
            let turns: Vec<_> = (1..=2 * TOGETHER / in_a_turn).collect();
            let waits = turns.iter().map(|_| {
                demand.served(Nanos::ZERO, (in_a_turn, in_a_turn), true);
                demand.replies_wait(true)
            });
            let waits: Vec<_> = waits.collect();
            let expected: Vec<_> = turns.iter().map(|turn| turn * in_a_turn % TOGETHER != 0).collect();
            assert_eq!(waits, expected);
        }
        demand.served(Nanos::ZERO, (1, 1), true);
        assert!(demand.replies_wait(true));
        demand.served(Nanos::ZERO, (0, 1), false);
        assert!(!demand.replies_wait(true), "no turn may follow");
        demand.served(Nanos::ZERO, (1, 1), true);
        assert!(!demand.replies_wait(false), "nobody gains from it");
    }
}
