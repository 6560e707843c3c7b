//! Units as types: code that mixes a host page with a flash page, or bytes with sectors, does not compile.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// A time since the start of the run, or a duration, in whole nanoseconds.
///
/// Sums and products that are too large become a value just below [`Nanos::NEVER`]. It is later than [`Nanos::LAST`],
/// so the driver ends the run with an error. Differences are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of the run, or a duration of zero.
    pub const ZERO: Self = Self(0);
    /// Later than any event: only a request can wake the device.
    pub const NEVER: Self = Self(u64::MAX);
    /// The last moment of a run: 292 years after its start. Later times are always mistakes.
    pub const LAST: Self = Self(1 << 63);
    /// The result of sums that are too large.
    const TOO_LATE: Self = Self(u64::MAX - 1);

    /// `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }
    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// `seconds` seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }
    /// Rounds to the nearest nanosecond; negative and non-finite values become zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as u64)
    }
    /// As seconds, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// As microseconds, for reports only.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// `self - earlier`, or zero if `earlier` is later.
    pub fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        self.0.checked_add(rhs.0).map_or(Self::TOO_LATE, Self)
    }
}
impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}
impl Sub for Nanos {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.checked_sub(rhs.0).expect("a duration came out negative"))
    }
}
impl Mul<u64> for Nanos {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: u64) -> Self {
        self.0.checked_mul(rhs).map_or(Self::TOO_LATE, Self)
    }
}

/// A length or a capacity in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);
    /// One sector, the unit of [`Lba`].
    pub const SECTOR: Self = Self(512);

    /// `n` times 1,024 bytes.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }
    /// `n` times 1,048,576 bytes.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }
    /// `n` times 2^30 bytes.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }
    /// The number of sectors that hold this many bytes, rounded up.
    pub const fn sectors_ceil(self) -> u64 {
        self.0.div_ceil(512)
    }
}

impl Add for Bytes {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self(self.0.checked_add(rhs.0).expect("a byte count overflowed u64"))
    }
}
impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}
impl Sub for Bytes {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.checked_sub(rhs.0).expect("a byte count came out negative"))
    }
}
impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

/// Bytes per second: of a bus, a link, a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRate(pub u64);

impl ByteRate {
    /// The time to transfer `bytes`, rounded up to whole nanoseconds; [`Nanos::NEVER`] if the rate is zero.
    pub fn time(self, bytes: Bytes) -> Nanos {
        if self.0 == 0 {
            return Nanos::NEVER;
        }
        let nanos = (u128::from(bytes.0) * 1_000_000_000).div_ceil(u128::from(self.0));
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Energy in picojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Energy(pub u64);

/// Power in microwatts. One microwatt for one microsecond is one picojoule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Power(pub u64);

impl Power {
    /// The energy over `nanos` nanoseconds, rounded down to whole picojoules.
    pub fn over(self, nanos: u128) -> Energy {
        Energy(u64::try_from(nanos.saturating_mul(u128::from(self.0)) / 1_000).unwrap_or(u64::MAX))
    }
}

/// A logical block address: the number of a 512-byte sector as the host counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lba(pub u64);

impl Lba {
    /// The sector that holds byte `offset`.
    pub const fn containing(offset: u64) -> Self {
        Self(offset / 512)
    }
    /// Byte offset of the sector's first byte.
    #[inline]
    pub const fn byte_offset(self) -> u64 {
        self.0 * 512
    }
}

/// A page as the host sees it (LPN in papers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalPage(pub u32);

/// A page as the NAND array sees it (PPN in papers). The limit is 2^32 pages: 16 TiB in pages of 4 KiB; more is
/// refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhysicalPage(pub u32);

/// A share or a probability, kept in whole parts per billion so that it does not depend on rounding modes. Written
/// `"15%"` or `"0.15"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio(u64);

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One: the whole.
    pub const ONE: Self = Self(1_000_000_000);

    /// `percent` hundredths.
    pub const fn percent(percent: u64) -> Self {
        Self(percent * 10_000_000)
    }
    /// `parts` of 1,000,000,000.
    pub const fn parts_per_billion(parts: u64) -> Self {
        Self(parts)
    }
    /// This ratio in parts per billion.
    pub const fn as_parts_per_billion(self) -> u64 {
        self.0
    }
    /// The nearest part per billion; negative values become zero.
    pub fn from_f64(value: f64) -> Self {
        Self((value * 1e9).round() as u64)
    }
    /// As a fraction, for reports and closed forms.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// This share of `whole`, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0) / 1_000_000_000) as u64
    }
    /// The rest: `1 - self`, or zero.
    pub const fn complement(self) -> Self {
        Self(1_000_000_000u64.saturating_sub(self.0))
    }
}

impl fmt::Display for LogicalPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "logical page {}", self.0)
    }
}
impl fmt::Display for PhysicalPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "physical page {}", self.0)
    }
}
impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sector {}", self.0)
    }
}
