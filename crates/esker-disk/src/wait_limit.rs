//! How long other commands may overtake a command.

use std::fmt;
use std::str::FromStr;

use esker_core::{Nanos, QuantityError, quantity_as_text};

/// The longest time that a command waits because of the scheduler's order: a time, or no limit (`"off"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitLimit(Option<Nanos>);

impl WaitLimit {
    /// Keeps the scheduler's own order, however long a command waits.
    pub const OFF: Self = Self(None);

    /// Lets a command that has waited for `time` go next.
    pub const fn after(time: Nanos) -> Self {
        Self(Some(time))
    }

    /// Returns the limit, if there is one.
    pub const fn time(self) -> Option<Nanos> {
        self.0
    }
}

impl FromStr for WaitLimit {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text.trim() == "off" { Ok(Self::OFF) } else { text.parse().map(Self::after) }
    }
}

impl fmt::Display for WaitLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.pad("off"),
            Some(time) => time.fmt(f),
        }
    }
}

quantity_as_text!(
    WaitLimit,
    "a time with its unit, such as \"10s\", or \"off\"",
    "^([0-9._]+ *(ns|us|µs|μs|ms|s|min|h|d|y)|off)$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_time_or_off() {
        assert_eq!("off".parse(), Ok(WaitLimit::OFF));
        assert_eq!("250ms".parse(), Ok(WaitLimit::after(Nanos::from_millis(250))));
        for text in ["off", "10s", "0ns"] {
            assert_eq!(text.parse::<WaitLimit>().unwrap().to_string(), text);
        }
        assert!("10".parse::<WaitLimit>().unwrap_err().to_string().contains("needs a unit"));
    }
}
