//! Wu, "Improving Performance of Solid State Drives in Enterprise Environment", dissertation, Texas A&M University,
//! 2011.

pub(super) mod figure_2;
pub(super) mod figure_5;
pub(super) mod figure_6;
pub(super) mod figure_7;
pub(super) mod figure_8;
pub(super) mod figure_9;
pub(super) mod table_1;
pub(super) mod table_2;
mod volume;
