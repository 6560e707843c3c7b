//! A target whose work ends when it is asked to, and whose writes are made durable where that is wanted.

use std::sync::atomic::{AtomicBool, Ordering};

use esker_scm::bench::{Target, TargetError};

/// Passes every call on, until `stop` is set.
pub(crate) struct Stoppable<'a, T> {
    pub(crate) target: T,
    pub(crate) stop: &'a AtomicBool,
    /// Whether each write is made durable before its call returns.
    pub(crate) syncs: bool,
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
        self.goes_on()?.write(file, offset, bytes)?;
        if self.syncs { self.target.sync(file) } else { Ok(()) }
    }

    fn sync(&self, file: &T::File) -> Result<(), TargetError> {
        self.goes_on()?.sync(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Counts writes and fsyncs.
    #[derive(Default)]
    struct Counting {
        writes: AtomicU64,
        syncs: AtomicU64,
    }

    impl Target for &Counting {
        type File = ();

        fn make_directory(&self, _: u64) -> Result<(), TargetError> {
            Ok(())
        }

        fn remove_directory(&self, _: u64) -> Result<(), TargetError> {
            Ok(())
        }

        fn create(&self, _: u64, _: u64) -> Result<(), TargetError> {
            Ok(())
        }

        fn open(&self, _: u64, _: u64) -> Result<(), TargetError> {
            Ok(())
        }

        fn close(&self, (): ()) -> Result<(), TargetError> {
            Ok(())
        }

        fn unlink(&self, _: u64, _: u64) -> Result<(), TargetError> {
            Ok(())
        }

        fn read(&self, (): &(), _: u64, into: &mut [u8]) -> Result<usize, TargetError> {
            Ok(into.len())
        }

        fn write(&self, (): &(), _: u64, _: &[u8]) -> Result<(), TargetError> {
            self.writes.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }

        fn sync(&self, (): &()) -> Result<(), TargetError> {
            self.syncs.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn each_write_is_made_durable_where_that_is_wanted() {
        let stop = AtomicBool::new(false);
        for syncs in [false, true] {
            let counting = Counting::default();
            let target = Stoppable { target: &counting, stop: &stop, syncs };
            (0..5).for_each(|at| target.write(&(), at, &[0]).unwrap());
            target.read(&(), 0, &mut [0]).unwrap();
            assert_eq!(counting.writes.load(Ordering::Relaxed), 5);
            assert_eq!(counting.syncs.load(Ordering::Relaxed), if syncs { 5 } else { 0 });
        }
    }

    #[test]
    fn nothing_is_passed_on_after_the_stop() {
        let (counting, stop) = (Counting::default(), AtomicBool::new(true));
        let target = Stoppable { target: &counting, stop: &stop, syncs: true };
        assert!(matches!(target.write(&(), 0, &[0]), Err(TargetError::Stopped)));
        assert_eq!(counting.writes.load(Ordering::Relaxed), 0);
    }
}
