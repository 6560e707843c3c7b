//! Where pages of a file lie, for those who map them.

/// Pages of a file that follow each other in the file and in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The first page, counted from the beginning of the file.
    pub page: u64,
    /// The first page, counted from the beginning of the pool.
    pub physical: u64,
    /// How many.
    pub pages: u64,
}
