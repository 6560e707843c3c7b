//! Capabilities of translation layers, and the settings that are refused where a layer lacks one.

use esker_core::registry::{self, Capability};
use esker_nand::ValueError;

use crate::{BuildError, FTLS, FtlEntry, FtlSettings, Separation};

/// Something that some translation layers can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerCapability {
    /// Counts erases, levels wear and takes worn blocks out of use (`wear`).
    Wear,
    /// Writes pages to different blocks depending on how soon they are likely to be rewritten (`cleaning.separate`).
    Separate,
    /// Writes each stream of the host to blocks of its own (`streams`).
    Streams,
    /// Rewrites data that are about to become unreadable (`ecc.refresh_above`).
    Refresh,
    /// Cleans a little with each write before space runs out (`cleaning.gradual`).
    GradualCleaning,
    /// Can begin in the steady state.
    KnownSteady,
    /// Recovers its map after a power failure (`power_failure`).
    Recover,
    /// Recovers most of its map from translation pages on flash.
    RecoverByMap,
    /// Asks the owner of a page before cleaning copies it.
    AsksOwner,
    /// Keeps pages readable that count as invalid, until their blocks are erased ([`crate::Ftl::suspect`]), and can
    /// address more pages than it holds at a time ([`crate::Space::addressing`]).
    Suspects,
}

impl Capability for LayerCapability {
    const ALL: &'static [Self] = &[
        Self::Wear,
        Self::Separate,
        Self::Streams,
        Self::Refresh,
        Self::GradualCleaning,
        Self::KnownSteady,
        Self::Recover,
        Self::RecoverByMap,
        Self::AsksOwner,
        Self::Suspects,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Wear => "wear",
            Self::Separate => "separate",
            Self::Streams => "streams",
            Self::Refresh => "refresh",
            Self::GradualCleaning => "gradual-cleaning",
            Self::KnownSteady => "known-steady",
            Self::Recover => "recover",
            Self::RecoverByMap => "recover-by-map",
            Self::AsksOwner => "asks-owner",
            Self::Suspects => "suspects",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Wear => "counts erases, levels wear and takes worn blocks out of use (`wear`)",
            Self::Separate => {
                "writes pages to different blocks by how soon they are likely to be rewritten (`cleaning.separate`)"
            }
            Self::Streams => "writes each stream of the host to blocks of its own (`streams`)",
            Self::Refresh => {
                "rewrites data before they become unreadable (`ecc.refresh_above`), or in another write mode (`write_modes`)"
            }
            Self::GradualCleaning => "cleans a little with each write before space runs out (`cleaning.gradual`)",
            Self::KnownSteady => "preconditioning can begin in the steady state rather than write its way there",
            Self::Recover => "recovers its map after a power failure (`power_failure`)",
            Self::RecoverByMap => "recovers most of its map from map pages on flash",
            Self::AsksOwner => {
                "asks the owner of a page before cleaning copies it; a drive by itself needs all of its pages"
            }
            Self::Suspects => {
                "keeps pages readable that count as invalid until their blocks are erased, so that a cache over its \
                 own flash can revive what it evicted"
            }
        }
    }
}

impl LayerCapability {
    /// Returns a hint for `key`, where the layer lacks what it needs: "leave `wear` out, or use ftl = "page" or "dftl"".
    pub fn remedy(self, key: &str) -> String {
        leave_out_or_use(key, registry::names_with(FTLS, self))
    }
}

fn leave_out_or_use<'a>(key: &str, able: impl Iterator<Item = &'a str>) -> String {
    let able: Vec<String> = able.map(|name| format!("\"{name}\"")).collect();
    match &able[..] {
        [] => format!("leave {key} out"),
        [one] => format!("leave {key} out, or use ftl = {one}"),
        [others @ .., last] => format!("leave {key} out, or use ftl = {} or {last}", others.join(", ")),
    }
}

