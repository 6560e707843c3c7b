//! Salman, "Endurance-aware Write Off-loading", thesis, 2017: chapters 2, 4, 7 and 9, wear across servers.

mod cluster;
pub(super) mod fifty_servers;
pub(super) mod figure_2_3;
pub(super) mod figure_2_4;
pub(super) mod figure_7_1;
pub(super) mod figure_7_10;
pub(super) mod figure_7_11;
pub(super) mod figure_7_12;
pub(super) mod figure_7_2;
pub(super) mod figure_7_3;
pub(super) mod figure_7_4;
pub(super) mod figure_7_5;
pub(super) mod figure_7_6;
pub(super) mod figure_7_7;
pub(super) mod figure_7_8;
pub(super) mod figure_7_9;
mod hours;
mod ior;
mod loads;
mod schemes;
pub(super) mod section_4_3;
pub(super) mod section_9_3;
mod six;
pub(super) mod table_7_1;
pub(super) mod table_7_2;
#[cfg(test)]
mod tests;
mod ycsb;
