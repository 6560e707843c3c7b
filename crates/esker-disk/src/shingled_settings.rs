//! The settings of shingled recording.

use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DiskError;

/// Shingled recording: tracks overlap like tiles, so that a zone can only be written from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShingledSettings {
    /// Size of a zone.
    pub zone: Bytes,
    /// Size of the media cache: a part of the outermost tracks that is written in order, and takes writes that do not
    /// go on where their zone has been written up to.
    pub media_cache: Bytes,
    /// The disk cleans its media cache once no request has been under way for this long. It also does while writes wait
    /// for room in it.
    pub clean_after: Nanos,
}

impl ShingledSettings {
    /// # Errors
    /// Sizes that are not whole sectors, or that the model cannot represent.
    pub(crate) fn check(&self) -> Result<(), DiskError> {
        let refuse = |key, expected, found: String| Err(DiskError::OutOfRange { key, expected, found });
        let sizes = [("shingled.zone", self.zone), ("shingled.media_cache", self.media_cache)];
        for (key, size) in sizes {
            if !(Bytes::kib(64)..=Bytes::gib(1 << 10)).contains(&size) || !size.0.is_multiple_of(Bytes::SECTOR.0) {
                return refuse(key, "whole sectors, 64KiB to 1TiB", size.to_string());
            }
        }
        if self.clean_after > Nanos::from_secs(86_400) {
            return refuse("shingled.clean_after", "at most 1d", self.clean_after.to_string());
        }
        Ok(())
    }
}
