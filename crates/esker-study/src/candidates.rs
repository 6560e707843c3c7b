//! The designs that a study compares, sized to the data that the workload touches.

use esker_core::{Bytes, Device, Nanos, Ratio};
use esker_disk::DiskSettings;
use esker_flash::{Choice, Parameter, SsdSettings};
use esker_sim::{ArraySettings, DeviceDescription, PreconditionKind, System, preset};

use crate::StudyError;

/// A design, ready to be simulated.
#[derive(Clone, Debug)]
pub(crate) struct Design {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kind: &'static str,
    pub(crate) device_count: u32,
    pub(crate) system: System,
    /// Raw bytes of the drive as sold; `None` for devices that do not wear.
    pub(crate) sold: Option<Bytes>,
}

/// A design before it is sized.
struct Recipe {
    name: &'static str,
    title: &'static str,
    shape: Shape,
    /// Only with `--thorough`.
    wide: bool,
}

enum Shape {
    /// A drive.
    Ssd(Drive),
    /// One disk, or as many as the data need.
    Disk { preset: &'static str },
    /// RAID-0 of this many disks.
    Stripe { preset: &'static str, disks: u32 },
}

/// A drive based on a preset.
#[derive(Clone, Copy)]
struct Drive {
    preset: &'static str,
    /// Percent.
    over_provisioning: u64,
    /// Its channels are those of the preset divided by this.
    channels_divided_by: u32,
    /// Blocks per plane of the drive as sold, per block of the preset.
    blocks_as_sold: u64,
    layer: Layer,
}

/// A translation layer by name.
#[derive(Clone, Copy)]
enum Layer {
    /// With its defaults.
    Plain(&'static str),
    /// With a log of this size.
    WithLog(&'static str, &'static str),
}

impl Drive {
    const fn new(preset: &'static str, over_provisioning: u64) -> Self {
        Self { preset, over_provisioning, channels_divided_by: 1, blocks_as_sold: 1, layer: Layer::Plain("page") }
    }
    const fn with_layer(self, layer: Layer) -> Self {
        Self { layer, ..self }
    }
}

impl Layer {
    fn choice(self) -> Choice {
        match self {
            Self::Plain(kind) => Choice::named(kind),
            Self::WithLog(kind, log) => {
                let parameters = [("log".to_string(), Parameter::Text(log.to_string()))].into();
                Choice { parameters, ..Choice::named(kind) }
            }
        }
    }
}

/// The designs, in the order of the report.
static RECIPES: &[Recipe] = &[
    Recipe {
        name: "tlc-op7",
        title: "TLC SSD, 7 % over-provisioned",
        shape: Shape::Ssd(Drive::new(TLC, 7)),
        wide: false,
    },
    Recipe {
        name: "tlc-op28",
        title: "TLC SSD, 28 % over-provisioned",
        shape: Shape::Ssd(Drive::new(TLC, 28)),
        wide: false,
    },
    Recipe {
        name: "tlc-op7-quarter",
        title: "TLC SSD with a quarter of the channels, 7 % over-provisioned",
        shape: Shape::Ssd(Drive { channels_divided_by: 4, ..Drive::new(TLC, 7) }),
        wide: false,
    },
    Recipe {
        name: "tlc-op28-dftl",
        title: "TLC SSD, 28 % over-provisioned, map on flash (DFTL)",
        shape: Shape::Ssd(Drive::new(TLC, 28).with_layer(Layer::Plain("dftl"))),
        wide: true,
    },
    Recipe {
        name: "tlc-op28-fast",
        title: "TLC SSD, 28 % over-provisioned, shared log blocks (FAST)",
        shape: Shape::Ssd(Drive::new(TLC, 28).with_layer(Layer::WithLog("fast", "10%"))),
        wide: true,
    },
    Recipe {
        name: "tlc-op28-last",
        title: "TLC SSD, 28 % over-provisioned, logs by locality (LAST)",
        shape: Shape::Ssd(Drive::new(TLC, 28).with_layer(Layer::WithLog("last", "10%"))),
        wide: true,
    },
    Recipe {
        name: "qlc-op28",
        title: "QLC SSD, 28 % over-provisioned, mapped in units of 16 KiB",
        // The preset has a quarter of the blocks of a drive of 7.68 TB.
        shape: Shape::Ssd(Drive { blocks_as_sold: 4, ..Drive::new(QLC, 28) }),
        wide: true,
    },
    Recipe {
        name: "mlc-op7",
        title: "MLC SSD, 7 % over-provisioned",
        shape: Shape::Ssd(Drive::new(MLC, 7)),
        wide: true,
    },
    Recipe {
        name: "mlc-op15",
        title: "MLC SSD, 15 % over-provisioned",
        shape: Shape::Ssd(Drive::new(MLC, 15)),
        wide: false,
    },
    Recipe {
        name: "slc-2008-op15",
        title: "SLC SSD of 2008, 15 % over-provisioned",
        shape: Shape::Ssd(Drive::new(SLC, 15)),
        wide: false,
    },
    Recipe { name: "disk-15k", title: "15,000 rpm disk", shape: Shape::Disk { preset: DISK_15K }, wide: false },
    Recipe {
        name: "disk-7200",
        title: "7,200 rpm nearline disk",
        shape: Shape::Disk { preset: DISK_7200 },
        wide: true,
    },
    Recipe {
        name: "raid0-4x15k",
        title: "RAID-0 of 15,000 rpm disks",
        shape: Shape::Stripe { preset: DISK_15K, disks: 4 },
        wide: false,
    },
    Recipe {
        name: "raid0-8x15k",
        title: "RAID-0 of 15,000 rpm disks",
        shape: Shape::Stripe { preset: DISK_15K, disks: 8 },
        wide: true,
    },
];

const TLC: &str = "tlc-data-centre";
const QLC: &str = "qlc-data-centre-2t";
const MLC: &str = "mlc-512g";
const SLC: &str = "samsung-k9xxg08-slc-32g";
const DISK_15K: &str = "seagate-cheetah-15k5-146g";
const DISK_7200: &str = "nearline-7200-20t";

/// Raw size of the smallest simulated drive, so that pools have enough blocks to behave like those of a drive.
pub(crate) const RAW_MIN: Bytes = Bytes::gib(8);
/// Least number of blocks per plane, for the same reason.
const BLOCKS_PER_PLANE_MIN: u64 = 24;
/// A part of a drive has fewer blocks than the drive, so that the few that are kept free would weigh too much. Blocks
/// are halved, with the time of an erase, until a plane has this many or blocks are as small as the next constant.
const BLOCKS_PER_PLANE_WANTED: u64 = 128;
const PAGES_PER_BLOCK_MIN: u32 = 128;
/// Share of a disk that data may fill.
const DISK_FILL: Ratio = Ratio::percent(90);

/// Returns a note for the report on how a drive's shape was changed to size it.
pub(crate) fn min_note() -> String {
    format!(
        "A simulated part keeps its drive's channels, dies and page times. It has fewer blocks per plane; where those \
        would be fewer than {BLOCKS_PER_PLANE_WANTED}, blocks are smaller and their erases shorter in proportion."
    )
}

/// Returns the designs for `active` bytes of touched data, at `utilisation` of each flash design's capacity.
pub(crate) fn designs(active: Bytes, utilisation: Ratio, thorough: bool) -> Result<Vec<Design>, StudyError> {
    RECIPES.iter().filter(|recipe| thorough || !recipe.wide).map(|recipe| size(recipe, active, utilisation)).collect()
}

/// What a design in reports is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesignOrigin {
    /// The design's name in reports.
    pub name: &'static str,
    /// Its description in words.
    pub title: &'static str,
    /// The preset of its drive or of each of its disks.
    pub preset: &'static str,
}

/// Returns the origins of all designs, in the order of the report.
pub fn design_origins() -> impl Iterator<Item = DesignOrigin> {
    RECIPES.iter().map(|recipe| {
        let preset = match recipe.shape {
            Shape::Ssd(Drive { preset, .. }) | Shape::Disk { preset } | Shape::Stripe { preset, .. } => preset,
        };
        DesignOrigin { name: recipe.name, title: recipe.title, preset }
    })
}

fn size(recipe: &Recipe, active: Bytes, utilisation: Ratio) -> Result<Design, StudyError> {
    let design = |title: String, kind, device_count, system, sold| Design {
        name: recipe.name.into(),
        title,
        kind,
        device_count,
        system,
        sold,
    };
    Ok(match recipe.shape {
        Shape::Ssd(drive) => {
            let (system, sold) = ssd(&drive, active, utilisation)?;
            design(recipe.title.into(), "ssd", 1, system, Some(sold))
        }
        Shape::Disk { preset } => {
            let disks = disks_for(preset, active)?;
            match disks {
                1 => design(recipe.title.into(), "hdd", 1, disk(preset)?, None),
                n => design(format!("{n} of: {}, striped", recipe.title), "array", n, stripe(preset, n)?, None),
            }
        }
        Shape::Stripe { preset, disks } => {
            let disks = disks.max(disks_for(preset, active)?);
            let title = format!("{} ({disks} disks)", recipe.title);
            design(title, "array", disks, stripe(preset, disks)?, None)
        }
    })
}

fn ssd(drive: &Drive, active: Bytes, utilisation: Ratio) -> Result<(System, Bytes), StudyError> {
    let mut settings: SsdSettings = preset(drive.preset).map_err(StudyError::design)?;
    let geometry = settings.geometry;
    let channels = (geometry.channels / drive.channels_divided_by).max(1);
    let planes = u64::from(channels)
        * u64::from(geometry.packages_per_channel)
        * u64::from(geometry.dies_per_package)
        * u64::from(geometry.planes_per_die);
    // The host's share of the raw pages has to hold the active data at the given utilisation.
    let host = u128::from(active.0) * 1_000_000_000 / u128::from(utilisation.as_parts_per_billion().max(1));
    let raw = ((host * 100 / u128::from(100 - drive.over_provisioning)) as u64).max(RAW_MIN.0);
    let block = |pages_per_block: u32| u64::from(pages_per_block) * geometry.page_size.0;
    let blocks_as_sold = u64::from(geometry.blocks_per_plane) * drive.blocks_as_sold;
    let sold = Bytes(planes * block(geometry.pages_per_block) * blocks_as_sold);
    let (mut pages_per_block, mut block_erase) = (geometry.pages_per_block, settings.timing.block_erase);
    while raw / (planes * block(pages_per_block)) < BLOCKS_PER_PLANE_WANTED
        && pages_per_block > PAGES_PER_BLOCK_MIN
        && pages_per_block.is_multiple_of(2 * geometry.units_per_page)
    {
        pages_per_block /= 2;
        block_erase = Nanos(block_erase.0 / 2);
    }
    let blocks_per_plane = raw.div_ceil(planes * block(pages_per_block)).max(BLOCKS_PER_PLANE_MIN) + 1;
    settings.over_provisioning = Some(Ratio::percent(drive.over_provisioning));
    settings.ftl = drive.layer.choice();
    settings.geometry.channels = channels;
    settings.geometry.blocks_per_plane = u32::try_from(blocks_per_plane).unwrap_or(u32::MAX);
    settings.geometry.pages_per_block = pages_per_block;
    settings.timing.block_erase = block_erase;
    settings.array.details = true;
    let ssd = DeviceDescription::new(settings).preconditioned(PreconditionKind::Steady, utilisation);
    Ok((System::single("ssd", ssd).map_err(StudyError::design)?, sold))
}

fn disk(name: &str) -> Result<System, StudyError> {
    let disk = DeviceDescription::new(preset::<DiskSettings>(name).map_err(StudyError::design)?);
    System::single("disk", disk).map_err(StudyError::design)
}

fn stripe(name: &str, disks: u32) -> Result<System, StudyError> {
    let disk = DeviceDescription::new(preset::<DiskSettings>(name).map_err(StudyError::design)?);
    let array = DeviceDescription::new(ArraySettings { stripe: Bytes::kib(64), ..ArraySettings::alike("disk", disks) });
    let devices = [("disk".to_string(), disk), ("array".to_string(), array)];
    System::of(devices, "array").map_err(StudyError::design)
}

/// Returns how many disks of the preset hold `active` bytes.
fn disks_for(preset: &str, active: Bytes) -> Result<u32, StudyError> {
    let disk = disk(preset)?.assemble(1).map_err(StudyError::design)?.device;
    let room = DISK_FILL.of(disk.capacity().0).max(1);
    Ok(u32::try_from(active.0.div_ceil(room).max(1)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use esker_sim::{Experiment, OneOrMore, RunSettings, WorkloadSettings};

    use super::*;

    #[test]
    fn every_design_can_be_built_and_holds_the_data() {
        for active in [Bytes::mib(1), Bytes::gib(40)] {
            for design in designs(active, Ratio::percent(85), true).unwrap() {
                // Without preconditioning, which takes long and does not change the size of a design.
                let devices =
                    design.system.devices().clone().into_iter().map(|(name, device)| {
                        (name, DeviceDescription { precondition: PreconditionKind::None, ..device })
                    });
                let system = System::of(devices, design.system.target()).unwrap();
                let capacity = system.assemble(1).unwrap().device.capacity();
                let room = if design.sold.is_some() { Ratio::percent(85).of(capacity.0) } else { u64::MAX };
                assert!(room >= active.0, "{}: {room} < {}", design.name, active.0);
                assert!(capacity >= active, "{}", design.name);
            }
        }
    }

    /// Reports contain each design's configuration as text. Reading it must give the same devices.
    #[test]
    fn designs_equal_what_is_read_from_their_text() {
        for active in [Bytes::mib(1), Bytes::gib(40), Bytes::gib(4_000)] {
            for design in designs(active, Ratio::percent(85), true).unwrap() {
                let workload =
                    WorkloadSettings { trace: Some(OneOrMore::One("trace.spc".into())), ..WorkloadSettings::default() };
                let typed = Experiment::of(design.system, workload, RunSettings::default()).unwrap();
                let read = Experiment::from_resolved(&typed.resolved(), &design.name).unwrap();
                assert_eq!(format!("{:?}", read.system), format!("{:?}", typed.system), "{}", design.name);
                assert_eq!((&read.workload, &read.run), (&typed.workload, &typed.run), "{}", design.name);
            }
        }
    }

    #[test]
    fn the_drive_as_sold_has_all_blocks_of_its_dies() {
        let designs = designs(Bytes::gib(1), Ratio::percent(85), true).unwrap();
        let sold = |name: &str| designs.iter().find(|design| design.name == name).unwrap().sold;
        assert_eq!(sold("qlc-op28"), Some(Bytes::gib(8_192)), "7.68 TB are sold of 8 TiB");
        // Three planes do not divide a power of two.
        let tlc = sold("tlc-op28").unwrap();
        assert!((Bytes::gib(511)..=Bytes::gib(512)).contains(&tlc), "{tlc}");
    }

    #[test]
    fn every_design_has_a_preset_that_is_there() {
        let presets = || esker_sim::DEVICE_KINDS.iter().flat_map(|kind| (kind.build.presets)());
        for origin in design_origins() {
            assert!(presets().any(|preset| preset.name == origin.preset), "{origin:?}");
            assert!(presets().all(|preset| preset.name != origin.name), "{origin:?} is called like a preset");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = RECIPES.iter().map(|recipe| recipe.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RECIPES.len());
    }
}