/// Refuses settings that need a capability which the layer lacks.
pub(super) fn check(entry: &'static FtlEntry, settings: &FtlSettings) -> Result<(), BuildError> {
    if settings.wear.is_some() && !entry.can(LayerCapability::Wear) {
        return Err(BuildError::NoWearIn { layer: entry.name, remedy: LayerCapability::Wear.remedy("`wear`") });
    }
    let separate = settings.cleaning.separate != Separation::None;
    let streams = format!("`streams` = {}", settings.streams);
    for (asked, first, key, capability, reason) in [
        (
            settings.refresh,
            "`ecc.refresh_above`",
            "ecc.refresh_above",
            LayerCapability::Refresh,
            "this layer does not write pages again on its own",
        ),
        (
            settings.re_encode,
            "`write_modes.policy`",
            "write_modes.policy",
            LayerCapability::Refresh,
            "this layer does not write pages again on its own",
        ),
        (
            settings.streams > 1,
            &*streams,
            "streams",
            LayerCapability::Streams,
            "this layer does not tell streams apart",
        ),
        (
            separate,
            "`cleaning.separate`",
            "cleaning.separate",
            LayerCapability::Separate,
            "this layer places pages by its own rules",
        ),
    ] {
        if asked && !entry.can(capability) {
            return Err(ValueError::Contradiction {
                keys: vec![key, "ftl"],
                first: first.to_string(),
                second: format!("`ftl` = `{}`", entry.name),
                reason: reason.to_string(),
                remedy: capability.remedy(&format!("`{key}`")),
            }
            .into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use esker_core::{LogicalPage, Ratio, Rng};
    use esker_nand::state::{Cause, FlashState, OpIndex, OpList, Scan};
    use esker_nand::{Geometry, PoolScope};

    use super::*;
    use crate::testing::DriveSettings;
    use crate::tests::settings;
    use crate::{Cells, Choice, Ftl, FtlContext, Space, WriteExtent, build};

    #[test]
    fn the_registry_is_sound() {
        assert_eq!(registry::check(FTLS), Vec::<String>::new());
    }

    #[test]
    fn every_capability_is_one_of_some_layer() {
        for capability in LayerCapability::ALL {
            assert!(registry::names_with(FTLS, *capability).next().is_some(), "{}", capability.name());
        }
    }

    /// A drive with one pool, for tests of capabilities.
    struct World {
        ftl: Box<dyn Ftl>,
        flash: FlashState,
        ops: OpList,
        pages: u32,
    }

    impl World {
        fn new(layer: &FtlEntry, change: impl Fn(&mut DriveSettings)) -> Self {
            let mut settings = settings();
            settings.geometry.channels = 1;
            settings.geometry.dies_per_package = 1;
            settings.geometry.planes_per_die = 1;
            settings.geometry.blocks_per_plane = 1000;
            settings.geometry.pages_per_block = 8;
            settings.pool = PoolScope::Device;
            settings.over_provisioning = Some(Ratio::percent(40));
            settings.power_fails = true;
            settings.ftl = Choice::named(layer.name);
            change(&mut settings);
            let geometry = Geometry::new(&settings.geometry, false).unwrap();
            let space = Space::new(&settings, &geometry).unwrap();
            let context = FtlContext { geometry: &geometry, space: &space, settings: &settings, seed: 1 };
            let ftl = build(&context).unwrap_or_else(|error| panic!("{}: {error}", layer.name));
            let mut flash = FlashState::new(&geometry);
            flash.keep_journal_of_settled_changes(space.blocks_per_pool);
            Self { ftl, flash, ops: OpList::with_scan(Scan::new(&geometry, false)), pages: space.host_pages }
        }

        /// Writes random pages. Returns the number of operations of each write.
        fn write(&mut self, count: u32) -> Vec<usize> {
            let mut rng = Rng::new(3);
            let mut one = || {
                self.ops.clear();
                let page = LogicalPage(rng.below(u64::from(self.pages)) as u32);
                self.ftl.write(page, WriteExtent::Whole, &mut Cells::new(&mut self.flash, &mut self.ops)).unwrap();
                self.ops.as_slice().len()
            };
            (0..count).map(|_| one()).collect()
        }
    }

    /// The capabilities in an entry are exactly what its layer does.
    #[test]
    fn entries_name_exactly_the_capabilities_of_their_layers() {
        for layer in FTLS {
            let mut world = World::new(layer, |_| {});
            assert_eq!(world.ftl.wear().is_some(), layer.can(LayerCapability::Wear), "{}: wear", layer.name);
            assert_eq!(world.ftl.keeps_streams(), layer.can(LayerCapability::Streams), "{}: streams", layer.name);
            world.write(2_000);
            world.flash.lose_power();
            let World { flash, mut ops, .. } = world;
            let mut world = World { flash, ..World::new(layer, |_| {}) };
            let recovers = world.ftl.recover(&mut Cells::new(&mut world.flash, &mut ops)).is_ok();
            assert_eq!(recovers, layer.can(LayerCapability::Recover), "{}: recovery", layer.name);
            let by_map = ops.take_scan().expect("reads are kept apart").counts.map_pages > 0;
            assert_eq!(by_map, layer.can(LayerCapability::RecoverByMap), "{}: by the map", layer.name);

            let mut world = World::new(layer, |_| {});
            let steady = world.ftl.begin_steady(world.pages, 1, &mut world.flash).is_some();
            assert_eq!(steady, layer.can(LayerCapability::KnownSteady), "{}: the steady state", layer.name);

            let mut world = World::new(layer, |_| {});
            world.write(1);
            let page = (0..world.pages).map(LogicalPage).find(|page| world.ftl.find(*page).is_some()).unwrap();
            let before = world.ftl.find(page);
            world.ops.clear();
            world.ftl.read(page, &mut Cells::new(&mut world.flash, &mut world.ops));
            let read = OpIndex(world.ops.as_slice().len() as u32 - 1);
            world.ftl.refresh(page, read, Cause::Refresh, &mut Cells::new(&mut world.flash, &mut world.ops)).unwrap();
            let moved = world.ftl.find(page) != before;
            assert_eq!(moved, layer.can(LayerCapability::Refresh), "{}: refreshing", layer.name);

            let mut world = World::new(layer, |_| {});
            world.write(1);
            let suspected = world.ftl.suspect(page, &mut Cells::new(&mut world.flash, &mut world.ops));
            assert_eq!(suspected, layer.can(LayerCapability::Suspects), "{}: suspecting", layer.name);
        }
    }

    #[test]
    fn gradual_cleaning_spreads_its_operations_over_writes() {
        for layer in FTLS {
            let took = |gradual: Option<Ratio>| {
                World::new(layer, |settings| settings.cleaning.gradual = gradual).write(20_000)
            };
            // Other layers ignore the setting, because presets set it whichever layer is chosen.
            let differs = took(None) != took(Some(Ratio::percent(10)));
            assert_eq!(differs, layer.can(LayerCapability::GradualCleaning), "{}", layer.name);
        }
    }

    #[test]
    fn remedies_name_the_layers_that_can() {
        for capability in LayerCapability::ALL {
            let remedy = capability.remedy("`x`");
            let named: Vec<&str> = remedy.split('"').skip(1).step_by(2).collect();
            let able: Vec<&str> = FTLS.iter().filter(|layer| layer.can(*capability)).map(|layer| layer.name).collect();
            assert_eq!(named, able, "{remedy}");
        }
        let remedy = |able: &[&str]| leave_out_or_use("`x`", able.iter().copied());
        assert_eq!(remedy(&[]), "leave `x` out");
        assert_eq!(remedy(&["a"]), "leave `x` out, or use ftl = \"a\"");
        assert_eq!(remedy(&["a", "b"]), "leave `x` out, or use ftl = \"a\" or \"b\"");
        assert_eq!(remedy(&["a", "b", "c"]), "leave `x` out, or use ftl = \"a\", \"b\" or \"c\"");
    }
}
