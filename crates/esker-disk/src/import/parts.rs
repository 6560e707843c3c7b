//! The blocks of a drive.

use super::block::Block;

/// The blocks of one drive.
pub(super) struct Drive<'a> {
    /// `disksim_disk`: controller and buffer.
    pub(super) controller: &'a Block,
    /// `dm_disk`: surfaces and size.
    pub(super) model: &'a Block,
    /// `dm_mech_g1`.
    pub(super) mechanics: &'a Block,
    /// `dm_layout_g1` or `dm_layout_g4`.
    pub(super) layout: &'a Block,
    /// The bus to which the drive is attached, if the file has it.
    pub(super) bus: Option<&'a Block>,
}
