//! Placement policies that only reproduce others' work. Variants of papers' policies in the engine's own list place
//! better; the other policies here are rivals to compare with.

mod bcachefs;
mod bins;
mod colloid;
#[cfg(test)]
mod crash;
mod dm_cache;
mod mixdyn;
mod most;
#[cfg(test)]
mod plain_counts;
#[cfg(test)]
mod testing;
mod tiers;
mod wardrop;

use esker_tier::PlacementEntry;

/// The policies that only reproduce others' work, in the order in which lists show them.
pub static PUBLISHED_PLACEMENTS: &[PlacementEntry] =
    &[wardrop::ENTRY, mixdyn::ENTRY, bcachefs::ENTRY, dm_cache::ENTRY, colloid::ENTRY, most::ENTRY];

#[cfg(test)]
mod tests {
    use esker_core::registry;

    use super::*;

    #[test]
    fn the_registry_is_sound() {
        assert_eq!(registry::check(PUBLISHED_PLACEMENTS), Vec::<String>::new());
    }
}
