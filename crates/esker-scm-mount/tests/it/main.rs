//! A pool mounted by this process, used through the kernel.

mod clients;
mod endings;
mod ground;
mod hostile;
mod posix;
