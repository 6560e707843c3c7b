//! How the kernel is to treat the file system, and its files.

use fuser::{FopenFlags, InitFlags};

/// What the kernel is asked for. What it cannot is left out: shared mappings are refused by kernels before 6.6.
pub(crate) const WANTED: [InitFlags; 7] = [
    InitFlags::FUSE_ATOMIC_O_TRUNC,
    InitFlags::FUSE_HANDLE_KILLPRIV_V2,
    InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_ASYNC_DIO,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
];

/// Files are read and written past the page cache, and closing one is no request.
pub(crate) const OPENED: FopenFlags =
    FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES).union(FopenFlags::FOPEN_NOFLUSH);
