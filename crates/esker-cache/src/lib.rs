//! Which objects a cache keeps. Replacement policies choose the object that leaves, admission policies whether an
//! object may enter; [`simulate`] and [`simulate_admitting`] count the misses over a sequence of accesses. There are no
//! data, no devices and no clock: time is the number of an access, and for admission, which may keep a budget, an
//! argument.
//!
//! ```
//! use esker_cache::{Access, AccessKind, NEVER, ObjectId, Shape, build, simulate};
//! use esker_core::registry::Choice;
//!
//! let accesses = [0, 1, 2, 0].map(|object| Access {
//!     object: ObjectId(object),
//!     bytes: 4096,
//!     kind: AccessKind::Read,
//!     next_use: NEVER,
//! });
//! let shape = Shape { capacity: 2, objects: 3, seed: 1 };
//! let mut policy = build(&Choice::named("lru"), &shape).unwrap();
//! assert_eq!(simulate(&mut *policy, &accesses).misses, 4);
//! ```

mod access;
mod access_log;
mod admission;
mod by_distance;
mod by_interval;
mod by_size;
mod counts;
mod heap;
mod owned;
mod partitioned;
mod policy;
#[cfg(test)]
mod reference;
mod simulate;

pub use access::{Access, AccessKind, NEVER, ObjectId};
pub use access_log::{AccessLog, AccessLogBuilder, AccessLogError, Sample, VolumeAccesses};
pub use admission::{
    ADMISSIONS, Admission, AdmissionCapability, AdmissionEntry, BuildAdmission, NO_ADMISSION, build_admission,
    daily_budget,
};
pub use by_distance::ByDistance;
pub use by_interval::ByInterval;
pub use by_size::build_by_size;
pub use counts::Counts;
pub use owned::{
    BuildFlashPolicy, FLASH_POLICIES, FlashPolicy, FlashPolicyEntry, FlashShape, Found, Left, build_flash_policy,
    suspects_max,
};
pub use partitioned::{PARTS_MAX, Partitioned};
pub use policy::{
    BuildError, BuildReplacement, REPLACEMENTS, Replacement, ReplacementCapability, ReplacementEntry, Shape, build,
};
pub use simulate::{simulate, simulate_admitting};
