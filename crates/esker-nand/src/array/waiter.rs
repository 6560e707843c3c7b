//! What waits for the end of a flash operation.

/// What is notified when an operation ends. Takes four bytes, since every pending operation has one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiter(u32);

/// A decoded [`Waiter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaiterKind {
    /// The host request in this slot.
    Request(u32),
    /// The write-buffer entry whose page is being written.
    Entry(u32),
    /// The drive itself: cleaning in idle time, recovery. It waits for operations of every cause.
    Background,
    /// Nothing waits.
    Nobody,
}

/// Numbers from here on are write-buffer entries, those below are request slots.
const ENTRIES: u32 = 1 << 31;

impl Waiter {
    /// Nothing waits for the operation.
    pub const NOBODY: Self = Self(u32::MAX);
    /// See [`WaiterKind::Background`].
    pub const BACKGROUND: Self = Self(u32::MAX - 1);

    /// The host request in `slot`.
    #[inline(always)]
    pub fn request(slot: u32) -> Self {
        debug_assert!(slot < ENTRIES, "slot {slot} has no number of its own");
        Self(slot)
    }

    /// Entry number `entry` of the write buffer.
    #[inline(always)]
    pub fn entry(entry: u32) -> Self {
        let waiter = Self(ENTRIES | entry);
        debug_assert!(entry < ENTRIES && waiter < Self::BACKGROUND, "entry {entry} has no number of its own");
        waiter
    }

    /// Returns the slot if the waiter is a host request.
    #[inline(always)]
    pub fn slot(self) -> Option<u32> {
        (self.0 < ENTRIES).then_some(self.0)
    }

    /// Returns the decoded waiter.
    #[inline]
    pub fn kind(self) -> WaiterKind {
        match self {
            Self::NOBODY => WaiterKind::Nobody,
            Self::BACKGROUND => WaiterKind::Background,
            Self(number) if number < ENTRIES => WaiterKind::Request(number),
            Self(number) => WaiterKind::Entry(number - ENTRIES),
        }
    }
}

impl Default for Waiter {
    fn default() -> Self {
        Self::NOBODY
    }
}

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_waiter_is_told_from_all_others() {
        for number in [0, 1, (1 << 20) - 1, 1 << 20, ENTRIES - 3] {
            assert_eq!(Waiter::request(number).kind(), WaiterKind::Request(number));
            assert_eq!(Waiter::request(number).slot(), Some(number));
            assert_eq!(Waiter::entry(number).kind(), WaiterKind::Entry(number));
            assert_eq!(Waiter::entry(number).slot(), None);
        }
        assert_eq!(Waiter::BACKGROUND.kind(), WaiterKind::Background);
        assert_eq!(Waiter::default().kind(), WaiterKind::Nobody);
        assert_eq!((Waiter::BACKGROUND.slot(), Waiter::NOBODY.slot()), (None, None));
    }
}
