//! Xia, "Towards Design and Analysis For High-Performance and Reliable SSDs", dissertation, Virginia Commonwealth
//! University, 2017: chapters 2 and 3, flash-aware read caches and cleaning that copies nothing; chapter 4, write
//! caches that choose their size; chapter 5, write modes and differentiated error correction.

mod allocations;
mod caches;
mod example;
pub(super) mod figure_10;
pub(super) mod figure_13;
pub(super) mod figure_14;
pub(super) mod figure_15;
pub(super) mod figure_16;
pub(super) mod figure_17;
pub(super) mod figure_2;
pub(super) mod figure_21;
pub(super) mod figure_22;
pub(super) mod figure_23;
pub(super) mod figure_24;
pub(super) mod figure_25;
pub(super) mod figure_26;
pub(super) mod figure_4;
pub(super) mod figure_5;
pub(super) mod figure_6;
pub(super) mod figure_7;
pub(super) mod figure_8;
pub(super) mod figure_9;
pub(super) mod little_cleaning;
pub(super) mod section_2_4;
pub(super) mod section_5_3_4;
pub(super) mod table_2;
pub(super) mod table_3;
pub(super) mod table_4;
pub(super) mod table_6;
pub(super) mod table_7;
pub(super) mod table_8;
#[cfg(test)]
mod tests;
mod volumes;
mod workloads;
mod write_caches;
mod write_modes;
