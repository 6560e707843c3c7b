//! Wear across servers (Salman 2017): where slices of objects lie, how writes move them, and which should move. No I/O,
//! no clock, no data: state machines and policies, for the simulator and for stores alike.
//!
//! - [`Router`]: requests in, work on servers out, while slices move and servers fail. It owns a [`SliceMap`] over a
//!   [`Ring`] and a [`ServerList`].
//! - [`BALANCERS`]: policies that are told of wear, life, load and room at the end of each epoch, and answer with a
//!   [`Plan`].
//! - [`WEAR_MODELS`]: how many erases writes cost.
//!
//! Chapters, equations and algorithms are those of the thesis; docs/cluster.md says what had to be settled.
//!
//! ```
//! use esker_cluster::{
//!     ClusterShape, Effect, FailureDomain, ObjectId, ObjectRequest, RequestTag, Router, RouterInput, ServerSpec,
//! };
//! use esker_core::Bytes;
//!
//! let shape =
//!     ClusterShape { slices: 64, objects_per_slice: 16, object: Bytes::kib(256), partitions: 32, replicas: 2 };
//! let server = |host| ServerSpec { domain: FailureDomain(host), room: 64, virtual_nodes: 64 };
//! let mut router = Router::new(shape, &[server(0), server(1), server(2)]).unwrap();
//! let (mut effects, tag) = (Vec::new(), RequestTag(7));
//! router.on(RouterInput::Request { tag, object: ObjectId(5), request: ObjectRequest::Delete }, &mut effects);
//! // One deletion for each replica; once both have ended, the request is answered.
//! for effect in std::mem::take(&mut effects) {
//!     let Effect::Work { id, .. } = effect else { panic!("nothing is answered yet") };
//!     router.on(RouterInput::Done { effect: id, ok: true }, &mut effects);
//! }
//! assert!(matches!(effects[..], [Effect::Reply { tag: RequestTag(7), result: Ok(_) }]));
//! ```

mod balance;
mod engine;
mod fnv;
mod id;
mod map;
mod plan;
mod popularity;
mod ring;
mod route;
mod servers;
mod shape;
mod wear;

/// The numbered equations of the thesis, but 4.7-4.9, which are in [`Popularity`].
pub mod equations {
    pub use crate::balance::equations::{
        erases_of_migration, erases_of_offloading, excess_erases, pages_of_erases, pages_of_migration,
        pages_of_offloading,
    };
    pub use crate::wear::equations::{
        erases_at_utilisation, erases_of_writes, utilisation_of_drive, utilisation_of_victims,
    };
}

pub use balance::{
    BALANCERS, Balancer, BalancerEntry, ClusterView, CodeGroups, ServerView, SliceView, WearSum, build_balancer,
};
pub use engine::defaults;
pub use engine::{
    ClusterEngine, ClusterError, ClusterFlash, ClusterPace, ClusterRecord, ClusterServer, ClusterSettings,
    RestoreError, SlotPlace,
};
pub use fnv::{fnv1a, fnv1a_of};
pub use id::{FailureDomain, ObjectId, PartitionId, ServerId, SliceId, SliceReplica};
pub use map::{MapEpoch, ReplicaPlace, SliceMap};
pub use plan::{Plan, SliceMove};
pub use popularity::{Popularity, SlicePopularity};
pub use ring::Ring;
pub use route::{
    Effect, EffectId, ObjectRange, ObjectRequest, ReplyKind, RequestError, RequestTag, Router, RouterInput,
    RouterReport, ServerWork, Stamp,
};
pub use servers::{Server, ServerList, ServerState};
pub use shape::{ClusterShape, REPLICAS_MAX, ServerSpec, ShapeError, slices_that_fit};
pub use wear::{
    FITTED_GRANULARITY, FITTED_OVERLAP, FlashLoad, RATE_CLASSES, SettingsError, WEAR_MODELS, WearEntry, WearModel,
    WriteSpread, build_wear_model, rate_class,
};
