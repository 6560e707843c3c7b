//! What a flash cache held, in words.

use esker_core::words;
use esker_results::FlashCacheReport;

use crate::table::percent;

/// One line for hits, one for what left.
pub(super) fn describe(cache: &FlashCacheReport) -> String {
    let mut text = format!(
        "\n  {} of its requests hit, {} of the reads; {} written to the flash\n  {} lines left, {} of them dirty; \
         {} cleaned, {} copied back",
        percent(cache.hit_ratio),
        percent(cache.read_hit_ratio),
        words::bytes(cache.flash_written_bytes as f64),
        words::count(cache.evictions),
        words::count(cache.dirty_evictions),
        words::count(cache.cleaned),
        words::bytes(cache.copied_back_bytes as f64),
    );
    if cache.lost > 0 {
        text += &format!("; {} requests or copies lost", words::count(cache.lost));
    }
    text
}
