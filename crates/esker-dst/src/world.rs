//! A volume over virtual disks, with a host that checks every answer, through several lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_core::{Bytes, Lba, Nanos, Request, Rng, Tag};
use esker_volume::{
    BlockingBackend, Buffer, Clock, Identity, JoiningDevice, MapKeepers, OpenDevice, PinnedRange, Volume, VolumeError,
    VolumeSettings, WhatIsThere, create_with_map_on,
};

use crate::disk::{DiskFault, VirtualDisk};
use crate::host::Host;
use crate::image::SECTOR;
use crate::members::{Asked, Fate};
use crate::plan::{Cuts, Outcome, Plan, Violation};
use crate::settings::{cluster, map, settings};

/// A clock that the run sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetClock(Arc<AtomicU64>);

impl Clock for SetClock {
    fn now(&self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }
}

/// Requests that are under way at most.
const DEPTH: usize = 16;

/// Operations after a write of a checkpoint in which the power is lost ([`Cuts::AfterCheckpoints`]).
const WINDOW: u64 = 10;

/// Bytes that one request reads when everything is checked.
const CHECKED: u64 = 64 << 10;

pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) clock: SetClock,
    pub(crate) disks: Vec<VirtualDisk>,
    /// Their identities in the volume, and what has become of them.
    pub(crate) members: Vec<(Identity, Fate)>,
    /// Whether the volume was asked to remove a disk or to offer more, and has not answered.
    pub(crate) change: Option<Asked>,
    /// A disk that can join.
    pub(crate) prepared: Option<JoiningDevice>,
    /// If it is there, disks keep writes of checkpoints until nothing else waits, so that the journal becomes full. One
    /// time in this number, they perform one earlier.
    checkpoint_waits: Option<u64>,
    /// Operations of disks since the last write of a checkpoint.
    since_checkpoint: u64,
    pub(crate) host: Host,
    /// The ranges that the volume's policy pins, if it follows a map.
    map: Option<Arc<[PinnedRange]>>,
    /// Whether the volume keeps several copies, so that it makes up for a disk that fails.
    pub(crate) has_copies: bool,
    /// Whether a disk has failed.
    pub(crate) has_failed: bool,
    pub(crate) outcome: Outcome,
}

/// Runs a volume through its lives.
///
/// # Errors
/// The first promise that it breaks.
pub fn run(plan: &Plan) -> Result<Outcome, Violation> {
    let violation = |life, what| Violation { seed: plan.seed, life, what };
    let mut world = World::create(plan).map_err(|what| violation(0, what))?;
    for life in 1..=plan.lives {
        let Some(mut volume) = world.open().map_err(|what| violation(life, what))? else { return Ok(world.outcome) };
        let checked = world.check_recovered(&mut volume).and_then(|()| world.give_up_lost(&mut volume));
        let lived = checked.and_then(|()| world.live(&mut volume, plan, life));
        lived.map_err(|what| violation(life, what))?;
        world.crash();
    }
    let Some(mut volume) = world.open().map_err(|what| violation(plan.lives, what))? else { return Ok(world.outcome) };
    world.check_recovered(&mut volume).map_err(|what| violation(plan.lives, what))?;
    Ok(world.outcome)
}

/// Every fourth volume has one copy of its map although it has several disks.
fn keepers(plan: &Plan, disks: usize) -> MapKeepers {
    match plan.seed % 4 == 3 && disks > 1 && plan.copies <= 1 {
        true => MapKeepers::Only(vec![(plan.seed / 4) as usize % disks]),
        false => MapKeepers::Any,
    }
}

impl World {
    fn create(plan: &Plan) -> Result<Self, String> {
        let mut rng = Rng::derive(plan.seed, "volume");
        // With one disk, there is one copy of the map.
        let drawn = if plan.cuts == Cuts::AfterCheckpoints { 1 } else { 1 + rng.below(3) };
        let count = if plan.copies > 1 { drawn + u64::from(plan.copies) } else { drawn };
        let disk = |index| VirtualDisk::new(Bytes((3 << 20) + 4096 * rng.below(1024)), plan.seed ^ index);
        let disks: Vec<VirtualDisk> = (0..count).map(disk).collect();
        let mut settings = if plan.clusters { cluster(plan.copies, &mut rng) } else { settings(disks.len(), &mut rng) };
        let sizes: Vec<Bytes> = disks.iter().map(BlockingBackend::capacity).collect();
        // Devices of a map stay where they are.
        let map = (plan.changes == 0).then(|| map(&mut settings, &sizes, plan.seed)).flatten();
        let keepers = keepers(plan, disks.len());
        let mut world = Self::create_on(disks, &keepers, &settings, rng, plan)?;
        world.outcome.mapped = u64::from(map.is_some());
        world.map = map;
        Ok(world)
    }

