//! Damage to what a volume keeps beside its data: superblocks, journal and checkpoints.

use esker_core::{Bytes, Rng};
use esker_volume::{MapKeepers, Volume, VolumeError, VolumeSettings};
use serde_json::json;

use crate::disk::VirtualDisk;
use crate::plan::{Cuts, Plan, Violation};
use crate::world::{SetClock, World, boxed};

/// What became of the damaged volumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DamageOutcome {
    /// Volumes that were damaged on one device, and opened with all of their data.
    pub repaired: u64,
    /// Those among them in which something damaged was found.
    pub noticed: u64,
    /// Volumes of which one device was put back as it was in an earlier life, and which were refused.
    pub older: u64,
    /// Volumes that were damaged on both devices in the same way, and were refused.
    pub refused: u64,
    /// The same, opened with all of their data: the damage was where nothing is kept.
    pub harmless: u64,
}

/// Bytes before the data of a device: the volumes here are small.
const STRUCTURES: u64 = 1 << 20;

/// Structures begin on multiples of this.
const BLOCK: usize = 4096;

/// Bytes of a superblock, which is also at the end of the device.
const SUPERBLOCK: u64 = 16 << 10;

/// The way of damage that puts all of a device back as it was in an earlier life.
const PUT_BACK: u64 = 4;

/// Damages a volume on two devices in `cases` ways. Damage to one device has to be repaired from the other one, and a
/// device that was put back has to be refused. Damage to both may have the volume refused; the end of the journal is
/// left alone there: a torn write looks the same.
///
/// # Errors
/// If a volume shows other data.
pub fn damage(seed: u64, cases: u64) -> Result<DamageOutcome, Violation> {
    try_damage(seed, cases).map_err(|what| Violation { seed, life: 0, what })
}

fn try_damage(seed: u64, cases: u64) -> Result<DamageOutcome, String> {
    let plan = Plan { seed, steps: 3_000, lives: 3, faults: false, cuts: Cuts::Never, changes: 0, ..Plan::default() };
    let mut rng = Rng::derive(seed, "damage");
    let size = Bytes(5 << 20);
    let policies = ["fast-first", "static-split", "migration", "wardrop"];
    let policy = policies[rng.below(policies.len() as u64) as usize];
    let extent = Bytes(4096 << rng.below(5));
    let settings = json!({ "extent": extent, "policy": { "kind": policy }, "reserve": "10%" });
    let settings = VolumeSettings::new("hybrid", settings);
    let disks: Vec<VirtualDisk> = (0..2).map(|index| VirtualDisk::new(size, seed ^ index)).collect();
    let mut world = World::create_on(disks, &MapKeepers::Any, &settings, Rng::derive(seed, "volume"), &plan)?;
    let mut images = Vec::new();
    for life in 1..=plan.lives {
        let mut volume = world.open()?.ok_or("no journal")?;
        world.check_recovered(&mut volume)?;
        world.live(&mut volume, &plan, life)?;
        world.crash();
        world.disks.iter().for_each(|disk| disk.lose_power(&mut world.rng));
        images.push(world.disks.iter().map(VirtualDisk::durable).collect::<Vec<_>>());
    }
    // What only one device has of the journal was promised to nobody, until opening the volume has written it to the
    // other one. No checkpoint follows: what is damaged shall be needed.
    world.open()?.ok_or("no journal")?;
    let newest: Vec<Vec<u8>> = world.disks.iter().map(VirtualDisk::durable).collect();
    let expected = contents(&mut world, &newest)?.map_err(|error| error.to_string())?.0;
    let mut outcome = DamageOutcome::default();
    for case in 0..cases {
        let mut damaged = newest.clone();
        let on_both = rng.chance(1, 4);
        let device = rng.below(2) as usize;
        let older = &images[rng.below(images.len() as u64) as usize];
        let ways = if on_both { 3 } else { PUT_BACK + 1 };
        let (way, place) = (rng.below(ways), place(&mut rng, &newest[device], on_both));
        for device in (0..2).filter(|&other| on_both || other == device) {
            apply(way, place, &mut damaged[device], &older[device]);
        }
        let opened = contents(&mut world, &damaged)?;
        match (opened, on_both) {
            (Ok(_), false) if way == PUT_BACK => return Err(format!("case {case}: an older device is taken")),
            (Ok((content, _)), _) if content != expected => {
                return Err(format!(
                    "case {case}: other data after damage of kind {way} at {place:?}, both: {on_both}"
                ));
            }
            (Ok(_), true) => outcome.harmless += 1,
            (Ok((_, noticed)), false) => {
                outcome.repaired += 1;
                outcome.noticed += u64::from(noticed);
            }
            (Err(_), true) => outcome.refused += 1,
            (Err(VolumeError::OlderCopy { .. }), false) if way == PUT_BACK => outcome.older += 1,
            (Err(error), false) => return Err(format!("case {case}: damage to one device of kind {way}: {error}")),
        }
    }
    Ok(outcome)
}

