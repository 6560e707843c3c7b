//! Caches: flash of one product holds lines of disks of another, run by the engine of the kind `cache`.
//!
//! The volume has the capacity of the disks. The flash holds copies of lines in use and, with write-back, the only copy
//! of what was written. Then each line is on two drives, unless each copy of the data has a cache of its own.

use esker_cache::NO_ADMISSION;
use esker_catalogue::Product;
use esker_core::registry::Choice;
use esker_core::{Bytes, Ratio};
use esker_results::study::CachedVolume;
use esker_sim::{CacheSettings, DeviceDescription, PreconditionKind, System};
use esker_tier::{CacheRole, WriteHandling};

use super::pairs::{self, DataSize, Disks, FLASH_MAX, Pricing, flash_bytes};
use super::{Design, Offer, PartMinimum, owned};
use crate::StudyError;
use crate::admissions::{AdmissionChoice, Admissions};
use crate::miniature::CacheShape;
use crate::policies::{Policies, PolicyChoice};

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

/// The fewest lines, of the largest size. Caches of no other shape are made for flash that is too small for any.
const SMALLEST: CacheShape = CacheShape { line_bytes: LINE_MAX, slots: 2 };

/// The ways of writing that are offered.
const WRITES: [WriteHandling; 2] = [WriteHandling::WriteThrough, WriteHandling::WriteBack];

/// How the flash of an offer caches its disks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cache<'a> {
    pub(crate) write: WriteHandling,
    pub(crate) policy: &'a PolicyChoice,
}

impl Cache<'_> {
    /// The way of writing as in experiments.
    pub(crate) fn write_name(&self) -> &'static str {
        write_name(self.write)
    }

    /// The admission policy.
    pub(crate) fn admission(&self) -> &AdmissionChoice {
        let Admissions { through, back } = &self.policy.admissions;
        if self.write == WriteHandling::WriteBack { back } else { through }
    }

    /// Its policy, with the admission policy if it has one: "lru + larc".
    pub(crate) fn policy_name(&self) -> String {
        let (policy, admission) = (self.policy.policy, self.admission().admission);
        if admission == NO_ADMISSION { policy.to_string() } else { format!("{policy} + {admission}") }
    }

    /// Returns the number of flash drives that hold each line, if there are `copies` copies of the data. A line that
    /// only the flash holds would be lost with one drive; with further copies, the flash of another copy has it.
    pub(crate) fn drives_a_line(&self, copies: u32) -> u32 {
        drives_a_line(self.write, copies)
    }
}

fn write_name(write: WriteHandling) -> &'static str {
    match write {
        WriteHandling::WriteThrough => "write-through",
        WriteHandling::WriteBack => "write-back",
        WriteHandling::WriteAround => "write-around",
    }
}

fn drives_a_line(write: WriteHandling, copies: u32) -> u32 {
    if write == WriteHandling::WriteBack && copies == 1 { 2 } else { 1 }
}

/// Returns every cache of devices among `products` that may be worth its price.
pub(super) fn offers<'a>(
    products: &'a [Product],
    data_size: DataSize,
    pricing: &Pricing<'_>,
    policies: &'a Policies,
) -> Result<Vec<Offer<'a>>, StudyError> {
    pairs::offers(products, data_size, pricing, |pair| {
        let Some(policy) = shape(&pair, policies.utilisation).and_then(|shape| policies.choice(shape)) else {
            return Vec::new();
        };
        let fits = |write: &WriteHandling| pair.count * drives_a_line(*write, data_size.copies) <= FLASH_MAX;
        let writes = WRITES.into_iter().filter(fits);
        writes.map(|write| Offer { cache: Some(Cache { write, policy }), ..pair }).collect()
    })
}

/// Returns the shapes of all caches that are offered, so that policies can be compared for each.
pub(crate) fn shapes(
    products: &[Product],
    data_size: DataSize,
    pricing: &Pricing<'_>,
    utilisation: Ratio,
) -> Result<Vec<CacheShape>, StudyError> {
    let pairs = pairs::offers(products, data_size, pricing, |pair| vec![pair])?;
    Ok(pairs.iter().filter_map(|pair| shape(pair, utilisation)).collect())
}

/// Returns the shape of a cache: the smallest line with which its tables fit into the memory, or `None` if there is
/// none. Lines take the share `utilisation` of the flash, as data do in other designs; the rest is spare space.
fn shape(offer: &Offer<'_>, utilisation: Ratio) -> Option<CacheShape> {
    let (volume, flash) = (offer.disks.as_ref()?.bytes(), flash_bytes(offer) as f64 * utilisation.as_f64());
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

/// Makes the design of a cache for `active` bytes of touched data.
///
/// As much flash is simulated as these data can fill. Whatever else the cache holds is cold, and is simulated as data
/// that fill the rest of the drive. Dirty lines are copied back as if the cache held the touched data alone. Disks are
/// simulated like those of a hybrid. Of mirrored flash, one side is simulated: both do the same, except that they share
/// the reads.
pub(super) fn design(
    offer: &Offer<'_>,
    (disks, cache): (&Disks<'_>, &Cache<'_>),
    active: Bytes,
    utilisation: Ratio,
    least: PartMinimum,
) -> Result<Design, StudyError> {
    let data = pairs::touched(active);
    let shape = shape(offer, utilisation).unwrap_or(SMALLEST);
    let slots = shape.slots.min(data / shape.line_bytes + RESERVE_MAX);
    let on_flash = Bytes(slots * shape.line_bytes);
    let (drive, flash) = owned::drive(offer, on_flash, utilisation, least)?;
    let drive = drive.preconditioned(PreconditionKind::Steady, utilisation);
    let mut devices = Vec::new();
    let [flash_name, backing] = pairs::devices(offer, disks, drive, data, &mut devices)?;
    let settings = CacheSettings {
        flash_capacity: Some(on_flash),
        line: Bytes(shape.line_bytes),
        policy: Choice::named(cache.policy.policy),
        admission: Choice::named(cache.admission().admission),
        role: CacheRole::Unified,
        write: cache.write,
        ..CacheSettings::new(flash_name, backing)
    };
    devices.push((CACHE.to_string(), DeviceDescription::new(settings)));
    Ok(Design {
        name: offer.name(),
        title: offer.title(),
        kind: CACHE,
        device_count: offer.devices(),
        system: System::of(devices, CACHE).map_err(StudyError::design)?,
        on_disks: false,
        limits: None,
        flash: Some(flash),
    })
}

/// The kind of these designs, and the name of the device that requests go to.
pub(crate) const CACHE: &str = "cache";

/// Returns what results say of how a cache is run.
pub(super) fn composition(
    offer: &Offer<'_>,
    (disks, cache): (&Disks<'_>, &Cache<'_>),
    utilisation: Ratio,
) -> CachedVolume {
    let shape = shape(offer, utilisation).unwrap_or(SMALLEST);
    let admission = cache.admission();
    CachedVolume {
        policy: cache.policy.policy.into(),
        because: cache.policy.because.clone(),
        compared: cache.policy.compared.clone(),
        admission: admission.admission.into(),
        admission_because: admission.because.clone(),
        admissions_compared: admission.compared.clone(),
        write: cache.write_name().into(),
        mirrored: cache.drives_a_line(offer.copies) > 1,
        line_bytes: shape.line_bytes,
        cache_bytes: shape.slots * shape.line_bytes,
        memory_bytes: memory(disks.bytes() / shape.line_bytes, shape.slots),
    }
}
