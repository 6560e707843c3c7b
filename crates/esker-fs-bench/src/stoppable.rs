//! A target whose work ends when it is asked to.

use std::sync::atomic::{AtomicBool, Ordering};

use esker_scm::bench::{Target, TargetError};

/// Passes every call on, until `stop` is set.
pub(crate) struct Stoppable<'a, T> {
    pub(crate) target: T,
    pub(crate) stop: &'a AtomicBool,
}

impl<T> Stoppable<'_, T> {
    fn goes_on(&self) -> Result<&T, TargetError> {
        if self.stop.load(Ordering::Relaxed) { Err(TargetError::Stopped) } else { Ok(&self.target) }
    }
}

impl<T: Target> Target for Stoppable<'_, T> {
    type File = T::File;

    fn make_directory(&self, directory: u64) -> Result<(), TargetError> {
        self.goes_on()?.make_directory(directory)
    }

    fn remove_directory(&self, directory: u64) -> Result<(), TargetError> {
        self.goes_on()?.remove_directory(directory)
    }

    fn create(&self, directory: u64, file: u64) -> Result<T::File, TargetError> {
        self.goes_on()?.create(directory, file)
    }

    fn open(&self, directory: u64, file: u64) -> Result<T::File, TargetError> {
        self.goes_on()?.open(directory, file)
    }

    fn close(&self, file: T::File) -> Result<(), TargetError> {
        self.target.close(file)
    }

    fn unlink(&self, directory: u64, file: u64) -> Result<(), TargetError> {
        self.goes_on()?.unlink(directory, file)
    }

    fn read(&self, file: &T::File, offset: u64, into: &mut [u8]) -> Result<usize, TargetError> {
        self.goes_on()?.read(file, offset, into)
    }

    fn write(&self, file: &T::File, offset: u64, bytes: &[u8]) -> Result<(), TargetError> {
        self.goes_on()?.write(file, offset, bytes)
    }

    fn sync(&self, file: &T::File) -> Result<(), TargetError> {
        self.goes_on()?.sync(file)
    }
}
