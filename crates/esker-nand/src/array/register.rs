//! The register of a plane. If a flash page has several units, reading one after another senses the page only once.

/// The flash page in the register, and what it can be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Register {
    /// Nothing useful: it was used for a program, or nothing was read yet.
    #[default]
    Other,
    /// The flash page with this number.
    Page(u64),
    /// A unit of this flash page was copied to the same plane. The controller also read the other valid units of the
    /// page, so that further copies find theirs, whatever is programmed or erased in between. Any other read has to
    /// sense the page again.
    Copied(u64),
}

/// What an operation does with the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// A read of this flash page.
    Read {
        /// The flash page.
        page: u64,
        /// Whether the data are only read to be programmed elsewhere.
        copies: bool,
        /// Whether the page will be read again, with other thresholds.
        again: bool,
    },
    /// The program of a page that was read to be copied.
    CopyIn,
    /// Anything else.
    Other,
}

impl Register {
    /// Returns true if `next`, which follows without a pause, finds its flash page in the register.
    pub(super) fn serves(self, next: Use) -> bool {
        match (next, self) {
            (Use::Read { page, .. }, Self::Page(held)) => page == held,
            (Use::Read { page, copies: true, .. }, Self::Copied(held)) => page == held,
            _ => false,
        }
    }

    /// Returns the content of the register after `next`.
    pub(super) fn after(self, next: Use) -> Self {
        match (next, self) {
            (Use::Read { again: false, page, .. }, _) => Self::Page(page),
            (Use::CopyIn, Self::Page(page)) | (Use::CopyIn | Use::Other, Self::Copied(page)) => Self::Copied(page),
            _ => Self::Other,
        }
    }
}
