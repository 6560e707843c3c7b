//! What the register of a plane holds: where a flash page has several units, one that follows another is not sensed
//! again.

/// The flash page that was read last, and what may still be had of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Register {
    /// Nothing that anybody asks for: it was programmed from, or nothing was read yet.
    #[default]
    Other,
    /// The flash page of this number.
    Page(u64),
    /// A unit of this flash page was copied to the same plane. The controller brought the other valid ones of it along,
    /// so that further copies find theirs, whatever is programmed or erased in between;
    /// for all else it has to be sensed.
    Copied(u64),
}

/// What an operation does with the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// A read of this flash page, for a copy or not.
    Read {
        /// The flash page.
        page: u64,
        /// Whether what it reads is only to be programmed elsewhere.
        copies: bool,
        /// Whether it is read again afterwards, with other thresholds.
        again: bool,
    },
    /// The program of a page that was read to be copied.
    CopyIn,
    /// Anything else.
    Other,
}

impl Register {
    /// Whether `next`, which comes without a pause, finds its flash page here.
    pub(super) fn serves(self, next: Use) -> bool {
        match (next, self) {
            (Use::Read { page, .. }, Self::Page(held)) => page == held,
            (Use::Read { page, copies: true, .. }, Self::Copied(held)) => page == held,
            _ => false,
        }
    }

    /// What it holds after `next`.
    pub(super) fn after(self, next: Use) -> Self {
        match (next, self) {
            (Use::Read { again: false, page, .. }, _) => Self::Page(page),
            (Use::CopyIn, Self::Page(page)) | (Use::CopyIn | Use::Other, Self::Copied(page)) => Self::Copied(page),
            _ => Self::Other,
        }
    }
}
