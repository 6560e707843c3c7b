//! What can go wrong, each with the number that Linux has for it.

use crate::persist::PersistError;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FsError {
    /// ENOENT
    #[error("there is no such file or directory")]
    NotFound,
    /// EEXIST
    #[error("it exists")]
    Exists,
    /// ENOTDIR
    #[error("not a directory")]
    NotDirectory,
    /// EISDIR
    #[error("a directory")]
    IsDirectory,
    /// ENOTEMPTY
    #[error("the directory is not empty")]
    NotEmpty,
    /// EBADF
    #[error("no open file, or one that is not open for this")]
    BadHandle,
    /// EACCES
    #[error("permission denied")]
    Access,
    /// EPERM
    #[error("not permitted")]
    NotPermitted,
    /// EINVAL
    #[error("an invalid argument")]
    Invalid,
    /// ENAMETOOLONG
    #[error("the name is longer than 255 bytes")]
    NameTooLong,
    /// ENOSPC
    #[error("the pool is full, or the file system that it lies on")]
    NoSpace,
    /// ENOSPC
    #[error("the pool has no virtual space for this file in one piece")]
    NoVirtualSpace,
    /// ENOSPC, as ext4 says it: room that others give would not help
    #[error("the attributes of a file take at most 1 MiB")]
    AttributesFull,
    /// EFBIG
    #[error("the file would be larger than the pool's virtual space, or its log, allows")]
    FileTooLarge,
    /// EMLINK
    #[error("too many links")]
    TooManyLinks,
    /// ENODATA
    #[error("there is no such attribute, or nothing from here on")]
    NoData,
    /// ENXIO
    #[error("beyond the end of the file")]
    BeyondEnd,
    /// ERANGE
    #[error("the value is longer than the buffer")]
    Range,
    /// E2BIG
    #[error("the attribute is too large")]
    TooBig,
    /// ESTALE
    #[error("this inode is not in use")]
    Stale,
    /// EBUSY
    #[error("in use")]
    Busy,
    /// EUCLEAN
    #[error("damaged: {0}; unmount, and run `esker fs check --repair`")]
    Damaged(Damage),
    /// EIO
    #[error(transparent)]
    Persist(#[from] PersistError),
}

/// What is damaged, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The superblock.
    #[error("the superblock")]
    Superblock,
    /// An inode.
    #[error("inode {0}")]
    Inode(u64),
    /// An entry of the mapping table.
    #[error("the entry of virtual page {0} in the mapping table")]
    Entry(u64),
    /// A slot of a directory.
    #[error("slot {slot} of directory {directory}")]
    Slot {
        /// The directory's inode.
        directory: u64,
        /// The slot.
        slot: u64,
    },
    /// A page that two things have, or that lies outside the data.
    #[error("physical page {0}, which is mapped twice or not one of data")]
    Page(u64),
    /// Virtual pages that two inodes have, or that lie outside the space of files.
    #[error("the virtual pages of inode {0}")]
    VirtualPages(u64),
    /// The extended attributes of an inode.
    #[error("the extended attributes of inode {0}")]
    Attributes(u64),
}

impl FsError {
    /// The number of the error in Linux.
    pub fn errno(&self) -> i32 {
        match self {
            FsError::NotPermitted => 1,
            FsError::NotFound => 2,
            FsError::Persist(_) => 5,
            FsError::BeyondEnd => 6,
            FsError::TooBig => 7,
            FsError::BadHandle => 9,
            FsError::Access => 13,
            FsError::Busy => 16,
            FsError::Exists => 17,
            FsError::NotDirectory => 20,
            FsError::IsDirectory => 21,
            FsError::Invalid => 22,
            FsError::FileTooLarge => 27,
            FsError::NoSpace | FsError::NoVirtualSpace | FsError::AttributesFull => 28,
            FsError::TooManyLinks => 31,
            FsError::Range => 34,
            FsError::NameTooLong => 36,
            FsError::NotEmpty => 39,
            FsError::NoData => 61,
            FsError::Stale => 116,
            FsError::Damaged(_) => 117,
        }
    }
}

/// What a call of the file system gives.
pub type FsResult<T> = Result<T, FsError>;
