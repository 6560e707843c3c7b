//! Caches: flash of one product holds lines of disks of another, run by the engine of the kind `cache`.
//!
//! The volume has the capacity of the disks. The flash holds copies of lines in use and, with write-back, the only copy
//! of what was written. Then each line is on two drives, unless each copy of the data has a cache of its own.

mod admissions;
mod miniature;
mod policies;

use std::sync::Arc;

use esker_cache::NO_ADMISSION;
use esker_core::registry::{Choice, Entry, ParameterSource};
use esker_core::{Bytes, Ratio, words};
use esker_results::study::{CachedVolume, Candidate, Composition, Finding, JudgedState, Level};
use esker_sim::{CacheSettings, DeviceDescription, PreconditionKind};
use esker_tier::{CacheRole, WriteHandling};

use super::pairs::{self, FLASH_MAX, Pair};
use crate::StudyError;
use crate::design::{Design, Judging};
use crate::judging::Warm;
use crate::offers::{
    Arrangement, DesignFamily, DesignKind, KindCapability, KindEntry, Offer, OfferInputs, Part, TouchedData, drive,
};
use admissions::{AdmissionChoice, Admissions};
use miniature::CacheShape;
use policies::{Policies, PolicyChoice};

pub(super) const ENTRY: KindEntry = Entry {
    name: "caches",
    summary: "a few flash drives that hold copies of what is used of the disks behind them",
    source: "Xia, chapters 1 and 2",
    parameters: ParameterSource::NONE,
    capabilities: &[KindCapability::OnRequest],
    build: DesignKind {
        class: "cache",
        families: &[DesignFamily { name: "cache", has: |_| true }],
        assumption: Some([
            "A cache is judged warm: its busiest stretch is played after the rest of the trace, that from after it to \
             the end first. Its flash is as full as that of other designs, with lines that the trace does not touch; \
             of mirrored flash one side is simulated. On its disks touched areas lie side by side, which makes seeks \
             shorter than they would be. The memory of its host is not part of the price.",
            "--caches; `cache` in an experiment file",
        ]),
        offers,
    },
};

/// The smallest line: a page. A cache gets the smallest line with which its tables fit into the memory.
const LINE_MIN: u64 = 4 << 10;
/// The largest line. Touched areas are known by the MiB, so larger lines would seem to be used more often than they
/// are.
const LINE_MAX: u64 = esker_trace::AREA_BYTES;
/// The engine numbers lines with 32 bits.
const LINES_MAX: u64 = u32::MAX as u64;
/// The most memory of its host that a cache may take. Assumed: what a server of such capacity can spare.
const MEMORY_MAX: u64 = 8 << 30;
/// Bytes of memory for a line of the volume (the map, and LRU's queue) and for a slot of the flash
/// (docs/flash-cache-device.md).
const BYTES_A_LINE: u64 = 4 + 12;
const BYTES_A_SLOT: u64 = 28;
/// The most slots that the engine keeps free, so that lines can come in while others leave.
const RESERVE_MAX: u64 = 256;

/// The name of the device that requests go to.
const VOLUME: &str = "cache";

/// The ways of writing that are offered.
const WRITES: [WriteHandling; 2] = [WriteHandling::WriteThrough, WriteHandling::WriteBack];

/// Flash that holds lines of the disks.
#[derive(Debug)]
struct Cache {
    write: WriteHandling,
    shape: CacheShape,
    policy: Arc<PolicyChoice>,
}

impl Cache {
    /// The admission policy.
    fn admission(&self) -> &AdmissionChoice {
        let Admissions { through, back } = &self.policy.admissions;
        if self.write == WriteHandling::WriteBack { back } else { through }
    }

    /// Its policy, with the admission policy if it has one: "lru + larc".
    fn policy_name(&self) -> String {
        let (policy, admission) = (self.policy.policy, self.admission().admission);
        if admission == NO_ADMISSION { policy.to_string() } else { format!("{policy} + {admission}") }
    }
}

/// The way of writing as in experiments.
fn write_name(write: WriteHandling) -> &'static str {
    match write {
        WriteHandling::WriteThrough => "write-through",
        WriteHandling::WriteBack => "write-back",
        WriteHandling::WriteAround => "write-around",
    }
}

/// Returns the flash of a cache that writes in this way. What only the flash holds would be lost with one drive, so
/// that each line is on two; with further copies of the data, the flash of another copy has it.
fn flash_of<'a>(flash: Part<'a>, write: WriteHandling, copies: u32) -> Part<'a> {
    let is_back = write == WriteHandling::WriteBack;
    let mirrors = if is_back && copies == 1 { 2 } else { 1 };
    Part { mirrors, may_fail: mirrors > 1 || write == WriteHandling::WriteThrough, ..flash }
}

/// Returns every cache that may be worth its price. Policies are compared for the shape of each.
fn offers<'a>(inputs: &OfferInputs<'a>) -> Result<Vec<Offer<'a>>, StudyError> {
    let (utilisation, copies) = (inputs.settings.utilisation, inputs.copies());
    let pairs = pairs::pairs(inputs)?;
    let cheaper = pairs.iter().filter(|pair| pair.is_cheaper_than_flash(inputs));
    let shapes: Vec<CacheShape> = cheaper.filter_map(|pair| shape(pair, utilisation)).collect();
    let policies = Policies::of(inputs, &shapes)?;
    let mut offers = Vec::new();
    for pair in pairs {
        let Some(shape) = shape(&pair, utilisation) else { continue };
        let Some(policy) = policies.choice(shape) else { continue };
        for write in WRITES {
            let pair = Pair { flash: flash_of(pair.flash, write, copies), ..pair };
            if pair.flash.devices(1) <= FLASH_MAX && pair.is_cheaper_than_flash(inputs) {
                let arrangement = Arc::new(Cache { write, shape, policy: Arc::clone(policy) });
                offers.push(Offer { kind: &ENTRY, arrangement, parts: vec![pair.flash, pair.disks], copies });
            }
        }
    }
    Ok(offers)
}

