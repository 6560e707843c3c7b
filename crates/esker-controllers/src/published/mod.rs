//! Placement policies that only reproduce papers. Their variants in the engine's own list place better.

#[cfg(test)]
mod crash;
mod mixdyn;
mod wardrop;

use esker_tier::PlacementEntry;

/// The policies that only reproduce papers, in the order in which lists show them.
pub static PUBLISHED_PLACEMENTS: &[PlacementEntry] = &[wardrop::ENTRY, mixdyn::ENTRY];

#[cfg(test)]
mod tests {
    use esker_core::registry;

    use super::*;

    #[test]
    fn the_registry_is_sound() {
        assert_eq!(registry::check(PUBLISHED_PLACEMENTS), Vec::<String>::new());
    }
}
