//! ARC for a cache that does not know about its flash: objects that it evicts are gone, and only their ids are
//! remembered.

use esker_core::registry::ParameterSource;

use super::farc::Farc;
use super::{FlashPolicyEntry, FlashShape};

pub(super) const ENTRY: FlashPolicyEntry = FlashPolicyEntry {
    name: "arc",
    summary: "pages read once and pages read more often share the room by what would have hit; what is evicted is gone",
    source: "Megiddo and Modha 2003; the baseline of Xia 2017, chapter 2",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Farc::new(&FlashShape { suspects: 0, ..*shape })),
};
