//! Agrawal 2008, "Design tradeoffs for SSD performance".

mod drives;
pub(super) mod figure_6;
pub(super) mod figure_7;
pub(super) mod figure_8;
mod micro;
pub(super) mod page_size;
pub(super) mod section_2_2;
pub(super) mod section_6;
pub(super) mod table_3;
pub(super) mod table_4;
pub(super) mod table_5;
pub(super) mod table_7;
pub(super) mod table_8;
pub(super) mod traces;
mod workloads;
