//! MixPlan, the planner of Kim's chapter 4: its devices, its workloads, and the cheapest mix of the one for the other.
//!
//! ```text
//! catalogue kim-2009 ─► Device ───────┐
//! table 4.3 ─► Workload ─► DataClass ─┴─► Planning ─► esker-plan ─► MixPlan
//! ```
//!
//! What the paper does not publish is assumed here: mean seeks of the disks, how a drive's rate depends on requests,
//! the life of the flash between the 10,000 and 1,000,000 erases of table 4.4, and the classes of the traces.

mod classes;
mod device;
mod planning;
mod workload;

#[cfg(test)]
pub(super) use classes::tests;
pub(super) use classes::{Classified, DataClass, one_hot_class, two_hot_classes};
pub(super) use device::{HIGH_END, LOW_END, SSD, capacity, catalogue, cost, devices, io_drive};
pub(super) use planning::{Costs, MixPlan, Planning};
pub(super) use workload::{FINANCIAL, MSR, TPC_H, WORKLOADS, Workload};

/// What every plan here rests on.
pub(super) const ASSUMED: &str = "mean seeks of 3.5 and 8.9 ms, data-sheet rates of the SSD";