    /// Creates a volume on `disks`.
    pub(crate) fn create_on(
        disks: Vec<VirtualDisk>,
        keepers: &MapKeepers,
        settings: &VolumeSettings,
        mut rng: Rng,
        plan: &Plan,
    ) -> Result<Self, String> {
        let mut identity = |_| Identity([0; 16].map(|_: u8| rng.below(256) as u8));
        let identities: Vec<Identity> = (0..=disks.len()).map(&mut identity).collect();
        let mut boxed = boxed(&disks);
        let created = create_with_map_on(keepers, &mut boxed, settings, &identities, WhatIsThere::Stays);
        created.map_err(|error| error.to_string())?;
        disks[0].set_fault(plan.wrong);
        let members = identities[1..].iter().map(|&identity| (identity, Fate::IsThere)).collect();
        let host = Host::new(Bytes::ZERO);
        let is = |kind| u64::from(settings.kind == kind);
        let outcome =
            Outcome { caches: is("cache"), arrays: is("array"), clusters: is("cluster"), ..Outcome::default() };
        let checkpoint_waits = match plan.cuts {
            Cuts::AfterCheckpoints => Some(u64::MAX),
            _ => rng.chance(1, 3).then_some(64),
        };
        let since_checkpoint = WINDOW;
        let (clock, change, prepared, map) = (SetClock::default(), None, None, None);
        Ok(Self {
            rng,
            clock,
            disks,
            members,
            change,
            prepared,
            checkpoint_waits,
            since_checkpoint,
            host,
            map,
            has_copies: plan.copies > 1,
            has_failed: false,
            outcome,
        })
    }

    /// The disks that are opened: those that are there, and sometimes one that was removed.
    pub(crate) fn present(&mut self) -> Vec<VirtualDisk> {
        let mut present = Vec::new();
        for (disk, (_, fate)) in self.disks.iter().zip(&self.members) {
            if *fate == Fate::IsThere || *fate == Fate::WasRemoved && self.rng.chance(1, 4) {
                present.push(disk.clone());
            }
        }
        present
    }

    /// Opens the volume; now and then the power fails meanwhile, and it is opened again. `None` if the devices that
    /// kept the journal have died.
    pub(crate) fn open(&mut self) -> Result<Option<Volume<SetClock>>, String> {
        loop {
            let disks = self.present();
            let cut = self.rng.chance(1, 4).then(|| self.rng.below(8));
            disks.iter().for_each(|disk| disk.cut_power_after(cut));
            let may_fail = disks
                .iter()
                .any(|disk| matches!(disk.fault(), DiskFault::FlushFails | DiskFault::FlushFailsThenSilent));
            let opened = Volume::open(boxed(&disks), self.clock.clone());
            let was_cut = disks.iter().any(VirtualDisk::was_cut);
            match opened {
                Err(VolumeError::Io { .. } | VolumeError::NotDurable { .. }) if was_cut => {
                    self.outcome.cut_openings += 1;
                    disks.iter().for_each(|disk| disk.lose_power(&mut self.rng));
                }
                // Disks that are cut off one after the other look like those that take no superblock.
                Ok(_) if was_cut => {
                    self.outcome.cut_openings += 1;
                    disks.iter().for_each(|disk| disk.lose_power(&mut self.rng));
                }
                // A user would do as the error says.
                Err(VolumeError::NotDurable { .. }) if may_fail => {}
                Err(VolumeError::NoJournal(_) | VolumeError::NotJoined { .. } | VolumeError::Count(0))
                    if self.members.iter().any(|(_, fate)| *fate == Fate::HasDied) =>
                {
                    self.outcome.lost = 1;
                    return Ok(None);
                }
                Err(error) => return Err(format!("cannot be opened: {error}")),
                Ok(mut volume) => {
                    if let Some(map) = &self.map {
                        volume.follow_map(map.clone()).map_err(|error| format!("does not follow its map: {error}"))?;
                    }
                    disks.iter().for_each(|disk| disk.cut_power_after(None));
                    let state = volume.state();
                    self.outcome.checkpoints = self.outcome.checkpoints.max(state.checkpoint);
                    self.outcome.journal_records += state.journal_records;
                    self.outcome.degraded += u64::from(state.missing().next().is_some());
                    self.outcome.known_failed += state.failed().count() as u64;
                    self.host.offer(volume.capacity())?;
                    self.host.may_fail = state.missing().next().is_some() && !self.has_copies;
                    return Ok(Some(volume));
                }
            }
        }
    }
}

