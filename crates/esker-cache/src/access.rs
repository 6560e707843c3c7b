//! Accesses to objects.

/// An object that a cache may hold: a page, or whatever is cached as a whole. Objects are numbered from zero without
/// gaps, so that policies keep what they know of them in arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// Its place in an array of all objects.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One access to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The object.
    pub object: ObjectId,
    /// How many bytes of it are read or written.
    pub bytes: u32,
    /// Read or written.
    pub kind: AccessKind,
    /// The number of the next access to this object, counted from the first access of the sequence; [`NEVER`] if there
    /// is none, or if nobody knows. Only policies with
    /// [`ReplacementCapability::Future`](crate::ReplacementCapability::Future) look at it.
    pub next_use: u32,
}

/// An object that is not accessed again.
pub const NEVER: u32 = u32::MAX;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// It reads.
    Read,
    /// It writes.
    Write,
}
