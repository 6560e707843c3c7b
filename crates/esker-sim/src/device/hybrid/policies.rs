//! The policies that a hybrid can choose from.

use std::sync::LazyLock;

use esker_controllers::PUBLISHED_PLACEMENTS;
use esker_tier::{PLACEMENTS, PlacementEntry};

/// The engine's policies and the published ones, in the order in which lists show them: `NAME-published` follows
/// `NAME`, if there is one.
pub static HYBRID_POLICIES: LazyLock<Vec<PlacementEntry>> = LazyLock::new(|| {
    let mut all = PLACEMENTS.to_vec();
    for published in PUBLISHED_PLACEMENTS {
        let variant = all.iter().position(|entry| published.name.strip_suffix("-published") == Some(entry.name));
        all.insert(variant.map_or(all.len(), |position| position + 1), *published);
    }
    all
});

#[cfg(test)]
mod tests {
    use esker_core::registry;

    use super::*;

    #[test]
    fn the_registry_is_sound_and_shows_variants_side_by_side() {
        assert_eq!(registry::check(&HYBRID_POLICIES), Vec::<String>::new());
        let names: Vec<&str> = registry::names(&HYBRID_POLICIES).collect();
        assert_eq!(names.len(), PLACEMENTS.len() + PUBLISHED_PLACEMENTS.len());
        assert!(names.windows(2).any(|pair| pair == ["wardrop", "wardrop-published"]), "{names:?}");
    }
}