impl World {
    /// Reads everything, and checks it.
    pub(crate) fn check_recovered(&mut self, volume: &mut Volume<SetClock>) -> Result<(), String> {
        let capacity = self.host.capacity().0;
        for start in (0..capacity).step_by(CHECKED as usize) {
            let length = CHECKED.min(capacity - start);
            // A device that is missing makes a whole request fail: the rest is read in small parts.
            let whole = self.read(volume, start, length)?;
            let parts: Vec<(u64, Option<Vec<u8>>)> = match whole {
                Some(bytes) => vec![(start, Some(bytes))],
                None => (start..start + length)
                    .step_by(SECTOR)
                    .map(|at| Ok((at, self.read(volume, at, SECTOR as u64)?)))
                    .collect::<Result<_, String>>()?,
            };
            for (at, bytes) in parts {
                match bytes {
                    Some(bytes) => self.host.check_recovered(at / SECTOR as u64, &bytes)?,
                    None if self.host.may_fail => {}
                    None => return Err(format!("sector {} cannot be read", at / SECTOR as u64)),
                }
            }
        }
        Ok(())
    }

    /// Reads bytes while nothing else is under way. `None` if that fails.
    pub(crate) fn read(
        &mut self,
        volume: &mut Volume<SetClock>,
        start: u64,
        length: u64,
    ) -> Result<Option<Vec<u8>>, String> {
        let tag = Tag::new(0, 0);
        volume.submit(tag, Request::read(Lba(start / SECTOR as u64), Bytes(length)), Buffer::default());
        loop {
            volume.step();
            if let Some(reply) = volume.next_reply() {
                return Ok(reply.result.is_ok().then(|| reply.data.to_vec()));
            }
            if !self.perform_one() && !self.pass_time(volume) {
                return Err(format!("a read of byte {start} never ends"));
            }
        }
    }

    /// Performs an operation of some disk. Returns false if none can be performed.
    fn perform_one(&mut self) -> bool {
        let of = |disk: usize| (0..self.disks[disk].waiting()).map(move |index| (disk, index));
        let mut waiting: Vec<(usize, usize)> = (0..self.disks.len()).flat_map(of).collect();
        let is_other = |&(disk, index): &(usize, usize)| !self.disks[disk].writes_checkpoint(index);
        let is_slow = self.checkpoint_waits.is_some_and(|waits| !self.rng.chance(1, waits));
        if is_slow && waiting.iter().any(is_other) {
            waiting.retain(is_other);
        }
        if waiting.is_empty() {
            return false;
        }
        let (disk, index) = waiting[self.rng.below(waiting.len() as u64) as usize];
        self.since_checkpoint = if self.disks[disk].writes_checkpoint(index) { 0 } else { self.since_checkpoint + 1 };
        self.disks[disk].perform(index);
        true
    }

    /// Lets time pass until something is due. Returns false if nothing ever is.
    fn pass_time(&mut self, volume: &Volume<SetClock>) -> bool {
        let next = volume.next_event();
        if next == Nanos::NEVER {
            return false;
        }
        self.clock.0.fetch_max(next.0, Ordering::Relaxed);
        true
    }

