//! What the drive may drop for its owner.

use std::collections::VecDeque;

use esker_core::{LogicalPage, Retention};
use esker_ftl::PageOwner;

use super::Back;

/// How long the data of each page have to stay.
#[derive(Debug)]
pub(in crate::ssd) struct Keeper {
    retentions: Vec<Retention>,
    /// Whether droppable pages are dropped instead of copied.
    drops: bool,
    /// Pages that were dropped, and that the owner has not been told of.
    dropped: VecDeque<LogicalPage>,
}

impl Keeper {
    /// All of `pages` pages have to stay.
    pub(in crate::ssd) fn new(pages: u32, drops: bool) -> Self {
        Self { retentions: vec![Retention::Kept; pages as usize], drops, dropped: VecDeque::new() }
    }

    /// The next page that was dropped since this was last asked.
    pub(in crate::ssd) fn take_dropped(&mut self) -> Option<LogicalPage> {
        self.dropped.pop_front()
    }
}

impl PageOwner for Keeper {
    fn keep(&mut self, page: LogicalPage) -> bool {
        let keep = !self.drops || self.retentions[page.0 as usize] == Retention::Kept;
        if !keep {
            self.dropped.push_back(page);
        }
        keep
    }

    fn erased(&mut self, page: LogicalPage) {
        self.dropped.push_back(page);
    }
}

impl Back {
    /// What is written to `page`, or what it holds after a trim, has to stay until the owner says otherwise.
    #[inline]
    pub(super) fn keep(&mut self, page: LogicalPage) {
        if let Some(keeper) = &mut self.keeper {
            keeper.retentions[page.0 as usize] = Retention::Kept;
        }
    }

    /// The data of `page` have to stay so long.
    pub(in crate::ssd) fn retain(&mut self, page: LogicalPage, retention: Retention) {
        let Some(keeper) = &mut self.keeper else { return };
        let before = std::mem::replace(&mut keeper.retentions[page.0 as usize], retention);
        match (before, retention) {
            (Retention::Suspected, Retention::Suspected) => {}
            // A page without data has nothing to suspect, and nothing to have back.
            (_, Retention::Suspected) => drop(self.suspect(page)),
            (Retention::Suspected, _) => drop(self.revive(page)),
            _ => {}
        }
    }
}
