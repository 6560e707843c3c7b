//! Addresses of servers.

use std::path::PathBuf;
use std::str::FromStr;
use std::{fmt, io};

use esker_core::Hint;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A host and a port, over TCP. Port 0 is any that is free.
    Tcp(String),
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no address to listen at")]
pub struct AddressError(String);

impl Hint for AddressError {
    fn hint(&self) -> Option<String> {
        Some("say unix:PATH, HOST:PORT, or :PORT for all addresses of this machine".to_string())
    }
}

impl FromStr for Address {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let error = || AddressError(text.to_string());
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(error()) } else { Ok(Self::Unix(path.into())) };
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(error)?;
        port.parse::<u16>().map_err(|_| error())?;
        let is_host = host.starts_with('[') && host.ends_with(']') || !host.contains([':', '/']);
        match (is_host, host) {
            (false, _) => Err(error()),
            (true, "") => Ok(Self::Tcp(format!("[::]:{port}"))),
            (true, _) => Ok(Self::Tcp(text.to_string())),
        }
    }
}

impl Address {
    /// The address with a path that begins at the root.
    pub(crate) fn absolute(&self) -> io::Result<Self> {
        match self {
            Self::Unix(path) => Ok(Self::Unix(std::path::absolute(path)?)),
            Self::Tcp(address) => Ok(Self::Tcp(address.clone())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => f.write_str(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, shown) in [
            ("unix:/run/esker/a.sock", "unix:/run/esker/a.sock"),
            ("localhost:10809", "localhost:10809"),
            (":10809", "[::]:10809"),
            ("[::1]:0", "[::1]:0"),
            ("127.0.0.1:65535", "127.0.0.1:65535"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
        }
        for text in ["", "unix:", "10809", "host:65536", "a/b:1", "::1:80", "/run/a.sock"] {
            assert_eq!(text.parse::<Address>(), Err(AddressError(text.to_string())));
        }
    }
}
