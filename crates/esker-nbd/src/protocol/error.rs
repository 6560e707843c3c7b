//! Errors of requests.

use thiserror::Error;

/// Why a request failed, as the protocol says it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[repr(u32)]
pub enum ErrorNumber {
    /// A write to an export that can only be read.
    #[error("EPERM: the operation is not permitted")]
    NotPermitted = 1,
    /// The device failed.
    #[error("EIO: input/output error")]
    Io = 5,
    /// The server lacks memory.
    #[error("ENOMEM: cannot allocate memory")]
    NoMemory = 12,
    /// The request is outside of the export, misaligned, of an unknown kind, or has unknown flags.
    #[error("EINVAL: invalid argument")]
    Invalid = 22,
    /// A write beyond the export, or no room is left.
    #[error("ENOSPC: no space left on the device")]
    NoSpace = 28,
    /// More bytes than the server returns at once.
    #[error("EOVERFLOW: value too large")]
    Overflow = 75,
    /// Zeroes would take as long as a write, and the client wants them only if they are fast.
    #[error("ENOTSUP: operation not supported")]
    NotSupported = 95,
    /// The server is being shut down.
    #[error("ESHUTDOWN: the server is being shut down")]
    ShuttingDown = 108,
}

impl ErrorNumber {
    /// All errors of the document.
    pub const ALL: [Self; 8] = [
        Self::NotPermitted,
        Self::Io,
        Self::NoMemory,
        Self::Invalid,
        Self::NoSpace,
        Self::Overflow,
        Self::NotSupported,
        Self::ShuttingDown,
    ];

    /// Its number in replies.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The error that a reply has. Numbers that the document does not have count as `EINVAL`, as it demands; zero is no
    /// error.
    pub fn of_reply(number: u32) -> Option<Self> {
        match number {
            0 => None,
            _ => Some(Self::ALL.into_iter().find(|error| error.number() == number).unwrap_or(Self::Invalid)),
        }
    }
}
