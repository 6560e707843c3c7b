//! Accesses to objects.

/// An object that a cache may hold: a page, or anything else that is cached as a whole. Objects are numbered from zero
/// without gaps, so that policies can keep their state in arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// Returns the object's index in an array of all objects.
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
    /// Number of bytes that are read or written.
    pub bytes: u32,
    /// Whether the access reads or writes.
    pub kind: AccessKind,
    /// The number of the next access to this object, counted from the first access of the sequence; [`NEVER`] if there
    /// is none, or if it is unknown. Only policies with
    /// [`ReplacementCapability::Future`](crate::ReplacementCapability::Future) look at it.
    pub next_use: u32,
}

/// [`Access::next_use`] of an object that is not accessed again.
pub const NEVER: u32 = u32::MAX;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A read.
    Read,
    /// A write.
    Write,
}
