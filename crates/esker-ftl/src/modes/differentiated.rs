//! Programs at low cost for pages that are written, at normal cost for pages that are read.

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};
use esker_nand::state::{ModePolicy, WriteMode};

use super::{Hotness, ModeCapability, Separator, WriteModeEntry};

pub(super) const ENTRY: WriteModeEntry = WriteModeEntry {
    name: "differentiated",
    summary: "pages written more than read at low cost, all others in the normal mode, by four pairs of Bloom filters",
    source: "Xia 2017, section 5.3",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "m",
            meaning: "a page that is also read is programmed at low cost if its write hotness is above its read hotness \
                      by more than this",
            value: Accepted::Integer { default: -1, least: -5, most: 5 },
        },
        Parameter {
            name: "n",
            meaning: "a page at low cost is programmed again in the normal mode once its read hotness is above its \
                      write hotness by more than this",
            value: Accepted::Integer { default: 3, least: 0, most: 5 },
        },
        Parameter {
            name: "idle",
            meaning: "mode in which a page is copied that was neither read nor written lately",
            value: Accepted::OneOf(&["low-cost", "normal"]),
        },
        Parameter {
            name: "filter_bits",
            meaning: "bits of each of the eight filters",
            value: Accepted::Count { default: Fallback::Value(2048), least: 64, most: 1 << 24 },
        },
        Parameter {
            name: "decay",
            meaning: "page accesses after which the oldest pair of filters is emptied",
            value: Accepted::Count { default: Fallback::Value(512), least: 1, most: 1 << 32 },
        },
    ]),
    capabilities: &[ModeCapability::LowCost, ModeCapability::ReEncode],
    build: |parameters, _| {
        let separator = Separator::new(parameters.count("filter_bits") as u32, parameters.count("decay"));
        let idle = if parameters.name("idle") == "normal" { WriteMode::Normal } else { WriteMode::LowCost };
        Box::new(Differentiated { separator, m: parameters.integer("m"), n: parameters.integer("n"), idle })
    },
};

/// The rules of section 5.3.3. They leave two cases open, which only copies meet. A page whose recent accesses are all
/// reads is copied in the normal mode. A page without recent accesses is copied in mode `idle`: by default at low cost,
/// because there are no reads that would suffer from it.
#[derive(Clone, Debug)]
struct Differentiated {
    separator: Separator,
    m: i64,
    n: i64,
    idle: WriteMode,
}

impl ModePolicy for Differentiated {
    fn usual(&self) -> WriteMode {
        WriteMode::Normal
    }

    fn modes(&self) -> &'static [WriteMode] {
        &[WriteMode::Normal, WriteMode::LowCost]
    }

    fn record_read(&mut self, page: u32) {
        self.separator.record_read(page);
    }

    fn record_write(&mut self, page: u32) {
        self.separator.record_write(page);
    }

    fn choose(&self, page: u32) -> WriteMode {
        let hotness = self.separator.hotness(page);
        match hotness {
            Hotness { read: 0, write: 0 } => self.idle,
            hotness if hotness.is_write_only() => WriteMode::LowCost,
            hotness if hotness.is_overlapped() && hotness.writes_lead_by(self.m) => WriteMode::LowCost,
            _ => WriteMode::Normal,
        }
    }

    fn re_encode(&self, page: u32, mode: WriteMode) -> Option<WriteMode> {
        let wanted = mode == WriteMode::LowCost && self.separator.hotness(page).reads_lead_by(self.n);
        wanted.then_some(WriteMode::Normal)
    }

    fn forget(&mut self) {
        self.separator.clear();
    }

    fn memory_bits(&self) -> u64 {
        self.separator.memory_bits()
    }
}
