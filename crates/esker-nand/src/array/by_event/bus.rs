//! Buses, and the dies that ask for them.

#[derive(Clone, Debug, Default)]
pub(super) struct Bus {
    /// Whether a transfer is under way.
    pub(super) taken: bool,
    /// Requests of dies for transfers, in any order.
    pub(super) asks: Vec<Ask>,
    /// Dies that may be able to begin an operation now. No other die can.
    pub(super) awake: Vec<u32>,
    /// Whether its channel was added to [`super::ByEvent::to_decide`] because of this bus.
    pub(super) undecided: bool,
    /// Total time of all transfers, in nanoseconds.
    pub(super) busy: u64,
}

/// A die's request for a transfer. Of several, the smallest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ask {
    pub(super) since: u64,
    pub(super) sequence: u64,
    pub(super) die: u32,
    pub(super) op: u32,
}

impl Bus {
    /// Removes the request that goes first, and returns it.
    #[inline]
    pub(super) fn take_first_ask(&mut self) -> Option<Ask> {
        let (place, _) = self.asks.iter().enumerate().min_by_key(|(_, ask)| (ask.since, ask.sequence))?;
        Some(self.asks.swap_remove(place))
    }

    /// Removes the request of die `index`.
    #[inline]
    pub(super) fn remove_ask(&mut self, index: usize) {
        if let Some(place) = self.asks.iter().position(|ask| ask.die as usize == index) {
            self.asks.swap_remove(place);
        }
    }
}
