//! Why a drive cannot be built.

use esker_core::{Bytes, Hint, Ratio};
use esker_ftl::BuildError;
use esker_nand::{NandError, ValueError};
use thiserror::Error;

/// Settings from which no drive can be built. Each error says which settings conflict, with their values.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SsdError {
    /// A setting of any part of the drive has an invalid value.
    #[error(transparent)]
    Value(ValueError),
    /// The array cannot be built.
    #[error(transparent)]
    Nand(NandError),
    /// The translation layer cannot be built.
    #[error(transparent)]
    Layer(BuildError),
    /// The low-water mark of the write buffer is above the high-water mark, or the high-water mark above 100%.
    #[error("`write_buffer.low_water` ({low}) is above `write_buffer.high_water` ({high}), or that is above 100%")]
    WaterMarks {
        /// The low-water mark as given.
        low: Ratio,
        /// The high-water mark as given.
        high: Ratio,
    },
    /// The write buffer has no room for a page.
    #[error("`write_buffer.size` is {found}: pages are of {page_size}")]
    BufferTooSmall {
        /// The size as given.
        found: Bytes,
        /// Size of a page.
        page_size: Bytes,
    },
    /// Blocks of a new drive would already have used up their rated erases.
    #[error("`wear.initial_erases` is {found}, and blocks are rated for {limit} (`endurance_cycles`)")]
    BornWornOut {
        /// The initial erases as given.
        found: u64,
        /// Rated erases.
        limit: u64,
    },
}

/// Settings from which no flash cache can be built.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum HostManagedCacheError {
    /// The flash cannot be built.
    #[error(transparent)]
    Flash(Box<SsdError>),
    /// The policy cannot be built.
    #[error(transparent)]
    Policy(#[from] esker_cache::BuildError),
    /// The admission policy cannot be built.
    #[error(transparent)]
    Admission(esker_cache::BuildError),
    /// A drive setting that does not suit a cache.
    #[error("{message}")]
    Unfit {
        /// The key within the flash settings.
        key: &'static str,
        /// What is wrong with it.
        message: &'static str,
    },
    /// The cached volume has more pages than a map can address.
    #[error("a volume of {volume} has more than 2^32 pages of {page_size}")]
    VolumeTooLarge {
        /// Bytes of the volume.
        volume: Bytes,
        /// Size of a page.
        page_size: Bytes,
    },
}

impl From<SsdError> for HostManagedCacheError {
    fn from(error: SsdError) -> Self {
        Self::Flash(Box::new(error))
    }
}

impl HostManagedCacheError {
    /// Returns the dotted keys that the error is about, if the cache's flash settings are at `flash` and its policy at
    /// `policy`.
    pub fn keys(&self) -> Vec<String> {
        match self {
            Self::Flash(error) => error.keys().into_iter().map(|key| format!("flash.{key}")).collect(),
            Self::Policy(_) => vec!["policy".to_string()],
            Self::Admission(_) => vec!["admission".to_string()],
            Self::Unfit { key, .. } => vec![format!("flash.{key}")],
            Self::VolumeTooLarge { .. } => vec!["flash.geometry.page_size".to_string()],
        }
    }
}

impl Hint for HostManagedCacheError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Flash(error) => error.hint(),
            Self::Policy(error) | Self::Admission(error) => error.hint(),
            Self::Unfit { .. } | Self::VolumeTooLarge { .. } => None,
        }
    }
}

impl From<ValueError> for SsdError {
    fn from(error: ValueError) -> Self {
        Self::Value(error)
    }
}

/// An invalid value stays an [`SsdError::Value`], whichever crate refused it.
impl From<NandError> for SsdError {
    fn from(error: NandError) -> Self {
        match error {
            NandError::Value(value) => Self::Value(value),
            error => Self::Nand(error),
        }
    }
}

impl From<BuildError> for SsdError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Value(value) => Self::Value(value),
            error => Self::Layer(error),
        }
    }
}

impl SsdError {
    /// Returns the dotted keys of the settings that the error is about, the most telling one first. Empty if it is
    /// about the drive as a whole.
    pub fn keys(&self) -> Vec<String> {
        let keys = match self {
            Self::Value(value) => value.keys(),
            Self::Nand(error) => error.keys(),
            Self::Layer(error) => return error.keys(),
            Self::WaterMarks { .. } => vec!["write_buffer.low_water", "write_buffer.high_water"],
            Self::BufferTooSmall { .. } => vec!["write_buffer.size"],
            Self::BornWornOut { .. } => vec!["wear.initial_erases", "endurance_cycles"],
        };
        keys.into_iter().map(str::to_string).collect()
    }
}

impl Hint for SsdError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Value(error) => return error.hint(),
            Self::Nand(error) => return error.hint(),
            Self::Layer(error) => return error.hint(),
            Self::WaterMarks { .. } => "low_water = \"50%\" and high_water = \"75%\" would work".to_string(),
            Self::BufferTooSmall { page_size, .. } => {
                format!("at least {page_size} would work; left out, the drive has no buffer")
            }
            Self::BornWornOut { limit, .. } => format!("initial_erases = {} would work", limit / 2),
        })
    }
}
