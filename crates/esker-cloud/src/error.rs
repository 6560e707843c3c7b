//! Errors in the settings of a cloud volume.

use esker_core::{Bytes, Hint};
use thiserror::Error;

/// Why there is no such volume.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CloudError {
    /// A setting is outside what there is.
    #[error("`{key}` is {found}, expected {expected}")]
    OutOfRange {
        /// The key in the settings.
        key: &'static str,
        /// What is allowed.
        expected: String,
        /// The value as configured.
        found: String,
    },
    /// The type has no volumes of this size.
    #[error("`size` is {size}, but the type has sizes from {min} to {max}")]
    Size {
        /// The configured size.
        size: Bytes,
        /// Smallest size.
        min: Bytes,
        /// Largest size.
        max: Bytes,
    },
    /// Settings that make no sense together.
    #[error("{message}")]
    Contradiction {
        /// The key that is wrong.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// The type has nothing to provision.
    #[error("`provisioned.{what}` is given, but with this type of volume the size alone decides on {what}")]
    NothingToProvision {
        /// "operations" or "throughput".
        what: &'static str,
    },
    /// More or less was ordered than is sold.
    #[error("`provisioned.{what}` is {found}, but a volume of {size} can have {least} to {most}")]
    Provisioned {
        /// "operations" or "throughput".
        what: &'static str,
        /// What was ordered.
        found: String,
        /// The size of the volume.
        size: Bytes,
        /// Least that can be ordered.
        least: String,
        /// Most that can be ordered.
        most: String,
        /// What would allow it.
        remedy: Option<String>,
    },
}

impl CloudError {
    /// The dotted key of the settings that it is about.
    pub fn key(&self) -> String {
        match self {
            Self::OutOfRange { key, .. } => (*key).to_string(),
            Self::Size { .. } => "size".to_string(),
            Self::Contradiction { key, .. } => key.clone(),
            Self::NothingToProvision { what } | Self::Provisioned { what, .. } => format!("provisioned.{what}"),
        }
    }
}

impl Hint for CloudError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Provisioned { remedy, .. } => remedy.clone(),
            Self::NothingToProvision { what } => {
                Some(format!("leave `provisioned.{what}` out, or choose a larger `size`"))
            }
            Self::OutOfRange { .. } | Self::Size { .. } | Self::Contradiction { .. } => None,
        }
    }
}
