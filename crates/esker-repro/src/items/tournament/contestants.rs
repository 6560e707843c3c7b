//! Who takes part: everything that the registries have, and a few fixed splits to be measured against.

use esker_core::registry::{self, Choice};
use esker_sim::HYBRID_POLICIES;
use esker_tier::{PLACEMENTS, PolicySettings, ROUTINGS, WriteHandling, no_routing};

/// Whose policy it is, and whether it follows the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// A policy of volumes, in [`PLACEMENTS`], that moves or redirects extents.
    Ours,
    /// Everything else that follows the load: policies that only reproduce others' work, and caches.
    Rival,
    /// It follows no load: nothing ever moves.
    Fixed,
}

/// What serves the requests: a hybrid or a cache of the two devices of a pair.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Store {
    /// A hybrid with a policy's own defaults.
    Policy(PolicySettings),
    /// A hybrid of which the fast device holds this much of what fits, in percent, and the slow one the rest.
    Split(u64),
    /// A cache on the fast device.
    Cache {
        /// Whether the slow device serves some of the hits.
        routing: Choice,
        /// What happens to writes.
        write: WriteHandling,
    },
}

/// One that takes part.
#[derive(Clone, Debug)]
pub(super) struct Contestant {
    pub(super) name: String,
    pub(super) side: Side,
    pub(super) store: Store,
}

/// The fixed splits, in percent of what fits on the fast device.
const SPLITS: [u64; 5] = [0, 25, 50, 75, 100];

/// The name of the fixed split that has the best throughput.
pub(super) const BEST_SPLIT: &str = "best fixed split";

/// Every contestant, in the order of the registries.
pub(super) fn all() -> Vec<Contestant> {
    let policies = registry::names(&HYBRID_POLICIES).map(|name| {
        let settings = PolicySettings::named(name);
        Contestant { name: name.to_string(), side: side_of(&settings), store: Store::Policy(settings) }
    });
    let caches = registry::names(ROUTINGS)
        .flat_map(|routing| [WriteHandling::WriteThrough, WriteHandling::WriteBack].map(|write| cache(routing, write)));
    let splits = SPLITS.map(|percent| Contestant {
        name: format!("{percent} % of what fits on the fast device"),
        side: Side::Fixed,
        store: Store::Split(percent),
    });
    policies.chain(caches).chain(splits).collect()
}

fn side_of(settings: &PolicySettings) -> Side {
    let built = settings.build(&HYBRID_POLICIES, 2);
    if !built.is_ok_and(|policy| policy.observes() || policy.redirects()) {
        return Side::Fixed;
    }
    let of_volumes = registry::names(PLACEMENTS).any(|name| name == settings.kind);
    if of_volumes { Side::Ours } else { Side::Rival }
}

fn cache(routing: &str, write: WriteHandling) -> Contestant {
    let routed = if routing == no_routing().kind { String::new() } else { format!(" {routing}") };
    let written = match write {
        WriteHandling::WriteBack => "write-back",
        _ => "write-through",
    };
    Contestant {
        name: format!("cache{routed} {written}"),
        side: Side::Rival,
        store: Store::Cache { routing: Choice::named(routing), write },
    }
}

impl Contestant {
    /// Returns true if it is one of the splits of which only the best has a row.
    pub(super) fn is_split(&self) -> bool {
        matches!(self.store, Store::Split(_))
    }
}
