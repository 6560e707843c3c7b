//! Programs all pages in one mode.

use esker_core::registry::ParameterSource;
use esker_nand::state::{ModePolicy, WriteMode};

use super::WriteModeEntry;

pub(super) const ENTRY: WriteModeEntry = WriteModeEntry {
    name: "normal",
    summary: "all pages in the normal mode, as without `write_modes`",
    source: "Xia 2017, section 5.4: the baseline",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |_, _| Box::new(Normal),
};

#[derive(Clone, Debug)]
struct Normal;

impl ModePolicy for Normal {
    fn usual(&self) -> WriteMode {
        WriteMode::Normal
    }
    fn modes(&self) -> &'static [WriteMode] {
        &[WriteMode::Normal]
    }
    fn record_read(&mut self, _: u32) {}
    fn record_write(&mut self, _: u32) {}
    fn choose(&self, _: u32) -> WriteMode {
        WriteMode::Normal
    }
    fn re_encode(&self, _: u32, _: WriteMode) -> Option<WriteMode> {
        None
    }
    fn forget(&mut self) {}
    fn memory_bits(&self) -> u64 {
        0
    }
}
