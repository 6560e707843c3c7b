//! Buses, and the dies that ask for them.

/// A bus.
#[derive(Clone, Debug, Default)]
pub(super) struct Bus {
    /// Whether a transfer is under way.
    pub(super) taken: bool,
    /// What dies ask for, in any order.
    pub(super) asks: Vec<Ask>,
    /// Dies that may have something to begin now. All others have nothing to begin.
    pub(super) awake: Vec<u32>,
    /// Whether its channel is in [`super::ByEvent::to_decide`] for it.
    pub(super) undecided: bool,
    /// Sum of all transfers.
    pub(super) busy: u64,
}

/// A request of a die for a transfer. The least of several goes first.
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
