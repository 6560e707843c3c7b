//! Write modes: how finely a page is programmed, which decides how long the program and later reads of it take.
//!
//! Flash is programmed in steps of voltage. Larger steps take less time and leave more bit errors, for which the page
//! needs a stronger code, which takes longer to decode (Xia 2017, section 5.1). [`super::FlashState`] keeps the mode of
//! each page, as a tag in its spare area, and asks a [`super::ModePolicy`] for the mode of each program of data.

use std::fmt;

/// Number of [`WriteMode`]s.
pub const WRITE_MODES: usize = 4;

/// How a page is programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteMode {
    /// As the drive's `timing` and `ecc` say.
    #[default]
    Normal = 0,
    /// Fast to program, slow to read.
    LowCost = 1,
    /// Between the other two.
    MediumCost = 2,
    /// Slow to program, fast to read.
    HighCost = 3,
}

impl WriteMode {
    /// All modes, in the order of their numbers.
    pub const ALL: [Self; WRITE_MODES] = [Self::Normal, Self::LowCost, Self::MediumCost, Self::HighCost];

    /// Returns the name of the mode in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::LowCost => "low-cost",
            Self::MediumCost => "medium-cost",
            Self::HighCost => "high-cost",
        }
    }
}

/// The write modes of an operation: of the page that it reads, and of the page that it programs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct OpModes(u8);

impl OpModes {
    /// Number of combinations.
    pub(crate) const COMBINATIONS: usize = WRITE_MODES * WRITE_MODES;

    /// The operation reads a page of mode `read`, and programs one in mode `program`.
    #[inline]
    pub fn new(read: WriteMode, program: WriteMode) -> Self {
        Self(read as u8 | (program as u8) << 2)
    }
    /// The operation only reads.
    #[inline]
    pub fn reading(mode: WriteMode) -> Self {
        Self::new(mode, WriteMode::Normal)
    }
    /// The operation only programs.
    #[inline]
    pub fn programming(mode: WriteMode) -> Self {
        Self::new(WriteMode::Normal, mode)
    }
    /// Returns the mode of the page that is read.
    #[inline]
    pub fn read(self) -> WriteMode {
        WriteMode::ALL[usize::from(self.0 & 3)]
    }
    /// Returns the mode of the page that is programmed.
    #[inline]
    pub fn program(self) -> WriteMode {
        WriteMode::ALL[usize::from(self.0 >> 2 & 3)]
    }
    /// Returns a number below [`Self::COMBINATIONS`].
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0 & 15)
    }
}

impl fmt::Debug for OpModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/{:?}", self.read(), self.program())
    }
}
