//! Deterministic simulation of whole volumes: the driver, the engine, the journal, checkpoints and recovery run over
//! virtual disks, which lose, tear and reorder what was not flushed. One seed always gives the same run.

#[cfg(test)]
mod case_tests;
mod changes;
mod damage;
mod disk;
mod failures;
mod host;
mod image;
mod members;
mod plan;
mod settings;
#[cfg(test)]
mod tests;
mod world;

pub use damage::{DamageOutcome, damage};
pub use disk::{DiskCounts, DiskFault, VirtualDisk};
pub use plan::{Cuts, Outcome, Plan, Violation};
pub use world::run;