/// Returns a random range of bytes in the structures of a device with these bytes. In those that `is_fatal` damage
/// changes, only superblocks and the beginnings of checkpoints.
fn place(rng: &mut Rng, image: &[u8], is_fatal: bool) -> (usize, usize) {
    let size = image.len() as u64;
    let at = match (rng.below(4), is_fatal) {
        (0, _) => rng.below(SUPERBLOCK),
        (1, _) => size - 1 - rng.below(SUPERBLOCK),
        (2, false) => rng.below(STRUCTURES),
        // The header or the first records of a structure.
        (_, false) => {
            let begins = |at: &u64| image[*at as usize..].starts_with(b"esker");
            let found: Vec<u64> = (0..STRUCTURES).step_by(BLOCK).filter(begins).collect();
            found[rng.below(found.len() as u64) as usize] + rng.below(160)
        }
        // Checkpoint areas follow the journal, which has 256 KiB in so small a volume.
        (_, true) => SUPERBLOCK + (256 << 10) + rng.below(64 << 10),
    };
    let length = [1, 512, 4096, 65_536][rng.below(4) as usize];
    let limit = match at {
        _ if is_fatal && at < SUPERBLOCK => SUPERBLOCK,
        _ if at < STRUCTURES => STRUCTURES,
        _ => size,
    };
    (at as usize, (at + length).min(limit) as usize)
}

/// Damages `bytes` in the range `place`.
fn apply(way: u64, (from, to): (usize, usize), bytes: &mut [u8], older: &[u8]) {
    match way {
        0 => bytes[from] ^= 1 << (to % 8),
        1 => bytes[from..to].fill(0),
        2 => bytes[from..to].fill(0xff),
        // Journal and checkpoints of an earlier time.
        3 => {
            let structures = SUPERBLOCK as usize..STRUCTURES as usize;
            bytes[structures.clone()].copy_from_slice(&older[structures]);
        }
        _ => bytes.copy_from_slice(older),
    }
}

/// Opens a volume on disks with these bytes, and reads everything. Returns also whether something was found to be
/// damaged.
fn contents(world: &mut World, images: &[Vec<u8>]) -> Result<Result<(Vec<u8>, bool), VolumeError>, String> {
    for (disk, image) in world.disks.iter().zip(images) {
        disk.lose_power(&mut world.rng);
        disk.set_bytes(image);
    }
    let mut volume: Volume<SetClock> = match Volume::open(boxed(&world.disks), world.clock.clone()) {
        Ok(volume) => volume,
        Err(error) => return Ok(Err(error)),
    };
    let (capacity, noticed) = (volume.capacity().0, volume.state().was_damaged);
    let mut content = Vec::with_capacity(capacity as usize);
    while (content.len() as u64) < capacity {
        let at = content.len() as u64;
        let length = (256 << 10).min(capacity - at);
        content.extend(world.read(&mut volume, at, length)?.ok_or("a read fails")?);
    }
    Ok(Ok((content, noticed)))
}
