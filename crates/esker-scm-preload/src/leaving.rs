//! Files left to the kernel.

use crate::open_file::OpenFile;
use crate::raw;
use crate::slots::{self, Changing};
use rustix::io::Errno;
use std::os::fd::RawFd;
use std::sync::Arc;

/// Leaves a file to the kernel: all its descriptors are real from now on.
pub(crate) fn leave(file: &Arc<OpenFile>, _changing: &Changing) -> Result<(), Errno> {
    file.leave(|kernel_file| {
        let mut all = slots::all().filter(|(_, entry)| Arc::ptr_eq(&entry.file, file));
        all.try_for_each(|(descriptor, entry)| raw::replace(kernel_file, descriptor, entry.closes_on_exec))
    })
}

/// Leaves the file behind a descriptor to the kernel, if it is one of a pool.
pub(crate) fn leave_descriptor(descriptor: RawFd) {
    if let Some(file) = slots::file(descriptor) {
        // If the owner has gone, the placeholder stays, and calls on it fail.
        let _ = leave(&file, &slots::change());
    }
}

/// Leaves all files to the kernel.
pub(crate) fn leave_all(changing: &Changing) {
    for (_, entry) in slots::all() {
        let _ = leave(&entry.file, changing);
    }
}

/// Leaves everything to the kernel, as another process is begun without fork(2).
pub(crate) fn leave_everything() {
    leave_all(&slots::change());
}

/// Leaves what the next program of this process inherits.
pub(crate) fn leave_inherited() {
    let changing = slots::change();
    for (_, entry) in slots::all().filter(|(_, entry)| !entry.closes_on_exec) {
        let _ = leave(&entry.file, &changing);
    }
}
