//! Errors that say where in an operation they are.

use std::error::Error;
use std::{fmt, io};

use esker_core::Bytes;

/// An error of an operation, and how many bytes of the operation had been moved before it.
#[derive(Debug)]
pub struct PlacedError {
    at: Bytes,
    source: io::Error,
}

impl PlacedError {
    /// Wraps `source`, before which `moved` bytes of the operation were moved. The kind of the error stays.
    #[expect(clippy::new_ret_no_self, reason = "back ends return the errors of `std::io`")]
    pub fn new(moved: u64, source: io::Error) -> io::Error {
        match moved {
            0 => source,
            moved => io::Error::new(source.kind(), Self { at: Bytes(moved), source }),
        }
    }

    /// Returns the error of an operation whose part after `moved` bytes has ended with `error`.
    pub(crate) fn after(moved: u64, error: io::Error) -> io::Error {
        Self::moved_to(Self::place_of(&error).0 + moved, error)
    }

    /// Returns `error` as that of an operation of which `moved` bytes were moved, whatever it says itself.
    pub(crate) fn moved_to(moved: u64, error: io::Error) -> io::Error {
        match error.downcast::<Self>() {
            Ok(Self { source, .. }) | Err(source) => Self::new(moved, source),
        }
    }

    /// Returns where in its operation `error` is: at its start, unless the error says something else.
    pub fn place_of(error: &io::Error) -> Bytes {
        let placed = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>());
        placed.map_or(Bytes::ZERO, |placed| placed.at)
    }
}

impl fmt::Display for PlacedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} into the operation)", self.source, self.at)
    }
}

impl Error for PlacedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_kind_and_the_place_in_the_whole_operation() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let place = |error: &io::Error| (error.kind(), PlacedError::place_of(error).0);
        assert_eq!(place(&full()), (io::ErrorKind::StorageFull, 0));
        let placed = PlacedError::new(512, full());
        assert_eq!(place(&placed), (io::ErrorKind::StorageFull, 512));
        let in_whole = PlacedError::after(1024, placed);
        assert_eq!(place(&in_whole), (io::ErrorKind::StorageFull, 1536));
        assert!(in_whole.to_string().ends_with("(1536B into the operation)"), "{in_whole}");
        assert_eq!(place(&PlacedError::after(512, full())), (io::ErrorKind::StorageFull, 512));
    }
}
