//! Errors in collecting accesses.

use esker_core::Hint;
use thiserror::Error;

use crate::NEVER;

/// Why an access cannot be added to a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AccessLogError {
    /// There are more accesses than 32-bit numbers.
    #[error("there are more than {NEVER} accesses to simulate")]
    TooManyAccesses,
}

impl Hint for AccessLogError {
    fn hint(&self) -> Option<String> {
        Some("simulate a sample of the objects instead".to_string())
    }
}
