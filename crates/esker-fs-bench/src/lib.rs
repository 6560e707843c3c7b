//! File systems timed side by side on this machine (Wu, IV.C): SCMFS through its library and by FUSE, beside folders of
//! the user's, and beside tmpfs, ramfs, ext2 and ext4, which are mounted for the purpose where nobody else sees them.
//!
//! A [`Place`] is where a workload runs, [`measure`] has places take turns, [`with_peers`] mounts the peers.

mod error;
mod fio;
mod measure;
mod memory;
mod peers;
mod place;
mod stoppable;

pub use error::BenchError;
pub use esker_scm::bench::{Pattern, Postmark, Transfer};
pub use esker_scm::{Mode, Moment};
pub use fio::FioEngine;
pub use measure::{Measured, Rates, Work, load_average, measure, perform};
pub use memory::memory_rate;
pub use peers::{PeerSettings, Peers, with_peers};
pub use place::{Place, Way};
