//! Chooses the cost of a program by the last accesses of the page: a baseline.

use esker_core::registry::ParameterSource;
use esker_nand::state::{ModePolicy, WriteMode};

use super::{ModeCapability, WriteModeEntry};

pub(super) const ENTRY: WriteModeEntry = WriteModeEntry {
    name: "agcr",
    summary: "write-only pages at low cost, read-only pages at high cost, all others at medium cost",
    source: "AGCR of Li et al. 2016 as Xia 2017 describes it in sections 5.2 and 5.4.1; what these leave open is ours",
    parameters: ParameterSource::NONE,
    capabilities: &[ModeCapability::LowCost, ModeCapability::MediumCost, ModeCapability::HighCost],
    build: |_, host_pages| Box::new(Agcr { histories: Vec::new(), host_pages }),
};

/// The last two accesses of a page: two bits for their number, which is at most two, and one bit for each that was a
/// write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct History(u8);

impl History {
    /// Bits that a drive needs for a history: none, one or two accesses have 1 + 2 + 4 states.
    const BITS: u64 = 3;

    fn after(self, write: bool) -> Self {
        let (count, writes) = (self.0 & 3, self.0 >> 2);
        let writes = (writes << 1 | u8::from(write)) & 3;
        Self((count + 1).min(2) | writes << 2)
    }
    fn accesses(self) -> u32 {
        u32::from(self.0 & 3)
    }
    fn writes(self) -> u32 {
        (self.0 >> 2).count_ones()
    }
}

/// The history of a page is its last two accesses; Xia's summary does not give their number. A mode is chosen when a
/// page is programmed anyway, for the host or by cleaning: a read alone programs nothing.
#[derive(Clone, Debug)]
struct Agcr {
    histories: Vec<History>,
    host_pages: u32,
}

impl Agcr {
    fn history(&self, page: u32) -> History {
        self.histories.get(page as usize).copied().unwrap_or_default()
    }

    fn record(&mut self, page: u32, write: bool) {
        let page = page as usize;
        if self.histories.len() <= page {
            self.histories.resize(page + 1, History::default());
        }
        self.histories[page] = self.histories[page].after(write);
    }
}

impl ModePolicy for Agcr {
    fn usual(&self) -> WriteMode {
        WriteMode::MediumCost
    }

    fn modes(&self) -> &'static [WriteMode] {
        &[WriteMode::LowCost, WriteMode::MediumCost, WriteMode::HighCost]
    }

    fn record_read(&mut self, page: u32) {
        self.record(page, false);
    }

    fn record_write(&mut self, page: u32) {
        self.record(page, true);
    }

    fn choose(&self, page: u32) -> WriteMode {
        let history = self.history(page);
        match (history.accesses(), history.writes()) {
            (0, _) => WriteMode::MediumCost,
            (accesses, writes) if writes == accesses => WriteMode::LowCost,
            (_, 0) => WriteMode::HighCost,
            _ => WriteMode::MediumCost,
        }
    }

    fn re_encode(&self, _: u32, _: WriteMode) -> Option<WriteMode> {
        None
    }

    fn forget(&mut self) {
        self.histories.clear();
    }

    fn memory_bits(&self) -> u64 {
        History::BITS * u64::from(self.host_pages)
    }
}
