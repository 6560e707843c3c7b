//! The paper's drive, by sections 4 and 5 and the released configuration.

use esker_core::Ratio;
use esker_flash::{
    Choice, CleaningSettings, CopyBack, EndOfLife, Gang, PoolScope, WearLevelling, WearSettings, WriteFrontiers,
};
use esker_sim::PreconditionKind;

use crate::drive::Drive;

/// The preset with all of the paper's figures.
pub(super) const PRESET: &str = "samsung-k9xxg08-slc-32g";

/// The host gets 85 % of the data pages, without block summaries: 7,018,905 pages, or 877,363 for each of eight.
/// Relative to the pages outside of the reserve of 5 % of the blocks, that is this spare factor.
pub(super) const SPARE_FACTOR: Ratio = Ratio::parts_per_billion(105_263_160);

/// Section 4.2, "our baseline configuration", as far as all items share it: 8 packages fully connected, 32 GB, 15 %
/// over-provisioned, cleaning below 5 % free blocks, allocation pool = package, copies over the serial bus, no
/// interleaving within a package.
pub(super) fn common() -> Drive {
    Drive::preset(PRESET).changed(|ssd| {
        ssd.spare_factor = Some(SPARE_FACTOR);
        ssd.block_summary = true;
        ssd.pool = PoolScope::Package;
        ssd.cleaning = CleaningSettings {
            victim: Choice::named("greedy"),
            threshold: Ratio::percent(5),
            ..CleaningSettings::default()
        };
        // Without interleaving a package does one thing at a time: the eight planes of its two dies act as one die.
        ssd.geometry.dies_per_package = 1;
        ssd.geometry.planes_per_die = 8;
    })
}

/// Section 4.2 with 4 KiB pages striped over the packages. Every logical page has data from the start.
pub(super) fn baseline() -> Drive {
    let drive = common().changed(|ssd| {
        // As in the configuration that was released with the simulator.
        ssd.queue_depth = 20;
        ssd.array.gang = Gang::SharedBus;
    });
    drive.preconditioned(PreconditionKind::Filled)
}

/// Section 4.4: an active block per plane, so that copies can stay within planes. Every logical page has data from the
/// start.
pub(super) fn with_block_per_plane(copy_back: CopyBack) -> Drive {
    let drive = common().changed(|ssd| {
        ssd.write_frontiers = WriteFrontiers::Plane;
        ssd.array.copy_back = copy_back;
    });
    drive.preconditioned(PreconditionKind::Filled)
}

/// The drive of the released simulator's configuration, for both traces: cleaning copies within a plane, and the drive
/// takes 20 requests at once. Without the bus to the host: see `traces.rs`.
pub(super) fn released() -> Drive {
    with_block_per_plane(CopyBack::Unchecked).changed(|ssd| ssd.queue_depth = 20)
}

/// Section 5: blocks that last 50 erases. Every page of the host has data, as in the authors' simulator: blocks that
/// the trace never touches are cold, not free.
pub(super) fn wearing_out(levelling: WearLevelling) -> Drive {
    let drive = common().changed(|ssd| {
        ssd.endurance_cycles = 50;
        ssd.wear = Some(WearSettings {
            levelling,
            age_variance: Ratio::percent(20),
            retirement_age: Ratio::percent(85),
            end_of_life: EndOfLife::Retire,
            ..WearSettings::default()
        });
    });
    drive.preconditioned(PreconditionKind::Filled)
}
