//! The placement policies that hybrids may be run with: one file each, and one line each in [`POLICIES`]. All of them
//! can run a volume; those that only reproduce others' work cannot.

mod collective;
mod cost_benefit;
mod migration;
mod migration_with_room;
mod throughput;

use esker_core::Ratio;
use esker_core::registry::{Capability, Entry};
use esker_tier::PolicySettings;

/// The policies to compare, the simplest first: of policies that are equally good, the first one is taken.
pub(super) static POLICIES: &[PolicyEntry] =
    &[migration::ENTRY, migration_with_room::ENTRY, throughput::ENTRY, cost_benefit::ENTRY, collective::ENTRY];

/// A policy to compare. Its name is what titles and results call it.
pub(super) type PolicyEntry = Entry<PolicyOfHybrid, PolicyCapability>;

/// How a hybrid is run by a policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyOfHybrid {
    /// Makes its settings in an experiment.
    pub(super) settings: fn(&FirstPlaces) -> PolicySettings,
    /// Whether it moves cold data away before the flash is full, and keeps [`FirstPlaces::spare`] of it free.
    pub(super) keeps_free: bool,
}

/// Where data lie before the first request.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstPlaces {
    /// Weights of the flash and of the disks.
    pub(super) weights: [u32; 2],
    /// Share of full flash that stays free.
    pub(super) spare: Ratio,
}

/// What some of these policies do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyCapability {
    /// Moves cold data from flash back to disks, so that flash never fills up.
    MovesBack,
}

impl Capability for PolicyCapability {
    const ALL: &'static [Self] = &[Self::MovesBack];

    fn name(self) -> &'static str {
        match self {
            Self::MovesBack => "moves-back",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::MovesBack => "moves cold data back to disks: it is simulated with flash that is full of cold data",
        }
    }
}

/// Returns settings of the policy `kind` with these options.
fn settings<const N: usize>(kind: &str, options: [(&str, serde_json::Value); N]) -> PolicySettings {
    PolicySettings::new(kind, options.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
}

#[cfg(test)]
mod tests {
    use esker_core::registry;

    use super::*;

    #[test]
    fn the_registry_is_sound_and_volumes_can_run_every_policy() {
        assert_eq!(registry::check(POLICIES), Vec::<String>::new());
        for entry in POLICIES {
            let settings = (entry.build.settings)(&FirstPlaces { weights: [1, 9], spare: Ratio::percent(15) });
            assert!(settings.build(esker_tier::PLACEMENTS, 2).is_ok(), "{}", entry.name);
        }
    }
}
