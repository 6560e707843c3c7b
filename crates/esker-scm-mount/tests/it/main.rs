//! A pool mounted by this process, used through the kernel.

mod ground;
mod posix;
