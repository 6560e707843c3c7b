//! Keeps track of the pages that the drive may drop, if its pages have an owner, and of the room that is left.

use std::collections::VecDeque;

use esker_cache::suspects_max;
use esker_core::{Bytes, LogicalPage, OwnedRoom, Retention};
use esker_ftl::{FtlError, PageOwner, Space};

use super::Back;

/// How long the data of each page have to stay in flash.
#[derive(Debug)]
pub(in crate::ssd) struct Keeper {
    retentions: Vec<Retention>,
    /// Whether droppable pages are dropped instead of copied.
    drops: bool,
    /// Pages that were dropped and not reported to the owner yet.
    dropped: VecDeque<LogicalPage>,
    room: Room,
    /// Whether the last write found no room. If so, cleaning drops all pages that may be dropped.
    is_short: bool,
}

/// The room that is left in flash.
#[derive(Debug)]
struct Room {
    space: Space,
    flash_pages: u32,
    /// Number of blocks that have gone out of use.
    retired: u32,
    /// C_user and N_SQ, in pages.
    user: u32,
    suspects: u32,
    /// Whether the room has changed since the owner was last told.
    is_news: bool,
}

impl Keeper {
    /// Creates a keeper for flash of `flash_pages` pages, divided according to `space`. At first, all pages have to
    /// stay.
    pub(in crate::ssd) fn new(space: Space, flash_pages: u32, drops: bool) -> Self {
        let (user, suspects) = pages_left(&space, flash_pages, 0);
        Self {
            retentions: vec![Retention::Kept; (user + suspects) as usize],
            drops,
            dropped: VecDeque::new(),
            room: Room { space, flash_pages, retired: 0, user, suspects, is_news: false },
            is_short: false,
        }
    }

    /// Returns the number of pages that the owner can address.
    pub(in crate::ssd) fn pages(&self) -> u32 {
        self.retentions.len() as u32
    }

    /// Takes the next dropped page that was not reported yet.
    pub(in crate::ssd) fn take_dropped(&mut self) -> Option<LogicalPage> {
        self.dropped.pop_front()
    }

    /// Returns the room that is left, for pages of size `unit`.
    pub(in crate::ssd) fn room(&self, unit: Bytes) -> OwnedRoom {
        let [user, suspects] = [self.room.user, self.room.suspects].map(|pages| Bytes(u64::from(pages) * unit.0));
        OwnedRoom { user, suspects, unit }
    }

    /// See [`esker_core::Ownable::take_room`].
    pub(in crate::ssd) fn take_room(&mut self, unit: Bytes) -> Option<OwnedRoom> {
        std::mem::take(&mut self.room.is_news).then(|| self.room(unit))
    }
}

/// Returns C_user and N_SQ of flash with `flash_pages` pages, `retired` blocks of which are out of use.
pub(in crate::ssd) fn pages_left(space: &Space, flash_pages: u32, retired: u32) -> (u32, u32) {
    let user = space.pages_of_owner(retired);
    let total = flash_pages.saturating_sub(retired * space.data_pages_per_block);
    (user, suspects_max(total, user, space.reserve_pages()))
}

impl PageOwner for Keeper {
    fn keep(&mut self, page: LogicalPage) -> bool {
        let copies = !self.drops && !self.is_short;
        let keep = copies || self.retentions[page.0 as usize] == Retention::Kept;
        if !keep {
            self.dropped.push_back(page);
        }
        keep
    }

    fn retired(&mut self) {
        let room = &mut self.room;
        room.retired += 1;
        let (user, suspects) = pages_left(&room.space, room.flash_pages, room.retired);
        // Room that was given up does not come back.
        (room.user, room.suspects) = (user.min(room.user), suspects.min(room.suspects));
        room.is_news = true;
    }

    fn erased(&mut self, page: LogicalPage) {
        self.dropped.push_back(page);
    }
}

impl Back {
    /// Makes the present data of `page` stay until the owner says otherwise.
    #[inline]
    pub(super) fn keep(&mut self, page: LogicalPage) {
        if let Some(keeper) = &mut self.keeper {
            keeper.retentions[page.0 as usize] = Retention::Kept;
        }
    }

    /// Handles the result of a write to a drive with an owner. Returns true if the write should be tried once more: it
    /// found no room, but from now on cleaning drops pages instead of copying them.
    pub(super) fn is_worth_another_try(&mut self, written: Result<(), FtlError>) -> bool {
        let Some(keeper) = &mut self.keeper else { return false };
        let was_short = std::mem::replace(&mut keeper.is_short, written.is_err());
        written.is_err() && !was_short
    }

    /// Sets how long the data of `page` have to stay.
    pub(in crate::ssd) fn retain(&mut self, page: LogicalPage, retention: Retention) {
        let Some(keeper) = &mut self.keeper else { return };
        let before = std::mem::replace(&mut keeper.retentions[page.0 as usize], retention);
        match (before, retention) {
            (Retention::Suspected, Retention::Suspected) => {}
            // A page without data can be neither suspected nor revived.
            (_, Retention::Suspected) => drop(self.suspect(page)),
            (Retention::Suspected, _) => drop(self.revive(page)),
            _ => {}
        }
    }
}
