//! Why accesses cannot be kept.

use esker_core::Hint;
use thiserror::Error;

use crate::NEVER;

/// Why accesses cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AccessLogError {
    /// Numbers of accesses have 32 bits.
    #[error("there are more than {NEVER} accesses to simulate")]
    TooManyAccesses,
}

impl Hint for AccessLogError {
    fn hint(&self) -> Option<String> {
        Some("simulate a sample of the objects instead".to_string())
    }
}
