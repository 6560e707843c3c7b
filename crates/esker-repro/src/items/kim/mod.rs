//! Kim, "Design Challenges on Enterprise-Scale Storage Systems Employing Hard Drives and NAND Flash Based
//! Solid-State Drives" (dissertation, Pennsylvania State University, 2009), chapters 2 and 3: flash and translation
//! layers; chapter 4: the planner MixPlan; and of chapter 5, models by regression. The system it proposes is
//! HybridStore.

mod drive;
pub(super) mod figure_3_10;
pub(super) mod figure_3_11;
pub(super) mod figure_3_12;
pub(super) mod figure_3_13;
pub(super) mod figure_3_14;
pub(super) mod figure_3_15;
pub(super) mod figure_3_16;
pub(super) mod figure_3_17;
pub(super) mod figure_3_18;
pub(super) mod figure_3_19;
pub(super) mod figure_3_9;
pub(super) mod figure_4_1;
pub(super) mod figure_4_5;
pub(super) mod figure_4_6;
pub(super) mod figure_4_7;
pub(super) mod figure_4_8;
pub(super) mod figure_4_9;
pub(super) mod figure_5_10;
pub(super) mod figure_5_2;
pub(super) mod figure_5_4;
pub(super) mod figure_5_5;
pub(super) mod figure_5_8;
pub(super) mod figure_5_9;
mod made_up;
mod mixed_sim;
mod mixplan;
mod overheads;
pub(super) mod regression;
mod response_loads;
mod single_page;
pub(super) mod table_2_1;
pub(super) mod table_3_1;
pub(super) mod table_3_2;
pub(super) mod table_3_3;
pub(super) mod table_3_4;
pub(super) mod table_3_5;
pub(super) mod table_4_1;
pub(super) mod table_4_3;
pub(super) mod table_4_4;
pub(super) mod table_5_1;
pub(super) mod table_5_2;
pub(super) mod table_5_6;
mod tested;
mod times;
mod workload;