/// Returns the shape of a cache: the smallest line with which its tables fit into the memory, or `None` if there is
/// none. Lines take the share `utilisation` of the flash, as data do in other designs; the rest is spare space.
fn shape(pair: &Pair<'_>, utilisation: Ratio) -> Option<CacheShape> {
    let (volume, flash) = (pair.disks.bytes(), pair.flash.bytes() as f64 * utilisation.as_f64());
    let sizes = (0..).map(|power| LINE_MIN << power).take_while(|&line| line <= LINE_MAX);
    let shapes = sizes.into_iter().map(|line| CacheShape { line_bytes: line, slots: flash as u64 / line });
    shapes.into_iter().find(|shape| {
        let lines = volume / shape.line_bytes;
        lines <= LINES_MAX && shape.slots >= 2 && memory(lines, shape.slots) <= MEMORY_MAX
    })
}

/// Bytes of host memory that a cache takes.
fn memory(lines: u64, slots: u64) -> u64 {
    lines * BYTES_A_LINE + slots * BYTES_A_SLOT
}

impl Arrangement for Cache {
    /// The cache has to be warm.
    fn judging(&self) -> &'static dyn Judging {
        &Warm
    }

    /// As much flash is simulated as the touched data can fill. Whatever else the cache holds is cold, and is simulated
    /// as data that fill the rest of the drive. Dirty lines are copied back as if the cache held the touched data
    /// alone. Disks are simulated like those of a hybrid. Of mirrored flash, one side is simulated: both do the same,
    /// except that they share the reads.
    fn design(&self, offer: &Offer<'_>, data: TouchedData) -> Result<Design, StudyError> {
        let (flash, disks, shape) = (&offer.parts[0], &offer.parts[1], self.shape);
        let touched = pairs::touched(data.active);
        let slots = shape.slots.min(touched / shape.line_bytes + RESERVE_MAX);
        let on_flash = Bytes(slots * shape.line_bytes);
        let (drive, on_sale) = drive(flash, TouchedData { active: on_flash, ..data })?;
        let drive = drive.preconditioned(PreconditionKind::Steady, data.utilisation);
        let mut devices = Vec::new();
        let [flash_name, backing] = pairs::devices([flash, disks], drive, touched, &mut devices)?;
        let settings = CacheSettings {
            flash_capacity: Some(on_flash),
            line: Bytes(shape.line_bytes),
            policy: Choice::named(self.policy.policy),
            admission: Choice::named(self.admission().admission),
            role: CacheRole::Unified,
            write: self.write,
            ..CacheSettings::new(flash_name, backing)
        };
        devices.push((VOLUME.to_string(), DeviceDescription::new(settings)));
        pairs::design(offer, devices, VOLUME, on_sale)
    }

    fn name_suffix(&self) -> String {
        format!("-{}-cache", write_name(self.write))
    }

    fn in_title(&self, _: &Offer<'_>) -> Option<String> {
        Some(format!("cache ({}, {})", self.policy_name(), write_name(self.write)))
    }

    fn variant(&self) -> &'static str {
        write_name(self.write)
    }

    fn composition(&self, offer: &Offer<'_>) -> Composition {
        let (flash, disks, shape) = (&offer.parts[0], &offer.parts[1], self.shape);
        let admission = self.admission();
        Composition::Cache(CachedVolume {
            policy: self.policy.policy.into(),
            because: self.policy.because.clone(),
            compared: self.policy.compared.clone(),
            admission: admission.admission.into(),
            admission_because: admission.because.clone(),
            admissions_compared: admission.compared.clone(),
            write: write_name(self.write).into(),
            mirrored: flash.mirrors > 1,
            line_bytes: shape.line_bytes,
            cache_bytes: shape.slots * shape.line_bytes,
            memory_bytes: memory(disks.bytes() / shape.line_bytes, shape.slots),
        })
    }

    fn doubts(&self) -> Vec<&'static str> {
        vec![
            pairs::DOUBT,
            "A cache is judged warm, as if the trace came round again: what is hot in it is in the cache already.",
        ]
    }

    fn findings(&self, recommended: &Candidate) -> Vec<Finding> {
        let finding = |text: String| Finding { level: Level::Info, topic: "cache".into(), text };
        let hits = match recommended.judged {
            JudgedState::Warm(state) => state.hit_ratio,
            JudgedState::Any | JudgedState::Settled(_) => None,
        };
        let hits = hits.map_or(String::new(), |hits| {
            let misses = words::percent(1.0 - hits);
            format!("Warm, the cache of {} misses {misses} of its accesses. ", recommended.title)
        });
        let policy = finding(format!("{hits}Its policy is {}. {}", self.policy.policy, self.policy.because));
        let AdmissionChoice { admission, because, .. } = self.admission();
        let admits =
            (*admission != NO_ADMISSION).then(|| finding(format!("Its admission policy is {admission}. {because}")));
        std::iter::once(policy).chain(admits).collect()
    }
}
