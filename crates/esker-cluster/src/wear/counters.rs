//! What drives count themselves.

use esker_core::registry::ParameterSource;

use super::{FlashLoad, WearEntry, WearModel};

pub(super) const ENTRY: WearEntry = WearEntry {
    name: "counters",
    summary: "erases as the drive counts them; nothing is known of drives that do not",
    source: "Salman 2017, section 6.1: the first of two ways to know wear",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |_| Box::new(Counters),
};

#[derive(Debug)]
struct Counters;

impl WearModel for Counters {
    fn erases_per_page(&self, flash: &FlashLoad) -> Option<f64> {
        flash.counted.filter(|_| flash.pages > 0.0).map(|erases| erases / flash.pages)
    }

    /// Cleaning in the background erases without writes, too.
    fn erases(&self, flash: &FlashLoad) -> Option<f64> {
        flash.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_counter_nothing_is_known() {
        let flash = FlashLoad { pages_per_block: 64, utilisation: 0.8, counted: Some(7.0), ..FlashLoad::UNKNOWN };
        assert_eq!((Counters.erases(&flash), Counters.erases_per_page(&flash)), (Some(7.0), None));
        let silent = FlashLoad { pages: 10.0, counted: None, ..flash };
        assert_eq!((Counters.erases(&silent), Counters.erases_per_page(&silent)), (None, None));
        assert_eq!(Counters.erases_per_page(&FlashLoad { pages: 14.0, ..flash }), Some(0.5));
    }
}