    /// Serves requests until the power fails.
    pub(crate) fn live(&mut self, volume: &mut Volume<SetClock>, plan: &Plan, life: u32) -> Result<(), String> {
        let is_read_only = volume.state().missing().next().is_some();
        let steps = self.rng.below(plan.steps) + 1;
        let fault_at = (plan.faults && life > 1 && self.rng.chance(1, 3)).then(|| self.rng.below(steps));
        // Half of the lives end in the midst of everything, the others once all is done.
        let ends_quietly = self.rng.chance(1, 2);
        for step in 0..steps {
            if fault_at == Some(step) {
                self.fail_a_disk(volume);
            }
            if plan.changes > 0 && self.rng.chance(1, plan.changes) && !is_read_only && !volume.is_changing() {
                self.ask_for_change(volume)?;
            }
            self.clock.0.fetch_add(1_000, Ordering::Relaxed);
            let wants_request = self.rng.chance(1, 3) && self.host.under_way() < DEPTH && !is_read_only;
            match wants_request.then(|| self.host.request(&mut self.rng)).flatten() {
                Some((tag, request, data)) => volume.submit(tag, request, data),
                None if self.perform_one() => {
                    let after_checkpoint = plan.cuts == Cuts::AfterCheckpoints && self.since_checkpoint < WINDOW;
                    // What is lost is drawn anew each time.
                    let cuts = if after_checkpoint { 6 } else { u32::from(plan.cuts == Cuts::Always) };
                    (0..cuts).try_for_each(|_| self.check_cut())?;
                }
                None => _ = self.rng.chance(1, 4) && self.pass_time(volume),
            }
            self.serve(volume)?;
        }
        let mut idle = 0;
        while ends_quietly && (self.host.under_way() > 0 || volume.is_changing()) {
            idle = if self.perform_one() { 0 } else { idle + 1 };
            if idle > 900 {
                // A disk that never answers is given up after half a minute, and some engines have timers all the time.
                self.clock.0.fetch_add(500_000_000, Ordering::Relaxed);
            }
            if idle > 0 && (!self.pass_time(volume) || idle > 1_000) {
                let change = if volume.is_changing() { ", a change never ends" } else { "" };
                return Err(format!("{} requests are never answered{change}", self.host.under_way()));
            }
            self.serve(volume)?;
        }
        let report = volume.report().cluster;
        self.outcome.moves += report.as_ref().map_or(0, |cluster| cluster.moves_done);
        self.outcome.rebuilt += report.map_or(0, |cluster| cluster.copies_lost);
        Ok(())
    }

    /// Loses power in a copy of everything, and checks what is left.
    fn check_cut(&mut self) -> Result<(), String> {
        let mut copy = Self {
            rng: Rng::new(self.rng.next_u64()),
            clock: SetClock::default(),
            disks: self.disks.iter().map(VirtualDisk::fork).collect(),
            members: self.members.clone(),
            change: None,
            prepared: None,
            checkpoint_waits: self.checkpoint_waits,
            since_checkpoint: self.since_checkpoint,
            host: self.host.clone(),
            map: self.map.clone(),
            has_copies: self.has_copies,
            has_failed: self.has_failed,
            outcome: Outcome::default(),
        };
        copy.crash();
        if let Some(mut volume) = copy.open()? {
            copy.check_recovered(&mut volume)?;
        }
        self.outcome.cuts += 1;
        Ok(())
    }

    fn serve(&mut self, volume: &mut Volume<SetClock>) -> Result<(), String> {
        volume.step();
        while let Some(reply) = volume.next_reply() {
            self.outcome.answered += 1;
            self.host.reply(&reply)?;
        }
        match volume.next_change() {
            Some(result) => self.end_change(volume, result),
            None => Ok(()),
        }
    }

    /// The power fails, or only the process dies.
    pub(crate) fn crash(&mut self) {
        if self.rng.chance(2, 3) {
            self.outcome.power_losses += 1;
            self.disks.iter().for_each(|disk| disk.lose_power(&mut self.rng));
        } else {
            self.outcome.kills += 1;
            self.disks.iter().for_each(|disk| disk.kill(&mut self.rng));
        }
        // Somebody has made room.
        self.disks
            .iter()
            .filter(|disk| disk.fault() == DiskFault::Full)
            .for_each(|disk| disk.set_fault(DiskFault::None));
        self.host.crash();
        (self.change, self.prepared) = (None, None);
    }
}

pub(crate) fn boxed(disks: &[VirtualDisk]) -> Vec<Box<dyn OpenDevice>> {
    disks.iter().map(|disk| Box::new(disk.clone()) as Box<dyn OpenDevice>).collect()
}
