//! Points in time.

/// A point in time: nanoseconds since 1970, before it if negative. Its range is the years 1677 to 2262.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);
