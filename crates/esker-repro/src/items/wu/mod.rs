//! Wu, "Storage Systems for Non-volatile Memory Devices", dissertation, Texas A&M University, 2011.

pub(super) mod figure_10;
pub(super) mod figure_13;
pub(super) mod figure_14;
pub(super) mod figure_15;
pub(super) mod figure_16;
pub(super) mod figure_17;
pub(super) mod figure_18;
pub(super) mod figure_2;
pub(super) mod figure_5;
pub(super) mod figure_6;
pub(super) mod figure_7;
pub(super) mod figure_8;
pub(super) mod figure_9;
mod pair;
pub(super) mod scmfs;
pub(super) mod table_1;
pub(super) mod table_2;
pub(super) mod table_3;
pub(super) mod table_5;
mod volume;
