//! SCMFS mounted by FUSE.
//!
//! [`Mount::new`] mounts a pool, [`Mount::serve`] answers the kernel's requests until it is unmounted.
//! [`MountPoint`] finds mounts, unmounts them, and says who uses them. No library of FUSE is needed: the crate fuser
//! speaks with the kernel.
//!
//! # Who may do what
//! The kernel checks permissions by the attributes that it was told (`default_permissions`), and the file system checks
//! them again. Without the kernel's check nobody would look at those of named pipes, sockets and devices, whose opening
//! is no request, nor at those of directories whose names the kernel still knows. Supplementary groups, which requests
//! do not have, are read from `/proc`; of a process in a container that this one cannot see, none are known. Nor are
//! capabilities other than those of root.
//!
//! There are no access control lists and no capabilities of files.
//!
//! # Coherence
//! Others than the kernel write the pool, too. So files are opened for direct I/O: read and write reach the pool, and
//! the page cache holds only what is mapped. Shared mappings of such files need Linux 6.6; older kernels refuse them.
//! Names and attributes are kept by the kernel for a second at most.
//!
//! # Locks
//! `flock` and `fcntl` locks are kept by the kernel: all users of a mount are on one machine.

mod answers;
mod attributes;
mod callers;
mod capabilities;
mod clients;
mod coherence;
mod inodes;
mod mount_points;
mod mounting;
mod requests;
mod server;
mod session;
mod users;

pub use mount_points::{MountPoint, UnmountError};
pub use session::{Mount, MountAtError};
pub use users::User;
