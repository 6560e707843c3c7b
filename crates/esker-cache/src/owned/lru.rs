//! LRU for a cache that does not know about its flash: objects that it evicts are gone.

use esker_core::registry::ParameterSource;

use super::flru::Flru;
use super::{FlashPolicyEntry, FlashShape};

pub(super) const ENTRY: FlashPolicyEntry = FlashPolicyEntry {
    name: "lru",
    summary: "the page whose last read is longest ago leaves first, and is gone",
    source: "the baseline of Xia 2017, chapter 2",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Flru::new(&FlashShape { suspects: 0, ..*shape })),
};
