//! The estimate of the thesis.

use esker_core::registry::{Accepted, Parameter, ParameterSource};

use super::{FlashLoad, WearEntry, WearModel, equations, thousandths};

pub(super) const ENTRY: WearEntry = WearEntry {
    name: "published",
    summary: "erases from pages written and utilisation, as if writes were even",
    source: "Salman 2017, equations 4.3-4.5; the offset is printed as 20",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "offset_thousandths",
        meaning: "the offset of equation 4.4, in thousandths; 0 fits even writes of 4 KiB, 200 is published",
        value: Accepted::Integer { default: 200, least: -500, most: 500 },
    }]),
    capabilities: &[],
    build: |parameters| Box::new(Published { offset: thousandths(parameters, "offset_thousandths") }),
};

#[derive(Debug)]
struct Published {
    offset: f64,
}

impl WearModel for Published {
    fn erases_per_page(&self, flash: &FlashLoad) -> Option<f64> {
        Some(equations::erases_at_utilisation(1.0, flash.pages_per_block, flash.utilisation, self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_taken_from_the_utilisation() {
        let flash = FlashLoad { pages_per_block: 64, pages: 6400.0, utilisation: 0.8, ..FlashLoad::UNKNOWN };
        let erases = |offset| Published { offset }.erases(&flash).unwrap();
        assert!((erases(0.2) - equations::erases_at_utilisation(6400.0, 64, 0.6, 0.0)).abs() < 1e-6);
        assert!(erases(-0.1) > erases(0.0) && erases(0.0) > erases(0.2));
    }
}
