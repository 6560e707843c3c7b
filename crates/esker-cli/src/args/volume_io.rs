//! How the devices of a volume are read and written.

use clap::ValueEnum;

/// How files and disks are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VolumeIo {
    /// By io_uring where the kernel allows that, otherwise by threads
    Best,
    /// By io_uring
    IoUring,
    /// By several threads for each device
    Threads,
}
